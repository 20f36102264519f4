//! The tables of a trace, read straight into columns: no value per stack or sample is kept.

use crate::json::{once, Reader};
use crate::paths::depths;
use crate::wire::{
    is_longer, Frame, Limits, Trace, MARKERS, MAX_POSITION, MAX_SHORT_CHARS, NONE, NO_MARKER, OTHER_MARKER,
};
use std::borrow::Cow;

/// An id that may be missing or null: 31 bits, or `NONE`. It is compared with its table later.
#[inline]
fn read_id(reader: &mut Reader<'_>) -> Option<i32> {
    reader.nullable(Reader::whole)?.map_or(Some(NONE), |id| i32::try_from(id).ok().filter(|id| *id >= 0))
}

#[inline]
fn read_position(reader: &mut Reader<'_>) -> Option<i64> {
    let found = reader.nullable(Reader::whole)?;
    found.map_or(Some(-1), |position| (0..=MAX_POSITION).contains(&position).then_some(position))
}

/// Reads the field `trace` of an envelope. Ids, counts, depth, times and lengths of texts are checked.
pub fn read_trace<'a>(reader: &mut Reader<'a>, limits: &Limits) -> Option<Trace<'a>> {
    let (mut resources, mut frames, mut stacks, mut samples) = (None, None, None, None);
    reader.object(&["resources", "frames", "stacks", "samples"], |reader, key| match key {
        0 => once(&mut resources, read_resources(reader, limits)?),
        1 => once(&mut frames, read_frames(reader, limits)?),
        2 => once(&mut stacks, read_stacks(reader, limits)?),
        3 => once(&mut samples, read_samples(reader, limits)?),
        _ => reader.skip().map(drop),
    })?;
    let (resources, frames, stacks, samples) = (resources?, frames?, stacks?, samples?);
    let (resource_count, frame_count, stack_count) = (resources.len(), frames.len(), stacks.frame.len());
    let is_whole = frames.iter().all(|frame: &Frame| frame.resource < resource_count as i32)
        && stacks.frame.iter().all(|frame| (*frame as usize) < frame_count)
        && samples.stack.iter().all(|stack| *stack < stack_count as i32)
        && is_shallow(&stacks.parent, limits.depth);
    is_whole.then_some(Trace {
        resources,
        frames,
        stack_frame: stacks.frame,
        stack_parent: stacks.parent,
        time_ms: samples.time_ms,
        sample_stack: samples.stack,
        sample_marker: samples.marker,
        has_markers: samples.has_markers,
    })
}

/// Tells whether no stack has more calls than `most`. Fewer stacks cannot be deeper.
fn is_shallow(parents: &[i32], most: usize) -> bool {
    parents.len() <= most || depths(parents).iter().all(|depth| *depth as usize <= most)
}

fn read_resources<'a>(reader: &mut Reader<'a>, limits: &Limits) -> Option<Vec<Cow<'a, str>>> {
    let mut resources = Vec::new();
    reader.array(|reader| {
        let uri = reader.text()?;
        if is_longer(&uri, limits.uri_chars) || resources.len() == limits.resources {
            return None;
        }
        resources.push(uri);
        Some(())
    })?;
    Some(resources)
}

fn read_frames<'a>(reader: &mut Reader<'a>, limits: &Limits) -> Option<Vec<Frame<'a>>> {
    let mut frames = Vec::new();
    reader.array(|reader| {
        let (mut name, mut resource, mut line, mut column) = (None, None, None, None);
        reader.object(&["name", "resourceId", "line", "column"], |reader, key| match key {
            0 => once(&mut name, reader.text()?),
            1 => once(&mut resource, read_id(reader)?),
            2 => once(&mut line, read_position(reader)?),
            3 => once(&mut column, read_position(reader)?),
            _ => reader.skip().map(drop),
        })?;
        let name = name?;
        if is_longer(&name, limits.name_chars) || frames.len() == limits.frames {
            return None;
        }
        let (resource, line, column) = (resource.unwrap_or(NONE), line.unwrap_or(-1), column.unwrap_or(-1));
        frames.push(Frame { name, resource, line, column });
        Some(())
    })?;
    Some(frames)
}

struct Stacks {
    frame: Vec<i32>,
    parent: Vec<i32>,
}

fn read_stacks(reader: &mut Reader<'_>, limits: &Limits) -> Option<Stacks> {
    let mut stacks = Stacks { frame: Vec::new(), parent: Vec::new() };
    reader.array(|reader| {
        let (mut frame, mut parent) = (None, None);
        reader.object(&["frameId", "parentId"], |reader, key| match key {
            0 => once(&mut frame, i32::try_from(reader.whole()?).ok().filter(|id| *id >= 0)?),
            1 => once(&mut parent, read_id(reader)?),
            _ => reader.skip().map(drop),
        })?;
        let (frame, parent) = (frame?, parent.unwrap_or(NONE));
        if parent >= stacks.frame.len() as i32 || stacks.frame.len() == limits.stacks {
            return None;
        }
        stacks.frame.push(frame);
        stacks.parent.push(parent);
        Some(())
    })?;
    Some(stacks)
}

#[derive(Default)]
struct Samples {
    time_ms: Vec<f64>,
    stack: Vec<i32>,
    marker: Vec<i8>,
    has_markers: bool,
}

fn read_samples(reader: &mut Reader<'_>, limits: &Limits) -> Option<Samples> {
    let mut samples = Samples::default();
    let bound = limits.timestamp_ms;
    reader.array(|reader| {
        let (mut time, mut stack, mut marker) = (None, None, None);
        reader.object(&["timestamp", "stackId", "marker"], |reader, key| match key {
            0 => once(&mut time, reader.float()?),
            1 => once(&mut stack, read_id(reader)?),
            2 => once(&mut marker, reader.nullable(read_marker)?.unwrap_or(NO_MARKER)),
            _ => reader.skip().map(drop),
        })?;
        let (time, marker) = (time?, marker.unwrap_or(NO_MARKER));
        if !(-bound..=bound).contains(&time) || samples.time_ms.len() == limits.samples {
            return None;
        }
        samples.time_ms.push(time);
        samples.stack.push(stack.unwrap_or(NONE));
        if marker != NO_MARKER && !samples.has_markers {
            samples.has_markers = true;
            samples.marker = vec![NO_MARKER; samples.time_ms.len() - 1];
        }
        if samples.has_markers {
            samples.marker.push(marker);
        }
        Some(())
    })?;
    Some(samples)
}

fn read_marker(reader: &mut Reader<'_>) -> Option<i8> {
    let word = reader.text()?;
    if is_longer(&word, MAX_SHORT_CHARS) {
        return None;
    }
    Some(MARKERS.iter().position(|known| *known == word).map_or(OTHER_MARKER, |at| at as i8))
}
