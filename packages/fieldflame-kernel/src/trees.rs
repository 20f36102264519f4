//! Call trees: the twin of `CallTreeBuilder` in `profcore/sums/calltree.py`.

use hashbrown::hash_map::Entry;
use hashbrown::HashMap;

/// A call node: its caller (-1 for a root), its func index, and its sums.
pub struct Node {
    pub prefix: i32,
    pub func: u32,
    pub self_us: i64,
    pub self_samples: i64,
    pub hidden_us: i64,
}

/// Grows one tree from traces or trees: equal paths meet in one node. Callers come before callees.
#[derive(Default)]
pub struct TreeBuilder {
    // By caller (plus one) and func, as the halves of a number.
    children: HashMap<u64, i32>,
    pub nodes: Vec<Node>,
}

impl TreeBuilder {
    /// Adds a trace's stacks. A stack becomes a node if it or one of its callees has samples or hidden time.
    pub fn add(&mut self, prefix: &[i32], func: &[u32], self_us: &[i64], self_samples: &[i64], hidden_us: &[i64]) {
        let count = prefix.len();
        let mut used: Vec<bool> =
            self_samples.iter().zip(hidden_us).map(|(samples, hidden)| *samples > 0 || *hidden > 0).collect();
        for stack in (0..count).rev() {
            if used[stack] && prefix[stack] >= 0 {
                used[prefix[stack] as usize] = true;
            }
        }
        let mut nodes = vec![-1i32; count];
        for stack in 0..count {
            if !used[stack] {
                continue;
            }
            let above = if prefix[stack] >= 0 { nodes[prefix[stack] as usize] } else { -1 };
            let node = self.find_node(above, func[stack]);
            nodes[stack] = node;
            let into = &mut self.nodes[node as usize];
            into.self_us += self_us[stack];
            into.self_samples += self_samples[stack];
            into.hidden_us += hidden_us[stack];
        }
    }

    /// Adds a tree whose callers come first; `prefix` is -1 for a root.
    pub fn add_tree(&mut self, prefix: &[i32], func: &[u32], sums: &[[i64; 3]]) {
        let mut nodes = Vec::with_capacity(prefix.len());
        for ((prefix, func), [self_us, self_samples, hidden_us]) in prefix.iter().zip(func).zip(sums) {
            let above = if *prefix >= 0 { nodes[*prefix as usize] } else { -1 };
            let node = self.find_node(above, *func);
            nodes.push(node);
            let into = &mut self.nodes[node as usize];
            into.self_us += self_us;
            into.self_samples += self_samples;
            into.hidden_us += hidden_us;
        }
    }

    fn find_node(&mut self, prefix: i32, func: u32) -> i32 {
        match self.children.entry(((prefix + 1) as u64) << 32 | u64::from(func)) {
            Entry::Occupied(found) => *found.get(),
            Entry::Vacant(place) => {
                let node = i32::try_from(self.nodes.len()).expect("fewer nodes than 2³¹");
                self.nodes.push(Node { prefix, func, self_us: 0, self_samples: 0, hidden_us: 0 });
                *place.insert(node)
            }
        }
    }
}
