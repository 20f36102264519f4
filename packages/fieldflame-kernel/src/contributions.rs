//! Reads stored contributions: the twin of `decode_first` in `profcore/sums/blobs.py`, which has the layout.

use crate::blobs::{swap_samples, Unpacker, CONTRIBUTION_COLUMNS, CONTRIBUTION_MAGIC, MORE};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::collections::HashMap;
use std::panic::{catch_unwind, AssertUnwindSafe};

/// A number has 63 bits at most: the positive range of `i64`.
const NUMBER_BYTES: usize = 9;
/// Each column of totals, with that of the self that they include.
const TOTALS: [(usize, usize); 3] = [(2, 1), (5, 4), (6, 3)];
/// Each column of samples, with that of their time.
const SAMPLES_OF: [(usize, usize); 2] = [(4, 1), (5, 2)];
/// Bits that are looked at together: 64 less those before the first one in its byte.
const BITS_AT_ONCE: usize = 57;

/// Which contributions were read; of these, the number of their funcs, and the columns of all.
struct Read {
    is_read: Vec<u8>,
    lengths: Vec<i64>,
    columns: Vec<Vec<i64>>,
}

/// Returns the first contributions of each part, as many as have up to `most` funcs together. None if the twin has to
/// look: one of them is not plainly right.
fn read_first(blobs: &[&[u8]], parts: &[i64], most: i64, column_count: usize) -> Option<Read> {
    if blobs.len() != parts.len() || !(1..=CONTRIBUTION_COLUMNS).contains(&column_count) {
        return None;
    }
    let mut unpacker = Unpacker::new();
    let mut read = Read { is_read: Vec::new(), lengths: Vec::new(), columns: vec![Vec::new(); column_count] };
    let mut left: HashMap<i64, i64> = HashMap::new();
    for (blob, part) in blobs.iter().zip(parts) {
        let left = left.entry(*part).or_insert(most);
        if *left >= 0 {
            let mut rest = unpacker.open(CONTRIBUTION_MAGIC, blob)?;
            let rows = read_number(&mut rest)?;
            *left = left.checked_sub(rows)?;
            if *left >= 0 {
                read_columns(rest, usize::try_from(rows).ok()?, &mut read.columns)?;
                read.lengths.push(rows);
            }
        }
        read.is_read.push(u8::from(*left >= 0));
    }
    Some(read)
}

/// Adds the rows of a body, from the units on, to the first columns.
fn read_columns(mut rest: &[u8], rows: usize, columns: &mut [Vec<i64>]) -> Option<()> {
    let mut units = [1; CONTRIBUTION_COLUMNS];
    for unit in &mut units {
        *unit = read_number(&mut rest).filter(|unit| *unit > 0)?;
    }
    // A bit for each row, then one for each value of the columns but the steps: eight bits a row.
    let (bits, mut numbers) = rest.split_at_checked(rows)?;
    let start = columns[0].len();
    read_steps(&mut numbers, rows, units[0], &mut columns[0])?;
    for (number, column) in columns.iter_mut().enumerate().skip(1) {
        column.resize(start + rows, 0);
        let column = &mut column[start..];
        find_set(bits, number * rows, rows, |row| {
            column[row] = read_number(&mut numbers)?.checked_mul(units[number])?;
            Some(())
        })?;
    }
    // The columns that nobody wants must have as many numbers as bits, and the last one must be whole.
    let mut unread = 0;
    find_set(bits, columns.len() * rows, (CONTRIBUTION_COLUMNS - columns.len()) * rows, |_| {
        unread += 1;
        Some(())
    })?;
    let ends = numbers.iter().filter(|byte| **byte < MORE).count();
    if ends != unread || numbers.last().is_some_and(|byte| *byte >= MORE) {
        return None;
    }
    restore(bits, start, columns)
}

/// Reads the steps between func ids, and adds the ids. Only the first step may be 0.
fn read_steps(numbers: &mut &[u8], rows: usize, unit: i64, column: &mut Vec<i64>) -> Option<()> {
    let mut func = 0i64;
    for row in 0..rows {
        let step = read_number(numbers)?.checked_mul(unit)?;
        if step == 0 && row > 0 {
            return None;
        }
        func = func.checked_add(step)?;
        column.push(func);
    }
    Some(())
}

