//! Which blocks may hold a phrase: bit-sliced signatures of words and of pairs of neighbouring words.
//!
//! Each row is one bit of the signatures of 64 blocks, so a question reads a few rows for each group of
//! blocks and ends with a mask of candidates, which are then read. There are no false negatives.

/// Rows of a group: bits of one block's signature.
const ROWS: usize = 1 << 15;
/// Rows that each key sets.
const KEYS: u32 = 2;

/// Signatures of all blocks.
#[derive(Debug, Default)]
pub(crate) struct Phrases {
    /// One group for each 64 blocks; `None` when its blocks were given up.
    groups: Vec<Option<Group>>,
}

/// The rows of up to 64 blocks, each as many bytes wide as the blocks so far need, so that a short history
/// does not pay for blocks that it may never have.
#[derive(Debug)]
struct Group {
    rows: Vec<u8>,
    width: usize,
}

impl Group {
    /// Makes room for the bit of a block, by its place in the group.
    fn widen(&mut self, lane: usize) {
        let width = lane / 8 + 1;
        if width <= self.width {
            return;
        }
        let mut rows = vec![0; ROWS * width];
        for (new, old) in rows.chunks_exact_mut(width).zip(self.rows.chunks_exact(self.width.max(1))) {
            for (new, old) in new.iter_mut().zip(old) {
                *new = *old;
            }
        }
        *self = Self { rows, width };
    }

    /// One row, a bit for each block.
    fn row(&self, row: usize) -> u64 {
        let bytes = self.rows.get(row * self.width..(row + 1) * self.width).unwrap_or_default();
        bytes.iter().rev().fold(0, |mask, byte| mask << 8 | u64::from(*byte))
    }
}

/// The signature of one block, to be written.
pub(crate) struct Signature<'a> {
    rows: &'a mut [u8],
    width: usize,
    byte: usize,
    bit: u8,
}

impl Signature<'_> {
    /// Notes a key, the fingerprint of a word or pair.
    pub(crate) fn add(&mut self, key: u64) {
        for row in rows_of(key) {
            if let Some(bits) = self.rows.get_mut(row * self.width + self.byte) {
                *bits |= self.bit;
            }
        }
    }
}

impl Phrases {
    /// Bytes in use.
    pub(crate) fn bytes(&self) -> usize {
        self.groups.iter().flatten().map(|group| group.rows.len()).sum()
    }

    /// The signature of a block, made on first use.
    pub(crate) fn signature(&mut self, block: u32) -> Option<Signature<'_>> {
        let (at, lane) = ((block / 64) as usize, (block % 64) as usize);
        while self.groups.len() <= at {
            self.groups.push(None);
        }
        let group = self.groups.get_mut(at)?.get_or_insert_with(|| Group { rows: Vec::new(), width: 0 });
        group.widen(lane);
        Some(Signature { rows: &mut group.rows, width: group.width, byte: lane / 8, bit: 1 << (lane % 8) })
    }

    /// Blocks that may hold all keys, oldest first.
    pub(crate) fn candidates(&self, keys: &[u64]) -> Vec<u32> {
        let mut found = Vec::new();
        for (at, group) in self.groups.iter().enumerate() {
            let Some(group) = group else { continue };
            let mut mask = u64::MAX;
            for row in keys.iter().flat_map(|key| rows_of(*key)) {
                mask &= group.row(row);
                if mask == 0 {
                    break;
                }
            }
            while mask != 0 {
                let base = u32::try_from(at * 64).unwrap_or(u32::MAX);
                found.push(base + mask.trailing_zeros());
                mask &= mask - 1;
            }
        }
        found
    }

    /// Forgets groups whose blocks are all before this one.
    pub(crate) fn give_up(&mut self, before: u32) {
        for slot in self.groups.iter_mut().take((before / 64) as usize) {
            *slot = None;
        }
    }
}

fn rows_of(key: u64) -> impl Iterator<Item = usize> {
    (0..KEYS).map(move |nth| usize::try_from((key >> (nth * 20)) & (ROWS as u64 - 1)).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_are_a_superset() {
        let mut phrases = Phrases::default();
        let key = |n: u64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (n << 40);
        for block in 0..200_u32 {
            let mut signature = phrases.signature(block).unwrap_or_else(|| panic!());
            for word in 0..200 {
                signature.add(key(u64::from(block) * 1000 + word));
            }
        }
        let found = phrases.candidates(&[key(137_005), key(137_006), key(137_007)]);
        assert_eq!(found, [137]);
        phrases.give_up(192);
        assert!(phrases.candidates(&[key(137_005), key(137_006)]).is_empty());
    }
}
