//! The marks of a page view that its windows are found in, and these windows: the twin of `profcore/vitals/windows.py`
//! and `find_scripts`, over the marks as `profcore/trace/marks.py` reads and joins them.
//!
//! Facts of unusual kinds are left to the twin: None asks for it.

use crate::hidden::Range;
use crate::json::{once, Reader};
use crate::vitals::unite;
use crate::weights::to_us;
use crate::wire::{is_longer, Mark};
use hashbrown::hash_map::{Entry, HashMap};
use std::borrow::Cow;

/// A mark or a script with more values may have more facts than are kept.
const MAX_COMMAS: usize = 39;
const MAX_SCRIPTS: usize = 20;
const MAX_FACT_CHARS: usize = 400;
const EXACT: i64 = 1 << 53; // beyond, the twin reads floats
const PROFILER_SCRIPT: &str = "(profiler)";
const SAME_PAINT_US: i64 = 8_000;

/// The types of marks that windows are found in, in order of their words.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Kind {
    Interaction,
    NextPaint,
    LargestPaint,
    LongFrame,
}

/// Returns the kind of a mark, by its type or a synonym.
fn kind_of(sent: &str) -> Option<Kind> {
    match &*sent.to_lowercase() {
        "event" | "first-input" => Some(Kind::Interaction),
        "inp" => Some(Kind::NextPaint),
        "lcp" => Some(Kind::LargestPaint),
        "loaf" => Some(Kind::LongFrame),
        _ => match sent {
            "interaction" => Some(Kind::Interaction),
            "interaction-to-next-paint" => Some(Kind::NextPaint),
            "largest-contentful-paint" => Some(Kind::LargestPaint),
            "long-animation-frame" => Some(Kind::LongFrame),
            _ => None,
        },
    }
}

/// The facts of a mark that windows need. Times are µs; those of handlers are after the mark's start.
pub struct WindowMark {
    kind: Kind,
    text: String,
    start: i64,
    end: i64,
    name: String,
    target: String,
    interaction: Option<String>, // as written; None if it says nothing
    handlers: Option<Range>,
    scripts: Vec<SentScript>,
}

/// A script of a long animation frame: start after the frame's, duration and forced time in µs, cut at the frame's length.
struct SentScript {
    start: i64,
    took: i64,
    forced: i64,
    url: String,
    is_hidden: bool,
}

/// Returns the marks of a trace that windows are found in.
pub fn read_marks(marks: &[Mark]) -> Option<Vec<WindowMark>> {
    let wanted = marks.iter().filter_map(|mark| kind_of(&mark.kind).map(|kind| read_mark(kind, mark)));
    wanted.collect()
}

fn read_mark(kind: Kind, mark: &Mark) -> Option<WindowMark> {
    let (mut name, mut target, mut interaction, mut first, mut last) = (None, None, None, None, None);
    let known = &["name", "target", "interactionId", "processingStart", "processingEnd"];
    Reader::new(mark.text).object(known, |reader, key| match key {
        0 => once(&mut name, read_text(reader)?),
        1 => once(&mut target, read_text(reader)?),
        2 => once(&mut interaction, read_id(reader)?),
        3 => once(&mut first, read_moment(reader, mark.start)?),
        4 => once(&mut last, read_moment(reader, mark.start)?),
        _ => reader.skip().map(drop),
    })?;
    let commas = |text: &str| text.bytes().filter(|byte| *byte == b',').count();
    let name = name.unwrap_or_default();
    if commas(mark.text) - mark.scripts.map_or(0, commas) > MAX_COMMAS || !is_plain(&name) {
        return None;
    }
    let start = to_us(mark.start);
    let end = to_us(mark.start + mark.duration).max(start);
    let handlers = first.flatten().zip(last.flatten()).filter(|(first, last)| 0.0 <= *first && first <= last);
    let us = |ms: f64| (ms * 1000.0).round_ties_even() as i64;
    Some(WindowMark {
        kind,
        text: mark.text.into(),
        start,
        end,
        name: name.into(),
        target: target.unwrap_or_default().into(),
        interaction: interaction.flatten(),
        handlers: handlers.map(|(first, last)| (us(first), us(last))),
        scripts: if kind == Kind::LongFrame { read_scripts(mark, end - start)? } else { Vec::new() },
    })
}

/// Reads a fact that is a text: "" if there is none.
fn read_text<'a>(reader: &mut Reader<'a>) -> Option<Cow<'a, str>> {
    match reader.peek()? {
        b'"' | b'{' | b'[' => Some(reader.text_or_other()?.unwrap_or_default()),
        _ => reader.nullable(|_| None::<()>).map(|_| "".into()), // a number would be written out
    }
}

