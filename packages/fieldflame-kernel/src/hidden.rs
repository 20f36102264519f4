//! Hidden time and whose it is: the twin of `profcore/trace/hidden.py`.

use crate::paths::{depths, walk_to_common_prefix, PathIndex, NO_STACK};
use hashbrown::HashMap;

pub type Range = (i64, i64);
/// In place of a stack: a script of the snippet, which hides nothing and is nobody's side.
pub const OWN_SCRIPT: i32 = -2;
const FEW_RUNS: usize = 64;
const STEPS_PER_STACK: usize = 8;
const CALLS_BELOW: u32 = 2;

pub struct HiddenRun {
    pub first: usize,
    pub end: usize,
    pub us: [i64; 3], // nearer to the stack before, in the middle, nearer to the one after
    pub before: i32,
    pub after: i32,
    pub inside: Option<usize>, // the place of the list of stacks
    pub is_next: bool,
}

impl HiddenRun {
    fn is_between(&self) -> bool {
        self.before >= 0 && self.after >= 0
    }
}

pub struct HiddenTime {
    pub us: i64,
    pub samples: i64,
    pub engine_us: i64,
    pub engine_samples: i64,
    pub runs: Vec<HiddenRun>,
    pub inside: Vec<Vec<i32>>,
}

/// Returns the bounds of the three parts of a run: nearer to the stack before, in the middle, nearer to the one after.
fn part_run(first: usize, end: usize) -> [usize; 4] {
    let count = end - first;
    [first, first + count / 2, first + count.div_ceil(2), end]
}

fn make_run(weights: &[i64], first: usize, end: usize, before: i32, after: i32) -> HiddenRun {
    let [_, middle, rest, _] = part_run(first, end);
    let sum = |from: usize, to: usize| weights[from..to].iter().sum::<i64>();
    let us = [sum(first, middle), sum(middle, rest), sum(rest, end)];
    HiddenRun { first, end, us, before, after, inside: None, is_next: true }
}

struct ScriptRanges<'a> {
    bounds: Vec<(usize, usize)>,
    stacks: &'a [i32],
    seen: &'a [usize],
    place_of: HashMap<usize, usize>,
    inside: Vec<Vec<i32>>,
}

impl ScriptRanges<'_> {
    fn cut(&mut self, run: HiddenRun, weights: &[i64], runs: &mut Vec<HiddenRun>) {
        let mut script = self.bounds.partition_point(|bound| bound.1 < run.first + 1);
        while script < self.bounds.len() && self.bounds[script].0 < run.end {
            let (start, end) = self.bounds[script];
            let (first, behind) = (start.max(run.first), end.min(run.end));
            if first < behind {
                let mut part = make_run(weights, first, behind, run.before, run.after);
                part.is_next = if run.before >= 0 { start < run.first } else { end > run.end };
                part.inside = Some(self.stacks_of(script));
                runs.push(part);
            }
            script += 1;
        }
    }

    fn stacks_of(&mut self, script: usize) -> usize {
        if let Some(place) = self.place_of.get(&script) {
            return *place;
        }
        let (start, end) = self.bounds[script];
        let from = self.seen.partition_point(|place| *place < start);
        let to = self.seen.partition_point(|place| *place < end);
        let seen = if from < to { &self.seen[from..to] } else { &[] };
        let mut found: Vec<i32> =
            seen.iter().map(|place| self.stacks[*place]).filter(|stack| *stack != OWN_SCRIPT).collect();
        found.sort_unstable();
        found.dedup();
        self.inside.push(found);
        self.place_of.insert(script, self.inside.len() - 1);
        self.inside.len() - 1
    }
}

