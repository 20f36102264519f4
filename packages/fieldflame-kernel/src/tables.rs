//! The tables of a trace, read straight into columns: no value per frame, stack or sample is kept.

use crate::json::{is_longer, set_once, ElementReader, Float, Key, Seq, Str, Unknown, Whole};
use crate::wire::{Frame, Trace, MARKERS, MAX_POSITION, MAX_SHORT_CHARS, NONE, NO_MARKER, OTHER_MARKER};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use std::borrow::Cow;
use std::fmt;

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
/// The field `trace` of an envelope.
pub struct TraceField<'a>(pub Trace<'a>);
impl<'de> Deserialize<'de> for TraceField<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(TraceVisitor).map(TraceField)
    }
}
