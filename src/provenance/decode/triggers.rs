//! The marks that make a closer look worth its time, found in one pass: where something is spelled out, and
//! whether something stands backwards or by rot13.

use std::sync::LazyLock;

use super::{spelled, turned};

/// Where something is spelled out, in order, and whether something is turned.
pub(super) fn triggers(text: &str) -> (Vec<usize>, bool) {
    let bytes = text.as_bytes();
    let marks = &*MARKS;
    let (mut spots, mut marked) = (Vec::new(), false);
    let mut first = 0;
    for (end, second) in (0_usize..).zip(bytes) {
        if marks.starts.has(first, *second) {
            let at = end.saturating_sub(1);
            let here = bytes.get(at..).unwrap_or_default();
            for (mark, is_spelled) in marks.at(here) {
                if !here.get(..mark.len()).is_some_and(|here| here.eq_ignore_ascii_case(mark.as_bytes())) {
                    continue;
                }
                if !is_spelled {
                    marked = true;
                } else if spots.last() != Some(&at) {
                    spots.push(at);
                }
            }
        }
        first = *second;
    }
    (spots, marked)
}

/// All marks by their first byte in small letters, and the pairs of bytes that they start with.
struct Marks {
    by_first: Vec<Vec<(&'static str, bool)>>,
    starts: Pairs,
}

impl Marks {
    /// The marks that may stand here, and whether each spells something out.
    fn at(&self, here: &[u8]) -> impl Iterator<Item = (&'static str, bool)> {
        let first = here.first().map_or(0, u8::to_ascii_lowercase);
        self.by_first.get(usize::from(first)).into_iter().flatten().copied()
    }
}

static MARKS: LazyLock<Marks> = LazyLock::new(|| {
    let mut marks = Marks { by_first: vec![Vec::new(); 256], starts: Pairs([0; 1024]) };
    let spelled = spelled::TRIGGERS.iter().map(|mark| (*mark, true));
    for (mark, is_spelled) in spelled.chain(turned::TRIGGERS.iter().map(|mark| (*mark, false))) {
        let [first, second, ..] = mark.as_bytes() else { continue };
        if let Some(same) = marks.by_first.get_mut(usize::from(first.to_ascii_lowercase())) {
            same.push((mark, is_spelled));
        }
        for first in [first.to_ascii_lowercase(), first.to_ascii_uppercase()] {
            for second in [second.to_ascii_lowercase(), second.to_ascii_uppercase()] {
                marks.starts.add(first, second);
            }
        }
    }
    marks
});

/// A set of pairs of bytes.
struct Pairs([u64; 1024]);

impl Pairs {
    fn add(&mut self, first: u8, second: u8) {
        if let Some(row) = self.0.get_mut(row(first, second)) {
            *row |= 1 << (second & 63);
        }
    }

    fn has(&self, first: u8, second: u8) -> bool {
        self.0.get(row(first, second)).is_some_and(|row| row >> (second & 63) & 1 == 1)
    }
}

fn row(first: u8, second: u8) -> usize {
    usize::from(first) << 2 | usize::from(second >> 6)
}
