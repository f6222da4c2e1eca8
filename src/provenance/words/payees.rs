//! Whom a typed sum is for: the nearest payee of its clause.
//!
//! A clause ends at a comma, a semicolon, "and" or "then". A sum whose clause names nobody is for whoever its
//! sentence or else its prompt names, where it is the only sum there and nobody else is named. What cannot be
//! told is for nobody, and costs a question.

use std::ops::Range;

use super::sentence::{Own, Sentence};

/// What one prompt says of sums and payees.
pub(super) struct Typed<'a> {
    /// Its sentences.
    pub(super) sentences: &'a [Sentence],
    /// Where its sums begin.
    pub(super) sums: &'a [usize],
    /// Where it names each of the payees of a call.
    pub(super) payees: &'a [Vec<Range<usize>>],
}

impl Typed<'_> {
    /// Whether the sum that begins at a place is for all of the payees.
    pub(super) fn is_for_all(&self, sum: usize) -> bool {
        let Some(sentence) = self.sentences.iter().find(|sentence| sentence.range.contains(&sum)) else {
            return false;
        };
        let clause = clause(sentence, sum);
        self.payees.iter().all(|places| self.is_for(sum, sentence, &clause, places))
    }

    fn is_for(&self, sum: usize, sentence: &Sentence, clause: &Range<usize>, payee: &[Range<usize>]) -> bool {
        let nearest = payee.iter().filter(|place| clause.contains(&place.start)).map(|place| far(place, sum));
        if let Some(nearest) = nearest.min() {
            return self.others(clause, Own::Name).all(|other| far(&(other..other + 1), sum) > nearest);
        }
        if self.others(clause, Own::Address).next().is_some() {
            return false;
        }
        let alone = |range: &Range<usize>| {
            self.sums.iter().filter(|sum| range.contains(sum)).count() == 1
                && self.others(range, Own::Address).next().is_none()
        };
        payee.iter().any(|place| sentence.range.contains(&place.start)) && alone(&sentence.range)
            || alone(&(0..usize::MAX))
    }

    /// Where somebody else is named, at least as plainly as this.
    fn others(&self, range: &Range<usize>, plainly: Own) -> impl Iterator<Item = usize> {
        let marks = self.sentences.iter().flat_map(move |sentence| {
            let named = sentence.marks.iter().filter(move |(_, own)| *own >= plainly);
            named.map(|(at, _)| sentence.range.start + at)
        });
        let ours = |at: &usize| self.payees.iter().flatten().any(|place| place.contains(at));
        marks.filter(move |at| range.contains(at) && !ours(at)).collect::<Vec<_>>().into_iter()
    }
}

/// Bytes between a sum and a place.
fn far(place: &Range<usize>, sum: usize) -> usize {
    if place.start > sum { place.start - sum } else { sum.saturating_sub(place.end) }
}

/// The clause of a sentence that holds a place, in bytes of the prompt.
fn clause(sentence: &Sentence, at: usize) -> Range<usize> {
    let plain = sentence.plain.as_str();
    let inside = at - sentence.range.start;
    let is_digit =
        |at: Option<usize>| at.and_then(|at| plain.as_bytes().get(at)).is_some_and(u8::is_ascii_digit);
    let marks = plain.match_indices([',', ';']).filter(|(at, mark)| {
        // A comma in a number parts nothing.
        *mark == ";" || !(is_digit(at.checked_sub(1)) && is_digit(Some(at + 1)))
    });
    let lower = plain.to_ascii_lowercase();
    let words = [" and ", " then ", " & ", " plus "].iter().flat_map(|word| lower.match_indices(word));
    let (mut start, mut end) = (0, plain.len());
    for (border, _) in marks.chain(words) {
        if border < inside {
            start = start.max(border);
        } else {
            end = end.min(border);
        }
    }
    sentence.range.start + start..sentence.range.start + end
}