pub fn find_hidden(
    times: &[i64],
    weights: &[i64],
    stacks: &[i32],
    busy: &[Range],
    scripts: Option<&[Range]>,
) -> HiddenTime {
    let (mut us, mut samples) = (0i64, 0i64);
    let mut runs = Vec::new();
    let seen: Vec<usize> = (0..stacks.len()).filter(|place| stacks[*place] != NO_STACK).collect();
    let at = |time: i64| times.partition_point(|other| *other < time);
    let mut frames = scripts.map(|scripts| ScriptRanges {
        bounds: scripts.iter().map(|(start, end)| (at(*start), at(*end))).collect(),
        stacks,
        seen: &seen,
        place_of: HashMap::new(),
        inside: Vec::new(),
    });
    for (start, end) in busy {
        let (first, behind) = (at(*start), at(*end));
        let from = seen.partition_point(|place| *place < first);
        let to = seen.partition_point(|place| *place < behind).max(from);
        let mut next = first; // the first sample behind the last one with a stack
        for position in seen[from..to].iter().copied().chain([behind]) {
            if position > next {
                samples += (position - next) as i64;
                let before = if next == first { NO_STACK } else { stacks[next - 1].max(NO_STACK) };
                let after = if position == behind { NO_STACK } else { stacks[position].max(NO_STACK) };
                let run = make_run(weights, next, position, before, after);
                us += run.us.iter().sum::<i64>();
                match &mut frames {
                    Some(frames) if !run.is_between() => frames.cut(run, weights, &mut runs),
                    _ => runs.push(run),
                }
            }
            next = position + 1;
        }
    }
    let hidden_us: i64 = runs.iter().map(|run| run.us.iter().sum::<i64>()).sum();
    let hidden_samples: i64 = runs.iter().map(|run| (run.end - run.first) as i64).sum();
    HiddenTime {
        us: hidden_us,
        samples: hidden_samples,
        engine_us: us - hidden_us,
        engine_samples: samples - hidden_samples,
        runs,
        inside: frames.map_or_else(Vec::new, |frames| frames.inside),
    }
}

/// Hidden µs by stack: what is attributed, and what is uncertain.
pub fn attribute(
    runs: &[HiddenRun],
    inside: &[Vec<i32>],
    prefix: &[i32],
    func: &[u32],
    profiler_stacks: &[bool],
    has_frames: bool,
) -> (Vec<i64>, Vec<i64>) {
    let (mut hidden, mut uncertain) = (vec![0i64; prefix.len()], vec![0i64; prefix.len()]);
    if runs.is_empty() {
        return (hidden, uncertain);
    }
    let mut find = Finder::new(runs, inside, prefix, func, profiler_stacks);
    for run in runs {
        let into = if has_frames || run.is_between() { &mut hidden } else { &mut uncertain };
        for (stack, us) in find.stacks_of(run).into_iter().zip(run.us) {
            if stack >= 0 {
                into[stack as usize] += us;
            }
        }
    }
    (hidden, uncertain)
}

/// Returns of each of `count` samples the stack that its hidden time is attributed to, -1 for none.
pub fn attribute_samples(
    count: usize,
    runs: &[HiddenRun],
    inside: &[Vec<i32>],
    prefix: &[i32],
    func: &[u32],
    profiler_stacks: &[bool],
    has_frames: bool,
) -> Vec<i32> {
    let mut hidden = vec![NO_STACK; count];
    if runs.is_empty() {
        return hidden;
    }
    let mut find = Finder::new(runs, inside, prefix, func, profiler_stacks);
    for run in runs.iter().filter(|run| has_frames || run.is_between()) {
        for (span, stack) in part_run(run.first, run.end).windows(2).zip(find.stacks_of(run)) {
            hidden[span[0]..span[1]].fill(stack);
        }
    }
    hidden
}

/// Returns of each stack the nearest one that is not the profiler's own work, -1 if there is none.
fn find_visible(prefix: &[i32], profiler_stacks: &[bool]) -> Vec<i32> {
    let mut visible: Vec<i32> = Vec::with_capacity(prefix.len());
    for (stack, (parent, is_profiler)) in prefix.iter().zip(profiler_stacks).enumerate() {
        visible.push(match (is_profiler, parent) {
            (false, _) => stack as i32,
            (true, 0..) => visible[*parent as usize],
            (true, _) => NO_STACK,
        });
    }
    visible
}

/// Returns the callers of stacks without the profiler's own work, as `skip_profiler` of the twin.
pub fn skip_profiler(prefix: Vec<i32>, profiler_stacks: &[bool]) -> Vec<i32> {
    if !profiler_stacks.contains(&true) {
        return prefix;
    }
    let visible = find_visible(&prefix, profiler_stacks);
    prefix.iter().map(|parent| if *parent < 0 { NO_STACK } else { visible[*parent as usize] }).collect()
}

