//! The samples of a page view on its clock: the twin of `profcore/formats/observed.py`, `profcore/formats/timeline.py`
//! and `tile_samples`, as far as vitals need them.

use crate::hidden::{attribute_samples, skip_profiler, OWN_SCRIPT};
use crate::marks::WindowMark;
use crate::own::{find_profiler_work, SnippetFunctions};
use crate::paths::NO_STACK;
use crate::scripts::LongFrames;
use crate::sums::{PlacedFuncs, Places};
use crate::weights::{busy_ranges, find_kind_outside_tasks, is_within, to_us, weigh};
use crate::wire::{Envelope, NO_MARKER};
use hashbrown::HashMap;

/// The kinds of samples, by their places in `WINDOW_PARTS` of the twin. Two of them are places in `TimeParts` too.
pub const SCRIPT: usize = 0;
pub const HIDDEN: usize = 1;
pub const ENGINE: usize = 2;
pub const IDLE: usize = 3;
pub const PROFILER: usize = 4;
/// The markers `style` and `layout`: what the engine does when a script forces it.
const FORCED_MARKERS: [i8; 2] = [2, 3];

/// The samples of a trace in order of time, by column. `stack` is that of a script, or the one that hidden time is
/// attributed to. `marker` is empty if no sample has one.
pub struct Observed {
    started_ms: f64,
    time_origin: f64,
    seq: i64,
    trace_id: String,
    time: Vec<i64>,
    weight: Vec<i64>,
    kind: Vec<usize>,
    stack: Vec<i32>,
    marker: Vec<i8>,
    prefix: Vec<i32>,
    func: Vec<u32>,
    marks: TraceMarks,
}

/// The marks of a trace, the URL of its page, and the snippet's script if it is known.
pub struct TraceMarks {
    pub marks: Vec<WindowMark>,
    pub url: Option<String>,
    pub own_script: Option<String>,
}

/// Returns the samples of a trace, as `observe` of the twin.
pub fn observe(
    envelope: Envelope,
    frames: Option<LongFrames>,
    marks: Vec<WindowMark>,
    index_of_frame: &[u32],
    snippets: &SnippetFunctions,
) -> Observed {
    let busy = busy_ranges(&envelope.marks);
    let trace = envelope.trace;
    let func: Vec<u32> = trace.stack_frame.iter().map(|frame| index_of_frame[*frame as usize]).collect();
    let scripts = frames.as_ref().map(|frames| &*frames.scripts);
    let profiler = find_profiler_work(&trace, envelope.snippet.as_ref(), scripts, snippets);
    let ranges = frames.as_ref().map(LongFrames::ranges);
    let weighed = weigh(&trace, &profiler, to_us(envelope.interval_ms), &busy, ranges.as_ref());
    let prefix = skip_profiler(trace.stack_parent, &profiler.stacks);
    let (times, count) = (weighed.times, weighed.stacks.len());
    let hidden =
        attribute_samples(count, &weighed.runs, &weighed.inside, &prefix, &func, &profiler.stacks, frames.is_some());
    let (mut kind, mut stack) = (Vec::with_capacity(count), hidden);
    for (place, own) in weighed.stacks.into_iter().enumerate() {
        kind.push(match own {
            OWN_SCRIPT => PROFILER,
            0.. if profiler.stacks[own as usize] => PROFILER,
            0.. => {
                stack[place] = own;
                SCRIPT
            }
            _ if is_within(&busy, times[place]) => ENGINE,
            _ => find_kind_outside_tasks(times[place], weighed.markers.get(place), ranges.as_ref()).unwrap_or(IDLE),
        });
    }
    weighed.runs.iter().for_each(|run| kind[run.first..run.end].fill(HIDDEN));
    Observed {
        started_ms: envelope.view_start.unwrap_or(envelope.time_origin),
        time_origin: envelope.time_origin,
        seq: envelope.seq,
        trace_id: envelope.trace_id.map_or("None".into(), |text| text.to_lowercase()),
        time: times,
        weight: weighed.weights,
        kind,
        stack,
        marker: weighed.markers,
        prefix,
        func,
        marks: TraceMarks { marks, url: envelope.url.map(Into::into), own_script: profiler.address.map(Into::into) },
    }
}

/// The samples of a view that count: each in its own time, `[start, end)`, in order and disjoint; and its stacks.
#[derive(Default)]
pub struct View {
    pub start: Vec<i64>,
    pub end: Vec<i64>,
    pub kind: Vec<usize>,
    pub stack: Vec<i32>,
    pub is_forced: Vec<bool>,
    pub is_measured: bool,
    pub prefix: Vec<i32>,
    pub func: Vec<u32>,
    pub placed: PlacedFuncs,
}

