//! All views of a text, encodings over encodings, nearest first, to a bounded depth and a bounded total.

use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;

use super::views::{Derived, derive};
use crate::provenance::Decoding;
use crate::provenance::fold::{View, fold};
use crate::provenance::prints::word_print;

/// Encodings over encodings are undone this deep.
const DEEPEST: usize = 3;
/// The views of a text may be so many times as long as the text, together.
const MOST: usize = 8;

/// One view of a text.
#[derive(Debug)]
pub(crate) struct Layer<'a> {
    /// What it decodes to.
    pub(crate) text: &'a str,
    /// The same, folded.
    pub(crate) view: &'a View<'a>,
    /// The part of the text that it was decoded from.
    pub(crate) origin: Range<usize>,
    /// What undid it, outermost first.
    pub(crate) steps: &'a [Decoding],
}

/// What came of a walk over the views.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Walk {
    /// All were seen.
    Whole,
    /// The caller had enough.
    Stopped,
    /// There were more than are undone.
    Cut,
}

/// Shows each view to `see` until that returns `false`. `first` are the views one layer down; `print` tells equal
/// texts apart and must not be foreseeable.
pub(crate) fn layers(
    text: &str,
    view: &View<'_>,
    first: Vec<Derived>,
    print: &dyn Fn(&str) -> u64,
    see: &mut dyn FnMut(&Layer<'_>) -> bool,
) -> Walk {
    let mut budget = text.len() * MOST + 4096;
    let mut seen: BTreeSet<u64> = BTreeSet::new();
    let mut walk = Walk::Whole;
    let mut open: VecDeque<(Derived, usize, Vec<Decoding>, Range<usize>)> = first
        .into_iter()
        .map(|derived| {
            let origin = view.source(derived.range.start)..view.source(derived.range.end);
            (derived, 1, Vec::new(), origin)
        })
        .collect();
    while let Some((derived, depth, mut steps, origin)) = open.pop_front() {
        if !seen.insert(print(&derived.text)) {
            continue;
        }
        if derived.text.len() > budget {
            walk = Walk::Cut;
            continue;
        }
        budget -= derived.text.len();
        steps.extend(derived.steps);
        let view = fold(&derived.text);
        if !view.is_same() {
            steps.push(Decoding::Fold);
        }
        if !see(&Layer { text: &derived.text, view: &view, origin: origin.clone(), steps: &steps }) {
            return Walk::Stopped;
        }
        if depth < DEEPEST {
            for next in derive(&derived.text, &view.text, &steps) {
                open.push_back((next, depth + 1, steps.clone(), origin.clone()));
            }
        }
    }
    walk
}

/// One reading of a text under its encodings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decoded {
    /// What it says once they are undone.
    pub text: String,
    /// The bytes of the text that it was decoded from.
    pub origin: Range<usize>,
    /// What was undone, outermost first.
    pub steps: Vec<Decoding>,
}

/// What a text says under the encodings that are undone, nearest first, and whether that is all: together the
/// readings are at most 8 times as long as the text and 4 KiB, and what is longer is left out.
pub fn decoded(text: &str) -> (Vec<Decoded>, bool) {
    let view = fold(text);
    let mut all = Vec::new();
    let first = derive(text, &view.text, &[]);
    let walk = layers(text, &view, first, &|text| word_print(&[0; 16], text), &mut |layer| {
        all.push(Decoded {
            text: layer.text.to_owned(),
            origin: layer.origin.clone(),
            steps: layer.steps.to_vec(),
        });
        true
    });
    (all, walk == Walk::Whole)
}
