//! Samples of text for content that leaves: of each window of overlapping short pieces the one with the
//! smallest hash (winnowing), so that any 64 characters in common share at least one sample.
//!
//! Four bytes a sample, about one sample in 25 characters.

use std::collections::BTreeSet;
use std::ops::Range;

use super::text::cut;

/// Length of a sampled piece, in bytes of folded text.
pub(crate) const PIECE: usize = 16;
/// Pieces of which one is kept: `PIECE + WINDOW - 1` is the shortest run that is surely found.
const WINDOW: usize = 49;
/// Shortest run of folded characters that counts as content.
pub(crate) const SHORTEST: usize = 64;
/// Most blocks remembered for one sample.
const MOST_BLOCKS: usize = 3;
/// Bits of a block's number that are kept: with blocks of 64 KiB a number comes again after 1 GiB.
const BLOCK_BITS: u32 = 14;
/// Slots of the first table, and of the largest.
const SMALLEST_TABLE: usize = 1 << 11;
const LARGEST_TABLE: usize = 1 << 20;

/// The samples of a text that is not folded yet. Short text has none, and most text is short.
pub(crate) fn samples_of(text: &str, key: u64) -> Vec<(usize, u64)> {
    if text.len() < SHORTEST && text.is_ascii() {
        return Vec::new();
    }
    samples(&normal(text), key)
}

/// The samples of a folded text: where each starts, and its hash. Linear.
pub(crate) fn samples(text: &str, key: u64) -> Vec<(usize, u64)> {
    const BASE: u64 = 0x0100_0000_01b3;
    let bytes = text.as_bytes();
    if bytes.len() < SHORTEST {
        return Vec::new();
    }
    let high = BASE.wrapping_pow(u32::try_from(PIECE).unwrap_or(16));
    let mut rolling = 0_u64;
    let mut hashes: Vec<u64> = Vec::with_capacity(bytes.len());
    for (at, byte) in bytes.iter().enumerate() {
        rolling = rolling.wrapping_mul(BASE).wrapping_add(u64::from(*byte) + 1);
        if let Some(gone) = at.checked_sub(PIECE).and_then(|gone| bytes.get(gone)) {
            rolling = rolling.wrapping_sub((u64::from(*gone) + 1).wrapping_mul(high));
        }
        if at + 1 >= PIECE {
            hashes.push(mix(rolling ^ key));
        }
    }
    // The least of each window, the first of equals; looked for again only when it has left the window.
    let mut found: Vec<(usize, u64)> = Vec::new();
    let mut least = (0, u64::MAX);
    for (start, hash) in hashes.iter().enumerate() {
        if *hash < least.1 {
            least = (start, *hash);
        } else if least.0 + WINDOW <= start {
            least = (start, *hash);
            for (back, other) in hashes.get(start + 1 - WINDOW..start).unwrap_or_default().iter().enumerate()
            {
                if *other < least.1 || (*other == least.1 && least.0 == start) {
                    least = (start + 1 - WINDOW + back, *other);
                }
            }
        }
        if start + 1 >= WINDOW && found.last() != Some(&least) {
            found.push(least);
        }
    }
    // The smallest of many hashes are all small; mixed again they spread over a table.
    for (_, hash) in &mut found {
        *hash = mix(*hash);
    }
    found
}

fn mix(mut x: u64) -> u64 {
    x ^= x >> 32;
    x = x.wrapping_mul(0xd6e8_feb8_6659_fd93);
    x ^= x >> 32;
    x = x.wrapping_mul(0xd6e8_feb8_6659_fd93);
    x ^ (x >> 32)
}

/// Which blocks hold which samples: four bytes a sample, in tables that are never copied. A new table is half as
/// large as all before it, up to a limit, so that there are few and little stands empty.
#[derive(Debug, Default)]
pub(crate) struct Grams {
    tables: Vec<Samples>,
    gone: Option<u32>,
}

/// One table. A slot holds a tag of the sample's hash and the block's number, cut short.
#[derive(Debug)]
struct Samples {
    slots: Vec<u32>,
    used: usize,
    /// The last block that a sample is noted of.
    last: u32,
}

impl Samples {
    /// Calls `each` with the slots of a row of equal homes until one is empty or it says no; returns where it
    /// stopped.
    fn walk(&self, hash: u64, mut each: impl FnMut(u32) -> bool) -> Option<usize> {
        let mut at = super::index::spread(hash, self.slots.len());
        loop {
            let slot = *self.slots.get(at)?;
            if slot == 0 || !each(slot) {
                return Some(at);
            }
            at = if at + 1 == self.slots.len() { 0 } else { at + 1 };
        }
    }
}

fn tag(hash: u64) -> u32 {
    u32::try_from(hash & 0x3_ffff).unwrap_or(0).max(1)
}

impl Grams {
    /// Bytes in use.
    pub(crate) fn bytes(&self) -> usize {
        self.tables.iter().map(|table| table.slots.len() * size_of::<u32>()).sum()
    }

