//! Samples of text for content that leaves: of each window of overlapping short pieces the one with the
//! smallest hash (winnowing), so that any 64 characters in common share at least one sample.
//!
//! Four bytes a sample, about one sample in 25 characters.

use std::collections::BTreeSet;
use std::ops::Range;

use super::text::{cut, of_each_byte};

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
    let bytes = text.as_bytes();
    if bytes.len() < SHORTEST {
        return Vec::new();
    }
    let mut found = least_of_windows(&piece_hashes(bytes, key));
    // The smallest of many hashes are all small; mixed again they spread over a table.
    for (_, hash) in &mut found {
        *hash = mix(*hash);
    }
    found
}

/// The base of the rolling hash.
const BASE: u64 = 0x0100_0000_01b3;

/// What the first byte of a piece has become when the piece is left behind.
const HIGH: u64 = {
    let mut high = 1_u64;
    let mut left = PIECE;
    while left > 0 {
        high = high.wrapping_mul(BASE);
        left -= 1;
    }
    high
};

/// What a byte that leaves the piece takes from the rolling hash.
const fn gone(byte: u8) -> u64 {
    (byte as u64 + 1).wrapping_mul(HIGH)
}

const GONE: [u64; 256] = of_each_byte!(gone);

/// The hash of each piece.
fn piece_hashes(bytes: &[u8], key: u64) -> Vec<u64> {
    let mut rolling = 0_u64;
    let (first, rest) = bytes.split_at_checked(PIECE).unwrap_or_default();
    for byte in first {
        rolling = rolling.wrapping_mul(BASE).wrapping_add(u64::from(*byte) + 1);
    }
    let head = std::iter::once(mix(rolling ^ key));
    let tail = rest.iter().zip(bytes).map(|(byte, gone)| {
        let gone = GONE.get(usize::from(*gone)).copied().unwrap_or(0);
        rolling = rolling.wrapping_mul(BASE).wrapping_add((u64::from(*byte) + 1).wrapping_sub(gone));
        mix(rolling ^ key)
    });
    let mut hashes = Vec::with_capacity(bytes.len());
    hashes.extend(head);
    hashes.extend(tail);
    hashes
}

/// The least hash of each full window, the first of equals, each once.
fn least_of_windows(hashes: &[u64]) -> Vec<(usize, u64)> {
    let mut found = Vec::with_capacity(hashes.len() / 16);
    let mut next = WINDOW;
    let mut now = least_in(hashes, 0..WINDOW, 0);
    while let Some((at, least)) = now {
        found.push((at, least));
        // It counts until a smaller one comes or it leaves the window.
        let leaves = at + WINDOW;
        let ahead = hashes.get(next..(leaves + 1).min(hashes.len())).unwrap_or_default();
        now = if let Some(smaller) = ahead.iter().position(|hash| *hash < least) {
            let at = next + smaller;
            next = at + 1;
            hashes.get(at).map(|hash| (at, *hash))
        } else {
            next = leaves + 1;
            least_in(hashes, at + 1..next, least)
        };
    }
    found
}

/// The first of the least of some hashes, of which none is less than `floor`; `None` where there are fewer.
fn least_in(hashes: &[u64], range: Range<usize>, floor: u64) -> Option<(usize, u64)> {
    let window = hashes.get(range.clone())?;
    // Equal pieces in a row take no time.
    let first = *window.first()?;
    let least =
        if first == floor { floor } else { window.iter().fold(first, |least, hash| least.min(*hash)) };
    window.iter().position(|hash| *hash == least).map(|at| (range.start + at, least))
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

/// Text as it is compared: folded, in small letters, white space as one space.
pub(crate) fn normal(text: &str) -> String {
    if text.is_ascii() { squeezed(text) } else { squeezed(&super::fold::fold(text).text) }
}

/// As [`normal`], of a text that is ASCII or folded.
pub(crate) fn squeezed(text: &str) -> String {
    let mut out: Vec<u8> = Vec::with_capacity(text.len());
    let mut blank = true;
    let mut rest = text;
    while !rest.is_empty() {
        let plain = rest.bytes().position(|b| b >= 0x80).unwrap_or(rest.len());
        let (ascii, other) = rest.split_at_checked(plain).unwrap_or_default();
        let end = other.bytes().position(|b| b < 0x80).unwrap_or(other.len());
        let (other, tail) = other.split_at_checked(end).unwrap_or_default();
        let mut ascii = ascii.as_bytes();
        while let Some((part, behind)) = ascii.split_first_chunk::<16>() {
            if leaves_nothing_out(part, blank) {
                out.extend_from_slice(&part.map(compared));
                blank = part.last().is_some_and(|b| *b <= b' ');
            } else {
                blank = squeeze_part(part, blank, &mut out);
            }
            ascii = behind;
        }
        blank = squeeze_part(ascii, blank, &mut out);
        for c in other.chars().flat_map(char::to_lowercase) {
            if !c.is_whitespace() {
                out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            } else if !blank {
                out.push(b' ');
            }
            blank = c.is_whitespace();
        }
        rest = tail;
    }
    String::from_utf8(out).unwrap_or_default()
}

fn is_control(b: u8) -> bool {
    b < b'\t' || (b > b'\r' && b < b' ') || b == 0x7f
}

fn compared(b: u8) -> u8 {
    if b < b' ' { b' ' } else { b.to_ascii_lowercase() }
}

/// Whether all of some ASCII stays, as most does. Told without a branch for each byte.
fn leaves_nothing_out(part: &[u8; 16], blank: bool) -> bool {
    let mut before = [if blank { b' ' } else { b'x' }; 16];
    let ([_, tail @ ..], [head @ .., _]) = (&mut before, part);
    *tail = *head;
    let mut out = 0;
    for (b, before) in part.iter().zip(before) {
        let control = u8::from(*b < b' ') & u8::from(b.wrapping_sub(b'\t') > 4) | u8::from(*b == 0x7f);
        out |= control | u8::from(before.max(*b) <= b' ');
    }
    out == 0
}

/// Writes some ASCII in small letters, `blank` telling whether a blank stands before it. Returns whether one stands
/// at its end.
fn squeeze_part(part: &[u8], mut blank: bool, out: &mut Vec<u8>) -> bool {
    for b in part.iter().filter(|b| !is_control(**b)) {
        let is_blank = *b <= b' ';
        if !(is_blank && blank) {
            out.push(compared(*b));
        }
        blank = is_blank;
    }
    blank
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
