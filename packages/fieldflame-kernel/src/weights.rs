//! The weights of a trace's samples, and their kinds: the twin of `profcore/trace/weights.py` and `intervals.py`.

use crate::hidden::{find_hidden, HiddenRun, Range};
use crate::wire::{Mark, Trace, MARKERS, NO_MARKER};
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

const GAP_CAP_TICKS: i64 = 10;
const MAX_USED_US: i64 = 1_000_000;
const MIN_GAPS: usize = 20;
const DISAGREES_FROM: i64 = 2;
const MAX_FRAME_SCRIPTS: usize = 10_000;
const MAX_FRAME_COMMAS: usize = 30 * MAX_FRAME_SCRIPTS;
const MAX_SCRIPT_MS: f64 = 30.0 * 86_400_000.0;
const EXACT: f64 = 9_007_199_254_740_992.0;

#[derive(Default, Clone)]
pub struct TimeParts {
    pub us: [i64; 7],      // js, hidden, engine, idle, unobserved, profiler, span
    pub samples: [i64; 5], // js, hidden, engine, idle, profiler
}
pub const JS: usize = 0;
pub const HIDDEN: usize = 1;
pub const ENGINE: usize = 2;
pub const IDLE: usize = 3;
pub const UNOBSERVED: usize = 4;
pub const PROFILER: usize = 5;
pub const SPAN: usize = 6;
pub const PROFILER_SAMPLES: usize = 4;

pub struct Weighed {
    pub parts: TimeParts,
    pub stack_us: Vec<i64>,
    pub stack_samples: Vec<i64>,
    pub marker_us: Option<[i64; 6]>,
    pub measured_us: Option<i64>,
    pub interval_us: i64,
    pub runs: Vec<HiddenRun>,
    pub inside: Vec<Vec<i32>>,
}

pub fn to_us(ms: f64) -> i64 {
    (ms * 1000.0 + 0.5).floor() as i64
}

pub fn busy_ranges(marks: &[Mark]) -> Vec<Range> {
    let given = marks.iter().filter(|mark| mark.kind == "longtask");
    part(given.map(|mark| (to_us(mark.start), to_us(mark.start + mark.duration))).collect())
}

/// The ranges of the scripts of long animation frames, None if no frame tells its own. `Err` asks for the twin.
pub fn script_ranges(marks: &[Mark]) -> Result<Option<Vec<Range>>, ()> {
    let mut found: Option<Vec<Range>> = None;
    for mark in marks {
        let kind = mark.kind.to_lowercase();
        if kind != "long-animation-frame" && kind != "loaf" {
            continue;
        }
        if let Some(scripts) = read_scripts(mark)? {
            found.get_or_insert_with(Vec::new).extend(scripts);
        }
    }
    Ok(found.map(part))
}

fn read_scripts(mark: &Mark) -> Result<Option<Vec<Range>>, ()> {
    let Some(sent) = mark.scripts else { return Ok(None) };
    let text = sent.get();
    if text.bytes().filter(|byte| *byte == b',').count() > MAX_FRAME_COMMAS {
        return Ok(None);
    }
    if !text.starts_with('[') {
        return Ok(None);
    }
    if !is_plain(text) {
        return Err(());
    }
    let elements: Vec<Element> = serde_json::from_str(text).map_err(|_| ())?;
    let mut found = Vec::new();
    for element in elements.iter().take(MAX_FRAME_SCRIPTS) {
        let Element::Script(start, start_time, duration) = element else { continue };
        if let (Some(start), Some(duration)) =
            (usable(start.or(*start_time), -MAX_SCRIPT_MS)?, usable(*duration, 0.0)?)
        {
            found.push((to_us(start), to_us(start + duration)));
        }
    }
    Ok(if !found.is_empty() || elements.is_empty() { Some(found) } else { None })
}

/// Tells whether a text of JSON has neither escapes nor exponents: what is read here then is what the twin reads.
fn is_plain(text: &str) -> bool {
    let (mut is_text, mut before) = (false, b' ');
    for byte in text.bytes() {
        match byte {
            b'\\' => return false,
            b'"' => is_text = !is_text,
            b'e' | b'E' if !is_text && before.is_ascii_digit() => return false,
            _ => {}
        }
        before = byte;
    }
    true
}

