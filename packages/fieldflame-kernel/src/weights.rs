//! The weights of a trace's samples, and their kinds: the twin of `profcore/trace/weights.py` and `intervals.py`.

use crate::hidden::{find_hidden, HiddenRun, Range, OWN_SCRIPT};
use crate::own::ProfilerWork;
use crate::paths::NO_STACK;
use crate::scripts::FrameRanges;
use crate::wire::{Mark, Trace, MARKERS, NO_MARKER};

const GAP_CAP_TICKS: i64 = 10;
const MAX_USED_US: i64 = 1_000_000;
const MIN_GAPS: usize = 20;
const DISAGREES_FROM: i64 = 2;

#[derive(Default, Clone)]
pub struct TimeParts {
    pub us: [i64; 7],      // js, hidden, engine, idle, unobserved, profiler, span
    pub samples: [i64; 5], // js, hidden, engine, idle, profiler
}
impl TimeParts {
    /// Adds the parts of another trace.
    pub fn add(&mut self, other: &TimeParts) {
        self.us.iter_mut().zip(other.us).for_each(|(into, us)| *into += us);
        self.samples.iter_mut().zip(other.samples).for_each(|(into, samples)| *into += samples);
    }
}

pub const JS: usize = 0;
pub const HIDDEN: usize = 1;
pub const ENGINE: usize = 2;
pub const IDLE: usize = 3;
pub const UNOBSERVED: usize = 4;
pub const PROFILER: usize = 5;
pub const SPAN: usize = 6;
pub const PROFILER_SAMPLES: usize = 4;

/// The weights of a trace. The last four columns have its samples in order of time; without markers the last is empty.
pub struct Weighed {
    pub parts: TimeParts,
    pub stack_us: Vec<i64>,
    pub stack_samples: Vec<i64>,
    pub marker_us: Option<[i64; 6]>,
    pub measured_us: Option<i64>,
    pub interval_us: i64,
    pub runs: Vec<HiddenRun>,
    pub inside: Vec<Vec<i32>>,
    pub times: Vec<i64>,
    pub weights: Vec<i64>,
    pub stacks: Vec<i32>, // `OWN_SCRIPT` for those in scripts of the snippet
    pub markers: Vec<i8>,
}

pub fn to_us(ms: f64) -> i64 {
    (ms * 1000.0 + 0.5).floor() as i64
}

pub fn busy_ranges(marks: &[Mark]) -> Vec<Range> {
    let given = marks.iter().filter(|mark| mark.kind == "longtask");
    part(given.map(|mark| (to_us(mark.start), to_us(mark.start + mark.duration))).collect())
}

/// Parts ranges that overlap, as `_part` of the twin.
pub fn part(mut given: Vec<Range>) -> Vec<Range> {
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
    profiler: &ProfilerWork,
    reported_us: i64,
    busy: &[Range],
    frames: Option<&FrameRanges>,
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
        if profiler.stacks[stack] {
            parts.us[PROFILER] += stack_us[stack];
            parts.samples[PROFILER_SAMPLES] += stack_samples[stack];
            stack_us[stack] = 0;
            stack_samples[stack] = 0;
        }
    }
    parts.us[JS] = stack_us.iter().sum();
    parts.samples[JS] = stack_samples.iter().sum();
    if !profiler.scripts.is_empty() {
        for place in 0..times.len() {
            if stacks[place] == NO_STACK && is_within(&profiler.scripts, times[place]) {
                parts.us[PROFILER] += weights[place];
                parts.samples[PROFILER_SAMPLES] += 1;
                stacks[place] = OWN_SCRIPT;
            }
        }
    }
    let found = find_hidden(&times, &weights, &stacks, busy, frames.map(|frames| &*frames.scripts));
    parts.us[HIDDEN] = found.us;
    parts.samples[HIDDEN] = found.samples;
    parts.us[ENGINE] = found.engine_us;
    parts.samples[ENGINE] = found.engine_samples;
    let mut marker_us = None;
    if trace.has_markers {
        let mut sums = [0i64; MARKERS.len()];
        for (marker, weight) in markers.iter().zip(&weights) {
            if *marker != NO_MARKER {
                sums[*marker as usize] += weight;
            }
        }
        marker_us = Some(sums);
    }
    if trace.has_markers || frames.is_some_and(|frames| !frames.renderings.is_empty()) {
        for place in 0..times.len() {
            if stacks[place] == NO_STACK && !is_within(busy, times[place]) {
                if let Some(kind) = find_kind_outside_tasks(times[place], markers.get(place), frames) {
                    parts.us[kind] += weights[place];
                    parts.samples[kind] += 1;
                }
            }
        }
    }
    parts.us[IDLE] =
        span - parts.us[UNOBSERVED] - parts.us[JS] - parts.us[PROFILER] - parts.us[HIDDEN] - parts.us[ENGINE];
    parts.samples[IDLE] = times.len() as i64
        - parts.samples[JS]
        - parts.samples[HIDDEN]
        - parts.samples[ENGINE]
        - parts.samples[PROFILER_SAMPLES];
    Weighed {
        parts,
        stack_us,
        stack_samples,
        marker_us,
        measured_us,
        interval_us,
        runs: found.runs,
        inside: found.inside,
        times,
        weights,
        stacks,
        markers,
    }
}

/// Returns what work a sample without a stack is that lies in no task, as `find_work_outside_tasks` of the twin.
pub fn find_kind_outside_tasks(time: i64, marker: Option<&i8>, frames: Option<&FrameRanges>) -> Option<usize> {
    let is_marked = marker.is_some_and(|marker| (1..=4).contains(marker)); // gc, style, layout, paint: the engine's own
    if !is_marked && !frames.is_some_and(|frames| is_within(&frames.renderings, time)) {
        return None;
    }
    match frames {
        Some(frames) if !is_within(&frames.scripts, time) => Some(ENGINE),
        _ => is_marked.then_some(HIDDEN),
    }
}

pub fn is_within(ranges: &[Range], time: i64) -> bool {
    let place = ranges.partition_point(|range| range.0 <= time);
    place > 0 && time < ranges[place - 1].1
}
