//! Sums by function: the twin of `sum_placed` in `profcore/sums/fold.py`.

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

/// The place of each func among those of one trace, by func index: kept from trace to trace, so that nothing is hashed.
#[derive(Default)]
pub struct Places(Vec<u32>);

const NO_PLACE: u32 = u32::MAX;

impl Places {
    /// Returns the distinct funcs in order of first use, and the place of each stack's func among them.
    fn find(&mut self, func: &[u32]) -> (Vec<u32>, Vec<u32>) {
        let most = func.iter().max().map_or(0, |most| *most as usize + 1);
        if self.0.len() < most {
            self.0.resize(most, NO_PLACE);
        }
        let mut keys = Vec::new();
        let mut places = Vec::with_capacity(func.len());
        for index in func {
            let place = &mut self.0[*index as usize];
            if *place == NO_PLACE {
                *place = keys.len() as u32;
                keys.push(*index);
            }
            places.push(*place);
        }
        for index in &keys {
            self.0[*index as usize] = NO_PLACE;
        }
        (keys, places)
    }
}

/// The funcs of a prefix tree in order of first use, for several sums over it: the twin of `PlacedFuncs`.
#[derive(Default)]
pub struct PlacedFuncs {
    pub keys: Vec<u32>,
    pub places: Vec<u32>,
    topmost: Vec<bool>,
}

impl PlacedFuncs {
    pub fn new(places: &mut Places, prefix: &[i32], func: &[u32]) -> Self {
        let (keys, places) = places.find(func);
        let topmost = find_topmost(prefix, &places, keys.len());
        PlacedFuncs { keys, places, topmost }
    }
}

/// Sums a prefix tree by func, in the order of its keys: self at the leaf, total once for each sample, at the func's
/// topmost call.
pub fn sum_placed(
    prefix: &[i32],
    placed: &PlacedFuncs,
    self_us: &[i64],
    self_samples: &[i64],
    hidden_us: &[i64],
    uncertain_us: &[i64],
) -> Vec<Row> {
    let mut rows = vec![[0i64; COLUMNS]; placed.keys.len()];
    let (mut below_us, mut below_samples, mut below_hidden) =
        (self_us.to_vec(), self_samples.to_vec(), hidden_us.to_vec());
    for stack in (0..prefix.len()).rev() {
        let (parent, row) = (prefix[stack], &mut rows[placed.places[stack] as usize]);
        let (us, samples, hidden) = (below_us[stack], below_samples[stack], below_hidden[stack]);
        row[SELF_US] += self_us[stack];
        row[SELF_SAMPLES] += self_samples[stack];
        row[HIDDEN_US] += hidden_us[stack];
        row[UNCERTAIN_US] += uncertain_us[stack];
        if placed.topmost[stack] {
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
    rows
}

/// Tells for each node whether none of its callers has the same func.
fn find_topmost(prefix: &[i32], places: &[u32], funcs: usize) -> Vec<bool> {
    if funcs <= MASK_FUNCS {
        find_topmost_by_masks(prefix, places)
    } else {
        find_topmost_by_walk(prefix, places, funcs)
    }
}

/// With so many funcs, those of a path are the bits of one number. Recorded traces have 80.
const MASK_FUNCS: usize = 128;

fn find_topmost_by_masks(prefix: &[i32], places: &[u32]) -> Vec<bool> {
    let mut masks: Vec<u128> = Vec::with_capacity(prefix.len());
    let mut topmost = Vec::with_capacity(prefix.len());
    for (parent, place) in prefix.iter().zip(places) {
        let above = if *parent >= 0 { masks[*parent as usize] } else { 0 };
        topmost.push(above >> place & 1 == 0);
        masks.push(above | 1 << place);
    }
    topmost
}

/// Walks through the tree depth first, and counts how often each func is on the path.
fn find_topmost_by_walk(prefix: &[i32], places: &[u32], funcs: usize) -> Vec<bool> {
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