/// Joins the traces of a view; returns it with the marks of each and what moves them to its clock, in their order there.
pub fn join(mut traces: Vec<Observed>, places: &mut Places) -> (View, Vec<(TraceMarks, i64)>) {
    let started_ms = traces.iter().map(|trace| trace.started_ms).fold(f64::INFINITY, f64::min);
    let shift_of = |trace: &Observed| to_us(trace.time_origin - started_ms);
    for trace in &mut traces {
        let shift_us = shift_of(trace);
        trace.time.iter_mut().for_each(|time| *time += shift_us);
    }
    // A trace without samples has no time.
    let key = |trace: &Observed| (trace.time.first().copied().unwrap_or(0), trace.seq);
    traces.sort_by(|one, other| (key(one), &one.trace_id).cmp(&(key(other), &other.trace_id)));
    let (mut view, mut nodes, mut covered_until) = (View::default(), HashMap::new(), i64::MIN);
    for trace in &traces {
        view.is_measured |= trace.marker.iter().any(|marker| *marker != NO_MARKER);
        // Where two profilers ran at the same time, only the first one counts.
        if let (Some(first), Some(last)) = (trace.time.first(), trace.time.last()) {
            if *first >= covered_until {
                covered_until = *last;
                view.add(trace, &mut nodes);
            }
        }
    }
    view.tile();
    view.placed = PlacedFuncs::new(places, &view.prefix, &view.func);
    let marks = traces.into_iter().map(|trace| {
        let shift_us = shift_of(&trace);
        (trace.marks, shift_us)
    });
    (view, marks.collect())
}

impl View {
    /// Adds the samples of a trace, each with its weight, and the stacks that they use: each call path of a view once.
    fn add(&mut self, trace: &Observed, nodes: &mut HashMap<(i32, u32), i32>) {
        let mut is_used = vec![false; trace.prefix.len()];
        trace.stack.iter().filter(|stack| **stack >= 0).for_each(|stack| is_used[*stack as usize] = true);
        for stack in (0..is_used.len()).rev() {
            if is_used[stack] && trace.prefix[stack] >= 0 {
                is_used[trace.prefix[stack] as usize] = true;
            }
        }
        let mut place = vec![NO_STACK; trace.prefix.len()];
        for stack in (0..is_used.len()).filter(|stack| is_used[*stack]) {
            let parent = trace.prefix[stack];
            let key = (if parent >= 0 { place[parent as usize] } else { NO_STACK }, trace.func[stack]);
            let next = self.func.len() as i32;
            place[stack] = *nodes.entry(key).or_insert(next);
            if place[stack] == next {
                self.prefix.push(key.0);
                self.func.push(key.1);
            }
        }
        self.start.extend(&trace.time);
        self.end.extend(trace.time.iter().zip(&trace.weight).map(|(time, weight)| time + weight));
        self.kind.extend(&trace.kind);
        self.stack.extend(trace.stack.iter().map(|stack| if *stack >= 0 { place[*stack as usize] } else { NO_STACK }));
        let is_forced = |marker: &i8| FORCED_MARKERS.contains(marker);
        match trace.marker.is_empty() {
            true => self.is_forced.resize(self.start.len(), false),
            false => self.is_forced.extend(trace.marker.iter().map(is_forced)),
        }
    }

    /// Ends each sample where the next one begins, and drops those without time.
    fn tile(&mut self) {
        let mut count = 0;
        for at in 0..self.start.len() {
            let end = self.start.get(at + 1).map_or(self.end[at], |next| self.end[at].min(*next));
            if self.start[at] < end {
                self.start[count] = self.start[at];
                self.end[count] = end;
                self.kind[count] = self.kind[at];
                self.stack[count] = self.stack[at];
                self.is_forced[count] = self.is_forced[at];
                count += 1;
            }
        }
        self.start.truncate(count);
        self.end.truncate(count);
        self.kind.truncate(count);
        self.stack.truncate(count);
        self.is_forced.truncate(count);
    }

    /// Returns the samples that may lie in a time, from the one that is under way at its start.
    fn among(&self, start: i64, end: i64) -> std::ops::Range<usize> {
        let first = self.start.partition_point(|other| *other <= start).saturating_sub(1);
        first..self.start.partition_point(|other| *other < end).max(first)
    }

    /// Calls `add` with each sample in `[start, end)`, and its µs there.
    pub fn each_in(&self, start: i64, end: i64, mut add: impl FnMut(usize, i64)) {
        for at in self.among(start, end) {
            let us = self.end[at].min(end) - self.start[at].max(start);
            if us > 0 {
                add(at, us);
            }
        }
    }
}
