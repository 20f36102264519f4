//! Stored blobs: the twin of the encoders in `profcore/sums/blobs.py`, which has the layout.

use crate::sums::{
    Row, COLUMNS, HIDDEN_TOTAL_US, HIDDEN_US, SELF_SAMPLES, SELF_US, TOTAL_SAMPLES, TOTAL_US, UNCERTAIN_US,
};
use crate::trees::{Node, TreeBuilder};
use flate2::{Compress, Compression, FlushCompress, Status};

pub const CONTRIBUTION_MAGIC: [u8; 4] = *b"FFc\x04";
pub const CALL_TREE_MAGIC: [u8; 4] = *b"FFt\x01";
/// The twin has zlib's own level 6. By this library, level 5 gives blobs as small within 1 % in a third of the time.
const LEVEL: u32 = 5;

/// Packs bodies into blobs, one after the other.
#[derive(Default)]
pub struct Packer(Option<Compress>);

impl Packer {
    /// Returns a blob: the magic, then the body in a zlib stream.
    pub fn pack(&mut self, magic: [u8; 4], body: &[u8]) -> Vec<u8> {
        let deflater = self.0.get_or_insert_with(|| Compress::new(Compression::new(LEVEL), true));
        deflater.reset();
        let mut blob = Vec::with_capacity(magic.len() + body.len() / 2 + 64);
        blob.extend(magic);
        loop {
            let from = deflater.total_in() as usize;
            let done = deflater.compress_vec(&body[from..], &mut blob, FlushCompress::Finish);
            if done.expect("an own stream is in order") == Status::StreamEnd {
                return blob;
            }
            blob.reserve(body.len() / 2 + 64);
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
    let mut table = Vec::with_capacity(CONTRIBUTION_COLUMNS * count);
    let mut before = 0;
    for (func, _) in rows {
        table.push(func - before);
        before = *func;
    }
    table.extend(rows.iter().map(|(_, row)| row[SELF_US]));
    table.extend(rows.iter().map(|(_, row)| row[TOTAL_US] - row[SELF_US]));
    table.extend(rows.iter().map(|(_, row)| row[HIDDEN_US]));
    table.extend(rows.iter().map(|(_, row)| row[SELF_SAMPLES]));
    table.extend(rows.iter().map(|(_, row)| row[TOTAL_SAMPLES] - row[SELF_SAMPLES]));
    table.extend(rows.iter().map(|(_, row)| row[HIDDEN_TOTAL_US] - row[HIDDEN_US]));
    table.extend(rows.iter().map(|(_, row)| row[UNCERTAIN_US]));
    if table.iter().any(|value| *value < 0) {
        return Err(NegativeSum);
    }
    let mut units = [1i64; CONTRIBUTION_COLUMNS];
    let mut body = Vec::with_capacity(16 + 3 * count * CONTRIBUTION_COLUMNS);
    push_varint(&mut body, count as u64);
    for (unit, column) in units.iter_mut().zip(table.chunks_exact(count.max(1))) {
        *unit = column.iter().fold(0, |unit, value| common_divisor(unit, *value)).max(1);
    }
    units.iter().for_each(|unit| push_varint(&mut body, *unit as u64));
    for eight in table.chunks(8) {
        let bits = eight.iter().enumerate().fold(0u8, |bits, (at, value)| bits | u8::from(*value > 0) << (7 - at));
        body.push(bits);
    }
    for (unit, column) in units.iter().zip(table.chunks_exact(count.max(1))) {
        column.iter().filter(|value| **value > 0).for_each(|value| push_varint(&mut body, (value / unit) as u64));
    }
    Ok(body)
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
