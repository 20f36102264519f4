//! Sums stored call trees: the twin of `decode_call_trees` in `profcore/sums/blobs.py` and of `CallTreeSum`.

use crate::blobs::{Unpacker, CALL_TREE_MAGIC};
use crate::contributions::to_bytes;
use crate::kernel::KernelBroken;
use crate::trees::{Node, TreeBuilder};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::panic::{catch_unwind, AssertUnwindSafe};

/// The columns of a stored tree: the distance to the caller, the func and the sums.
const COLUMNS: usize = 5;
/// Above the largest id of a func.
const FUNC_END: i64 = 1 << 31;

/// The rows of one tree, read and not added yet.
#[derive(Default)]
struct Rows {
    prefix: Vec<i32>,
    func: Vec<u32>,
    sums: Vec<[i64; 3]>,
}

/// Adds up call trees over the same funcs: equal paths meet in one node.
#[pyclass]
pub struct TreeSum {
    unpacker: Unpacker,
    tree: TreeBuilder,
    is_broken: bool,
}

#[pymethods]
impl TreeSum {
    #[new]
    fn new() -> Self {
        TreeSum { unpacker: Unpacker::new(), tree: TreeBuilder::default(), is_broken: false }
    }

    /// Adds trees. Returns the number of nodes of the sum; None if the twin has to look, and then no tree is added.
    fn add(&mut self, py: Python<'_>, blobs: Vec<Bound<'_, PyBytes>>) -> PyResult<Option<usize>> {
        if self.is_broken {
            return Err(KernelBroken::new_err("an earlier fault left the sum of call trees incomplete"));
        }
        let slices: Vec<&[u8]> = blobs.iter().map(|blob| blob.as_bytes()).collect();
        let work = || {
            let trees: Option<Vec<Rows>> = slices.iter().map(|blob| read_tree(&mut self.unpacker, blob)).collect();
            trees?.iter().for_each(|rows| self.tree.add_tree(&rows.prefix, &rows.func, &rows.sums));
            Some(self.tree.nodes.len())
        };
        let done = py.detach(|| catch_unwind(AssertUnwindSafe(work)));
        done.map_err(|_| {
            self.is_broken = true;
            KernelBroken::new_err("the kernel could not add up call trees")
        })
    }

    /// Returns the columns of the sum in the order of `CallTree`, as little-endian `i64`. Callers come before callees.
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<[Bound<'py, PyBytes>; COLUMNS]> {
        let column = |value: fn(&Node) -> i64| {
            let values: Vec<i64> = self.tree.nodes.iter().map(value).collect();
            to_bytes(py, &values)
        };
        Ok([
            column(|node| i64::from(node.prefix))?,
            column(|node| i64::from(node.func))?,
            column(|node| node.self_us)?,
            column(|node| node.self_samples)?,
            column(|node| node.hidden_us)?,
        ])
    }
}

/// Returns the rows of a stored tree; None if it is not plainly right.
fn read_tree(unpacker: &mut Unpacker, blob: &[u8]) -> Option<Rows> {
    let body = unpacker.open(CALL_TREE_MAGIC, blob)?;
    let (count, mut rest) = body.split_first_chunk()?;
    let count = u32::from_le_bytes(*count) as usize;
    if count.checked_mul(COLUMNS)? > rest.len() {
        return None;
    }
    let mut rows =
        Rows { prefix: Vec::with_capacity(count), func: Vec::with_capacity(count), sums: vec![[0; 3]; count] };
    read_column(&mut rest, count, |row, distance| {
        let caller = i64::try_from(row).ok()? - distance;
        rows.prefix.push(if distance == 0 { -1 } else { i32::try_from(caller).ok().filter(|caller| *caller >= 0)? });
        Some(())
    })?;
    read_column(&mut rest, count, |_, func| {
        rows.func.push(u32::try_from(func).ok().filter(|_| func < FUNC_END)?);
        Some(())
    })?;
    for number in 0..3 {
        read_column(&mut rest, count, |row, value| {
            rows.sums[row][number] = value;
            Some(())
        })?;
    }
    rest.is_empty().then_some(rows)
}

/// Calls `take` with each row and its value in the next column, until it returns None.
fn read_column(rest: &mut &[u8], count: usize, mut take: impl FnMut(usize, i64) -> Option<()>) -> Option<()> {
    let (unit, more) = rest.split_first_chunk()?;
    let unit = i64::from(u32::from_le_bytes(*unit));
    let (width, more) = more.split_first()?;
    let (values, more) = more.split_at_checked(count.checked_mul(usize::from(*width))?)?;
    let mut scaled = |row: usize, value: u64| take(row, i64::try_from(value).ok()?.checked_mul(unit)?);
    let mut rows = 0..count;
    match width {
        1 => values.iter().try_for_each(|value| scaled(rows.next()?, u64::from(*value)))?,
        2 => cut(values).try_for_each(|two| scaled(rows.next()?, u64::from(u16::from_le_bytes(two))))?,
        4 => cut(values).try_for_each(|four| scaled(rows.next()?, u64::from(u32::from_le_bytes(four))))?,
        8 => cut(values).try_for_each(|eight| scaled(rows.next()?, u64::from_le_bytes(eight)))?,
        _ => return None,
    }
    *rest = more;
    Some(())
}

/// Returns bytes in pieces of one size.
fn cut<const SIZE: usize>(bytes: &[u8]) -> impl Iterator<Item = [u8; SIZE]> + '_ {
    bytes.chunks_exact(SIZE).map(|piece| piece.try_into().expect("pieces have that size"))
}
