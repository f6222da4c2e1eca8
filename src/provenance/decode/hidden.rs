//! Text smuggled in characters without ink: tag characters that mirror ASCII, and bytes in variation
//! selectors. A model reads both; a person sees neither.

use super::views::{Derived, as_text};
use crate::provenance::Decoding;
use crate::provenance::text::{cut, is_ignorable};

/// The hidden text of `source`; its place is given in `folded`, which has lost those characters, as the
/// whole.
pub(crate) fn derive(source: &str, folded: &str) -> Vec<Derived> {
    let mut derived = characters(source, folded);
    if memchr::memchr(ESCAPE, source.as_bytes()).is_some() {
        let text = without_colours(source);
        derived.push(Derived { text, range: 0..folded.len(), steps: vec![Decoding::Markup] });
    }
    derived
}

/// The first byte of a terminal's control sequences (ECMA-48 section 5.3).
const ESCAPE: u8 = 0x1b;
/// Longest such sequence that is taken out, in bytes.
const SEQUENCE: usize = 512;

/// A text as a terminal shows it: without the sequences that set colours and titles.
fn without_colours(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(at) = memchr::memchr(ESCAPE, rest.as_bytes()) {
        out.push_str(cut(rest, 0..at));
        let sequence = cut(rest, at + 1..rest.len());
        let bytes = sequence.as_bytes();
        let near = bytes.get(..SEQUENCE.min(bytes.len())).unwrap_or_default();
        let length = match bytes.first() {
            Some(b'[') => near.iter().skip(1).position(|b| (0x40..=0x7e).contains(b)).map(|end| end + 2),
            Some(b']') => near.iter().position(|b| matches!(*b, 0x07 | ESCAPE)).map(|end| end + 1),
            _ => None,
        };
        rest = length.and_then(|length| sequence.get(length..)).unwrap_or(sequence);
    }
    out.push_str(rest);
    out
}

/// What stands in characters without ink.
fn characters(source: &str, folded: &str) -> Vec<Derived> {
    // All of them take three or four bytes in UTF-8 and begin with one of two.
    if memchr::memchr2(0xf3, 0xef, source.as_bytes()).is_none() {
        return Vec::new();
    }
    let mut runs = [Run::default(), Run::default()];
    let [tags, bytes] = &mut runs;
    for c in source.chars() {
        let code = u32::from(c);
        match code {
            0xe0020..=0xe007e => tags.push(code - 0xe0000),
            0xfe00..=0xfe0f => bytes.push(code - 0xfe00),
            0xe0100..=0xe01ef => bytes.push(code - 0xe0100 + 16),
            // What is hidden as well stands between two characters of a run without parting them.
            _ if is_ignorable(c) => {}
            _ => {
                tags.part();
                bytes.part();
            }
        }
    }
    let mut all: Vec<String> = Vec::new();
    for run in runs {
        for text in [run.parted, run.joined] {
            all.extend(as_text(text.trim_ascii()).filter(|text| !all.contains(text)));
        }
    }
    all.into_iter()
        .map(|text| Derived { text, range: 0..folded.len(), steps: vec![Decoding::TagCharacters] })
        .collect()
}

/// Hidden bytes, read twice: parted where a visible character stands between them, and joined.
#[derive(Default)]
struct Run {
    parted: Vec<u8>,
    joined: Vec<u8>,
}

impl Run {
    fn push(&mut self, code: u32) {
        self.parted.extend(u8::try_from(code));
        self.joined.extend(u8::try_from(code));
    }

    fn part(&mut self) {
        if self.parted.last().is_some_and(|last| *last != b' ') {
            self.parted.push(b' ');
        }
    }
}