/// A value is absent, something else than a number, or a number.
#[derive(Clone, Copy)]
enum Value {
    Other,
    Number(f64),
}

fn usable(value: Option<Value>, least: f64) -> Result<Option<f64>, ()> {
    match value {
        Some(Value::Number(value)) if value.abs() >= EXACT => Err(()),
        Some(Value::Number(value)) => Ok((least..=MAX_SCRIPT_MS).contains(&value).then_some(value)),
        _ => Ok(None),
    }
}

/// An element of `scripts`: its `start`, `startTime` and `duration`, or no object.
enum Element {
    Script(Option<Value>, Option<Value>, Option<Value>),
    Other,
}

macro_rules! visit_others {
    ($other:expr) => {
        fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
            f.write_str("any value")
        }
        fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
            Ok($other)
        }
        fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
            Ok($other)
        }
        fn visit_unit<E>(self) -> Result<Self::Value, E> {
            Ok($other)
        }
        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
            while seq.next_element::<IgnoredAny>()?.is_some() {}
            Ok($other)
        }
    };
}

impl<'de> Deserialize<'de> for Element {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;
        impl<'de> Visitor<'de> for Fields {
            type Value = Element;
            visit_others!(Element::Other);
            fn visit_f64<E>(self, _: f64) -> Result<Element, E> {
                Ok(Element::Other)
            }
            fn visit_i64<E>(self, _: i64) -> Result<Element, E> {
                Ok(Element::Other)
            }
            fn visit_u64<E>(self, _: u64) -> Result<Element, E> {
                Ok(Element::Other)
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Element, A::Error> {
                let (mut start, mut start_time, mut duration) = (None, None, None);
                while let Some(key) = map.next_key::<&str>()? {
                    match key {
                        "start" => start = Some(map.next_value()?),
                        "startTime" => start_time = Some(map.next_value()?),
                        "duration" => duration = Some(map.next_value()?),
                        _ => {
                            map.next_value::<IgnoredAny>()?;
                        }
                    }
                }
                Ok(Element::Script(start, start_time, duration))
            }
        }
        deserializer.deserialize_any(Fields)
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Number;
        impl<'de> Visitor<'de> for Number {
            type Value = Value;
            visit_others!(Value::Other);
            fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
                Ok(Value::Number(value))
            }
            fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
                Ok(Value::Number(value as f64))
            }
            fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
                Ok(Value::Number(value as f64))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Value::Other)
            }
        }
        deserializer.deserialize_any(Number)
    }
}

fn part(mut given: Vec<Range>) -> Vec<Range> {
    given.sort_unstable();
    let mut ranges: Vec<Range> = Vec::with_capacity(given.len());
    for (start, own_end) in given {
        if own_end <= start {
            continue;
        }
        let mut end = own_end;
        if let Some(&(before, before_end)) = ranges.last() {
            if start < before_end {
                ranges.pop();
                end = own_end.max(before_end);
                if before < start {
                    ranges.push((before, start));
                }
            }
        }
        ranges.push((start, end));
    }
    ranges
}

fn settle_interval(reported_us: i64, ascending: &[i64]) -> i64 {
    let mut used = reported_us.max(1);
    let cap = GAP_CAP_TICKS * used;
    let low = ascending.partition_point(|gap| *gap <= 0);
    let below = ascending.partition_point(|gap| *gap < cap);
    let above = ascending.partition_point(|gap| *gap <= cap);
    let count = (below - low) + (ascending.len() - above);
    let at = |place: usize| ascending[if place < below - low { low + place } else { above + place - (below - low) }];
    if count >= MIN_GAPS {
        let (median, high) = (at(count / 2), at(count * 95 / 100));
        if median > DISAGREES_FROM * used {
            used = median;
        } else if used > DISAGREES_FROM * high {
            used = high;
        }
    }
    used.min(MAX_USED_US)
}