/// Turns the rows from `start` on from what is stored into samples and totals.
fn restore(bits: &[u8], start: usize, columns: &mut [Vec<i64>]) -> Option<()> {
    let count = columns.len();
    for (samples, us) in SAMPLES_OF.into_iter().filter(|(samples, _)| *samples < count) {
        let (done, others) = columns.split_at_mut(samples);
        for (samples, us) in others[0][start..].iter_mut().zip(&done[us][start..]) {
            *samples = swap_samples(*samples, *us);
        }
    }
    for (whole, part) in TOTALS.into_iter().filter(|(whole, _)| *whole < count) {
        let (done, others) = columns.split_at_mut(whole);
        let (column, parts) = (&mut others[0][start..], &done[part][start..]);
        for (value, part) in column.iter_mut().zip(parts) {
            *value = value.checked_add(*part)?;
        }
        find_set(bits, 0, column.len(), |row| {
            column[row] = column[row.checked_sub(1)?];
            Some(())
        })?;
    }
    Some(())
}

/// Calls `found` with the number of each set bit among `count` from `first` on, in order, until it returns None.
#[inline]
fn find_set(bits: &[u8], first: usize, count: usize, mut found: impl FnMut(usize) -> Option<()>) -> Option<()> {
    let mut at = 0;
    while at < count {
        let (byte, skipped) = ((first + at) / 8, (first + at) % 8);
        let mut eight = [0; 8];
        let known = (bits.len() - byte).min(8);
        eight[..known].copy_from_slice(&bits[byte..byte + known]);
        let looked_at = (count - at).min(BITS_AT_ONCE);
        let mut word = u64::from_be_bytes(eight) << skipped & (!0 << (64 - looked_at));
        while word != 0 {
            let next = word.leading_zeros() as usize;
            found(at + next)?;
            word &= !(1 << 63 >> next);
        }
        at += looked_at;
    }
    Some(())
}

#[inline]
fn read_number(bytes: &mut &[u8]) -> Option<i64> {
    if let [byte @ 0..MORE, rest @ ..] = *bytes {
        *bytes = rest; // most numbers are this small
        return Some(i64::from(*byte));
    }
    let mut number = 0;
    for (at, byte) in bytes.iter().enumerate().take(NUMBER_BYTES) {
        number |= i64::from(byte & !MORE) << (7 * at);
        if *byte < MORE {
            *bytes = &bytes[at + 1..];
            return Some(number);
        }
    }
    None
}

/// Which were read, then as little-endian `i64` their lengths and each column.
type ReadBytes<'py> = (Bound<'py, PyBytes>, Bound<'py, PyBytes>, Vec<Bound<'py, PyBytes>>);

/// Returns what `read_first` reads; None if the twin has to look.
#[pyfunction]
pub fn decode_first<'py>(
    py: Python<'py>,
    blobs: Vec<Bound<'py, PyBytes>>,
    parts: Vec<i64>,
    most: i64,
    column_count: usize,
) -> PyResult<Option<ReadBytes<'py>>> {
    let slices: Vec<&[u8]> = blobs.iter().map(|blob| blob.as_bytes()).collect();
    // A panic is a fault of this code, and the twin has none of it.
    let work = || catch_unwind(AssertUnwindSafe(|| read_first(&slices, &parts, most, column_count))).ok().flatten();
    let Some(read) = py.detach(work) else {
        return Ok(None);
    };
    let columns: PyResult<Vec<_>> = read.columns.iter().map(|column| to_bytes(py, column)).collect();
    Ok(Some((PyBytes::new(py, &read.is_read), to_bytes(py, &read.lengths)?, columns?)))
}

pub fn to_bytes<'py>(py: Python<'py>, column: &[i64]) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, 8 * column.len(), |bytes| {
        for (eight, value) in bytes.chunks_exact_mut(8).zip(column) {
            eight.copy_from_slice(&value.to_le_bytes());
        }
        Ok(())
    })
}
