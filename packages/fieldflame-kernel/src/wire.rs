//! The wire: one envelope, from bytes to columns, under the same limits as the pure twin.
//!
//! Whatever is not plainly right is refused without a reason: the pure twin then decodes the body and says what is
//! wrong. So this may refuse what the twin accepts, but must never accept what it refuses.

use crate::json::{once, Reader};
use crate::tables::read_trace;
use pyo3::prelude::*;
use std::borrow::Cow;

pub const NONE: i32 = -1;
pub const MARKERS: [&str; 6] = ["script", "gc", "style", "layout", "paint", "other"];
pub const NO_MARKER: i8 = -1;
pub const OTHER_MARKER: i8 = 5;

/// The wire's `Limits`, the most bytes of an expanded body, and the words of `NAVIGATIONS` and `CACHES` that may be posted.
pub struct Limits {
    pub samples: usize,
    pub stacks: usize,
    pub frames: usize,
    pub resources: usize,
    pub depth: usize,
    pub name_chars: usize,
    pub uri_chars: usize,
    pub text_chars: usize,
    pub page_chars: usize,
    pub marks: usize,
    pub tags: usize,
    pub timestamp_ms: f64,
    pub values: usize,
    pub max_bytes: usize,
    pub navigations: Vec<String>,
    pub caches: Vec<String>,
}

impl Limits {
    /// Reads the fields of the same names. Times beyond `MAX_TIME_MS` and ids beyond 31 bits are left to the twin.
    pub fn read(
        limits: &Bound<'_, PyAny>,
        max_bytes: usize,
        navigations: Vec<String>,
        caches: Vec<String>,
    ) -> PyResult<Self> {
        let count = |name: &str| limits.getattr(name)?.extract::<usize>();
        let id = |name: &str| Ok::<usize, PyErr>(count(name)?.min(MAX_ID));
        Ok(Limits {
            samples: id("samples")?,
            stacks: id("stacks")?,
            frames: id("frames")?,
            resources: id("resources")?,
            depth: count("depth")?,
            name_chars: count("name_chars")?,
            uri_chars: count("uri_chars")?,
            text_chars: count("text_chars")?,
            page_chars: count("page_chars")?,
            marks: count("marks")?,
            tags: count("tags")?,
            timestamp_ms: limits.getattr("timestamp_ms")?.extract::<f64>()?.min(MAX_TIME_MS),
            values: count("values")?,
            max_bytes,
            navigations,
            caches,
        })
    }
}

/// Three years: a trace spans at most 2 × 10¹⁴ µs, of which 46,000 fit into an `i64`. The default limit is 30 days.
pub const MAX_TIME_MS: f64 = 1e11;
const MAX_ID: usize = i32::MAX as usize;
pub const MAX_POSITION: i64 = i32::MAX as i64;
const MAX_SEQ: i64 = i32::MAX as i64;
const MIN_INTERVAL_MS: f64 = 0.001;
const MAX_INTERVAL_MS: f64 = 2_147_483.0;
const MIN_EPOCH_MS: f64 = 946_684_800_000.0;
const MAX_EPOCH_MS: f64 = 4_102_444_800_000.0;
const MAX_USER_AGENT_CHARS: usize = 2_000;
const MAX_SESSION_CHARS: usize = 64;
const MAX_COST_MS: f64 = 60_000.0;
pub const MAX_SHORT_CHARS: usize = 100;

/// A frame: its name, its resource (-1 for none), and its position (-1 for none).
pub struct Frame<'a> {
    pub name: Cow<'a, str>,
    pub resource: i32,
    pub line: i64,
    pub column: i64,
}

/// The columns of a trace.
pub struct Trace<'a> {
    pub resources: Vec<Cow<'a, str>>,
    pub frames: Vec<Frame<'a>>,
    pub stack_frame: Vec<i32>,
    pub stack_parent: Vec<i32>,
    pub time_ms: Vec<f64>,
    pub sample_stack: Vec<i32>,
    pub sample_marker: Vec<i8>,
    pub has_markers: bool,
}

