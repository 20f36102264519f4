//! The wire: one envelope, from bytes to columns, under the same limits as the pure twin.
//!
//! Whatever is not plainly right is refused without a reason: the pure twin then decodes the body and says what is
//! wrong. So this may refuse what the twin accepts, but must never accept what it refuses.

use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

pub const NONE: i32 = -1;
pub const MARKERS: [&str; 6] = ["script", "gc", "style", "layout", "paint", "other"];
pub const NO_MARKER: i8 = -1;
const OTHER_MARKER: i8 = 5;

#[derive(Clone)]
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
    pub navigations: Vec<String>,
}

const MAX_POSITION: i64 = i32::MAX as i64;
const MAX_SEQ: i64 = i32::MAX as i64;
const MAX_INTERVAL_MS: f64 = 2_147_483.0;
const MIN_EPOCH_MS: f64 = 946_684_800_000.0;
const MAX_EPOCH_MS: f64 = 4_102_444_800_000.0;
const MAX_USER_AGENT_CHARS: usize = 2_000;
const MAX_COST_MS: f64 = 60_000.0;
const MAX_SHORT_CHARS: usize = 100;

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

/// A string that borrows from the body where it has no escapes.
struct BorrowedText;

impl<'de> Visitor<'de> for BorrowedText {
    type Value = Cow<'de, str>;
    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a text")
    }
    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }
    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }
}

struct Str<'a>(Cow<'a, str>);
impl<'de> Deserialize<'de> for Str<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(BorrowedText).map(Str)
    }
}

/// A whole number as the twin reads it: a token without point and exponent.
struct Whole(i64);
struct WholeVisitor;
impl<'de> Visitor<'de> for WholeVisitor {
    type Value = i64;
    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a whole number")
    }
    fn visit_i64<E: Error>(self, value: i64) -> Result<i64, E> {
        Ok(value)
    }
    fn visit_u64<E: Error>(self, value: u64) -> Result<i64, E> {
        i64::try_from(value).map_err(E::custom)
    }
}
impl<'de> Deserialize<'de> for Whole {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_i64(WholeVisitor).map(Whole)
    }
}

fn set_once<T, E: Error>(slot: &mut Option<T>, value: T) -> Result<(), E> {
    if slot.is_some() {
        return Err(E::custom("twice")); // the twin takes the last one
    }
    *slot = Some(value);
    Ok(())
}

/// An object whose known fields may stand once each, in any order; a list in its place is refused, as by the twin.
macro_rules! wire_object {
    ($name:ident { $($key:literal $field:ident : $type:ty),* $(,)? }) => {
        #[derive(Default)]
        struct $name<'de> { $($field: Option<$type>,)* body: PhantomData<&'de ()> }
        impl<'de> Deserialize<'de> for $name<'de> {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Fields;
                impl<'de> Visitor<'de> for Fields {
                    type Value = $name<'de>;
                    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                        f.write_str("an object")
                    }
                    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                        let mut found = $name::default();
                        while let Some(Key(key)) = map.next_key::<Key>()? {
                            match &*key {
                                $($key => set_once(&mut found.$field, map.next_value()?)?,)*
                                _ => { map.next_value::<Unknown>()?; }
                            }
                        }
                        Ok(found)
                    }
                }
                deserializer.deserialize_map(Fields)
            }
        }
    };
}

/// Elements that push themselves into columns.
struct Elements<F>(F);
impl<'de, F> Visitor<'de> for Elements<F>
where
    F: ElementReader<'de>,
{
    type Value = F::Columns;
    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("an array")
    }
    fn visit_seq<A: SeqAccess<'de>>(mut self, mut seq: A) -> Result<Self::Value, A::Error> {
        while let Some(()) = seq.next_element_seed(Element(&mut self.0))? {}
        Ok(self.0.finish())
    }
}

trait ElementReader<'de>: Sized {
    type Columns;
    fn read<D: Deserializer<'de>>(&mut self, deserializer: D) -> Result<(), D::Error>;
    fn finish(self) -> Self::Columns;
}

