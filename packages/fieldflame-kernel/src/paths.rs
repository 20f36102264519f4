//! Common prefixes of the paths of a trace's stacks: the twin of those in `profcore/trace/hidden.py`.

use hashbrown::HashMap;

pub const NO_STACK: i32 = -1;

/// Returns how many calls each stack has. Callers come before callees.
pub fn depths(prefix: &[i32]) -> Vec<u32> {
    let mut depths: Vec<u32> = Vec::with_capacity(prefix.len());
    for parent in prefix {
        depths.push(if *parent < 0 { 1 } else { depths[*parent as usize] + 1 });
    }
    depths
}

/// Returns the deepest stack that both paths of funcs begin with, -1 if their roots differ.
pub fn walk_to_common_prefix(one: i32, other: i32, prefix: &[i32], func: &[u32]) -> i32 {
    let (mut last_one, mut last_other) = (NO_STACK, NO_STACK);
    let (mut a, mut b) = (one, other);
    while a != b {
        if a > b {
            last_one = a;
            a = prefix[a as usize];
        } else {
            last_other = b;
            b = prefix[b as usize];
        }
    }
    if last_one >= 0 && last_other >= 0 && func[last_one as usize] == func[last_other as usize] {
        let (one, other) = (path(one, prefix), path(other, prefix));
        let equal = one.iter().zip(&other).take_while(|(a, b)| func[**a as usize] == func[**b as usize]);
        return equal.last().map_or(NO_STACK, |(a, _)| *a);
    }
    a
}

fn path(mut stack: i32, prefix: &[i32]) -> Vec<i32> {
    let mut path = Vec::new();
    while stack >= 0 {
        path.push(stack);
        stack = prefix[stack as usize];
    }
    path.reverse();
    path
}

/// A heavy path decomposition of the stacks' paths, as in the twin.
pub struct PathIndex {
    node_of: Vec<i32>,
    parents: Vec<i32>,
    heads: Vec<i32>,
    depths: Vec<u32>,
    chains: HashMap<i32, Vec<i32>>,
}

impl PathIndex {
    pub fn new(prefix: &[i32], func: &[u32]) -> Self {
        let count = prefix.len();
        let mut first: HashMap<(i32, u32), i32> = HashMap::new();
        let (mut node_of, mut parents) = (Vec::with_capacity(count), Vec::with_capacity(count));
        for stack in 0..count {
            let caller = if prefix[stack] >= 0 { node_of[prefix[stack] as usize] } else { NO_STACK };
            node_of.push(*first.entry((caller, func[stack])).or_insert(stack as i32));
            parents.push(caller);
        }
        let (mut below, mut heavy) = (vec![1u32; count], vec![NO_STACK; count]);
        for stack in (0..count).rev() {
            let parent = parents[stack];
            if node_of[stack] == stack as i32 && parent >= 0 {
                below[parent as usize] += below[stack];
                let heaviest = heavy[parent as usize];
                if heaviest < 0 || below[stack] > below[heaviest as usize] {
                    heavy[parent as usize] = stack as i32;
                }
            }
        }
        let mut heads: Vec<i32> = Vec::with_capacity(count);
        for (stack, parent) in parents.iter().copied().enumerate() {
            let is_heavy = parent >= 0 && heavy[parent as usize] == stack as i32;
            heads.push(if is_heavy { heads[parent as usize] } else { stack as i32 });
        }
        let depths = depths(&parents);
        let mut chains: HashMap<i32, Vec<i32>> = HashMap::new();
        for stack in 0..count {
            if node_of[stack] == stack as i32 {
                chains.entry(heads[stack]).or_default().push(stack as i32);
            }
        }
        PathIndex { node_of, parents, heads, depths, chains }
    }

    /// As `walk_to_common_prefix`, in O(log stacks).
    pub fn common_prefix(&self, one: i32, other: i32) -> i32 {
        let (mut a, mut b) = (self.node_of[one as usize], self.node_of[other as usize]);
        while self.heads[a as usize] != self.heads[b as usize] {
            if self.heads[a as usize] > self.heads[b as usize] {
                a = self.parents[self.heads[a as usize] as usize];
            } else {
                b = self.parents[self.heads[b as usize] as usize];
            }
            if a < 0 || b < 0 {
                return NO_STACK;
            }
        }
        a.min(b)
    }

    /// Returns the caller of a stack, or itself, at a depth.
    pub fn caller_at(&self, stack: i32, depth: u32) -> i32 {
        let mut node = self.node_of[stack as usize];
        loop {
            let head = self.heads[node as usize];
            if self.depths[head as usize] <= depth {
                return self.chains[&head][(depth - self.depths[head as usize]) as usize];
            }
            node = self.parents[head as usize];
        }
    }

    /// Returns the root of a stack.
    pub fn root_of(&self, stack: i32) -> i32 {
        let mut node = self.node_of[stack as usize];
        loop {
            let head = self.heads[node as usize];
            let parent = self.parents[head as usize];
            if parent < 0 {
                return head;
            }
            node = parent;
        }
    }
}
