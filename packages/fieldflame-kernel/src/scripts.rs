//! The scripts of long animation frames: the twin of `profcore/trace/mark_types.py`.

use crate::hidden::Range;
use crate::json::{once, Reader};
use crate::weights::{part, to_us};
use crate::wire::Mark;
use std::borrow::Cow;

const MAX_FRAME_SCRIPTS: usize = 10_000;
const MAX_FRAME_COMMAS: usize = 30 * MAX_FRAME_SCRIPTS;
const MAX_SCRIPT_MS: f64 = 30.0 * 86_400_000.0;

/// A script of a long animation frame: its range, and its address as it was sent.
pub struct FrameScript<'a> {
    range: Range,
    pub address: Cow<'a, str>,
}

/// What the long animation frames tell that tell their scripts.
#[derive(Default)]
pub struct LongFrames<'a> {
    pub scripts: Vec<FrameScript<'a>>,
    renderings: Vec<Range>,
}

/// The ranges of `LongFrames`, each list in order and disjoint.
pub struct FrameRanges {
    pub scripts: Vec<Range>,
    pub renderings: Vec<Range>,
}

impl LongFrames<'_> {
    pub fn ranges(&self) -> FrameRanges {
        FrameRanges { scripts: script_ranges(self.scripts.iter()), renderings: part(self.renderings.clone()) }
    }
}

/// Returns the ranges of scripts as `script_ranges` of the twin.
pub fn script_ranges<'a>(scripts: impl Iterator<Item = &'a FrameScript<'a>>) -> Vec<Range> {
    part(scripts.map(|script| script.range).collect())
}

/// Returns frames as `read_frames` of the twin: `Some(None)` if there is none, None asks for the twin.
pub fn read_frames<'a>(marks: &[Mark<'a>]) -> Option<Option<LongFrames<'a>>> {
    let mut found: Option<LongFrames> = None;
    for mark in marks {
        let kind = mark.kind.to_lowercase();
        if kind != "long-animation-frame" && kind != "loaf" {
            continue;
        }
        if let Some(scripts) = read_scripts(mark)? {
            let frames = found.get_or_insert_default();
            frames.scripts.extend(scripts);
            frames.renderings.extend(read_rendering(mark));
        }
    }
    Some(found)
}

/// Returns when a frame was rendered, as `read_rendering` of the twin.
fn read_rendering(mark: &Mark) -> Option<Range> {
    let (start, end) = (mark.render_start?, mark.start + mark.duration);
    let is_right = start >= mark.start && start != 0.0 && start <= MAX_SCRIPT_MS && start < end;
    is_right.then(|| (to_us(start), to_us(end)))
}

/// Returns a frame's scripts; `Some(None)` if the frame does not tell, None to ask the twin.
fn read_scripts<'a>(mark: &Mark<'a>) -> Option<Option<Vec<FrameScript<'a>>>> {
    let Some(sent) = mark.scripts.filter(|sent| sent.starts_with('[')) else { return Some(None) };
    if sent.bytes().filter(|byte| *byte == b',').count() > MAX_FRAME_COMMAS {
        return Some(None);
    }
    let (mut count, mut found) = (0, Vec::new());
    Reader::new(sent).array(|reader| {
        count += 1;
        let script = read_script(reader)?;
        if count <= MAX_FRAME_SCRIPTS {
            found.extend(script);
        }
        Some(())
    })?;
    Some((!found.is_empty() || count == 0).then_some(found))
}

/// Returns an element of `scripts`; `Some(None)` if it is no script with a usable range.
fn read_script<'a>(reader: &mut Reader<'a>) -> Option<Option<FrameScript<'a>>> {
    if reader.peek()? != b'{' {
        return reader.skip().map(|_| None);
    }
    let (mut start, mut start_time, mut duration, mut url, mut source_url) = (None, None, None, None, None);
    reader.object(&["start", "startTime", "duration", "url", "sourceURL"], |reader, key| match key {
        0 => once(&mut start, reader.number_or_other()?),
        1 => once(&mut start_time, reader.number_or_other()?),
        2 => once(&mut duration, reader.number_or_other()?),
        3 => once(&mut url, reader.text_or_other()?),
        4 => once(&mut source_url, reader.text_or_other()?),
        _ => reader.skip().map(drop),
    })?;
    let start = start.or(start_time).flatten().filter(|start| (-MAX_SCRIPT_MS..=MAX_SCRIPT_MS).contains(start));
    let duration = duration.flatten().filter(|duration| (0.0..=MAX_SCRIPT_MS).contains(duration));
    let address = url.or(source_url).flatten().unwrap_or_default();
    let range = start.zip(duration).map(|(start, duration)| (to_us(start), to_us(start + duration)));
    Some(range.map(|range| FrameScript { range, address }))
}