struct Element<'r, F>(&'r mut F);
impl<'de, F: ElementReader<'de>> serde::de::DeserializeSeed<'de> for Element<'_, F> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.0.read(deserializer)
    }
}

// --- frames ---
struct FrameReader<'de>(Vec<Frame<'de>>);
struct FrameVisitor;
impl<'de> Visitor<'de> for FrameVisitor {
    type Value = Frame<'de>;
    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a frame")
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Frame<'de>, A::Error> {
        let mut name: Option<Cow<'de, str>> = None;
        let (mut resource, mut line, mut column) = (None, None, None);
        while let Some(Key(key)) = map.next_key::<Key>()? {
            match &*key {
                "name" => set_once(&mut name, map.next_value::<Str>()?.0)?,
                "resourceId" => set_once(&mut resource, map.next_value::<Option<Whole>>()?)?,
                "line" => set_once(&mut line, map.next_value::<Option<Whole>>()?)?,
                "column" => set_once(&mut column, map.next_value::<Option<Whole>>()?)?,
                _ => {
                    map.next_value::<Unknown>()?;
                }
            }
        }
        let whole = |slot: Option<Option<Whole>>, high: i64| match slot.flatten() {
            None => Ok(-1),
            Some(Whole(value)) if (0..=high).contains(&value) => Ok(value),
            Some(_) => Err(A::Error::custom("out of range")),
        };
        Ok(Frame {
            name: name.ok_or_else(|| A::Error::custom("no name"))?,
            resource: whole(resource, i32::MAX as i64)? as i32,
            line: whole(line, MAX_POSITION)?,
            column: whole(column, MAX_POSITION)?,
        })
    }
}
impl<'de> ElementReader<'de> for FrameReader<'de> {
    type Columns = Vec<Frame<'de>>;
    fn read<D: Deserializer<'de>>(&mut self, deserializer: D) -> Result<(), D::Error> {
        self.0.push(deserializer.deserialize_map(FrameVisitor)?);
        Ok(())
    }
    fn finish(self) -> Self::Columns {
        self.0
    }
}

// --- stacks ---
#[derive(Default)]
struct StackReader {
    frame: Vec<i32>,
    parent: Vec<i32>,
}
struct StackVisitor<'r>(&'r mut StackReader);
impl<'de> Visitor<'de> for StackVisitor<'_> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a stack")
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let (mut frame, mut parent): (Option<Whole>, Option<Option<Whole>>) = (None, None);
        while let Some(Key(key)) = map.next_key::<Key>()? {
            match &*key {
                "frameId" => set_once(&mut frame, map.next_value::<Whole>()?)?,
                "parentId" => set_once(&mut parent, map.next_value::<Option<Whole>>()?)?,
                _ => {
                    map.next_value::<Unknown>()?;
                }
            }
        }
        let Whole(frame) = frame.ok_or_else(|| A::Error::custom("no frameId"))?;
        let parent = match parent.flatten() {
            None => -1,
            Some(Whole(parent)) if parent >= 0 => parent,
            Some(_) => return Err(A::Error::custom("a parent below zero")),
        };
        let index = self.0.frame.len() as i64;
        if !(0..=i32::MAX as i64).contains(&frame) || parent >= index {
            return Err(A::Error::custom("dangling"));
        }
        self.0.frame.push(frame as i32);
        self.0.parent.push(parent as i32);
        Ok(())
    }
}
impl<'de> ElementReader<'de> for StackReader {
    type Columns = Self;
    fn read<D: Deserializer<'de>>(&mut self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(StackVisitor(self))
    }
    fn finish(self) -> Self {
        self
    }
}

