//! The wire: one envelope, from bytes to columns, under the same limits as the pure twin.
//!
//! Whatever is not plainly right is refused without a reason: the pure twin then decodes the body and says what is
//! wrong. So this may refuse what the twin accepts, but must never accept what it refuses.

use crate::json::{is_longer, set_once, wire_object, Float, Key, Str, Unknown, Whole};
use crate::paths::depths;
use crate::tables::TraceField;
use pyo3::prelude::*;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

pub const NONE: i32 = -1;
pub const MARKERS: [&str; 6] = ["script", "gc", "style", "layout", "paint", "other"];
pub const NO_MARKER: i8 = -1;
pub const OTHER_MARKER: i8 = 5;

/// The wire's `Limits`, the most bytes of an expanded body, and the words of `NAVIGATIONS` that may be posted.
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
}

impl Limits {
    /// Reads the fields of the same names. Times beyond `MAX_TIME_MS` and ids beyond 31 bits are left to the twin.
    pub fn read(limits: &Bound<'_, PyAny>, max_bytes: usize, navigations: Vec<String>) -> PyResult<Self> {
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
        })
    }
}

/// Three years: a trace spans at most 2 × 10¹⁴ µs, of which 46,000 fit into an `i64`. The default limit is 30 days.
pub const MAX_TIME_MS: f64 = 1e11;
const MAX_ID: usize = i32::MAX as usize;
pub const MAX_POSITION: i64 = i32::MAX as i64;
const MAX_SEQ: i64 = i32::MAX as i64;
const MAX_INTERVAL_MS: f64 = 2_147_483.0;
const MIN_EPOCH_MS: f64 = 946_684_800_000.0;
const MAX_EPOCH_MS: f64 = 4_102_444_800_000.0;
const MAX_USER_AGENT_CHARS: usize = 2_000;
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

pub struct Mark<'a> {
    pub kind: Cow<'a, str>,
    pub start: f64,
    pub duration: f64,
    pub scripts: Option<&'a RawValue>,
}

pub struct Envelope<'a> {
    pub url: Option<Cow<'a, str>>,
    pub interval_ms: f64,
    pub marks: Vec<Mark<'a>>,
    pub trace: Trace<'a>,
}

wire_object!(WireMark {
    "type" kind: Str<'de>,
    "start" start: Float,
    "duration" duration: Float,
    "scripts" scripts: &'de RawValue,
});

wire_object!(Device { "memory" memory: Option<Float>, "cores" cores: Option<Float>, "mobile" mobile: Option<bool> });

wire_object!(Cost { "ms" ms: Float });

#[derive(Deserialize)]
#[serde(untagged)]
enum Tags<'a> {
    List(#[serde(borrow)] Vec<Str<'a>>),
    Map(#[serde(borrow)] BTreeMap<String, Str<'a>>),
}

wire_object!(WireEnvelope {
    "viewId" view_id: Str<'de>,
    "seq" seq: Whole,
    "release" release: Str<'de>,
    "timeOrigin" time_origin: Float,
    "sampleInterval" interval: Float,
    "trace" trace: TraceField<'de>,
    "page" page: Option<Str<'de>>,
    "url" url: Option<Str<'de>>,
    "traceId" trace_id: Option<Str<'de>>,
    "viewStart" view_start: Option<Float>,
    "requestedInterval" requested: Option<Float>,
    "sampleRate" sample_rate: Float,
    "reason" reason: Option<Str<'de>>,
    "navigation" navigation: Option<Str<'de>>,
    "cost" cost: Option<Cost<'de>>,
    "userAgent" user_agent: Option<Str<'de>>,
    "isolated" isolated: Option<bool>,
    "device" device: Option<Device<'de>>,
    "marks" marks: Vec<WireMark<'de>>,
    "tags" tags: Option<Tags<'de>>,
});

fn is_text(text: &Option<Str>, limit: usize) -> bool {
    text.as_ref().is_none_or(|Str(text)| is_good(text, limit))
}

fn is_good(text: &str, limit: usize) -> bool {
    !is_longer(text, limit) && !text.contains('\0')
}

fn is_uuid(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() == 36
        && bytes.iter().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

fn within(value: &Option<Float>, low: f64, high: f64) -> bool {
    value.as_ref().is_none_or(|Float(value)| (low..=high).contains(value))
}

/// Returns the decoded envelope, or None if anything about it is not plainly right.
pub fn decode<'a>(body: &'a [u8], limits: &Limits) -> Option<Envelope<'a>> {
    if has_too_many_values(body, limits) {
        return None;
    }
    let text = std::str::from_utf8(body).ok()?;
    let wire: WireEnvelope<'a> = serde_json::from_str(text).ok()?;
    let (page, url) = (wire.page.flatten(), wire.url.flatten());
    let has_text = |text: &Option<Str>| text.as_ref().is_some_and(|Str(text)| !text.is_empty());
    let (release, interval_ms, trace) = (wire.release?.0, wire.interval?.0, wire.trace?.0);
    let is_right = is_uuid(&wire.view_id?.0)
        && wire.trace_id.flatten().is_none_or(|Str(text)| is_uuid(&text))
        && (0..=MAX_SEQ).contains(&wire.seq?.0)
        && !release.is_empty()
        && is_good(&release, limits.text_chars)
        && (MIN_EPOCH_MS..=MAX_EPOCH_MS).contains(&wire.time_origin?.0)
        && within(&wire.view_start.flatten(), MIN_EPOCH_MS, MAX_EPOCH_MS)
        && (0.001..=MAX_INTERVAL_MS).contains(&interval_ms)
        && within(&wire.requested.flatten(), 0.0, MAX_INTERVAL_MS)
        && wire.sample_rate.is_none_or(|Float(rate)| rate > 0.0 && rate <= 1.0)
        && (has_text(&page) || has_text(&url))
        && is_text(&page, limits.page_chars)
        && is_text(&url, limits.uri_chars)
        && is_text(&wire.reason.flatten(), MAX_SHORT_CHARS)
        && wire.navigation.flatten().is_none_or(|Str(word)| limits.navigations.iter().any(|known| *known == word))
        && wire.cost.flatten().is_none_or(|cost| cost.ms.is_some_and(|Float(ms)| (0.0..=MAX_COST_MS).contains(&ms)))
        && is_text(&wire.user_agent.flatten(), MAX_USER_AGENT_CHARS)
        && are_tags(&wire.tags.flatten(), limits)
        && is_trace(&trace, limits);
    if !is_right {
        return None;
    }
    let marks = read_marks(wire.marks.unwrap_or_default(), limits)?;
    Some(Envelope { url: url.map(|Str(text)| text), interval_ms, marks, trace })
}

