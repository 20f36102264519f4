//! The kernel as Python sees it: columns in, columns and blobs out.

use crate::batch::{used_funcs, CellFold, Hotspot, HotspotDeltas, MarkerSums, TraceFold, ViewId, HOTSPOT_COLUMNS};
use crate::blobs::{tree_body, NegativeSum, Packer};
use crate::gunzip::Gunzip;
use crate::names::Names;
use crate::own::{find_profiler_work, SnippetFunctions};
use crate::sums::{sum_placed, FuncSums, PlacedFuncs, Places, Row, COLUMNS};
use crate::weights::{busy_ranges, to_us, weigh, TimeParts};
use crate::wire::{decode, Envelope, Limits};
use crate::{hidden, scripts};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::panic::{catch_unwind, AssertUnwindSafe};

pyo3::create_exception!(
    fieldflame_kernel,
    KernelPanic,
    PyValueError,
    "A fault of the kernel that one trace caused. Nothing of the trace was added."
);
pyo3::create_exception!(
    fieldflame_kernel,
    KernelBroken,
    PyRuntimeError,
    "A fault of the kernel while it added or wrote sums: no sum of this batch can be used."
);

type Columns = (Vec<i64>, [Vec<i64>; COLUMNS]);
/// Prefix and func of each stack, its self µs, samples and hidden µs.
type Stacks = (Vec<i32>, Vec<u32>, Vec<i64>, Vec<i64>, Vec<i64>);
/// View id, its time parts (µs, then samples), marker sums, traces, and whether one was cut off.
type ViewRow = (ViewId, Vec<i64>, Option<MarkerSums>, u32, bool);

/// Folds the traces of one batch and sums them up by cell and view. One thread at a time.
#[pyclass]
pub struct Kernel {
    limits: Limits,
    names: Names,
    snippets: SnippetFunctions,
    gunzip: Gunzip,
    places: Places,
    cells: Vec<CellFold>,
    id_of: Vec<i64>,
    deltas: HotspotDeltas,
    packer: Packer,
    panics_next: bool,
    is_broken: bool,
}

#[pymethods]
impl Kernel {
    /// `table` is the batch's `FuncTable`, `limits` the wire's `Limits`, `snippets` the `SNIPPET_FUNCTIONS`.
    #[new]
    fn new(
        table: Py<PyAny>,
        limits: &Bound<'_, PyAny>,
        max_bytes: usize,
        navigations: Vec<String>,
        caches: Vec<String>,
        snippets: SnippetFunctions,
    ) -> PyResult<Self> {
        Ok(Kernel {
            limits: Limits::read(limits, max_bytes, navigations, caches)?,
            names: Names::new(table),
            snippets,
            gunzip: Gunzip::new(),
            places: Places::default(),
            cells: Vec::new(),
            id_of: Vec::new(),
            deltas: HotspotDeltas::default(),
            packer: Packer::new(),
            panics_next: false,
            is_broken: false,
        })
    }

    /// Folds a stored body and adds it to a view of a cell. Returns the measured interval and the one in use, µs; None
    /// if the twin has to expand, decode and fold it. Raises `KernelPanic`.
    #[allow(clippy::too_many_arguments)]
    fn add_body(
        &mut self,
        py: Python<'_>,
        body: &Bound<'_, PyBytes>,
        is_gzip: bool,
        page: &str,
        cell: usize,
        view: ViewId,
        is_truncated: bool,
    ) -> PyResult<Option<(Option<i64>, i64)>> {
        self.check_whole()?;
        let done = catch_unwind(AssertUnwindSafe(|| self.fold(py, body.as_bytes(), is_gzip, page)));
        let Some((fold, intervals)) = done.map_err(|_| KernelPanic::new_err("the kernel could not fold a trace"))??
        else {
            return Ok(None);
        };
        self.guarded(py, |kernel| kernel.add(cell, view, fold, is_truncated))?;
        Ok(Some(intervals))
    }

