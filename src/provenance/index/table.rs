//! Fingerprints of atoms and where they stood: open addressing, 16 bytes a slot.
//!
//! A fingerprint may stand in several slots, at most a few for each kind of place, so that a lookup sees
//! the most and the least permissive place without keeping all. Fingerprints are keyed per process, so no
//! upstream can choose colliding ones.

use crate::provenance::PlaceKind;

/// Most slots for one fingerprint and kind of place.
const MOST_A_KIND: usize = 2;
/// Longest row of slots that is searched; a longer one grows the table.
const LONGEST_PROBE: usize = 64;

/// How a value stands at its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Look {
    /// It is a part of a longer text.
    Part = 0,
    /// It is all of a scalar.
    Whole = 1,
    /// The place is the text that it is decoded from.
    Coded = 2,
}

/// A place in the log, packed: kind, whole, coded, length, block, offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Occurrence(u64);

const OFFSET_BITS: u32 = 17;
const BLOCK_BITS: u32 = 28;
const LENGTH_BITS: u32 = 13;
/// A length of so many bytes or more.
pub(crate) const LONGEST: usize = (1 << LENGTH_BITS) - 1;

impl Occurrence {
    pub(crate) fn new(kind: PlaceKind, look: Look, block: u32, offset: u32, length: usize) -> Self {
        let length = length.min(LONGEST) as u64;
        let block = u64::from(block) & ((1 << BLOCK_BITS) - 1);
        let offset = u64::from(offset) & ((1 << OFFSET_BITS) - 1);
        let head = (kind_code(kind) << 2) | look as u64;
        Self(((head << LENGTH_BITS | length) << BLOCK_BITS | block) << OFFSET_BITS | offset | 1 << 63)
    }

    pub(crate) fn kind(self) -> PlaceKind {
        match (self.0 >> (OFFSET_BITS + BLOCK_BITS + LENGTH_BITS + 2)) & 7 {
            0 => PlaceKind::OwnData,
            1 => PlaceKind::LinkField,
            2 => PlaceKind::IdentityField,
            3 => PlaceKind::Planted,
            4 => PlaceKind::PointedText,
            _ => PlaceKind::FreeText,
        }
    }

    pub(crate) fn look(self) -> Look {
        match (self.0 >> (OFFSET_BITS + BLOCK_BITS + LENGTH_BITS)) & 3 {
            0 => Look::Part,
            1 => Look::Whole,
            _ => Look::Coded,
        }
    }

    pub(crate) fn length(self) -> usize {
        ((self.0 >> (OFFSET_BITS + BLOCK_BITS)) & ((1 << LENGTH_BITS) - 1)) as usize
    }

    pub(crate) fn block(self) -> u32 {
        ((self.0 >> OFFSET_BITS) & ((1 << BLOCK_BITS) - 1)) as u32
    }

    pub(crate) fn offset(self) -> u32 {
        (self.0 & ((1 << OFFSET_BITS) - 1)) as u32
    }

    /// The place in the order of recording.
    pub(crate) fn order(self) -> u64 {
        self.0 & ((1 << (BLOCK_BITS + OFFSET_BITS)) - 1)
    }
}

/// The order of a place that is not packed.
pub(crate) fn order(block: u32, offset: u32) -> u64 {
    u64::from(block) << OFFSET_BITS | u64::from(offset)
}

fn kind_code(kind: PlaceKind) -> u64 {
    match kind {
        PlaceKind::OwnData => 0,
        PlaceKind::LinkField => 1,
        PlaceKind::IdentityField => 2,
        PlaceKind::Planted => 3,
        PlaceKind::PointedText => 4,
        PlaceKind::FreeText => 5,
    }
}

/// The slot of a hash among so many: the high half of the product, which spreads over any length.
pub(crate) fn spread(hash: u64, slots: usize) -> usize {
    usize::try_from((u128::from(hash) * slots as u128) >> 64).unwrap_or(0)
}

/// The table.
#[derive(Debug, Default)]
pub(crate) struct Table {
    slots: Vec<(u64, u64)>,
    used: usize,
}

impl Table {
    /// Bytes in use.
    pub(crate) fn bytes(&self) -> usize {
        self.slots.len() * size_of::<(u64, u64)>()
    }

    /// Bytes that it would take after one more entry.
    pub(crate) fn bytes_after_insert(&self) -> usize {
        if self.used * 8 < self.slots.len() * 7 { self.bytes() } else { grown(self.slots.len()) * 16 }
    }

    fn home(&self, print: u64) -> usize {
        spread(print, self.slots.len())
    }