pub fn weigh(
    trace: &Trace,
    profiler_stacks: &[bool],
    reported_us: i64,
    busy: &[Range],
    scripts: Option<&[Range]>,
) -> Weighed {
    let mut times: Vec<i64> = trace.time_ms.iter().map(|ms| to_us(*ms)).collect();
    let mut stacks: Vec<i32> = trace.sample_stack.clone();
    let mut markers: Vec<i8> = if trace.has_markers { trace.sample_marker.clone() } else { Vec::new() };
    if !times.is_sorted() {
        let mut order: Vec<u32> = (0..times.len() as u32).collect();
        order.sort_by_key(|place| times[*place as usize]);
        times = order.iter().map(|place| times[*place as usize]).collect();
        stacks = order.iter().map(|place| stacks[*place as usize]).collect();
        if trace.has_markers {
            markers = order.iter().map(|place| markers[*place as usize]).collect();
        }
    }
    let mut gaps: Vec<i64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let mut ascending = gaps.clone();
    ascending.sort_unstable();
    let positive = ascending.partition_point(|gap| *gap <= 0);
    let measured_us = (positive < gaps.len()).then(|| ascending[(positive + gaps.len()) / 2]);
    let interval_us = settle_interval(reported_us, &ascending);
    if !times.is_empty() {
        gaps.push(interval_us);
    }
    let span: i64 = gaps.iter().sum();
    let cap = GAP_CAP_TICKS * interval_us;
    let weights: Vec<i64> = gaps.iter().map(|gap| (*gap).min(cap)).collect();
    let count = trace.stack_frame.len();
    let (mut stack_us, mut stack_samples) = (vec![0i64; count], vec![0i64; count]);
    for (stack, weight) in stacks.iter().zip(&weights) {
        if *stack >= 0 {
            stack_us[*stack as usize] += weight;
            stack_samples[*stack as usize] += 1;
        }
    }
    let mut parts = TimeParts::default();
    parts.us[SPAN] = span;
    parts.us[UNOBSERVED] = span - weights.iter().sum::<i64>();
    for stack in 0..count {
        if profiler_stacks[stack] {
            parts.us[PROFILER] += stack_us[stack];
            parts.samples[PROFILER_SAMPLES] += stack_samples[stack];
            stack_us[stack] = 0;
            stack_samples[stack] = 0;
        }
    }
    parts.us[JS] = stack_us.iter().sum();
    parts.samples[JS] = stack_samples.iter().sum();
    let found = find_hidden(&times, &weights, &stacks, busy, scripts);
    parts.us[HIDDEN] = found.us;
    parts.samples[HIDDEN] = found.samples;
    parts.us[ENGINE] = found.engine_us;
    parts.samples[ENGINE] = found.engine_samples;
    let mut marker_us = None;
    if trace.has_markers {
        let mut sums = [0i64; MARKERS.len()];
        for place in 0..times.len() {
            let marker = markers[place];
            if marker == NO_MARKER {
                continue;
            }
            sums[marker as usize] += weights[place];
            // gc, style, layout and paint are the engine's own work.
            if stacks[place] < 0 && (1..=4).contains(&marker) && !is_within(busy, times[place]) {
                let kind = if scripts.is_none_or(|scripts| is_within(scripts, times[place])) { HIDDEN } else { ENGINE };
                parts.us[kind] += weights[place];
                parts.samples[kind] += 1;
            }
        }
        marker_us = Some(sums);
    }
    parts.us[IDLE] = span
        - parts.us[UNOBSERVED]
        - parts.us[JS]
        - parts.us[PROFILER]
        - parts.us[HIDDEN]
        - parts.us[ENGINE];
    parts.samples[IDLE] = times.len() as i64
        - parts.samples[JS]
        - parts.samples[HIDDEN]
        - parts.samples[ENGINE]
        - parts.samples[PROFILER_SAMPLES];
    Weighed { parts, stack_us, stack_samples, marker_us, measured_us, interval_us, runs: found.runs, inside: found.inside }
}

fn is_within(ranges: &[Range], time: i64) -> bool {
    let place = ranges.partition_point(|range| range.0 <= time);
    place > 0 && time < ranges[place - 1].1
}
