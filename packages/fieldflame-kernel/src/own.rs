//! The profiler's own work: the twin of `find_profiler_work` in `profcore/trace/funcs.py`.

use crate::hidden::Range;
use crate::names::clean_url;
use crate::scripts::{script_ranges, FrameScript};
use crate::weights::{is_within, to_us};
use crate::wire::{Snippet, Trace};
use std::collections::{HashMap, HashSet};

/// Lines and columns of the functions of the snippet's own script, by version.
pub type SnippetFunctions = HashMap<String, HashSet<(i64, i64)>>;

const PROFILER_NAMES: [&str; 2] = ["Profiler", "stop"];
const SNIPPET_NAME: &str = "fieldflame:run";
const MOST_SCRIPT_SAMPLES: usize = 20;
const MOST_SCRIPT_PART: usize = 2;
const MOST_NAMED_SAMPLES: usize = 10;
const MOST_NAMED_PART: usize = 10;
const NEITHER: i32 = -1;
const BUILTIN: i32 = -2;
const SCRIPT: i32 = -3;

/// Whether each stack ends in the profiler's own work, when scripts of the snippet ran, and their address, if it is known.
pub struct ProfilerWork<'a> {
    pub stacks: Vec<bool>,
    pub scripts: Vec<Range>,
    pub address: Option<&'a str>,
}

/// Finds the profiler's own work in a trace.
pub fn find_profiler_work<'a>(
    trace: &Trace,
    snippet: Option<&'a Snippet>,
    scripts: Option<&[FrameScript]>,
    functions: &SnippetFunctions,
) -> ProfilerWork<'a> {
    let named = snippet.and_then(|snippet| snippet.url.as_deref()).filter(|url| !url.is_empty()).map(clean_url);
    let at_name: Vec<bool> =
        trace.resources.iter().map(|resource| named.is_some_and(|address| clean_url(resource) == address)).collect();
    let is_known = snippet.and_then(|snippet| functions.get(&*snippet.version)).is_some_and(|known| {
        let mut seen = trace.frames.iter().filter(|frame| frame.resource >= 0 && at_name[frame.resource as usize]);
        seen.all(|frame| known.contains(&(frame.line, frame.column)))
    });
    let address = named.filter(|_| is_known);
    let ranges = address.map_or_else(Vec::new, |address| {
        let own = scripts.unwrap_or_default().iter().filter(|script| clean_url(&script.address) == address);
        script_ranges(own)
    });
    let own = find_own_frames(trace, address.is_some(), named.is_some().then_some(&at_name));
    if ranges.is_empty() && own.iter().all(Option::is_none) {
        return ProfilerWork { stacks: vec![false; trace.stack_frame.len()], scripts: Vec::new(), address };
    }
    let mut owners: Vec<i32> = Vec::with_capacity(trace.stack_frame.len());
    for (frame, parent) in trace.stack_frame.iter().zip(&trace.stack_parent) {
        let owner = own[*frame as usize].unwrap_or_else(|| {
            let frame = &trace.frames[*frame as usize];
            let caller = if *parent < 0 { NEITHER } else { owners[*parent as usize] };
            let is_builtin = frame.resource < 0 && frame.line < 0;
            if is_builtin || (frame.resource >= 0 && frame.resource == caller) {
                caller
            } else {
                NEITHER
            }
        });
        owners.push(owner);
    }
    let (by_script, by_name) = find_believed(trace, &owners, &ranges);
    let is_own = |owner: &i32| *owner == BUILTIN || (*owner == SCRIPT && by_script) || (*owner >= 0 && by_name);
    let stacks = owners.iter().map(is_own).collect();
    if by_script {
        ProfilerWork { stacks, scripts: ranges, address }
    } else {
        ProfilerWork { stacks, scripts: Vec::new(), address: None }
    }
}

/// Returns of each frame whose it is. `at_name` has the scripts at the address that the envelope names, if it does.
fn find_own_frames(trace: &Trace, is_known: bool, at_name: Option<&Vec<bool>>) -> Vec<Option<i32>> {
    let mut with_name: HashSet<i32> = HashSet::new();
    let mut own: Vec<Option<i32>> = Vec::with_capacity(trace.frames.len());
    for frame in &trace.frames {
        let is_there = at_name.is_none_or(|at_name| frame.resource >= 0 && at_name[frame.resource as usize]);
        own.push(if frame.resource < 0 {
            (frame.line < 0 && PROFILER_NAMES.contains(&&*frame.name)).then_some(BUILTIN)
        } else if is_known && is_there {
            Some(SCRIPT)
        } else if is_there && frame.name == SNIPPET_NAME {
            with_name.insert(frame.resource);
            Some(frame.resource)
        } else {
            None
        });
    }
    if with_name.len() > 1 {
        own.iter_mut().for_each(|owner| *owner = owner.filter(|owner| *owner < 0));
    }
    own
}

/// Tells whether what is the snippet's by its script, and by its name, has no more samples than a snippet has.
fn find_believed(trace: &Trace, owners: &[i32], ranges: &[Range]) -> (bool, bool) {
    let (mut in_script, mut with_name) = (0, 0);
    for (stack, time_ms) in trace.sample_stack.iter().zip(&trace.time_ms) {
        let owner = if *stack >= 0 { owners[*stack as usize] } else { NEITHER };
        let is_in_script = owner == SCRIPT || (*stack < 0 && is_within(ranges, to_us(*time_ms)));
        in_script += usize::from(is_in_script);
        with_name += usize::from(owner >= 0);
    }
    let count = trace.sample_stack.len();
    (
        in_script <= MOST_SCRIPT_SAMPLES.max(count / MOST_SCRIPT_PART),
        with_name <= MOST_NAMED_SAMPLES.max(count / MOST_NAMED_PART),
    )
}
