//! Text smuggled in characters without ink: tag characters that mirror ASCII, and bytes in variation
//! selectors. A model reads both; a person sees neither.

use super::views::{Derived, as_text};
use crate::provenance::Decoding;

/// The hidden text of `source`; its place is given in `folded`, which has lost those characters, as the
/// whole.
pub(crate) fn derive(source: &str, folded: &str) -> Vec<Derived> {
    // All of them take three or four bytes in UTF-8 and begin with one of two.
    if !source.bytes().any(|b| b == 0xf3 || b == 0xef) {
        return Vec::new();
    }
    let mut tags = Vec::new();
    let mut bytes = Vec::new();
    for c in source.chars() {
        let code = u32::from(c);
        match code {
            0xe0020..=0xe007e => tags.extend(u8::try_from(code - 0xe0000)),
            0xfe00..=0xfe0f => bytes.extend(u8::try_from(code - 0xfe00)),
            0xe0100..=0xe01ef => bytes.extend(u8::try_from(code - 0xe0100 + 16)),
            _ => {
                // Runs are told apart by a blank, so that two of them do not become one token.
                for run in [&mut tags, &mut bytes] {
                    if run.last().is_some_and(|last| *last != b' ') {
                        run.push(b' ');
                    }
                }
            }
        }
    }
    [tags, bytes]
        .into_iter()
        .filter_map(|run| as_text(run.trim_ascii()))
        .map(|text| Derived { text, range: 0..folded.len(), steps: vec![Decoding::TagCharacters] })
        .collect()
}
