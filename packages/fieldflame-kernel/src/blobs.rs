//! Stored blobs: the twin of the encoders in `profcore/sums/blobs.py`, which has the layout.

use crate::sums::{
    Row, COLUMNS, HIDDEN_TOTAL_US, HIDDEN_US, SELF_SAMPLES, SELF_US, TOTAL_SAMPLES, TOTAL_US, UNCERTAIN_US,
};
use crate::trees::{Node, TreeBuilder};
use zlib_rs::{Deflate, DeflateConfig, DeflateFlush, Inflate, InflateFlush, Status, Strategy};

pub const CONTRIBUTION_MAGIC: [u8; 4] = *b"FFc\x05";
pub const CALL_TREE_MAGIC: [u8; 4] = *b"FFt\x01";
/// The twin has zlib's own level 6. By this library, level 5 gives blobs as small within 1 % in a third of the time.
const LEVEL: i32 = 5;
/// zlib's fixed code has at most 9 bits a byte, and a stream 10 bytes around it. Codes of its own are never longer.
const MOST_BITS: usize = 9;

/// Packs bodies into blobs, one after the other.
pub struct Packer {
    contributions: Deflate,
    trees: Deflate,
}

impl Packer {
    pub fn new() -> Self {
        let own =
            DeflateConfig { window_bits: 12, mem_level: 5, strategy: Strategy::Fixed, ..DeflateConfig::new(LEVEL) };
        Packer { contributions: Deflate::new_with_config(own), trees: Deflate::new(LEVEL, true, 15) }
    }

    pub fn pack_contribution(&mut self, body: &[u8]) -> Vec<u8> {
        pack(&mut self.contributions, CONTRIBUTION_MAGIC, body)
    }

    pub fn pack_tree(&mut self, body: &[u8]) -> Vec<u8> {
        pack(&mut self.trees, CALL_TREE_MAGIC, body)
    }
}

/// Returns a blob: the magic, then the body in a zlib stream.
fn pack(deflater: &mut Deflate, magic: [u8; 4], body: &[u8]) -> Vec<u8> {
    deflater.reset();
    let mut blob = vec![0; magic.len() + body.len() * MOST_BITS / 8 + 64];
    blob[..magic.len()].copy_from_slice(&magic);
    let done = deflater.compress(body, &mut blob[magic.len()..], DeflateFlush::Finish);
    assert_eq!(done, Ok(Status::StreamEnd), "an own stream is in order, and has room");
    blob.truncate(magic.len() + deflater.total_out() as usize);
    blob
}

/// The usual body has some kB. The buffer grows up to the second size; the twin looks at larger bodies.
const USUAL_BODY_BYTES: usize = 64 << 10;
const MAX_BODY_BYTES: usize = 64 << 20;

/// Expands blobs, one after the other, into one buffer.
pub struct Unpacker {
    inflater: Inflate,
    body: Vec<u8>,
}

impl Unpacker {
    pub fn new() -> Self {
        Unpacker { inflater: Inflate::new(true, 15), body: vec![0; USUAL_BODY_BYTES] }
    }

    /// Returns the body of a blob; None if it is not of this kind, or not one whole zlib stream.
    pub fn open(&mut self, magic: [u8; 4], blob: &[u8]) -> Option<&[u8]> {
        let packed = blob.strip_prefix(&magic)?;
        self.inflater.reset(true);
        loop {
            let (from, to) = (self.inflater.total_in() as usize, self.inflater.total_out() as usize);
            let status = self.inflater.decompress(&packed[from..], &mut self.body[to..], InflateFlush::NoFlush).ok()?;
            let size = self.inflater.total_out() as usize;
            if status == Status::StreamEnd {
                return (self.inflater.total_in() == packed.len() as u64).then_some(&self.body[..size]);
            }
            if size < self.body.len() || size >= MAX_BODY_BYTES {
                return None; // the stream is cut short, or too large
            }
            self.body.resize(2 * size, 0);
        }
    }
}

/// A column of numbers below zero cannot be written.
#[derive(Debug)]
pub struct NegativeSum;

/// The columns of a contribution: steps of the func ids, and the sums.
pub const CONTRIBUTION_COLUMNS: usize = 1 + COLUMNS;
pub const MORE: u8 = 0x80; // set in every byte of a number except its last

