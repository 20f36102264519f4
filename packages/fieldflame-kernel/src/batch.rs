//! The sums of a batch, by cell and view: the twin of `CellFold` and `ViewFold` in `profcore/sums/fold.py`, and of what
//! `profcore/sums/batch_sums.py` makes of them.

use crate::blobs::{contribution_body, NegativeSum};
use crate::sums::{FuncSums, Row, COLUMNS, HIDDEN_TOTAL_US, TOTAL_SAMPLES, UNCERTAIN_US};
use crate::trees::TreeBuilder;
use crate::weights::TimeParts;
use crate::wire::MARKERS;
use hashbrown::HashMap;

pub type ViewId = [u8; 16];
pub type MarkerSums = [i64; MARKERS.len()];
/// The sums of a hotspot: those of a func, and the number of views that ran it.
pub const HOTSPOT_COLUMNS: usize = COLUMNS + 1;
pub type Hotspot = [i64; HOTSPOT_COLUMNS];

/// One folded trace.
pub struct TraceFold {
    pub parts: TimeParts,
    pub marker_us: Option<MarkerSums>,
    pub prefix: Vec<i32>,
    pub func: Vec<u32>,
    pub stack_us: Vec<i64>,
    pub stack_samples: Vec<i64>,
    pub stack_hidden_us: Vec<i64>,
    pub sums: FuncSums,
}

/// The sums that the traces of a batch add to one view.
#[derive(Default)]
pub struct ViewFold {
    pub parts: TimeParts,
    pub marker_us: Option<MarkerSums>,
    pub traces: u32,
    pub is_truncated: bool,
    sums: FuncSums,
    places: HashMap<u32, usize>,
}

impl ViewFold {
    fn add(&mut self, fold: TraceFold, is_truncated: bool) {
        self.parts.add(&fold.parts);
        if let Some(markers) = fold.marker_us {
            let into = self.marker_us.get_or_insert_default();
            into.iter_mut().zip(markers).for_each(|(into, us)| *into += us);
        }
        self.traces += 1;
        self.is_truncated |= is_truncated;
        if self.traces == 1 {
            self.sums = fold.sums; // most views have one trace in a batch
            return;
        }
        if self.traces == 2 {
            self.places = self.sums.func.iter().enumerate().map(|(place, func)| (*func, place)).collect();
        }
        for (func, row) in fold.sums.func.iter().zip(&fold.sums.rows) {
            let next = self.sums.func.len();
            let place = *self.places.entry(*func).or_insert(next);
            if place == next {
                self.sums.func.push(*func);
                self.sums.rows.push(*row);
            } else {
                self.sums.rows[place].iter_mut().zip(row).for_each(|(into, value)| *into += value);
            }
        }
    }

    /// Returns the indexes of all funcs with any time, and their sums.
    fn used(&self) -> impl Iterator<Item = (u32, &Row)> {
        let rows = self.sums.func.iter().copied().zip(&self.sums.rows);
        rows.filter(|(_, row)| row[TOTAL_SAMPLES] > 0 || row[HIDDEN_TOTAL_US] > 0 || row[UNCERTAIN_US] > 0)
    }

    /// Returns the sums by stored func id, in order of the ids.
    fn contribution(&self, id_of: &[i64]) -> Vec<(i64, Row)> {
        let mut rows: Vec<(i64, Row)> = self.used().map(|(index, row)| (id_of[index as usize], *row)).collect();
        rows.sort_unstable_by_key(|(func, _)| *func);
        rows
    }
}

/// The sums that a batch adds to one cell.
#[derive(Default)]
pub struct CellFold {
    pub tree: TreeBuilder,
    pub views: HashMap<ViewId, ViewFold>,
}

impl CellFold {
    pub fn add(&mut self, view: ViewId, fold: TraceFold, is_truncated: bool) {
        self.tree.add(&fold.prefix, &fold.func, &fold.stack_us, &fold.stack_samples, &fold.stack_hidden_us);
        self.views.entry(view).or_default().add(fold, is_truncated);
    }
}

/// Returns the func indexes with any time in some cells, in order.
pub fn used_funcs(cells: &[CellFold]) -> Vec<u32> {
    let mut used: Vec<u32> = cells
        .iter()
        .flat_map(|cell| cell.views.values())
        .flat_map(|view| view.used().map(|(index, _)| index))
        .collect();
    used.sort_unstable();
    used.dedup();
    used
}

/// The additions to the hotspots of some cells, by the cell's and the func's stored id.
#[derive(Default)]
pub struct HotspotDeltas {
    by_cell: HashMap<i64, HashMap<i64, Hotspot>>,
}

impl HotspotDeltas {
    /// Adds what a view's traces add to `cell_id`; returns the body of the view's new contribution.
    ///
    /// `known` is the view's stored contribution, in order of func ids: a func that it ran counts no view any more.
    pub fn grow(
        &mut self,
        cell_id: i64,
        view: &ViewFold,
        known: &[(i64, Row)],
        id_of: &[i64],
    ) -> Result<Vec<u8>, NegativeSum> {
        let added = view.contribution(id_of);
        let into = self.by_cell.entry(cell_id).or_default();
        let mut place = 0;
        for (func, row) in &added {
            while place < known.len() && known[place].0 < *func {
                place += 1;
            }
            let ran_before = known.get(place).is_some_and(|(id, old)| id == func && old[TOTAL_SAMPLES] > 0);
            let is_new = i64::from(row[TOTAL_SAMPLES] > 0 && !ran_before);
            let sums = into.entry(*func).or_default();
            sums.iter_mut().zip(row.iter().chain([&is_new])).for_each(|(into, value)| *into += value);
        }
        if known.is_empty() {
            return contribution_body(&added);
        }
        contribution_body(&merge(known, &added))
    }

    /// Returns the additions to a cell, in order of func ids.
    pub fn of_cell(&self, cell_id: i64) -> Vec<(i64, Hotspot)> {
        let mut rows: Vec<(i64, Hotspot)> =
            self.by_cell.get(&cell_id).into_iter().flatten().map(|(func, sums)| (*func, *sums)).collect();
        rows.sort_unstable_by_key(|(func, _)| *func);
        rows
    }
}

/// Returns the sum of two contributions, each in order of func ids.
fn merge(one: &[(i64, Row)], other: &[(i64, Row)]) -> Vec<(i64, Row)> {
    let mut rows: Vec<(i64, Row)> = one.iter().chain(other).copied().collect();
    rows.sort_by_key(|(func, _)| *func);
    rows.dedup_by(|later, first| {
        if later.0 != first.0 {
            return false;
        }
        first.1.iter_mut().zip(later.1).for_each(|(into, value)| *into += value);
        true
    });
    rows
}
