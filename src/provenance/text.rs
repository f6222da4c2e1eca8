//! Small readings of text that everything here shares: cutting without panics, characters that a
//! person cannot see, and white space as one space.
//!
//! Nothing here decides anything; folding for taint is in `fold.rs`.

use std::ops::Range;

/// A table of what a function says of each byte.
macro_rules! of_each_byte {
    ($of:path) => {{
        let mut all = [$of(0); 256];
        let mut byte = 0_u8;
        let mut rest: &mut [_] = &mut all;
        while let Some((first, tail)) = rest.split_first_mut() {
            *first = $of(byte);
            byte = byte.wrapping_add(1);
            rest = tail;
        }
        all
    }};
}
pub(crate) use of_each_byte;

/// The part of a text, or nothing where the range is not on character boundaries.
pub(crate) fn cut(text: &str, range: Range<usize>) -> &str {
    text.get(range).unwrap_or_default()
}

/// The byte at a place; 0 past the end.
pub(crate) fn byte(bytes: &[u8], at: usize) -> u8 {
    bytes.get(at).copied().unwrap_or(0)
}

/// Whether a character takes no ink: controls, zero width, bidi, soft hyphen, variation selectors,
/// tags. White space is not hidden.
pub(crate) fn is_hidden(c: char) -> bool {
    match c {
        '\t' | '\n' | '\r' | '\u{20}'..='\u{7e}' => false,
        '\0'..='\u{1f}' | '\u{7f}'..='\u{84}' | '\u{86}'..='\u{9f}' => true,
        _ => is_ignorable(c),
    }
}

/// `Default_Ignorable_Code_Point` of Unicode, with the other characters that have no ink.
pub(crate) fn is_ignorable(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}

/// Whether a character belongs to a script that puts no spaces between words: what stands beside it is a word of
/// its own.
pub(crate) fn is_unspaced(c: char) -> bool {
    matches!(u32::from(c),
        0x0e00..=0x0eff | 0x1000..=0x109f | 0x1780..=0x17ff | 0x3040..=0x30ff | 0x3400..=0x4dbf | 0x4e00..=0x9fff
        | 0xac00..=0xd7af | 0xf900..=0xfaff | 0x20000..=0x3ffff)
}

/// Whether a character is of another script than ours, so that what stands beside it is a word of its own.
pub(crate) fn is_other_script(c: char) -> bool {
    !c.is_ascii() && !matches!(u32::from(c), 0xc0..=0x24f | 0x300..=0x36f | 0x1e00..=0x1eff)
}

/// Whether such a character stands right before a place.
pub(crate) fn unspaced_before(text: &str, at: usize) -> bool {
    byte(text.as_bytes(), at.wrapping_sub(1)) >= 0x80
        && cut(text, 0..at).chars().next_back().is_some_and(is_unspaced)
}

/// Whether such a character begins at a place.
pub(crate) fn unspaced_at(text: &str, at: usize) -> bool {
    byte(text.as_bytes(), at) >= 0x80 && cut(text, at..text.len()).chars().next().is_some_and(is_unspaced)
}

/// Runs of white space as one space, none at the ends.
pub(crate) fn squeeze(text: &str) -> String {
    let bytes = text.as_bytes();
    let plain = bytes.iter().all(|b| (b' '..0x80).contains(b))
        && !bytes.windows(2).any(|two| two == b"  ")
        && bytes.first() != Some(&b' ')
        && bytes.last() != Some(&b' ');
    if plain {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

/// At most `most` bytes from the start, cut at a character.
pub(crate) fn head(text: &str, most: usize) -> &str {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    cut(text, 0..end)
}

/// The byte place `back` characters before `at`, and `ahead` characters after `end`.
pub(crate) fn around(text: &str, range: Range<usize>, back: usize, ahead: usize) -> Range<usize> {
    let start =
        cut(text, 0..range.start).char_indices().rev().take(back).last().map_or(range.start, |(at, _)| at);
    let end = cut(text, range.end..text.len())
        .char_indices()
        .nth(ahead)
        .map_or(text.len(), |(at, _)| range.end + at);
    start..end
}
