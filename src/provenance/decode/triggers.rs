//! The marks that make a closer look worth its time, found in one pass: where something is spelled out, and
//! whether something stands backwards or by rot13.

use std::sync::LazyLock;

use super::{spelled, turned};

/// Where something is spelled out, in order, and whether something is turned.
pub(super) fn triggers(text: &str) -> (Vec<usize>, bool) {
    let bytes = text.as_bytes();
    let starts = &*STARTS;
    let (mut spots, mut marked) = (Vec::new(), false);
    for (at, (first, second)) in bytes.iter().zip(bytes.get(1..).unwrap_or_default()).enumerate() {
        if !starts.has(u16::from_be_bytes([*first, *second])) {
            continue;
        }
        let here = bytes.get(at..).unwrap_or_default();
        if stands(here, &spelled::TRIGGERS) {
            spots.push(at);
        }
        marked = marked || stands(here, &turned::TRIGGERS);
    }
    (spots, marked)
}

fn stands(here: &[u8], marks: &[&str]) -> bool {
    let first = here.first().map(u8::to_ascii_lowercase);
    let starts = |mark: &&str| {
        let mark = mark.as_bytes();
        mark.first().copied() == first && here.get(..mark.len()).is_some_and(|h| h.eq_ignore_ascii_case(mark))
    };
    marks.iter().any(starts)
}

/// The pairs of bytes that a mark starts with.
static STARTS: LazyLock<Pairs> = LazyLock::new(|| {
    let mut starts = Pairs([0; 1024]);
    for mark in spelled::TRIGGERS.iter().chain(&turned::TRIGGERS) {
        if let [first, second, ..] = mark.as_bytes() {
            for first in [first.to_ascii_lowercase(), first.to_ascii_uppercase()] {
                for second in [second.to_ascii_lowercase(), second.to_ascii_uppercase()] {
                    starts.add(u16::from_be_bytes([first, second]));
                }
            }
        }
    }
    starts
});

/// A set of pairs of bytes.
struct Pairs([u64; 1024]);

impl Pairs {
    fn add(&mut self, two: u16) {
        if let Some(row) = self.0.get_mut(usize::from(two >> 6)) {
            *row |= 1 << (two & 63);
        }
    }

    fn has(&self, two: u16) -> bool {
        self.0.get(usize::from(two >> 6)).is_some_and(|row| row >> (two & 63) & 1 == 1)
    }
}