/// Tells whether the twin keeps a text as it is: one with a colon may have an address, of which it keeps a part.
fn is_plain(text: &str) -> bool {
    !text.contains(':') && !is_longer(text, MAX_FACT_CHARS)
}

/// Reads the id of an interaction. Numbers are equal if they are written alike, which is how one sender writes.
fn read_id(reader: &mut Reader<'_>) -> Option<Option<String>> {
    match reader.peek()? {
        b'"' => {
            let text = reader.text()?;
            is_plain(&text).then(|| (!text.is_empty()).then(|| format!("\"{text}")))
        }
        b'0'..=b'9' => {
            let number = reader.whole().filter(|number| *number < EXACT)?;
            Some((number != 0).then(|| number.to_string()))
        }
        _ => reader.nullable(|_| None::<()>).map(|_| None),
    }
}

/// Reads a time on the client's clock: ms after the start of its mark. 0 means that it is not known.
fn read_moment(reader: &mut Reader<'_>, start: f64) -> Option<Option<f64>> {
    if matches!(reader.peek()?, b't' | b'f') {
        return None;
    }
    Some(reader.number_or_other()?.filter(|moment| *moment != 0.0).map(|moment| moment - start))
}

fn read_scripts(mark: &Mark, frame_us: i64) -> Option<Vec<SentScript>> {
    let mut scripts = Vec::new();
    let Some(sent) = mark.scripts.filter(|sent| sent.starts_with('[')) else { return Some(scripts) };
    let mut count = 0;
    Reader::new(sent).array(|reader| {
        count += 1;
        if count > MAX_SCRIPTS || reader.peek()? != b'{' {
            return reader.skip().map(drop);
        }
        let (script, text) = reader.with_text(|reader| read_script(reader, mark.start, frame_us))?;
        scripts.push(script);
        (text.bytes().filter(|byte| *byte == b',').count() <= MAX_COMMAS).then_some(())
    })?;
    Some(scripts)
}

const SCRIPT_FACTS: [&str; 13] = [
    "start",
    "startTime",
    "duration",
    "forced",
    "forcedStyleAndLayoutDuration",
    "position",
    "sourceCharPosition",
    "function",
    "sourceFunctionName",
    "url",
    "sourceURL",
    "sourceUrl",
    "invoker",
];
const FIRST_NUMBER: usize = 2;
const FIRST_TEXT: usize = 7;

fn read_script(reader: &mut Reader<'_>, start: f64, frame_us: i64) -> Option<SentScript> {
    let mut numbers: [Option<Option<f64>>; FIRST_TEXT] = Default::default();
    let mut texts: [Option<Cow<'_, str>>; SCRIPT_FACTS.len() - FIRST_TEXT] = Default::default();
    reader.object(&SCRIPT_FACTS, |reader, key| match key {
        0..FIRST_NUMBER => once(&mut numbers[key], read_moment(reader, start)?),
        FIRST_NUMBER..FIRST_TEXT => once(&mut numbers[key], reader.number_or_other()?),
        FIRST_TEXT..13 => once(&mut texts[key - FIRST_TEXT], read_text(reader)?),
        _ => reader.skip().map(drop),
    })?;
    let ms = |places: std::ops::Range<usize>| numbers[places].iter().find_map(|number| number.flatten()).unwrap_or(0.0);
    let us = |ms: f64| to_us(ms.max(0.0).min(frame_us as f64 / 1000.0));
    let text = |places: std::ops::Range<usize>| {
        let mut said = texts[places].iter().flatten().filter(|text| !text.is_empty());
        said.next().map_or("", |text| text)
    };
    let url = text(2..5);
    // Of an address that is only a query nothing is left, and the next one counts.
    if url.starts_with(['?', '#']) || text(5..6) == PROFILER_SCRIPT {
        return None;
    }
    Some(SentScript {
        start: us(ms(0..2)),
        took: us(ms(2..3)),
        forced: us(ms(3..5)),
        url: url.into(),
        is_hidden: ms(5..7) < 0.0 && text(0..2).is_empty(),
    })
}

/// A script on the view's clock: start and end, what it forced, its address as sent, whether it is hidden, and its trace.
pub type ViewScript = (i64, i64, i64, String, bool, usize);

/// The windows of a view, as `ViewWindows` of the twin has them, and the scripts of its frames, in any order. `target` is as
/// it was sent in the trace with that number.
#[derive(Default)]
pub struct ViewMarks {
    pub ranges: Vec<(&'static str, Vec<Range>)>,
    pub event: String,
    pub target: String,
    pub target_trace: usize,
    pub frames: usize,
    pub scripts: Vec<ViewScript>,
}

/// A mark on the view's clock, of a trace with this number.
struct Joined<'a> {
    sent: &'a WindowMark,
    start: i64,
    end: i64,
    trace: usize,
}

impl Joined<'_> {
    fn handlers(&self) -> Option<Range> {
        self.sent.handlers.map(|(first, last)| (self.start + first, self.start + last))
    }
}