// --- samples ---
#[derive(Default)]
struct SampleReader {
    time_ms: Vec<f64>,
    stack: Vec<i32>,
    marker: Vec<i8>,
    has_markers: bool,
}
struct SampleVisitor<'r>(&'r mut SampleReader);
impl<'de> Visitor<'de> for SampleVisitor<'_> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a sample")
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut time: Option<f64> = None;
        let mut stack: Option<Option<Whole>> = None;
        let mut marker: Option<Option<Str<'de>>> = None;
        while let Some(Key(key)) = map.next_key::<Key>()? {
            match &*key {
                "timestamp" => set_once(&mut time, map.next_value::<Float>()?.0)?,
                "stackId" => set_once(&mut stack, map.next_value::<Option<Whole>>()?)?,
                "marker" => set_once(&mut marker, map.next_value::<Option<Str>>()?)?,
                _ => {
                    map.next_value::<Unknown>()?;
                }
            }
        }
        let stack = match stack.flatten() {
            None => NONE,
            Some(Whole(stack)) if (0..=i32::MAX as i64).contains(&stack) => stack as i32,
            Some(_) => return Err(A::Error::custom("dangling")),
        };
        self.0.time_ms.push(time.ok_or_else(|| A::Error::custom("no timestamp"))?);
        self.0.stack.push(stack);
        self.0.marker.push(match marker.flatten() {
            None => NO_MARKER,
            Some(Str(word)) => {
                if is_longer(&word, MAX_SHORT_CHARS) {
                    return Err(A::Error::custom("a long marker"));
                }
                self.0.has_markers = true;
                MARKERS.iter().position(|known| *known == word).map_or(OTHER_MARKER, |at| at as i8)
            }
        });
        Ok(())
    }
}
impl<'de> ElementReader<'de> for SampleReader {
    type Columns = Self;
    fn read<D: Deserializer<'de>>(&mut self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(SampleVisitor(self))
    }
    fn finish(self) -> Self {
        self
    }
}

/// A finite number: serde_json refuses others.
struct Float(f64);
struct FloatVisitor;
impl<'de> Visitor<'de> for FloatVisitor {
    type Value = f64;
    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a number")
    }
    fn visit_f64<E: Error>(self, value: f64) -> Result<f64, E> {
        Ok(value)
    }
    fn visit_i64<E: Error>(self, value: i64) -> Result<f64, E> {
        Ok(value as f64)
    }
    fn visit_u64<E: Error>(self, value: u64) -> Result<f64, E> {
        Ok(value as f64)
    }
}
impl<'de> Deserialize<'de> for Float {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_f64(FloatVisitor).map(Float)
    }
}

struct Key<'a>(Cow<'a, str>);
impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(BorrowedText).map(Key)
    }
}

/// A value of a field that nobody reads. Its numbers and texts are checked as far as the twin checks them.
struct Unknown;
impl<'de> Deserialize<'de> for Unknown {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Unknown)
    }
}

struct TraceVisitor;
impl<'de> Visitor<'de> for TraceVisitor {
    type Value = Trace<'de>;
    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a trace")
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Trace<'de>, A::Error> {
        let (mut resources, mut frames, mut stacks, mut samples) = (None, None, None, None);
        while let Some(Key(key)) = map.next_key::<Key>()? {
            match &*key {
                "resources" => set_once(&mut resources, map.next_value::<Vec<Str>>()?)?,
                "frames" => set_once(&mut frames, map.next_value_seed(Seq(FrameReader(Vec::new())))?)?,
                "stacks" => set_once(&mut stacks, map.next_value_seed(Seq(StackReader::default()))?)?,
                "samples" => set_once(&mut samples, map.next_value_seed(Seq(SampleReader::default()))?)?,
                _ => {
                    map.next_value::<Unknown>()?;
                }
            }
        }
        let missing = || A::Error::custom("a missing table");
        let (stacks, samples) = (stacks.ok_or_else(missing)?, samples.ok_or_else(missing)?);
        Ok(Trace {
            resources: resources.ok_or_else(missing)?.into_iter().map(|Str(text)| text).collect(),
            frames: frames.ok_or_else(missing)?,
            stack_frame: stacks.frame,
            stack_parent: stacks.parent,
            time_ms: samples.time_ms,
            sample_stack: samples.stack,
            sample_marker: samples.marker,
            has_markers: samples.has_markers,
        })
    }
}
struct TraceField<'a>(Trace<'a>);
impl<'de> Deserialize<'de> for TraceField<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(TraceVisitor).map(TraceField)
    }
}