    /// Adds a trace that the twin has folded: the columns of its `TraceFold`.
    #[allow(clippy::too_many_arguments)]
    fn add_fold(
        &mut self,
        py: Python<'_>,
        cell: usize,
        view: ViewId,
        is_truncated: bool,
        parts: ([i64; 7], [i64; 5]),
        marker_us: Option<MarkerSums>,
        stacks: Stacks,
        sums: (Vec<u32>, [Vec<i64>; COLUMNS]),
    ) -> PyResult<()> {
        let (prefix, func, stack_us, stack_samples, stack_hidden_us) = stacks;
        let is_even = [func.len(), stack_us.len(), stack_samples.len(), stack_hidden_us.len()] == [prefix.len(); 4];
        if !is_even || sums.1.iter().any(|column| column.len() != sums.0.len()) {
            return Err(PyValueError::new_err("columns must be of one length"));
        }
        let rows = rows_of(&sums.1);
        let sums = FuncSums { func: sums.0, rows };
        let parts = TimeParts { us: parts.0, samples: parts.1 };
        let fold = TraceFold { parts, marker_us, prefix, func, stack_us, stack_samples, stack_hidden_us, sums };
        self.guarded(py, |kernel| kernel.add(cell, view, fold, is_truncated))
    }

    /// Returns the func indexes with any time, in order.
    fn used(&mut self, py: Python<'_>) -> PyResult<Vec<u32>> {
        self.guarded(py, |kernel| used_funcs(&kernel.cells))
    }

    /// Sets the stored id of each func index; forgets the additions to hotspots.
    fn settle(&mut self, id_of: Vec<i64>) {
        self.id_of = id_of;
        self.deltas = HotspotDeltas::default();
    }

    /// Returns the views of a cell.
    fn views(&self, cell: usize) -> Vec<ViewRow> {
        let views = self.cells[cell].views.iter();
        views
            .map(|(id, view)| {
                let parts = view.parts.us.iter().chain(&view.parts.samples).copied().collect();
                (*id, parts, view.marker_us, view.traces, view.is_truncated)
            })
            .collect()
    }

    /// Returns the blob of a view's new contribution, and adds to the hotspots of the cell with the id `cell_id`.
    /// `known` has the columns of its stored contribution.
    fn grow<'py>(
        &mut self,
        py: Python<'py>,
        cell: usize,
        view: ViewId,
        cell_id: i64,
        known: Option<Columns>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let blob = self.guarded(py, |kernel| {
            let known: Vec<(i64, Row)> =
                known.map_or_else(Vec::new, |(func, columns)| func.into_iter().zip(rows_of(&columns)).collect());
            let view = &kernel.cells[cell].views[&view];
            let body = kernel.deltas.grow(cell_id, view, &known, &kernel.id_of)?;
            Ok(kernel.packer.pack_contribution(&body))
        })?;
        Ok(PyBytes::new(py, &blob.map_err(refuse_negative)?))
    }

    /// Returns the additions to the hotspots of a cell: func ids in order, the columns of `FUNC_SUM_NAMES`,
    /// and the views that ran each.
    fn hotspots(&mut self, py: Python<'_>, cell_id: i64) -> PyResult<(Vec<i64>, Vec<Vec<i64>>)> {
        let rows: Vec<(i64, Hotspot)> = self.guarded(py, |kernel| kernel.deltas.of_cell(cell_id))?;
        let columns = (0..HOTSPOT_COLUMNS).map(|at| rows.iter().map(|(_, sums)| sums[at]).collect()).collect();
        Ok((rows.iter().map(|(func, _)| *func).collect(), columns))
    }

    /// Returns the number of nodes of a cell's call tree, and its blob.
    fn tree<'py>(&mut self, py: Python<'py>, cell: usize) -> PyResult<(usize, Bound<'py, PyBytes>)> {
        let blob = self.guarded(py, |kernel| {
            let body = tree_body(&kernel.cells[cell].tree, &kernel.id_of)?;
            Ok(kernel.packer.pack_tree(&body))
        })?;
        Ok((self.cells[cell].tree.nodes.len(), PyBytes::new(py, &blob.map_err(refuse_negative)?)))
    }

    /// Lets the next fold panic, to test that a panic costs only its trace.
    fn panic_next(&mut self) {
        self.panics_next = true;
    }
}

