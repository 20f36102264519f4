//! The profiler's own work: the twin of `find_profiler_stacks` in `profcore/trace/funcs.py`.

use crate::names::clean_url;
use crate::wire::{Snippet, Trace};
use std::collections::{HashMap, HashSet};

/// Lines and columns of the functions of the snippet's own script, by version.
pub type SnippetFunctions = HashMap<String, HashSet<(i64, i64)>>;

const PROFILER_NAMES: [&str; 2] = ["Profiler", "stop"];
const SNIPPET_NAME: &str = "fieldflame:run";
const MOST_NAMED_SAMPLES: usize = 10;
const MOST_NAMED_PART: usize = 10;
const NEITHER: i32 = -1;
const SNIPPET: i32 = -2;

/// Tells of each stack whether it is the profiler's own work.
pub fn find_profiler_stacks(trace: &Trace, snippet: Option<&Snippet>, functions: &SnippetFunctions) -> Vec<bool> {
    let Some(own) = find_own_frames(trace, snippet, functions) else { return vec![false; trace.stack_frame.len()] };
    let mut owners: Vec<i32> = Vec::with_capacity(trace.stack_frame.len());
    for (frame, parent) in trace.stack_frame.iter().zip(&trace.stack_parent) {
        let owner = own[*frame as usize].unwrap_or_else(|| {
            let resource = trace.frames[*frame as usize].resource;
            let caller = if *parent < 0 { NEITHER } else { owners[*parent as usize] };
            if resource < 0 || resource == caller {
                caller
            } else {
                NEITHER
            }
        });
        owners.push(owner);
    }
    let is_believed = is_believed(trace, &owners);
    owners.iter().map(|owner| *owner == SNIPPET || (*owner != NEITHER && is_believed)).collect()
}

/// Returns of each frame whose it is: `SNIPPET`, or the script that has its name; None if no frame is either.
fn find_own_frames(trace: &Trace, snippet: Option<&Snippet>, functions: &SnippetFunctions) -> Option<Vec<Option<i32>>> {
    let named = snippet.and_then(|snippet| {
        let url = snippet.url.as_deref().filter(|url| !url.is_empty())?;
        Some((clean_url(url), functions.get(&*snippet.version)?))
    });
    let scripts: Vec<bool> = trace
        .resources
        .iter()
        .map(|resource| named.is_some_and(|(address, _)| clean_url(resource) == address))
        .collect();
    let own: Vec<Option<i32>> = trace
        .frames
        .iter()
        .map(|frame| {
            if frame.resource < 0 {
                let is_profiler = frame.line < 0 && PROFILER_NAMES.contains(&&*frame.name);
                return is_profiler.then_some(SNIPPET);
            }
            let place = (frame.line, frame.column);
            if scripts[frame.resource as usize] && named.is_some_and(|(_, known)| known.contains(&place)) {
                return Some(SNIPPET);
            }
            (frame.name == SNIPPET_NAME).then_some(frame.resource)
        })
        .collect();
    own.iter().any(Option::is_some).then_some(own)
}

/// Tells whether what is the snippet's by name only has no more samples than a snippet has.
fn is_believed(trace: &Trace, owners: &[i32]) -> bool {
    if owners.iter().all(|owner| *owner < 0) {
        return true;
    }
    let named = trace.sample_stack.iter().filter(|stack| **stack >= 0 && owners[**stack as usize] >= 0).count();
    named <= MOST_NAMED_SAMPLES.max(trace.sample_stack.len() / MOST_NAMED_PART)
}