/// Finds the windows of a view in the marks of its traces, given with what moves each to the view's clock, in their order.
pub fn find_windows(traces: &[(&[WindowMark], i64)]) -> Option<ViewMarks> {
    let joined = join_marks(traces)?;
    let mut found = ViewMarks::default();
    let of_kind = |kind: Kind| joined.iter().filter(move |mark| mark.sent.kind == kind);
    let paint = of_kind(Kind::LargestPaint).map(|mark| mark.end).max().filter(|paint| *paint > 0);
    found.ranges.extend(paint.map(|paint| ("lcp", vec![(0, paint)])));
    let mut frames: Vec<Range> = of_kind(Kind::LongFrame).map(|mark| (mark.start, mark.end)).collect();
    frames.retain(|(start, end)| start < end);
    found.frames = frames.len();
    unite(&mut frames);
    if !frames.is_empty() {
        found.ranges.push(("long_frames", frames));
    }
    let events = || joined.iter().filter(|mark| mark.sent.kind <= Kind::NextPaint && mark.start < mark.end);
    let longest = events().min_by_key(|mark| {
        (mark.start - mark.end, mark.sent.handlers.is_none(), mark.start, mark.sent.kind, &mark.sent.name)
    });
    if let Some(longest) = longest {
        found.event = longest.sent.name.clone();
        found.target = longest.sent.target.clone();
        found.target_trace = longest.trace;
        found.ranges.push(("interaction", vec![(longest.start, longest.end)]));
        part_interaction(longest, &joined, &mut found.ranges);
    }
    found.scripts = of_kind(Kind::LongFrame).flat_map(scripts_of).collect();
    Some(found)
}

/// Joins marks as `join_marks` of the twin. None if a trace has two frames at one time that differ.
fn join_marks<'a>(traces: &[(&'a [WindowMark], i64)]) -> Option<Vec<Joined<'a>>> {
    let (mut joined, mut known) = (Vec::new(), HashMap::new());
    for (trace, (marks, shift_us)) in traces.iter().enumerate() {
        for sent in marks.iter() {
            let (start, end) = (sent.start + shift_us, sent.end + shift_us);
            match known.entry((sent.kind, &sent.name, start, end)) {
                Entry::Vacant(entry) => {
                    entry.insert((trace, &sent.text));
                }
                Entry::Occupied(entry) if entry.get().0 != trace || *entry.get().1 == sent.text => continue,
                Entry::Occupied(_) if sent.kind == Kind::LongFrame => return None,
                Entry::Occupied(_) => {}
            }
            joined.push(Joined { sent, start, end, trace });
        }
    }
    Some(joined)
}

/// Adds the three parts of an interaction, if its mark or one of its other events tells the times of its handlers.
fn part_interaction(longest: &Joined, joined: &[Joined], ranges: &mut Vec<(&'static str, Vec<Range>)>) {
    let is_event = |mark: &&Joined| match &longest.sent.interaction {
        None => std::ptr::eq(*mark, longest),
        id => {
            mark.sent.kind <= Kind::NextPaint
                && mark.sent.interaction == *id
                && (mark.end - longest.end).abs() <= SAME_PAINT_US
        }
    };
    let handlers: Vec<Range> = joined.iter().filter(is_event).filter_map(Joined::handlers).collect();
    let (start, end) = (longest.start, longest.end);
    let (Some(first), Some(last)) =
        (handlers.iter().map(|range| range.0).min(), handlers.iter().map(|range| range.1).max())
    else {
        return;
    };
    let first = first.max(start).min(end);
    let last = last.max(first).min(end);
    for (part, span) in [("input_delay", (start, first)), ("processing", (first, last)), ("presentation", (last, end))]
    {
        ranges.push((part, if span.0 < span.1 { vec![span] } else { Vec::new() }));
    }
}

/// Returns the scripts of a frame that took any time of it.
fn scripts_of<'a>(frame: &'a Joined) -> impl Iterator<Item = ViewScript> + 'a {
    frame.sent.scripts.iter().filter_map(|script| {
        let start = script.start + frame.start;
        let end = (start + script.took).min(frame.end);
        let row = || (start, end, script.forced, script.url.clone(), script.is_hidden, frame.trace);
        (start < end).then(row)
    })
}