/// Tells whether a body has more JSON values than a limit, by its commas.
pub fn has_too_many_values(body: &[u8], limits: &Limits) -> bool {
    body.len() > limits.values && body.iter().filter(|byte| **byte == b',').count() > limits.values
}

/// Returns marks as they are checked; None if they are not plainly right.
pub fn read_marks<'a>(marks: Vec<WireMark<'a>>, limits: &Limits) -> Option<Vec<Mark<'a>>> {
    let bound = limits.timestamp_ms;
    if marks.len() > limits.marks {
        return None;
    }
    let mut read = Vec::with_capacity(marks.len());
    for mark in marks {
        let (kind, start) = (mark.kind?.0, mark.start?.0);
        let duration = mark.duration.map_or(0.0, |Float(duration)| duration);
        if !is_good(&kind, MAX_SHORT_CHARS) || !(-bound..=bound).contains(&start) || !(0.0..=bound).contains(&duration)
        {
            return None;
        }
        if mark.scripts.is_some_and(|scripts| serde_json::from_str::<Unknown>(scripts.get()).is_err()) {
            return None;
        }
        read.push(Mark { kind, start, duration, scripts: mark.scripts });
    }
    Some(read)
}

fn are_tags(tags: &Option<Tags>, limits: &Limits) -> bool {
    match tags {
        None => true,
        Some(Tags::List(list)) => {
            list.len() <= limits.tags && list.iter().all(|Str(text)| is_good(text, limits.text_chars))
        }
        Some(Tags::Map(map)) => {
            map.len() <= limits.tags
                && map
                    .iter()
                    .all(|(key, Str(value))| is_good(key, limits.text_chars) && is_good(value, limits.text_chars))
        }
    }
}

/// Tells whether a trace is plainly right: counts, texts, ids, depth and times.
pub fn is_trace(trace: &Trace, limits: &Limits) -> bool {
    let (frames, stacks) = (trace.frames.len(), trace.stack_frame.len());
    let bound = limits.timestamp_ms;
    trace.resources.len() <= limits.resources
        && frames <= limits.frames
        && stacks <= limits.stacks
        && trace.time_ms.len() <= limits.samples
        && trace.resources.iter().all(|uri| !is_longer(uri, limits.uri_chars))
        && trace
            .frames
            .iter()
            .all(|frame| !is_longer(&frame.name, limits.name_chars) && frame.resource < trace.resources.len() as i32)
        && trace.stack_frame.iter().all(|frame| (*frame as usize) < frames)
        && trace.sample_stack.iter().all(|stack| *stack < stacks as i32)
        && trace.time_ms.iter().all(|time| (-bound..=bound).contains(time))
        && (stacks <= limits.depth || depths(&trace.stack_parent).iter().all(|depth| *depth as usize <= limits.depth))
}