/// A timed fact of the page, and how it is written. `scripts` is JSON of any kind (scripts.rs); `render_start` is None if
/// it is no number.
pub struct Mark<'a> {
    pub text: &'a str,
    pub kind: Cow<'a, str>,
    pub start: f64,
    pub duration: f64,
    pub scripts: Option<&'a str>,
    pub render_start: Option<f64>,
}

/// The sender itself: its version, and the address of its script if that is a file of its own.
pub struct Snippet<'a> {
    pub version: Cow<'a, str>,
    pub url: Option<Cow<'a, str>>,
}

/// What the fold and vitals need of an envelope. All its other fields have been checked.
pub struct Envelope<'a> {
    pub seq: i64,
    pub trace_id: Option<Cow<'a, str>>,
    pub time_origin: f64,
    pub view_start: Option<f64>,
    pub slow_rate: Option<f64>,
    pub url: Option<Cow<'a, str>>,
    pub snippet: Option<Snippet<'a>>,
    pub interval_ms: f64,
    pub marks: Vec<Mark<'a>>,
    pub trace: Trace<'a>,
}

/// The fields of an envelope as they are read: None for one that is absent, `Some(None)` for one that is null.
#[derive(Default)]
struct Fields<'a> {
    view_id: Option<Cow<'a, str>>,
    seq: Option<i64>,
    release: Option<Cow<'a, str>>,
    time_origin: Option<f64>,
    interval_ms: Option<f64>,
    trace: Option<Trace<'a>>,
    page: Option<Option<Cow<'a, str>>>,
    url: Option<Option<Cow<'a, str>>>,
    trace_id: Option<Option<Cow<'a, str>>>,
    view_start: Option<Option<f64>>,
    requested: Option<Option<f64>>,
    sample_rate: Option<f64>,
    slow_rate: Option<Option<f64>>,
    only_slow: Option<Option<bool>>,
    reason: Option<Option<Cow<'a, str>>>,
    navigation: Option<Option<Cow<'a, str>>>,
    cache: Option<Option<Cow<'a, str>>>,
    session: Option<Option<Cow<'a, str>>>,
    environment: Option<Option<Cow<'a, str>>>,
    request_trace: Option<Option<Cow<'a, str>>>,
    cost: Option<Option<()>>,
    snippet: Option<Option<Snippet<'a>>>,
    user_agent: Option<Option<Cow<'a, str>>>,
    isolated: Option<Option<bool>>,
    device: Option<Option<()>>,
    marks: Option<Vec<Mark<'a>>>,
    tags: Option<Option<()>>,
}

/// Returns the decoded envelope, or None if anything about it is not plainly right.
pub fn decode<'a>(body: &'a [u8], limits: &Limits) -> Option<Envelope<'a>> {
    if has_too_many_values(body, limits) {
        return None;
    }
    let mut reader = Reader::new(std::str::from_utf8(body).ok()?);
    let mut fields = Fields::default();
    reader.any_object(|reader, key| fields.read(key, reader, limits))?;
    if !reader.is_at_end() {
        return None;
    }
    fields.check(limits)
}

impl<'a> Fields<'a> {
    fn read(&mut self, key: &str, reader: &mut Reader<'a>, limits: &Limits) -> Option<()> {
        match key {
            "viewId" => once(&mut self.view_id, reader.text()?),
            "seq" => once(&mut self.seq, reader.whole()?),
            "release" => once(&mut self.release, reader.text()?),
            "timeOrigin" => once(&mut self.time_origin, reader.float()?),
            "sampleInterval" => once(&mut self.interval_ms, reader.float()?),
            "trace" => once(&mut self.trace, read_trace(reader, limits)?),
            "page" => once(&mut self.page, reader.nullable(Reader::text)?),
            "url" => once(&mut self.url, reader.nullable(Reader::text)?),
            "traceId" => once(&mut self.trace_id, reader.nullable(Reader::text)?),
            "viewStart" => once(&mut self.view_start, reader.nullable(Reader::float)?),
            "requestedInterval" => once(&mut self.requested, reader.nullable(Reader::float)?),
            "sampleRate" => once(&mut self.sample_rate, reader.float()?),
            "slowRate" => once(&mut self.slow_rate, reader.nullable(Reader::float)?),
            "onlySlow" => once(&mut self.only_slow, reader.nullable(Reader::bool)?),
            "reason" => once(&mut self.reason, reader.nullable(Reader::text)?),
            "navigation" => once(&mut self.navigation, reader.nullable(Reader::text)?),
            "cache" => once(&mut self.cache, reader.nullable(Reader::text)?),
            "session" => once(&mut self.session, reader.nullable(Reader::text)?),
            "environment" => once(&mut self.environment, reader.nullable(Reader::text)?),
            "requestTrace" => once(&mut self.request_trace, reader.nullable(Reader::text)?),
            "cost" => once(&mut self.cost, reader.nullable(read_cost)?),
            "snippet" => once(&mut self.snippet, reader.nullable(|reader| read_snippet(reader, limits))?),
            "userAgent" => once(&mut self.user_agent, reader.nullable(Reader::text)?),
            "isolated" => once(&mut self.isolated, reader.nullable(Reader::bool)?),
            "device" => once(&mut self.device, reader.nullable(read_device)?),
            "marks" => once(&mut self.marks, read_marks(reader, limits)?),
            "tags" => once(&mut self.tags, reader.nullable(|reader| read_tags(reader, limits))?),
            _ => reader.skip().map(drop),
        }
    }