impl Kernel {
    fn check_whole(&self) -> PyResult<()> {
        if self.is_broken {
            return Err(KernelBroken::new_err("an earlier fault left the sums of this batch incomplete"));
        }
        Ok(())
    }

    /// Runs work on the sums without the interpreter's lock. After a panic they are never used again.
    fn guarded<T: Send>(&mut self, py: Python<'_>, work: impl FnOnce(&mut Self) -> T + Send) -> PyResult<T> {
        self.check_whole()?;
        let done = py.detach(|| catch_unwind(AssertUnwindSafe(|| work(self))));
        done.map_err(|_| {
            self.is_broken = true;
            KernelBroken::new_err("the kernel could not add up a batch")
        })
    }

    fn add(&mut self, cell: usize, view: ViewId, fold: TraceFold, is_truncated: bool) {
        if self.cells.len() <= cell {
            self.cells.resize_with(cell + 1, CellFold::default);
        }
        self.cells[cell].add(view, fold, is_truncated);
    }

    #[allow(clippy::type_complexity)]
    fn fold(
        &mut self,
        py: Python<'_>,
        body: &[u8],
        is_gzip: bool,
        page: &str,
    ) -> PyResult<Option<(TraceFold, (Option<i64>, i64))>> {
        assert!(!std::mem::take(&mut self.panics_next), "a test asked for this panic");
        let (gunzip, limits) = (&mut self.gunzip, &self.limits);
        let decoded = py.detach(|| {
            let envelope = decode(gunzip.open(is_gzip, body, limits.max_bytes)?, limits)?;
            let frames = scripts::read_frames(&envelope.marks)?;
            Some((envelope, frames))
        });
        let Some((envelope, frames)) = decoded else { return Ok(None) };
        let index_of_frame = self.names.intern(py, &envelope, page)?;
        let (snippets, places) = (&self.snippets, &mut self.places);
        Ok(Some(py.detach(|| fold_envelope(envelope, frames, &index_of_frame, snippets, places))))
    }
}

fn fold_envelope(
    envelope: Envelope,
    frames: Option<scripts::LongFrames>,
    index_of_frame: &[u32],
    snippets: &SnippetFunctions,
    places: &mut Places,
) -> (TraceFold, (Option<i64>, i64)) {
    let busy = busy_ranges(&envelope.marks);
    let trace = envelope.trace;
    let func: Vec<u32> = trace.stack_frame.iter().map(|frame| index_of_frame[*frame as usize]).collect();
    let profiler =
        find_profiler_work(&trace, envelope.snippet.as_ref(), frames.as_ref().map(|frames| &*frames.scripts), snippets);
    let ranges = frames.as_ref().map(scripts::LongFrames::ranges);
    let reported_us = to_us(envelope.interval_ms);
    let weighed = weigh(&trace, &profiler, reported_us, &busy, ranges.as_ref());
    let prefix = hidden::skip_profiler(trace.stack_parent, &profiler.stacks);
    let (stack_hidden_us, uncertain_us) =
        hidden::attribute(&weighed.runs, &weighed.inside, &prefix, &func, &profiler.stacks, frames.is_some());
    let placed = PlacedFuncs::new(places, &prefix, &func);
    let rows = sum_placed(&prefix, &placed, &weighed.stack_us, &weighed.stack_samples, &stack_hidden_us, &uncertain_us);
    let sums = FuncSums { func: placed.keys, rows };
    let fold = TraceFold {
        parts: weighed.parts,
        marker_us: weighed.marker_us,
        prefix,
        func,
        stack_us: weighed.stack_us,
        stack_samples: weighed.stack_samples,
        stack_hidden_us,
        sums,
    };
    (fold, (weighed.measured_us, weighed.interval_us))
}

fn refuse_negative(_: NegativeSum) -> PyErr {
    PyValueError::new_err("columns hold no negative numbers")
}

fn rows_of(columns: &[Vec<i64>; COLUMNS]) -> Vec<Row> {
    (0..columns[0].len()).map(|at| std::array::from_fn(|column| columns[column][at])).collect()
}