    /// Adds a place, unless there are enough of its kind.
    pub(crate) fn insert(&mut self, print: u64, occurrence: Occurrence) {
        if self.used * 8 >= self.slots.len() * 7 {
            self.grow();
        }
        let print = print.max(1);
        let mut at = self.home(print);
        let mut same = 0;
        loop {
            let Some(slot) = self.slots.get_mut(at) else { return };
            if slot.0 == 0 {
                *slot = (print, occurrence.0);
                self.used += 1;
                return;
            }
            if slot.0 == print {
                let other = Occurrence(slot.1);
                if other.order() == occurrence.order() && other.kind() == occurrence.kind() {
                    return;
                }
                same += usize::from(other.kind() == occurrence.kind());
                if same >= MOST_A_KIND {
                    return;
                }
            }
            at = if at + 1 == self.slots.len() { 0 } else { at + 1 };
        }
    }

    /// The places of a fingerprint, in the order of the table.
    pub(crate) fn find(&self, print: u64) -> Vec<Occurrence> {
        let mut found = Vec::new();
        self.probe(print, |occurrence| {
            found.push(occurrence);
            true
        });
        found
    }

    /// Whether a fingerprint stands anywhere.
    pub(crate) fn contains(&self, print: u64) -> bool {
        let mut any = false;
        self.probe(print, |_| {
            any = true;
            false
        });
        any
    }

    /// Calls `each` with the places of a fingerprint until it says no.
    pub(crate) fn probe(&self, print: u64, mut each: impl FnMut(Occurrence) -> bool) {
        if self.slots.is_empty() {
            return;
        }
        let print = print.max(1);
        let mut at = self.home(print);
        while let Some((key, value)) = self.slots.get(at) {
            if *key == 0 || (*key == print && !each(Occurrence(*value))) {
                return;
            }
            at = if at + 1 == self.slots.len() { 0 } else { at + 1 };
        }
    }

    /// The slots that a search for a fingerprint passes.
    pub(crate) fn row(&self, print: u64) -> usize {
        let mut at = self.home(print.max(1));
        let mut passed = 1;
        while self.slots.get(at).is_some_and(|(key, _)| *key != 0) {
            at = if at + 1 == self.slots.len() { 0 } else { at + 1 };
            passed += 1;
        }
        passed
    }

    fn grow(&mut self) {
        let larger = grown(self.slots.len());
        let old = std::mem::replace(&mut self.slots, vec![(0, 0); larger]);
        self.used = 0;
        for (print, value) in old {
            self.put(print, value);
        }
    }

    fn put(&mut self, print: u64, value: u64) {
        if print == 0 {
            return;
        }
        let mut at = self.home(print);
        while let Some(slot) = self.slots.get_mut(at) {
            if slot.0 == 0 {
                *slot = (print, value);
                self.used += 1;
                return;
            }
            at = if at + 1 == self.slots.len() { 0 } else { at + 1 };
        }
    }

    /// Takes out all that stood before a place in the order of recording, hands their fingerprints on,
    /// and shrinks to what is left.
    pub(crate) fn give_up(&mut self, before: u64, mut gone: impl FnMut(u64)) {
        let old = std::mem::take(&mut self.slots);
        let stays = |value: u64| Occurrence(value).order() >= before;
        let left = old.iter().filter(|(print, value)| *print != 0 && stays(*value)).count();
        self.slots = vec![(0, 0); (left * 8 / 6).max(LONGEST_PROBE)];
        self.used = 0;
        for (print, value) in old {
            if print != 0 && stays(value) {
                self.put(print, value);
            } else if print != 0 {
                gone(print);
            }
        }
    }
}

fn grown(length: usize) -> usize {
    // In small steps: more copying, less that stands empty.
    (length + length / 4).max(256)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_packed_and_found() {
        let mut table = Table::default();
        for print in 1..5000_u64 {
            let print = print.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            table.insert(print, Occurrence::new(PlaceKind::FreeText, Look::Coded, 7, 99, 12));
            table.insert(print, Occurrence::new(PlaceKind::OwnData, Look::Whole, 8, 65_536, 20_000));
        }
        let found = table.find(0x9e37_79b9_7f4a_7c15);
        let read: Vec<_> =
            found.iter().map(|o| (o.kind(), o.look(), o.block(), o.offset(), o.length())).collect();
        assert_eq!(
            read,
            [
                (PlaceKind::FreeText, Look::Coded, 7, 99, 12),
                (PlaceKind::OwnData, Look::Whole, 8, 65_536, LONGEST)
            ]
        );
        assert!(!table.contains(12345));
        let mut gone = 0;
        table.give_up(order(8, 0), |_| gone += 1);
        assert_eq!((gone, table.find(0x9e37_79b9_7f4a_7c15).len()), (4999, 1));
    }

    #[test]
    fn a_kind_does_not_push_out_another() {
        let mut table = Table::default();
        for at in 0..100 {
            table.insert(5, Occurrence::new(PlaceKind::FreeText, Look::Part, 0, at, 1));
        }
        table.insert(5, Occurrence::new(PlaceKind::IdentityField, Look::Part, 0, 100, 1));
        assert_eq!(table.find(5).len(), MOST_A_KIND + 1);
    }
}