    fn check(self, limits: &Limits) -> Option<Envelope<'a>> {
        let (page, url) = (self.page.flatten(), self.url.flatten());
        let has_text = |text: &Option<Cow<'_, str>>| text.as_ref().is_some_and(|text| !text.is_empty());
        let (release, interval_ms, trace) = (self.release?, self.interval_ms?, self.trace?);
        let (seq, time_origin, trace_id) = (self.seq?, self.time_origin?, self.trace_id.flatten());
        let (view_start, slow_rate, navigation) =
            (self.view_start.flatten(), self.slow_rate.flatten(), self.navigation.flatten());
        let is_right = is_uuid(&self.view_id?)
            && trace_id.as_ref().is_none_or(|text| is_uuid(text))
            && (0..=MAX_SEQ).contains(&seq)
            && !release.is_empty()
            && is_good(&release, limits.text_chars)
            && (MIN_EPOCH_MS..=MAX_EPOCH_MS).contains(&time_origin)
            && is_within(view_start, MIN_EPOCH_MS, MAX_EPOCH_MS)
            && (MIN_INTERVAL_MS..=MAX_INTERVAL_MS).contains(&interval_ms)
            && is_within(self.requested.flatten(), 0.0, MAX_INTERVAL_MS)
            && self.sample_rate.is_none_or(is_rate)
            && slow_rate.is_none_or(is_rate)
            && (has_text(&page) || has_text(&url))
            && is_text(&page, limits.page_chars)
            && is_text(&url, limits.uri_chars)
            && is_text(&self.reason.flatten(), MAX_SHORT_CHARS)
            && navigation.is_none_or(|word| limits.navigations.iter().any(|known| *known == word))
            && self.cache.flatten().is_none_or(|word| limits.caches.iter().any(|known| *known == word))
            && self.session.flatten().is_none_or(|id| is_session(&id))
            && is_text(&self.environment.flatten(), MAX_SHORT_CHARS)
            && is_text(&self.request_trace.flatten(), limits.text_chars)
            && is_text(&self.user_agent.flatten(), MAX_USER_AGENT_CHARS);
        let (snippet, marks) = (self.snippet.flatten(), self.marks.unwrap_or_default());
        is_right.then_some(Envelope {
            seq,
            trace_id,
            time_origin,
            view_start,
            slow_rate,
            url,
            snippet,
            interval_ms,
            marks,
            trace,
        })
    }
}

/// Tells whether a body has more JSON values than a limit, by its commas.
pub fn has_too_many_values(body: &[u8], limits: &Limits) -> bool {
    body.len() > limits.values && body.iter().filter(|byte| **byte == b',').count() > limits.values
}

