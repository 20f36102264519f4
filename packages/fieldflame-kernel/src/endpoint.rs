//! The checks of the ingest endpoint: from the bytes as posted to what the endpoint stores beside them.
//!
//! The trace and the marks are decoded and checked here. All other fields are handed back as they were sent, in their
//! order: the pure twin decodes and checks these few bytes itself. So both twins agree on them by themselves.

use crate::gunzip::Gunzip;
use crate::json::{once, Reader};
use crate::tables::read_trace;
use crate::wire::{has_too_many_values, read_marks, Limits};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::Mutex;

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
/// Bytes of the fields that are handed back. Those of a page's longest address are 400 kB; others have some hundred.
const MAX_HEAD_BYTES: usize = 512 * 1024;
/// Kept from post to post: some buffers for bodies of the usual size.
const MAX_KEPT_BUFFERS: usize = 4;
const MAX_KEPT_BYTES: usize = 512 * 1024;
const NO_TRACE: &[u8] = b"\"trace\":{\"resources\":[],\"frames\":[],\"stacks\":[],\"samples\":[]}}";

/// Returns the fields of an expanded envelope but the trace and the marks; None if these are not plainly right.
fn skim(body: &[u8], limits: &Limits) -> Option<Vec<u8>> {
    if has_too_many_values(body, limits) {
        return None;
    }
    let mut head = vec![b'{'];
    let (mut trace, mut marks) = (None, None);
    let mut reader = Reader::new(std::str::from_utf8(body).ok()?);
    reader.any_object(|reader, key| match key {
        "trace" => once(&mut trace, read_trace(reader, limits)?),
        "marks" => once(&mut marks, read_marks(reader, limits)?),
        _ => {
            let value = reader.skip()?;
            if head.len() + key.len() + value.len() > MAX_HEAD_BYTES {
                return None;
            }
            for part in ["\"", key, "\":", value, ","] {
                head.extend_from_slice(part.as_bytes()); // such a key has no escapes
            }
            Some(())
        }
    })?;
    head.extend_from_slice(NO_TRACE);
    (trace.is_some() && reader.is_at_end()).then_some(head)
}

/// Checks posted bodies under one set of limits.
#[pyclass(frozen)]
pub struct Endpoint {
    limits: Limits,
    buffers: Mutex<Vec<Gunzip>>,
}

impl Endpoint {
    fn check_body(&self, sent: &[u8]) -> Option<(Vec<u8>, usize)> {
        if !sent.starts_with(&GZIP_MAGIC) {
            return if sent.len() <= self.limits.max_bytes {
                Some((skim(sent, &self.limits)?, sent.len()))
            } else {
                None
            };
        }
        let mut gunzip = self.buffers.lock().ok().and_then(|mut kept| kept.pop()).unwrap_or_else(Gunzip::new);
        let found =
            gunzip.expand(sent, self.limits.max_bytes).and_then(|body| Some((skim(body, &self.limits)?, body.len())));
        gunzip.shrink(MAX_KEPT_BYTES);
        if let Ok(mut kept) = self.buffers.lock() {
            if kept.len() < MAX_KEPT_BUFFERS {
                kept.push(gunzip);
            }
        }
        found
    }
}

#[pymethods]
impl Endpoint {
    #[new]
    fn new(limits: &Bound<'_, PyAny>, max_bytes: usize) -> PyResult<Self> {
        Ok(Endpoint { limits: Limits::read(limits, max_bytes, Vec::new(), Vec::new())?, buffers: Mutex::default() })
    }

    /// Returns the fields of the one envelope of a body, without its trace and marks, and the size of the expanded body.
    /// None if the twin has to look: the body is not plainly right, larger than the bound, a batch, or another dialect.
    fn check<'py>(&self, py: Python<'py>, sent: &Bound<'py, PyBytes>) -> Option<(Bound<'py, PyBytes>, usize)> {
        let bytes = sent.as_bytes();
        // A panic is a fault of this code, and the twin has none of it.
        let found = py.detach(|| catch_unwind(AssertUnwindSafe(|| self.check_body(bytes))).ok().flatten());
        found.map(|(head, size)| (PyBytes::new(py, &head), size))
    }
}
