//! The compiled twin of the fold: from the bytes of an envelope to the sums of its batch.

mod hidden;
mod sums;
mod weights;
mod wire;

use ahash::{AHashMap, RandomState};
use hashbrown::{Equivalent, HashMap};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};
use std::sync::Arc;
use sums::{FuncSums, TreeBuilder};
use wire::{decode, Envelope, Limits};

/// A decoded and summed trace. Its columns become Python lists only if somebody asks.
#[pyclass(frozen)]
struct Fold {
    prefix: Vec<i32>,
    func: Vec<u32>,
    weighed: weights::Weighed,
    hidden_us: Vec<i64>,
    sums: FuncSums,
}

#[pymethods]
impl Fold {
    #[getter]
    fn measured_interval_us(&self) -> Option<i64> {
        self.weighed.measured_us
    }
    #[getter]
    fn interval_us(&self) -> i64 {
        self.weighed.interval_us
    }
    #[getter]
    fn parts(&self) -> (Vec<i64>, Vec<i64>) {
        (self.weighed.parts.us.to_vec(), self.weighed.parts.samples.to_vec())
    }
    #[getter]
    fn marker_us(&self) -> Option<Vec<i64>> {
        self.weighed.marker_us.map(|sums| sums.to_vec())
    }
    /// prefix, func, self µs, samples and hidden µs by stack.
    fn stacks(&self) -> (Vec<i32>, Vec<u32>, Vec<i64>, Vec<i64>, Vec<i64>) {
        (
            self.prefix.clone(),
            self.func.clone(),
            self.weighed.stack_us.clone(),
            self.weighed.stack_samples.clone(),
            self.hidden_us.clone(),
        )
    }
    /// Funcs, and a row of seven sums for each.
    fn sums(&self) -> (Vec<u32>, Vec<Vec<i64>>) {
        (self.sums.func.clone(), self.sums.rows.iter().map(|row| row.to_vec()).collect())
    }
}

/// The files that this was built from (build.rs): profcore/kernel.py uses no kernel of other sources.
const SOURCES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/sources.rs"));

#[derive(Hash, PartialEq, Eq)]
struct FrameKey {
    uri: i32,
    line: i64,
    column: i64,
    name: Box<str>,
}

/// The same without a copy of the name: most frames of a batch are known.
#[derive(Hash)]
struct FrameLookup<'a> {
    uri: i32,
    line: i64,
    column: i64,
    name: &'a str,
}

impl Equivalent<FrameKey> for FrameLookup<'_> {
    fn equivalent(&self, key: &FrameKey) -> bool {
        (self.uri, self.line, self.column, self.name) == (key.uri, key.line, key.column, &*key.name)
    }
}

#[pyclass]
struct Kernel {
    limits: Arc<Limits>,
    table: Py<PyAny>,
    uri_ids: AHashMap<Box<str>, i32>,
    uri_texts: Vec<Py<PyString>>,
    // By the resource as it was sent: the id of its URI, and the text that a page's own address is held against.
    resources: AHashMap<Box<str>, (i32, Box<str>)>,
    frames: HashMap<FrameKey, u32, RandomState>,
    is_profiler: Vec<bool>,
    cells: Vec<(TreeBuilder, AHashMap<[u8; 16], ViewSums>)>,
}

#[derive(Default)]
struct ViewSums {
    us: [i64; 7],
    samples: [i64; 5],
    markers: Option<[i64; 6]>,
    traces: u32,
    is_truncated: bool,
    places: AHashMap<u32, u32>,
    sums: FuncSums,
}

#[pymethods]
impl Kernel {
    #[new]
    #[allow(clippy::too_many_arguments)]
    fn new(table: Py<PyAny>, counts: [usize; 12], timestamp_ms: f64, navigations: Vec<String>) -> Self {
        let [samples, stacks, frames, resources, depth, name_chars, uri_chars, text_chars, page_chars, marks, tags, values] =
            counts;
        let limits = Limits {
            samples, stacks, frames, resources, depth, name_chars, uri_chars, text_chars, page_chars, marks, tags,
            timestamp_ms, values, navigations,
        };
        Kernel {
            limits: Arc::new(limits),
            table,
            uri_ids: AHashMap::new(),
            uri_texts: Vec::new(),
            resources: AHashMap::new(),
            frames: HashMap::with_hasher(RandomState::new()),
            is_profiler: Vec::new(),
            cells: Vec::new(),
        }
    }

