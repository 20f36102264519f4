//! Names and URIs of frames: known ones are found here, Python is asked about new ones (`FuncTable`, the one place
//! that repairs names and cleans URLs).

use crate::wire::Envelope;
use hashbrown::{Equivalent, HashMap};
use pyo3::prelude::*;
use pyo3::types::PyString;

/// What a frame says: its cleaned URI (-1 for none), line, column (-1 for none) and name.
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

/// The names of a batch that are known already, over the indexes of its `FuncTable`.
pub struct Names {
    table: Py<PyAny>,
    uri_ids: HashMap<Box<str>, i32>,
    uri_texts: Vec<Py<PyString>>,
    // By the resource as it was sent: the id of its URI, and the text that a page's own address is compared with.
    resources: HashMap<Box<str>, (i32, Box<str>)>,
    frames: HashMap<FrameKey, u32>,
    uri_of_func: Vec<i32>, // as in a frame
}

impl Names {
    pub fn new(table: Py<PyAny>) -> Self {
        Names {
            table,
            uri_ids: HashMap::new(),
            uri_texts: Vec::new(),
            resources: HashMap::new(),
            frames: HashMap::new(),
            uri_of_func: Vec::new(),
        }
    }

    /// Returns the index of every frame's func in the batch's table. `page` is the stored route.
    pub fn intern(&mut self, py: Python<'_>, envelope: &Envelope, page: &str) -> PyResult<Vec<u32>> {
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
        if !new.is_empty() {
            self.intern_new(py, envelope, new, &mut result)?;
        }
        Ok(result)
    }

    /// Returns the id of a stored URI, None if no func of the batch has it.
    pub fn uri_id(&self, uri: &str) -> Option<i32> {
        self.uri_ids.get(uri).copied()
    }

    /// Returns the id of the URI of a func that `intern` has returned, -1 for none.
    pub fn uri_of(&self, func: u32) -> i32 {
        self.uri_of_func[func as usize]
    }

    fn intern_new(
        &mut self,
        py: Python<'_>,
        envelope: &Envelope,
        new: Vec<(usize, i32)>,
        result: &mut [u32],
    ) -> PyResult<()> {
        let none = |position: i64| (position >= 0).then_some(position);
        let said: Vec<_> = new
            .iter()
            .map(|(place, uri)| {
                let frame = &envelope.trace.frames[*place];
                let text = usize::try_from(*uri).ok().map(|uri| self.uri_texts[uri].clone_ref(py));
                (text, none(frame.line), none(frame.column), &*frame.name)
            })
            .collect();
        let found: Vec<u32> = self.table.call_method1(py, "intern_said", (said,))?.extract(py)?;
        for ((at, uri), index) in new.into_iter().zip(found) {
            let frame = &envelope.trace.frames[at];
            let name = (&*frame.name).into();
            self.frames.insert(FrameKey { uri, line: frame.line, column: frame.column, name }, index);
            let place = index as usize;
            if self.uri_of_func.len() <= place {
                self.uri_of_func.resize(place + 1, -1);
            }
            self.uri_of_func[place] = uri;
            result[at] = index;
        }
        Ok(())
    }

    fn find_uri(&mut self, py: Python<'_>, resource: &str, page_url: Option<&str>, page: &str) -> PyResult<i32> {
        if !self.resources.contains_key(resource) {
            let (text, clean): (Py<PyString>, String) =
                self.table.call_method1(py, "read_plain_uri", (resource,))?.extract(py)?;
            let id = self.intern_uri(py, text)?;
            self.resources.insert(resource.into(), (id, clean.into()));
        }
        let (id, clean) = &self.resources[resource];
        if page_url != Some(clean) {
            return Ok(*id);
        }
        let text: Py<PyString> = self.table.call_method1(py, "read_uri", (resource, page_url, page))?.extract(py)?;
        self.intern_uri(py, text)
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

/// Returns a URL without query and fragment, as `clean_url` of the twin.
pub fn clean_url(url: &str) -> &str {
    let end = url.find('#').unwrap_or(url.len());
    let url = &url[..end];
    &url[..url.find('?').unwrap_or(url.len())]
}
