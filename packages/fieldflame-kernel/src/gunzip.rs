//! Expands a stored gzip body within a bound: the twin of `profcore/inflating.py`, for the usual kind of body.

use zlib_rs::{crc32::crc32, Inflate, InflateFlush, Status};

/// Magic, deflate, no flags: the header that browsers and Python write. Any other is left to the twin.
const PLAIN_HEADER: [u8; 4] = [0x1f, 0x8b, 8, 0];
const HEADER_BYTES: usize = 10;
const TRAILER_BYTES: usize = 8;
/// A body grows at most so many times: what deflate's longest match of 258 bytes allows in two bits.
const MAX_GROWTH: usize = 1_032;

/// A buffer for stored bodies is kept from one to the next up to this size.
const KEPT_BYTES: usize = 4 << 20;

/// Expands bodies of one gzip member, one after the other, into one buffer.
pub struct Gunzip {
    inflater: Inflate,
    expanded: Vec<u8>,
}

impl Gunzip {
    pub fn new() -> Self {
        Gunzip { inflater: Inflate::new(false, 15), expanded: Vec::new() }
    }

    /// Returns the expanded body; None if it is not one plain, complete member, or has more than `max_bytes`.
    pub fn expand(&mut self, body: &[u8], max_bytes: usize) -> Option<&[u8]> {
        if body.len() < HEADER_BYTES + TRAILER_BYTES || body[..4] != PLAIN_HEADER {
            return None;
        }
        let (packed, trailer) = body[HEADER_BYTES..].split_at(body.len() - HEADER_BYTES - TRAILER_BYTES);
        let word = |at: usize| u32::from_le_bytes([trailer[at], trailer[at + 1], trailer[at + 2], trailer[at + 3]]);
        let (crc, size) = (word(0), word(4) as usize);
        if size > max_bytes || size > packed.len().saturating_mul(MAX_GROWTH) {
            return None;
        }
        self.inflater.reset(false);
        if self.expanded.len() <= size {
            self.expanded.resize(size + 1, 0); // it never grows: a longer member fills it, and ends the work
        }
        let end = self.inflater.decompress(packed, &mut self.expanded[..size + 1], InflateFlush::Finish).ok()?;
        let is_whole = end == Status::StreamEnd && self.inflater.total_in() == packed.len() as u64;
        if !is_whole || self.inflater.total_out() != size as u64 {
            return None;
        }
        let expanded = &self.expanded[..size];
        (crc32(0, expanded) == crc).then_some(expanded)
    }

    /// Returns a stored body, expanded if it is gzip. The buffer that a large one before it has made is given back first.
    pub fn open<'a>(&'a mut self, is_gzip: bool, body: &'a [u8], max_bytes: usize) -> Option<&'a [u8]> {
        self.shrink(KEPT_BYTES);
        if is_gzip {
            self.expand(body, max_bytes)
        } else {
            Some(body)
        }
    }

    /// Gives the buffer back if a large body has made it large.
    pub fn shrink(&mut self, most: usize) {
        if self.expanded.capacity() > most {
            self.expanded = Vec::new();
        }
    }
}