struct Seq<F>(F);
impl<'de, F: ElementReader<'de>> serde::de::DeserializeSeed<'de> for Seq<F> {
    type Value = F::Columns;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_seq(Elements(self.0))
    }
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
    Map(#[serde(borrow)] std::collections::BTreeMap<String, Str<'a>>),
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

fn is_longer(text: &str, limit: usize) -> bool {
    text.len() > limit && text.chars().count() > limit
}

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
    if body.len() > limits.values && body.iter().filter(|byte| **byte == b',').count() > limits.values {
        return None;
    }
    let text = std::str::from_utf8(body).ok()?;
    let wire: WireEnvelope<'a> = serde_json::from_str(text).ok()?;
    let (page, url) = (wire.page.flatten(), wire.url.flatten());
    let has_text = |text: &Option<Str>| text.as_ref().is_some_and(|Str(text)| !text.is_empty());
    let (release, interval_ms, trace) = (wire.release?.0, wire.interval?.0, wire.trace?.0);
    let marks = wire.marks.unwrap_or_default();
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
        && marks.len() <= limits.marks
        && are_tags(&wire.tags.flatten(), limits)
        && is_trace(&trace, limits);
    if !is_right {
        return None;
    }
    let bound = limits.timestamp_ms;
    let mut read = Vec::with_capacity(marks.len());
    for mark in marks {
        let (kind, start) = (mark.kind?.0, mark.start?.0);
        let duration = mark.duration.map_or(0.0, |Float(duration)| duration);
        if !is_good(&kind, MAX_SHORT_CHARS) || !(-bound..=bound).contains(&start) || !(0.0..=bound).contains(&duration) {
            return None;
        }
        read.push(Mark { kind, start, duration, scripts: mark.scripts });
    }
    Some(Envelope { url: url.map(|Str(text)| text), interval_ms, marks: read, trace })
}

fn are_tags(tags: &Option<Tags>, limits: &Limits) -> bool {
    match tags {
        None => true,
        Some(Tags::List(list)) => list.len() <= limits.tags && list.iter().all(|Str(text)| is_good(text, limits.text_chars)),
        Some(Tags::Map(map)) => {
            map.len() <= limits.tags
                && map.iter().all(|(key, Str(value))| is_good(key, limits.text_chars) && is_good(value, limits.text_chars))
        }
    }
}

fn is_trace(trace: &Trace, limits: &Limits) -> bool {
    let (frames, stacks) = (trace.frames.len(), trace.stack_frame.len());
    let bound = limits.timestamp_ms;
    trace.resources.len() <= limits.resources
        && frames <= limits.frames
        && stacks <= limits.stacks
        && trace.time_ms.len() <= limits.samples
        && trace.resources.iter().all(|uri| !is_longer(uri, limits.uri_chars))
        && trace.frames.iter().all(|frame| {
            !is_longer(&frame.name, limits.name_chars) && frame.resource < trace.resources.len() as i32
        })
        && trace.stack_frame.iter().all(|frame| (*frame as usize) < frames)
        && trace.sample_stack.iter().all(|stack| *stack < stacks as i32)
        && trace.time_ms.iter().all(|time| (-bound..=bound).contains(time))
        && (stacks <= limits.depth || depths(&trace.stack_parent).iter().all(|depth| *depth as usize <= limits.depth))
}

pub fn depths(prefix: &[i32]) -> Vec<u32> {
    let mut depths: Vec<u32> = Vec::with_capacity(prefix.len());
    for parent in prefix {
        depths.push(if *parent < 0 { 1 } else { depths[*parent as usize] + 1 });
    }
    depths
}
