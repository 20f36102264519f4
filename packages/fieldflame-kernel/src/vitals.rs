//! What ran in the windows of a view, and what it forced: the twin of `profcore/vitals/window_sums.py` and
//! `profcore/vitals/forced_layout.py`.

use crate::hidden::Range;
use crate::names::Names;
use crate::paths::NO_STACK;
use crate::sums::{sum_placed, HIDDEN_TOTAL_US, HIDDEN_US, SELF_US, TOTAL_SAMPLES, TOTAL_US};
use crate::view::{View, HIDDEN, SCRIPT};
use hashbrown::HashMap;

/// The parts of a window, in the order of `WINDOW_PARTS`: by kind, and the unobserved rest.
pub type Parts = [i64; 6];
const UNOBSERVED: usize = 5;
const ROUNDS: usize = 10;

/// What the stacks of a view took.
struct StackTimes {
    self_us: Vec<i64>,
    self_samples: Vec<i64>,
    hidden_us: Vec<i64>,
}

impl StackTimes {
    fn new(view: &View) -> Self {
        let zeros = || vec![0; view.prefix.len()];
        StackTimes { self_us: zeros(), self_samples: zeros(), hidden_us: zeros() }
    }

    fn add(&mut self, view: &View, at: usize, us: i64) {
        let stack = view.stack[at];
        if view.kind[at] == SCRIPT {
            self.self_us[stack as usize] += us;
            self.self_samples[stack as usize] += 1;
        } else if stack != NO_STACK {
            self.hidden_us[stack as usize] += us;
        }
    }

    /// Returns the columns of `FuncTimes` one after the other: funcs in order, their self, total and hidden µs.
    fn sum(&self, view: &View) -> Vec<i64> {
        let uncertain_us = vec![0; view.prefix.len()];
        let rows =
            sum_placed(&view.prefix, &view.placed, &self.self_us, &self.self_samples, &self.hidden_us, &uncertain_us);
        let mut used: Vec<_> = view
            .placed
            .keys
            .iter()
            .zip(&rows)
            .filter(|(_, row)| row[TOTAL_SAMPLES] > 0 || row[HIDDEN_TOTAL_US] > 0)
            .collect();
        used.sort_unstable_by_key(|(func, _)| **func);
        let mut columns: Vec<i64> = used.iter().map(|(func, _)| i64::from(**func)).collect();
        for column in [SELF_US, TOTAL_US, HIDDEN_US] {
            columns.extend(used.iter().map(|(_, row)| row[column]));
        }
        columns
    }
}

/// Returns the parts of a window, given by its ranges, and what its funcs took.
pub fn sum_window(view: &View, ranges: &[Range]) -> (Parts, Vec<i64>) {
    let (mut parts, mut times) = (Parts::default(), StackTimes::new(view));
    for (start, end) in ranges {
        view.each_in(*start, *end, |at, us| {
            parts[view.kind[at]] += us;
            times.add(view, at, us);
        });
    }
    let length_us: i64 = ranges.iter().map(|(start, end)| end - start).sum();
    parts[UNOBSERVED] = length_us - parts.iter().sum::<i64>();
    let is_empty = parts[SCRIPT] == 0 && parts[HIDDEN] == 0; // in most short windows nothing ran
    (parts, if is_empty { Vec::new() } else { times.sum(view) })
}

/// Returns what samples saw of a script, µs: the page's own functions, and a busy page without a stack.
pub fn sum_hidden_script(view: &View, script: &Range) -> (i64, i64) {
    let (mut seen_us, mut hidden_us) = (0, 0);
    view.each_in(script.0, script.1, |at, us| match view.kind[at] {
        SCRIPT => seen_us += us,
        HIDDEN => hidden_us += us,
        _ => {}
    });
    (seen_us, hidden_us)
}

/// A script of a long animation frame: start and end, what it forced, its address, and that in canonical spelling.
pub type Script = (i64, i64, i64, String, String);

/// The forced style and layout of a view: the columns of what forced it, what is unattributed, and of all own times.
pub type ForcedLayout = (Vec<i64>, i64, Vec<i64>);

/// Returns the forced layout of a view with these scripts, in order and disjoint.
pub fn sum_forced_layout(view: &View, scripts: &[Script], names: &Names) -> ForcedLayout {
    let (mut forced, mut own) = (StackTimes::new(view), StackTimes::new(view));
    let mut unattributed_us = 0;
    if !view.is_measured && scripts.iter().any(|script| script.2 > 0) {
        unattributed_us = share_scripts(view, scripts, names, &mut forced.self_us);
    }
    for at in 0..view.start.len() {
        let us = view.end[at] - view.start[at];
        own.add(view, at, us);
        if view.kind[at] == SCRIPT && view.is_forced[at] {
            forced.self_us[view.stack[at] as usize] += us;
        }
    }
    forced.self_samples = forced.self_us.iter().map(|us| i64::from(*us > 0)).collect();
    let is_forced = forced.self_us.iter().any(|us| *us > 0); // most views force nothing
    (if is_forced { forced.sum(view) } else { Vec::new() }, unattributed_us, own.sum(view))
}

/// The µs of stacks in a script, in the order of its samples.
type Ran = Vec<(i32, i64)>;

