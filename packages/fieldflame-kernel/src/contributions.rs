//! Reads stored contributions: the twin of `decode_first` in `profcore/sums/blobs.py`, which has the layout.

use crate::blobs::{CONTRIBUTION_COLUMNS, CONTRIBUTION_MAGIC, MORE};
use flate2::{Decompress, FlushDecompress, Status};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::collections::HashMap;
use std::panic::{catch_unwind, AssertUnwindSafe};

/// A number has 63 bits at most: the positive range of `i64`.
const NUMBER_BYTES: usize = 9;
/// The usual body has some kB. The buffer grows up to the second size; the twin looks at larger bodies.
const USUAL_BODY_BYTES: usize = 64 << 10;
const MAX_BODY_BYTES: usize = 64 << 20;
/// The column that a column is stored on top of: totals are kept as what they have more than self.
const BELOW: [Option<usize>; CONTRIBUTION_COLUMNS] = [None, None, Some(1), None, None, Some(4), Some(3), None];

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
    let (mut inflater, mut body) = (Decompress::new(true), Vec::with_capacity(USUAL_BODY_BYTES));
    let mut read = Read { is_read: Vec::new(), lengths: Vec::new(), columns: vec![Vec::new(); column_count] };
    let mut left: HashMap<i64, i64> = HashMap::new();
    for (blob, part) in blobs.iter().zip(parts) {
        let left = left.entry(*part).or_insert(most);
        if *left >= 0 {
            inflate(&mut inflater, blob.strip_prefix(&CONTRIBUTION_MAGIC)?, &mut body)?;
            let mut rest = &body[..];
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

/// Expands one zlib stream, which ends where the bytes end.
fn inflate(inflater: &mut Decompress, packed: &[u8], body: &mut Vec<u8>) -> Option<()> {
    inflater.reset(true);
    body.clear();
    loop {
        let from = inflater.total_in() as usize;
        let status = inflater.decompress_vec(&packed[from..], body, FlushDecompress::None).ok()?;
        if status == Status::StreamEnd {
            return (inflater.total_in() == packed.len() as u64).then_some(());
        }
        if body.len() < body.capacity() || body.len() >= MAX_BODY_BYTES {
            return None; // the stream is cut short, or too large
        }
        body.reserve(body.len());
    }
}

/// Adds the rows of a body, from the units on, to the first columns.
fn read_columns(mut rest: &[u8], rows: usize, columns: &mut [Vec<i64>]) -> Option<()> {
    let mut units = [1; CONTRIBUTION_COLUMNS];
    for unit in &mut units {
        *unit = read_number(&mut rest).filter(|unit| *unit > 0)?;
    }
    let (bits, mut numbers) = rest.split_at_checked(rows)?; // one bit for each value of eight columns
    let is_above = |place: usize| bits[place / 8] & (0x80 >> (place % 8)) != 0;
    for number in 0..columns.len() {
        let (done, others) = columns.split_at_mut(number);
        let (column, unit) = (&mut others[0], units[number]);
        let start = column.len();
        column.resize(start + rows, 0);
        let column = &mut column[start..];
        for (row, value) in column.iter_mut().enumerate() {
            if is_above(number * rows + row) {
                *value = read_number(&mut numbers)?.checked_mul(unit)?;
            }
        }
        if let Some(below) = BELOW[number] {
            for (value, part) in column.iter_mut().zip(&done[below][start..]) {
                *value = value.checked_add(*part)?;
            }
        }
        if number == 0 {
            if column.iter().skip(1).any(|step| *step < 1) {
                return None;
            }
            let mut func = 0i64;
            for value in column {
                func = func.checked_add(*value)?;
                *value = func;
            }
        }
    }
    // The columns that nobody wants must have as many numbers as bits, and the last one must be whole.
    let unread = (columns.len() * rows..CONTRIBUTION_COLUMNS * rows).filter(|place| is_above(*place)).count();
    let ends = numbers.iter().filter(|byte| **byte < MORE).count();
    (ends == unread && numbers.last().is_none_or(|byte| *byte < MORE)).then_some(())
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

fn to_bytes<'py>(py: Python<'py>, column: &[i64]) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, 8 * column.len(), |bytes| {
        for (eight, value) in bytes.chunks_exact_mut(8).zip(column) {
            eight.copy_from_slice(&value.to_le_bytes());
        }
        Ok(())
    })
}
