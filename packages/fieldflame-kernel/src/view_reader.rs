//! The reading of page views, one at a time: from their stored bodies to what their windows took.

use crate::contributions::to_bytes;
use crate::gunzip::Gunzip;
use crate::hidden::Range;
use crate::marks::{find_windows, read_marks, ViewScript};
use crate::names::Names;
use crate::own::SnippetFunctions;
use crate::scripts;
use crate::sums::Places;
use crate::view::{join, observe, View};
use crate::vitals::{sum_forced_layout, sum_hidden_script, sum_window, Parts, Script};
use crate::wire::{decode, Limits};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::panic::{catch_unwind, AssertUnwindSafe};

type Bytes<'py> = Bound<'py, PyBytes>;
/// The windows of a view by name; event, target and its trace's number, and long frames.
type Windows = (Vec<(&'static str, Vec<Range>)>, String, String, usize, usize);
/// Of a trace, in the order of a view's clock: the page's URL and the snippet's address.
type TraceUrls = (Option<String>, Option<String>);
/// What was read of a view: its windows and scripts; of the first trace that was given, the URL and the slow rate.
type ReadView = (Windows, Vec<ViewScript>, Vec<TraceUrls>, Option<String>, Option<f64>);
/// Whether markers measured, the columns of what forced, what is unattributed, and the columns of own times. And of each
/// hidden script the µs that samples saw: of the page's own functions, and without a stack.
type Forced<'py> = (bool, Bytes<'py>, i64, Bytes<'py>, Vec<(i64, i64)>);

/// Reads page views. One thread at a time.
#[pyclass]
pub struct ViewReader {
    limits: Limits,
    names: Names,
    snippets: SnippetFunctions,
    gunzip: Gunzip,
    places: Places,
    view: View,
}

#[pymethods]
impl ViewReader {
    /// The parameters are those of `Kernel`.
    #[new]
    fn new(
        table: Py<PyAny>,
        limits: &Bound<'_, PyAny>,
        max_bytes: usize,
        navigations: Vec<String>,
        caches: Vec<String>,
        snippets: SnippetFunctions,
    ) -> PyResult<Self> {
        Ok(ViewReader {
            limits: Limits::read(limits, max_bytes, navigations, caches)?,
            names: Names::new(table),
            snippets,
            gunzip: Gunzip::new(),
            places: Places::default(),
            view: View::default(),
        })
    }

    /// Reads the stored bodies of a view, given as (is gzip, body). None if the twin has to read it.
    fn read<'py>(
        &mut self,
        py: Python<'py>,
        bodies: Vec<(bool, Bytes<'py>)>,
        page: &str,
    ) -> PyResult<Option<ReadView>> {
        let (mut traces, mut first) = (Vec::with_capacity(bodies.len()), None);
        for (is_gzip, body) in &bodies {
            let (gunzip, limits, body) = (&mut self.gunzip, &self.limits, body.as_bytes());
            let decoded = guarded(py, || {
                let envelope = decode(gunzip.open(*is_gzip, body, limits.max_bytes)?, limits)?;
                let (frames, marks) = (scripts::read_frames(&envelope.marks)?, read_marks(&envelope.marks)?);
                Some((envelope, frames, marks))
            });
            let Some((envelope, frames, marks)) = decoded else { return Ok(None) };
            let index_of_frame = self.names.intern(py, &envelope, page)?;
            first.get_or_insert_with(|| (envelope.url.as_deref().map(Into::into), envelope.slow_rate));
            let snippets = &self.snippets;
            let Some(trace) = guarded(py, || Some(observe(envelope, frames, marks, &index_of_frame, snippets))) else {
                return Ok(None);
            };
            traces.push(trace);
        }
        let (places, Some((url, slow_rate))) = (&mut self.places, first) else { return Ok(None) };
        let read = guarded(py, || {
            let (view, traces) = join(traces, places);
            let marks: Vec<_> = traces.iter().map(|(sent, shift_us)| (&*sent.marks, *shift_us)).collect();
            Some((view, find_windows(&marks)?, traces))
        });
        let Some((view, found, traces)) = read else { return Ok(None) };
        self.view = view;
        let windows = (found.ranges, found.event, found.target, found.target_trace, found.frames);
        let urls = traces.into_iter().map(|(sent, _)| (sent.url, sent.own_script)).collect();
        Ok(Some((windows, found.scripts, urls, url, slow_rate)))
    }

    /// Returns of each window, given by its ranges on the clock of the view that was read last, its parts and the columns
    /// of its funcs; None if the twin has to sum. Ranges are in order and disjoint.
    fn sum_windows<'py>(
        &self,
        py: Python<'py>,
        windows: Vec<Vec<Range>>,
    ) -> PyResult<Option<Vec<(Parts, Bytes<'py>)>>> {
        let sums =
            guarded(py, || Some(windows.iter().map(|ranges| sum_window(&self.view, ranges)).collect::<Vec<_>>()));
        let with_bytes = |(parts, funcs): (Parts, Vec<i64>)| Ok((parts, to_bytes(py, &funcs)?));
        sums.map(|sums| sums.into_iter().map(with_bytes).collect()).transpose()
    }

    /// Returns the forced layout of the view that was read last, and what samples saw of hidden scripts, given by their
    /// ranges; None if the twin has to sum.
    fn sum_scripts<'py>(
        &self,
        py: Python<'py>,
        scripts: Vec<Script>,
        hidden: Vec<Range>,
    ) -> PyResult<Option<Forced<'py>>> {
        let sums = guarded(py, || {
            let seen: Vec<_> = hidden.iter().map(|script| sum_hidden_script(&self.view, script)).collect();
            Some((sum_forced_layout(&self.view, &scripts, &self.names), seen))
        });
        let Some(((forced, unattributed_us, own), seen)) = sums else { return Ok(None) };
        Ok(Some((self.view.is_measured, to_bytes(py, &forced)?, unattributed_us, to_bytes(py, &own)?, seen)))
    }
}

/// Does work without the interpreter's lock. A panic is a fault of this code, and the twin has none of it.
fn guarded<T: Send>(py: Python<'_>, work: impl FnOnce() -> Option<T> + Send) -> Option<T> {
    py.detach(|| catch_unwind(AssertUnwindSafe(work)).ok().flatten())
}