/// Adds what scripts forced to the stacks that ran in them. Returns what is left unattributed.
fn share_scripts(view: &View, scripts: &[Script], names: &Names, forced_us: &mut [i64]) -> i64 {
    let paths = CallPaths::new(view, scripts, names);
    let seen: Vec<(i64, Ran)> = scripts.iter().map(|script| (script.2, read_samples(view, script, &paths))).collect();
    let rates = find_rates(view, &seen);
    let mut unattributed_us = 0;
    for (script_us, ran) in &seen {
        let rate_of = |stack: i32| rates[view.placed.places[stack as usize] as usize];
        let weights: Vec<f64> = ran.iter().map(|(stack, us)| *us as f64 * rate_of(*stack)).collect();
        let whole: f64 = weights.iter().sum();
        let (mut passed, mut given) = (0.0, 0);
        if whole > 0.0 {
            for ((stack, _), weight) in ran.iter().zip(weights) {
                passed += weight;
                let part = (*script_us as f64 * (passed / whole)).round_ties_even() as i64 - given;
                given += part;
                forced_us[*stack as usize] += part;
            }
        }
        unattributed_us += script_us - given;
    }
    unattributed_us
}

/// Returns the µs of each stack in a script, from the samples that begin in it.
fn read_samples(view: &View, script: &Script, paths: &CallPaths) -> Ran {
    let (mut ran, mut places) = (Ran::new(), HashMap::new());
    let at = |time: i64| view.start.partition_point(|other| *other < time);
    for sample in at(script.0)..at(script.1) {
        let stack = view.stack[sample];
        if stack != NO_STACK && paths.has(stack, &script.3) {
            let place = *places.entry(stack).or_insert(ran.len());
            if place == ran.len() {
                ran.push((stack, 0));
            }
            ran[place].1 += view.end[sample].min(script.1) - view.start[sample];
        }
    }
    ran
}

/// Returns which part of its own time each func forces, by its place, by the same steps as the twin: floats are added in
/// its order. Funcs that no script ran have no number.
fn find_rates(view: &View, seen: &[(i64, Ran)]) -> Vec<f64> {
    let place_of = |stack: i32| view.placed.places[stack as usize] as usize;
    let mut own_us = vec![0; view.placed.keys.len()];
    for (stack, us) in seen.iter().flat_map(|(_, ran)| ran) {
        own_us[place_of(*stack)] += us;
    }
    let mut rates = vec![1.0; own_us.len()];
    for _ in 0..ROUNDS {
        let mut forced_us = vec![0.0; own_us.len()];
        for (script_us, ran) in seen.iter().filter(|(script_us, _)| *script_us > 0) {
            let whole: f64 = ran.iter().map(|(stack, us)| *us as f64 * rates[place_of(*stack)]).sum();
            for (stack, us) in ran.iter().filter(|_| whole > 0.0) {
                let place = place_of(*stack);
                forced_us[place] += (i128::from(*script_us) * i128::from(*us)) as f64 * rates[place] / whole;
            }
        }
        rates = forced_us.iter().zip(&own_us).map(|(forced, own): (&f64, &i64)| forced / *own as f64).collect();
    }
    rates
}

/// Which call paths have a function of a script, as `_CallPaths` of the twin: a stack and all below it are one range.
struct CallPaths<'a> {
    numbers: Vec<usize>,
    ranges: HashMap<&'a str, Vec<(usize, usize)>>,
}

impl<'a> CallPaths<'a> {
    fn new(view: &View, scripts: &'a [Script], names: &Names) -> Self {
        let count = view.prefix.len();
        let mut sizes = vec![1usize; count];
        for stack in (0..count).rev() {
            if view.prefix[stack] >= 0 {
                sizes[view.prefix[stack] as usize] += sizes[stack];
            }
        }
        let (mut numbers, mut free, mut free_root) = (Vec::with_capacity(count), Vec::with_capacity(count), 0);
        for (stack, parent) in view.prefix.iter().enumerate() {
            let next = if *parent >= 0 { &mut free[*parent as usize] } else { &mut free_root };
            let number = *next;
            *next += sizes[stack];
            numbers.push(number);
            free.push(number + 1);
        }
        let mut addresses: Vec<(&str, &str)> = scripts.iter().map(|script| (&*script.3, &*script.4)).collect();
        addresses.sort_unstable();
        addresses.dedup();
        let mut wanted: HashMap<i32, &str> = HashMap::new();
        let mut ranges: HashMap<&str, Vec<(usize, usize)>> = HashMap::new();
        for (address, canonical) in addresses {
            wanted.extend([address, canonical].iter().filter_map(|form| Some((names.uri_id(form)?, address))));
            ranges.insert(address, Vec::new());
        }
        for (stack, func) in view.func.iter().enumerate() {
            if let Some(of_address) = wanted.get(&names.uri_of(*func)).and_then(|address| ranges.get_mut(address)) {
                of_address.push((numbers[stack], numbers[stack] + sizes[stack]));
            }
        }
        ranges.values_mut().for_each(unite);
        CallPaths { numbers, ranges }
    }

    /// Returns whether a function of a script is on a call path; any is if the address is not known.
    fn has(&self, stack: i32, address: &str) -> bool {
        let (ranges, number) = (&self.ranges[address], self.numbers[stack as usize]);
        let at = ranges.partition_point(|range| range.0 <= number);
        address.is_empty() || (at > 0 && number < ranges[at - 1].1)
    }
}

/// Leaves the union of ranges that are not empty, in order and disjoint.
pub fn unite<T: Ord + Copy>(ranges: &mut Vec<(T, T)>) {
    ranges.sort_unstable();
    ranges.dedup_by(|later, first| {
        let is_within = later.0 <= first.1;
        first.1 = if is_within { first.1.max(later.1) } else { first.1 };
        is_within
    });
}