    /// Returns a folded trace, or None if the twin has to decode it.
    fn fold(&mut self, py: Python<'_>, body: &Bound<'_, PyBytes>, page: &str) -> PyResult<Option<Fold>> {
        let bytes = body.as_bytes();
        let limits = Arc::clone(&self.limits);
        let decoded = py.detach(|| {
            let envelope = decode(bytes, &limits)?;
            let scripts = weights::script_ranges(&envelope.marks).ok()?;
            let busy = weights::busy_ranges(&envelope.marks);
            Some((envelope, scripts, busy))
        });
        let Some((envelope, scripts, busy)) = decoded else { return Ok(None) };
        let index_of_frame = self.intern(py, &envelope, page)?;
        let is_profiler = &self.is_profiler;
        Ok(Some(py.detach(|| {
            let trace = &envelope.trace;
            let prefix = trace.stack_parent.clone();
            let func: Vec<u32> = trace.stack_frame.iter().map(|frame| index_of_frame[*frame as usize]).collect();
            let profiler_stacks: Vec<bool> = func.iter().map(|index| is_profiler[*index as usize]).collect();
            let reported = weights::to_us(envelope.interval_ms);
            let weighed = weights::weigh(trace, &profiler_stacks, reported, &busy, scripts.as_deref());
            let (hidden_us, uncertain_us) =
                hidden::attribute(&weighed.runs, &weighed.inside, &prefix, &func, &profiler_stacks, scripts.is_some());
            let sums = sums::sum_by_func(
                &prefix, &func, &weighed.stack_us, &weighed.stack_samples, &hidden_us, &uncertain_us,
            );
            Fold { prefix, func, weighed, hidden_us, sums }
        })))
    }

    /// Adds a trace to a view of a cell.
    fn add(&mut self, py: Python<'_>, fold: &Fold, cell: usize, view: [u8; 16], is_truncated: bool) {
        py.detach(|| {
            while self.cells.len() <= cell {
                self.cells.push(Default::default());
            }
            let (tree, views) = &mut self.cells[cell];
            let weighed = &fold.weighed;
            tree.add(&fold.prefix, &fold.func, &weighed.stack_us, &weighed.stack_samples, &fold.hidden_us);
            let sums = views.entry(view).or_default();
            for (into, us) in sums.us.iter_mut().zip(weighed.parts.us) {
                *into += us;
            }
            for (into, samples) in sums.samples.iter_mut().zip(weighed.parts.samples) {
                *into += samples;
            }
            if let Some(markers) = weighed.marker_us {
                let into = sums.markers.get_or_insert([0; 6]);
                for (into, us) in into.iter_mut().zip(markers) {
                    *into += us;
                }
            }
            sums.traces += 1;
            sums.is_truncated |= is_truncated;
            if sums.traces == 1 {
                sums.sums = fold.sums.clone();
                return;
            }
            if sums.traces == 2 {
                sums.places = sums.sums.func.iter().enumerate().map(|(at, func)| (*func, at as u32)).collect();
            }
            for (func, row) in fold.sums.func.iter().zip(&fold.sums.rows) {
                let next = sums.sums.func.len() as u32;
                let place = *sums.places.entry(*func).or_insert(next);
                if place == next {
                    sums.sums.func.push(*func);
                    sums.sums.rows.push(*row);
                } else {
                    for (into, value) in sums.sums.rows[place as usize].iter_mut().zip(row) {
                        *into += value;
                    }
                }
            }
        });
    }

    #[allow(clippy::type_complexity)]
    fn tree(&self, cell: usize) -> (Vec<i32>, Vec<u32>, Vec<i64>, Vec<i64>, Vec<i64>) {
        let tree = &self.cells[cell].0;
        (tree.prefix.clone(), tree.func.clone(), tree.self_us.clone(), tree.self_samples.clone(), tree.hidden_us.clone())
    }
}

