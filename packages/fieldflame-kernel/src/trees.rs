//! Call trees: the twin of `CallTreeBuilder` in `profcore/sums/calltree.py`.

use ahash::AHashMap;

/// Grows one tree from traces: equal paths meet in one node. Parents come before children, a root's prefix is -1.
#[derive(Default)]
pub struct TreeBuilder {
    children: AHashMap<(i32, u32), i32>,
    pub prefix: Vec<i32>,
    pub func: Vec<u32>,
    pub self_us: Vec<i64>,
    pub self_samples: Vec<i64>,
    pub hidden_us: Vec<i64>,
}

impl TreeBuilder {
    /// Adds a trace's stacks. A stack becomes a node if it or one of its callees has samples or hidden time.
    pub fn add(&mut self, prefix: &[i32], func: &[u32], self_us: &[i64], self_samples: &[i64], hidden_us: &[i64]) {
        let count = prefix.len();
        let mut used: Vec<bool> = (0..count).map(|stack| self_samples[stack] > 0 || hidden_us[stack] > 0).collect();
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
            let next = i32::try_from(self.func.len()).expect("fewer nodes than 2³¹");
            let node = *self.children.entry((above, func[stack])).or_insert(next);
            if node == next {
                self.prefix.push(above);
                self.func.push(func[stack]);
                self.self_us.push(0);
                self.self_samples.push(0);
                self.hidden_us.push(0);
            }
            nodes[stack] = node;
            self.self_us[node as usize] += self_us[stack];
            self.self_samples[node as usize] += self_samples[stack];
            self.hidden_us[node as usize] += hidden_us[stack];
        }
    }
}
