//! Sums by function: the twin of `sum_by_func` in `profcore/sums/fold.py`.

use ahash::AHashMap;

pub const SELF_US: usize = 0;
pub const TOTAL_US: usize = 1;
pub const SELF_SAMPLES: usize = 2;
pub const TOTAL_SAMPLES: usize = 3;
pub const HIDDEN_US: usize = 4;
pub const HIDDEN_TOTAL_US: usize = 5;
pub const UNCERTAIN_US: usize = 6;
pub const COLUMNS: usize = 7;

/// The sums of a func, in the order of `FUNC_SUM_NAMES`.
pub type Row = [i64; COLUMNS];

/// Sums by func index, in order of first use.
#[derive(Default, Clone)]
pub struct FuncSums {
    pub func: Vec<u32>,
    pub rows: Vec<Row>,
}

/// Sums a prefix tree by func: self at the leaf, total once for each sample, at the func's topmost call.
pub fn sum_by_func(
    prefix: &[i32],
    func: &[u32],
    self_us: &[i64],
    self_samples: &[i64],
    hidden_us: &[i64],
    uncertain_us: &[i64],
) -> FuncSums {
    let mut place_of: AHashMap<u32, u32> = AHashMap::with_capacity(func.len().min(4_096));
    let mut keys = Vec::new();
    let places: Vec<u32> = func
        .iter()
        .map(|index| {
            *place_of.entry(*index).or_insert_with(|| {
                keys.push(*index);
                keys.len() as u32 - 1
            })
        })
        .collect();
    let topmost = find_topmost(prefix, &places, keys.len());
    let mut rows = vec![[0i64; COLUMNS]; keys.len()];
    let (mut below_us, mut below_samples, mut below_hidden) =
        (self_us.to_vec(), self_samples.to_vec(), hidden_us.to_vec());
    for stack in (0..prefix.len()).rev() {
        let (parent, row) = (prefix[stack], &mut rows[places[stack] as usize]);
        let (us, samples, hidden) = (below_us[stack], below_samples[stack], below_hidden[stack]);
        row[SELF_US] += self_us[stack];
        row[SELF_SAMPLES] += self_samples[stack];
        row[HIDDEN_US] += hidden_us[stack];
        row[UNCERTAIN_US] += uncertain_us[stack];
        if topmost[stack] {
            row[TOTAL_US] += us;
            row[TOTAL_SAMPLES] += samples;
            row[HIDDEN_TOTAL_US] += hidden;
        }
        if parent >= 0 {
            below_us[parent as usize] += us;
            below_samples[parent as usize] += samples;
            below_hidden[parent as usize] += hidden;
        }
    }
    FuncSums { func: keys, rows }
}

/// Tells for each node whether none of its callers has the same func.
fn find_topmost(prefix: &[i32], places: &[u32], funcs: usize) -> Vec<bool> {
    let count = prefix.len();
    let (mut first_child, mut sibling) = (vec![-1i32; count], vec![-1i32; count]);
    let mut roots = Vec::new();
    for node in (0..count).rev() {
        let parent = prefix[node];
        if parent >= 0 {
            sibling[node] = first_child[parent as usize];
            first_child[parent as usize] = node as i32;
        } else {
            roots.push(node as i32);
        }
    }
    let mut topmost = vec![false; count];
    let mut on_path = vec![0u32; funcs];
    for root in roots {
        let mut node = root;
        loop {
            let place = places[node as usize] as usize;
            topmost[node as usize] = on_path[place] == 0;
            on_path[place] += 1;
            if first_child[node as usize] >= 0 {
                node = first_child[node as usize];
                continue;
            }
            // Leave nodes until one has a sibling.
            loop {
                on_path[places[node as usize] as usize] -= 1;
                if node == root {
                    node = -1;
                    break;
                }
                if sibling[node as usize] >= 0 {
                    node = sibling[node as usize];
                    break;
                }
                node = prefix[node as usize];
            }
            if node < 0 {
                break;
            }
        }
    }
    topmost
}