/// Returns the body of a contribution. `rows` are sorted by func id.
pub fn contribution_body(rows: &[(i64, Row)]) -> Result<Vec<u8>, NegativeSum> {
    let count = rows.len();
    let mut table = vec![[0i64; CONTRIBUTION_COLUMNS]; count];
    let mut is_like_last = vec![false; count];
    let (mut func_before, mut totals_before) = (0, None);
    for ((columns, is_like_last), (func, row)) in table.iter_mut().zip(&mut is_like_last).zip(rows) {
        let totals = [row[TOTAL_US], row[TOTAL_SAMPLES], row[HIDDEN_TOTAL_US]];
        let [mut rest_us, mut rest_samples, mut rest_hidden_us] =
            [totals[0] - row[SELF_US], totals[1] - row[SELF_SAMPLES], totals[2] - row[HIDDEN_US]];
        let parts = [func - func_before, row[SELF_US], row[HIDDEN_US], row[SELF_SAMPLES], row[UNCERTAIN_US]];
        if parts.iter().chain([&rest_us, &rest_samples, &rest_hidden_us]).any(|value| *value < 0) {
            return Err(NegativeSum);
        }
        *is_like_last = totals_before == Some(totals);
        if *is_like_last {
            (rest_us, rest_samples, rest_hidden_us) = (0, 0, 0);
        }
        let self_samples = swap_samples(row[SELF_SAMPLES], row[SELF_US]);
        rest_samples = swap_samples(rest_samples, rest_us);
        let [step, self_us, hidden_us, _, uncertain_us] = parts;
        *columns = [step, self_us, rest_us, hidden_us, self_samples, rest_samples, rest_hidden_us, uncertain_us];
        (func_before, totals_before) = (*func, Some(totals));
    }
    let mut units = [0i64; CONTRIBUTION_COLUMNS];
    for columns in &table {
        for (unit, value) in units.iter_mut().zip(columns) {
            *unit = common_divisor(*unit, *value);
        }
    }
    let mut body = Vec::with_capacity(16 + 3 * count * CONTRIBUTION_COLUMNS);
    push_varint(&mut body, count as u64);
    for unit in &mut units {
        *unit = (*unit).max(1);
        push_varint(&mut body, *unit as u64);
    }
    push_bits(&mut body, &is_like_last, &table);
    table.iter().for_each(|columns| push_varint(&mut body, (columns[0] / units[0]) as u64));
    for (number, unit) in units.iter().enumerate().skip(1) {
        for value in table.iter().map(|columns| columns[number]).filter(|value| *value > 0) {
            push_varint(&mut body, (value / unit) as u64);
        }
    }
    Ok(body)
}

/// Adds the bit of each row, then those of the values of each column but the steps, the first in the highest bit.
fn push_bits(body: &mut Vec<u8>, is_like_last: &[bool], table: &[[i64; CONTRIBUTION_COLUMNS]]) {
    let start = body.len();
    body.resize(start + table.len(), 0);
    let mut set = |place: usize| body[start + place / 8] |= 0x80 >> (place % 8);
    for (row, (is_like_last, columns)) in is_like_last.iter().zip(table).enumerate() {
        if *is_like_last {
            set(row);
        }
        for (number, value) in columns.iter().enumerate().skip(1) {
            if *value > 0 {
                set(number * table.len() + row);
            }
        }
    }
}

/// Lets 0 and 1 samples change places where there is time, and back.
pub fn swap_samples(samples: i64, us: i64) -> i64 {
    if us > 0 && samples < 2 {
        1 - samples
    } else {
        samples
    }
}

/// Returns the body of a call tree; `id_of` gives the stored id of each func index.
pub fn tree_body(tree: &TreeBuilder, id_of: &[i64]) -> Result<Vec<u8>, NegativeSum> {
    let nodes = &tree.nodes;
    let rows = u32::try_from(nodes.len()).map_err(|_| NegativeSum)?;
    let mut body = Vec::with_capacity(4 + 16 * nodes.len());
    body.extend(rows.to_le_bytes());
    let distance = |(row, node): (usize, &Node)| if node.prefix < 0 { 0 } else { row as i64 - i64::from(node.prefix) };
    push_column(&mut body, nodes.iter().enumerate().map(distance))?;
    push_column(&mut body, nodes.iter().map(|node| id_of[node.func as usize]))?;
    push_column(&mut body, nodes.iter().map(|node| node.self_us))?;
    push_column(&mut body, nodes.iter().map(|node| node.self_samples))?;
    push_column(&mut body, nodes.iter().map(|node| node.hidden_us))?;
    Ok(body)
}

fn push_column(body: &mut Vec<u8>, column: impl Iterator<Item = i64> + Clone) -> Result<(), NegativeSum> {
    let (mut unit, mut top) = (0, 0);
    for value in column.clone() {
        if value < 0 {
            return Err(NegativeSum);
        }
        top = top.max(value);
        unit = common_divisor(unit, value);
    }
    if !(1..=i64::from(u32::MAX)).contains(&unit) {
        unit = 1;
    }
    top /= unit;
    let width = [1usize, 2, 4].into_iter().find(|width| top < 1 << (8 * width)).unwrap_or(8);
    body.extend((unit as u32).to_le_bytes());
    body.push(width as u8);
    match (unit, width) {
        (1, 1) => body.extend(column.map(|value| value as u8)),
        _ => column.for_each(|value| body.extend(&(value / unit).to_le_bytes()[..width])),
    }
    Ok(())
}

/// Returns the greatest common divisor of two numbers from 0 on.
fn common_divisor(mut one: i64, mut other: i64) -> i64 {
    if one == 1 {
        return 1;
    }
    while other != 0 {
        (one, other) = (other, one % other);
    }
    one
}

fn push_varint(body: &mut Vec<u8>, mut number: u64) {
    while number >= u64::from(MORE) {
        body.push(number as u8 | MORE);
        number >>= 7;
    }
    body.push(number as u8);
}