/// Reads the field `marks` of an envelope, and checks all of them.
pub fn read_marks<'a>(reader: &mut Reader<'a>, limits: &Limits) -> Option<Vec<Mark<'a>>> {
    let bound = limits.timestamp_ms;
    let mut marks = Vec::new();
    reader.array(|reader| {
        let (mut kind, mut start, mut duration, mut scripts, mut render_start) = (None, None, None, None, None);
        let known = &["type", "start", "duration", "scripts", "renderStart"];
        let ((), text) = reader.with_text(|reader| {
            reader.object(known, |reader, key| match key {
                0 => once(&mut kind, reader.text()?),
                1 => once(&mut start, reader.float()?),
                2 => once(&mut duration, reader.float()?),
                3 => once(&mut scripts, reader.skip()?),
                4 => once(&mut render_start, reader.number_or_other()?),
                _ => reader.skip().map(drop),
            })
        })?;
        let (duration, render_start) = (duration.unwrap_or(0.0), render_start.flatten());
        let mark = Mark { text, kind: kind?, start: start?, duration, scripts, render_start };
        let is_right = is_good(&mark.kind, MAX_SHORT_CHARS)
            && (-bound..=bound).contains(&mark.start)
            && (0.0..=bound).contains(&mark.duration);
        if !is_right || marks.len() == limits.marks {
            return None;
        }
        marks.push(mark);
        Some(())
    })?;
    Some(marks)
}

fn read_cost(reader: &mut Reader<'_>) -> Option<()> {
    let (mut ms, mut sampled) = (None, None);
    reader.object(&["ms", "sampled"], |reader, key| match key {
        0 => once(&mut ms, reader.float()?),
        1 => once(&mut sampled, reader.nullable(Reader::float)?),
        _ => reader.skip().map(drop),
    })?;
    (is_within(ms?.into(), 0.0, MAX_COST_MS) && is_within(sampled.flatten(), 0.0, MAX_COST_MS)).then_some(())
}

fn read_snippet<'a>(reader: &mut Reader<'a>, limits: &Limits) -> Option<Snippet<'a>> {
    let (mut version, mut url) = (None, None);
    reader.object(&["version", "url"], |reader, key| match key {
        0 => once(&mut version, reader.text()?),
        1 => once(&mut url, reader.nullable(Reader::text)?),
        _ => reader.skip().map(drop),
    })?;
    let snippet = Snippet { version: version?, url: url.flatten() };
    let is_right = is_good(&snippet.version, MAX_SHORT_CHARS) && is_text(&snippet.url, limits.uri_chars);
    is_right.then_some(snippet)
}

fn read_device(reader: &mut Reader<'_>) -> Option<()> {
    let (mut memory, mut cores, mut mobile) = (None, None, None);
    reader.object(&["memory", "cores", "mobile"], |reader, key| match key {
        0 => once(&mut memory, reader.nullable(Reader::float)?),
        1 => once(&mut cores, reader.nullable(Reader::float)?),
        2 => once(&mut mobile, reader.nullable(Reader::bool)?),
        _ => reader.skip().map(drop),
    })
}

/// Reads tags: a list of texts, or texts by name. A name that stands twice counts twice.
fn read_tags(reader: &mut Reader<'_>, limits: &Limits) -> Option<()> {
    let mut count = 0;
    let mut read = |reader: &mut Reader<'_>| {
        count += 1;
        (count <= limits.tags && is_good(&reader.text()?, limits.text_chars)).then_some(())
    };
    if reader.peek()? == b'[' {
        return reader.array(read);
    }
    reader.any_object(|reader, key| is_good(key, limits.text_chars).then_some(()).and_then(|()| read(reader)))
}

fn is_text(text: &Option<Cow<'_, str>>, limit: usize) -> bool {
    text.as_ref().is_none_or(|text| is_good(text, limit))
}

fn is_good(text: &str, limit: usize) -> bool {
    !is_longer(text, limit) && !text.contains('\0')
}

fn is_session(text: &str) -> bool {
    (1..=MAX_SESSION_CHARS).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-')
}

fn is_uuid(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() == 36
        && bytes.iter().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

fn is_rate(rate: f64) -> bool {
    rate > 0.0 && rate <= 1.0
}

fn is_within(value: Option<f64>, low: f64, high: f64) -> bool {
    value.is_none_or(|value| (low..=high).contains(&value))
}

/// Tells whether a text has more characters than a limit.
pub fn is_longer(text: &str, limit: usize) -> bool {
    text.len() > limit && text.chars().count() > limit
}