impl Kernel {
    /// Returns the index of every frame's func in the batch's table. Python sees only what no trace before had.
    fn intern(&mut self, py: Python<'_>, envelope: &Envelope, page: &str) -> PyResult<Vec<u32>> {
        let page_url = envelope.url.as_deref().filter(|url| !url.is_empty()).map(clean_url);
        let mut uris = Vec::with_capacity(envelope.trace.resources.len());
        for resource in &envelope.trace.resources {
            uris.push(self.find_uri(py, resource, page_url, page)?);
        }
        let mut result = Vec::with_capacity(envelope.trace.frames.len());
        let mut new = Vec::new();
        for (place, frame) in envelope.trace.frames.iter().enumerate() {
            let uri = if frame.resource < 0 { -1 } else { uris[frame.resource as usize] };
            let lookup = FrameLookup { uri, line: frame.line, column: frame.column, name: &frame.name };
            result.push(self.frames.get(&lookup).copied().unwrap_or_else(|| {
                new.push((place, uri));
                0
            }));
        }
        if new.is_empty() {
            return Ok(result);
        }
        let none = |position: i64| (position >= 0).then_some(position);
        let said: Vec<_> = new
            .iter()
            .map(|(place, uri)| {
                let frame = &envelope.trace.frames[*place];
                let text = usize::try_from(*uri).ok().map(|uri| self.uri_texts[uri].clone_ref(py));
                (text, none(frame.line), none(frame.column), &*frame.name)
            })
            .collect();
        // The index of each func; below zero, and one less, for those of the profiler's own.
        let found: Vec<i64> = self.table.call_method1(py, "intern_said", (said,))?.extract(py)?;
        for ((place, uri), found) in new.into_iter().zip(found) {
            let index = if found < 0 { -1 - found } else { found } as u32;
            if self.is_profiler.len() <= index as usize {
                self.is_profiler.resize(index as usize + 1, false);
            }
            self.is_profiler[index as usize] = found < 0;
            let frame = &envelope.trace.frames[place];
            let name = (&*frame.name).into();
            self.frames.insert(FrameKey { uri, line: frame.line, column: frame.column, name }, index);
            result[place] = index;
        }
        Ok(result)
    }

    fn find_uri(&mut self, py: Python<'_>, resource: &str, page_url: Option<&str>, page: &str) -> PyResult<i32> {
        if let Some((id, clean)) = self.resources.get(resource) {
            if page_url != Some(clean) {
                return Ok(*id);
            }
            let text: Py<PyString> = self.table.call_method1(py, "read_uri", (resource, page_url, page))?.extract(py)?;
            return self.intern_uri(py, text);
        }
        let (text, clean): (Py<PyString>, String) =
            self.table.call_method1(py, "read_plain_uri", (resource,))?.extract(py)?;
        let id = self.intern_uri(py, text)?;
        self.resources.insert(resource.into(), (id, clean.into()));
        self.find_uri(py, resource, page_url, page)
    }

    fn intern_uri(&mut self, py: Python<'_>, text: Py<PyString>) -> PyResult<i32> {
        let words: Box<str> = text.bind(py).to_str()?.into();
        let next = self.uri_texts.len() as i32;
        let id = *self.uri_ids.entry(words).or_insert(next);
        if id == next {
            self.uri_texts.push(text);
        }
        Ok(id)
    }
}

fn clean_url(url: &str) -> &str {
    let end = url.find('#').unwrap_or(url.len());
    let url = &url[..end];
    &url[..url.find('?').unwrap_or(url.len())]
}

#[pymodule]
fn fieldflame_kernel(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let sources = PyDict::new(module.py());
    for (name, text) in SOURCES {
        sources.set_item(name, PyBytes::new(module.py(), text))?;
    }
    module.add("SOURCES", sources)?;
    module.add_class::<Kernel>()?;
    module.add_class::<Fold>()
}