struct Finder<'a> {
    inside: &'a [Vec<i32>],
    prefix: &'a [i32],
    func: &'a [u32],
    visible: Vec<i32>,
    depths: Vec<u32>,
    index: Option<PathIndex>,
    shared: HashMap<usize, (i32, usize)>,
}

impl<'a> Finder<'a> {
    fn new(
        runs: &[HiddenRun],
        inside: &'a [Vec<i32>],
        prefix: &'a [i32],
        func: &'a [u32],
        profiler_stacks: &[bool],
    ) -> Self {
        let walks = runs.len() + inside.iter().map(Vec::len).sum::<usize>();
        let depths = depths(prefix);
        let deepest = depths.iter().copied().max().unwrap_or(0) as usize;
        let is_dear = walks > FEW_RUNS && walks * deepest > STEPS_PER_STACK * prefix.len();
        let index = is_dear.then(|| PathIndex::new(prefix, func));
        let visible = find_visible(prefix, profiler_stacks);
        Finder { inside, prefix, func, visible, depths, index, shared: HashMap::new() }
    }

    fn stacks_of(&mut self, run: &HiddenRun) -> [i32; 3] {
        let (before, after) = (self.without_profiler(run.before), self.without_profiler(run.after));
        if before >= 0 && after >= 0 {
            let shared = self.common_prefix(before, after);
            if shared < 0 {
                return [NO_STACK; 3];
            }
            let is_before = self.depths[before as usize] <= self.depths[after as usize];
            let middle = if is_before { before } else { after };
            return [before, middle, after].map(|stack| self.below(shared, stack));
        }
        let side = before.max(after);
        let inside = run.inside.filter(|place| !self.inside[*place].is_empty());
        let Some(place) = inside else {
            return [self.root_of(side); 3];
        };
        let (mut shared, count) = self.shared_by(place);
        if count < 2 || shared < 0 {
            shared = if side >= 0 { self.root_of(side) } else { self.root_of(shared) };
        }
        let near = if side >= 0 && run.is_next { self.below(shared, side) } else { shared };
        if before >= 0 {
            [near, shared, shared]
        } else {
            [shared, shared, near]
        }
    }

    fn common_prefix(&self, one: i32, other: i32) -> i32 {
        match &self.index {
            Some(index) => index.common_prefix(one, other),
            None => walk_to_common_prefix(one, other, self.prefix, self.func),
        }
    }

    fn root_of(&self, mut stack: i32) -> i32 {
        if let (Some(index), true) = (&self.index, stack >= 0) {
            return index.root_of(stack);
        }
        while stack >= 0 && self.prefix[stack as usize] >= 0 {
            stack = self.prefix[stack as usize];
        }
        stack
    }

    fn without_profiler(&self, stack: i32) -> i32 {
        if stack >= 0 {
            self.visible[stack as usize]
        } else {
            stack
        }
    }

    fn below(&self, shared: i32, mut stack: i32) -> i32 {
        // As the twin's: a prefix of nothing is found at the end of its list.
        let shared_depth = if shared >= 0 { self.depths[shared as usize] } else { *self.depths.last().unwrap() };
        let depth = shared_depth + CALLS_BELOW;
        if self.depths[stack as usize] <= depth {
            return stack;
        }
        if let Some(index) = &self.index {
            return index.caller_at(stack, depth);
        }
        while self.depths[stack as usize] > depth {
            stack = self.prefix[stack as usize];
        }
        stack
    }

    fn shared_by(&mut self, place: usize) -> (i32, usize) {
        if let Some(found) = self.shared.get(&place) {
            return *found;
        }
        let mut distinct: Vec<i32> =
            self.inside[place].iter().map(|stack| self.without_profiler(*stack)).filter(|own| *own >= 0).collect();
        distinct.sort_unstable();
        distinct.dedup();
        let mut shared = distinct.first().copied().unwrap_or(NO_STACK);
        for stack in distinct.iter().skip(1) {
            if shared >= 0 {
                shared = self.common_prefix(shared, *stack);
            }
        }
        self.shared.insert(place, (shared, distinct.len()));
        (shared, distinct.len())
    }
}