    /// Notes a sample in a block.
    pub(crate) fn insert(&mut self, hash: u64, block: u32) {
        let full = |table: &Samples| table.used * 8 >= table.slots.len() * 7;
        if self.tables.last().is_none_or(full) {
            let all: usize = self.tables.iter().map(|table| table.slots.len()).sum();
            let slots = (all / 2).clamp(SMALLEST_TABLE, LARGEST_TABLE);
            self.tables.push(Samples { slots: vec![0; slots], used: 0, last: block });
        }
        let Some(table) = self.tables.last_mut() else { return };
        table.last = block;
        let value = tag(hash) << BLOCK_BITS | block & ((1 << BLOCK_BITS) - 1);
        let mut same = 0;
        let mut known = false;
        let at = table.walk(hash, |slot| {
            known |= slot == value;
            same += usize::from(slot >> BLOCK_BITS == value >> BLOCK_BITS);
            !known && same < MOST_BLOCKS
        });
        if let Some(slot) = at.and_then(|at| table.slots.get_mut(at))
            && *slot == 0
        {
            *slot = value;
            table.used += 1;
        }
    }

    /// The blocks, up to the current one, that may hold a sample.
    pub(crate) fn find(&self, hash: u64, current: u32) -> BTreeSet<u32> {
        let mut found = BTreeSet::new();
        for table in &self.tables {
            table.walk(hash, |slot| {
                if slot >> BLOCK_BITS == tag(hash) {
                    let block = slot & ((1 << BLOCK_BITS) - 1);
                    found.extend((block..=current).step_by(1 << BLOCK_BITS));
                }
                true
            });
        }
        found
    }

    /// Drops the oldest table; `false` when there is none.
    pub(crate) fn give_up_oldest(&mut self) -> bool {
        !self.tables.is_empty() && {
            let table = self.tables.remove(0);
            self.gone = self.gone.max(Some(table.last));
            true
        }
    }

    /// The last block of which samples were given up, if any were.
    pub(crate) fn gone(&self) -> Option<u32> {
        self.gone
    }
}

/// Folded text as it is compared: small letters, white space as one space.
pub(crate) fn normal(text: &str) -> String {
    if text.is_ascii() {
        let mut out = Vec::with_capacity(text.len());
        let mut blank = true;
        for b in text.bytes() {
            if b > b' ' && b != 0x7f {
                out.push(b.to_ascii_lowercase());
                blank = false;
            } else if b == b' ' || (b'\t'..=b'\r').contains(&b) {
                if !blank {
                    out.push(b' ');
                }
                blank = true;
            }
        }
        return String::from_utf8(out).unwrap_or_default();
    }
    let folded = super::fold::folded(text);
    let mut out = String::with_capacity(folded.len());
    let mut blank = true;
    for c in folded.chars() {
        if c.is_whitespace() {
            if !blank {
                out.push(' ');
            }
            blank = true;
        } else {
            out.push(c);
            blank = false;
        }
    }
    out
}

/// The run around a piece of `ours` and an equal one at `place` of `theirs`, and where it begins there; `None`
/// where the pieces differ or fewer than 64 characters are in common. Also: how many bytes were compared.
pub(crate) fn common(
    ours: &str,
    at: usize,
    theirs: &str,
    place: usize,
) -> (Option<(Range<usize>, usize)>, usize) {
    let (a, b) = (ours.as_bytes(), theirs.as_bytes());
    let ahead = a.iter().skip(at).zip(b.iter().skip(place)).take_while(|(x, y)| x == y).count();
    if ahead < PIECE {
        return (None, PIECE);
    }
    let back = a.iter().take(at).rev().zip(b.iter().take(place).rev()).take_while(|(x, y)| x == y).count();
    let range = at - back..at + ahead;
    let run = cut(ours, range.clone());
    let long = if run.is_empty() { range.len() / 2 } else { run.chars().count() };
    let compared = range.len();
    ((long >= SHORTEST).then_some((range, place - back)), compared)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixty_four_characters_in_common_share_a_sample() {
        let word = |n: u64| format!("{:x} ", mix(n));
        let text: String = (0..400).map(word).collect();
        let mut grams = Grams::default();
        for (_, hash) in samples(&text, 7) {
            grams.insert(hash, 5);
        }
        let shares = |part: &str, at: usize, text: &str| {
            let piece = cut(part, at..at + PIECE);
            text.match_indices(piece).any(|(place, _)| common(part, at, text, place).0.is_some())
        };
        for from in (0..text.len() - 64).step_by(37) {
            let part = format!("xx{}yy", cut(&text, from..from + 64));
            let hit = samples(&part, 7)
                .iter()
                .any(|(at, hash)| grams.find(*hash, 7).contains(&5) && shares(&part, *at, &text));
            assert!(hit, "{from}");
        }
        assert!(samples(&"q".repeat(60), 7).is_empty());
        let density = samples(&text, 7).len() * 25;
        assert!((text.len() / 2..text.len() * 2).contains(&density), "{density}");
    }
}
