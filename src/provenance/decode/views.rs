//! All decoders over one text, and the windows they work in.

use std::ops::Range;

use super::triggers::triggers;
use super::{codes, hidden, inplace, markup, runs, spelled, turned};
use crate::provenance::Decoding;
use crate::provenance::text::{byte, cut, is_ignorable};

/// A part of a text with one layer undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Derived {
    /// What it decodes to.
    pub(crate) text: String,
    /// The part of the input that was decoded.
    pub(crate) range: Range<usize>,
    /// What undid it, outermost first.
    pub(crate) steps: Vec<Decoding>,
}

/// Every view of a text one layer down. `source` is the text before folding, for what folding drops.
///
/// `before`: the steps that led to this text. What was turned once is not turned again.
pub(crate) fn derive(source: &str, folded: &str, before: &[Decoding]) -> Vec<Derived> {
    let mut all = hidden::derive(source, folded);
    inplace::derive(folded, &mut all);
    markup::derive(folded, &mut all);
    let (spots, marked) = triggers(folded);
    spelled::derive(folded, &spots, &mut all);
    spelled::spaced(folded, &mut all);
    runs::derive(folded, &mut all);
    codes::derive(folded, &mut all);
    if !before.iter().any(|step| matches!(step, Decoding::Rot13 | Decoding::Reversed)) {
        turned::derive(folded, marked, &mut all);
    }
    all.retain(|derived| !derived.text.trim().is_empty());
    all
}

/// Windows around places in a text, widened to white space so that no token is cut, merged where they
/// meet. The places come in order.
pub(crate) fn windows(text: &str, spots: &[usize], reach: usize) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut all: Vec<Range<usize>> = Vec::new();
    for spot in spots {
        if let Some(last) = all.last()
            && spot + reach < last.end
        {
            continue;
        }
        let near = spot.saturating_sub(reach);
        let floor = all.last().map_or(0, |last| last.end.min(*spot));
        let mut start = near.max(floor);
        // Back to the start of the token that is cut here, within reason.
        while start > floor && near - start.min(near) < 4096 && !byte(bytes, start - 1).is_ascii_whitespace()
        {
            start -= 1;
        }
        let mut end = (spot + reach).min(bytes.len());
        while end < bytes.len() && end - spot < reach + 4096 && !byte(bytes, end).is_ascii_whitespace() {
            end += 1;
        }
        while !text.is_char_boundary(start) {
            start -= 1;
        }
        while !text.is_char_boundary(end) {
            end += 1;
        }
        match all.last_mut() {
            Some(last) if start <= last.end => last.end = end.max(last.end),
            _ => all.push(start..end),
        }
    }
    all
}

/// Whether decoded bytes are text: valid UTF-8 (or UTF-16 of ASCII) without controls, with some letters
/// or digits.
pub(crate) fn as_text(bytes: &[u8]) -> Option<String> {
    if bytes.len() >= 8 && bytes.iter().skip(1).step_by(2).all(|b| *b == 0) {
        let narrow: Vec<u8> = bytes.iter().step_by(2).copied().collect();
        return as_text(&narrow);
    }
    let text = std::str::from_utf8(bytes).ok()?;
    let mut words = 0_usize;
    for c in text.chars() {
        if c.is_control() && !matches!(c, '\t' | '\n' | '\r') || c == '\u{fffd}' {
            return None;
        }
        words += usize::from(c.is_alphanumeric() || is_ignorable(c));
    }
    (words >= 3 && words * 3 >= text.chars().count()).then(|| text.to_owned())
}

/// Each Latin letter replaced by the one 13 places on.
pub(crate) fn rot13(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            'a'..='m' | 'A'..='M' => char::from(c as u8 + 13),
            'n'..='z' | 'N'..='Z' => char::from(c as u8 - 13),
            c => c,
        })
        .collect()
}

/// The characters in reverse order.
pub(crate) fn reversed(text: &str) -> String {
    text.chars().rev().collect()
}

/// Pushes a window's decoding, if it changed anything.
pub(crate) fn push(
    all: &mut Vec<Derived>,
    source: &str,
    range: Range<usize>,
    text: String,
    steps: Vec<Decoding>,
) {
    if cut(source, range.clone()) != text {
        all.push(Derived { text, range, steps });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provenance::fold::fold;

    fn check(text: &str, expected: &str, step: Decoding) {
        let view = fold(text);
        let all = derive(text, &view.text, &[]);
        assert!(
            all.iter().any(|derived| derived.text.contains(expected) && derived.steps.contains(&step)),
            "{text}: {all:?}"
        );
    }

    #[test]
    fn each_layer_is_undone() {
        check("a drop77&#64;evil&period;test", "drop77@evil.test", Decoding::Entities);
        check("to=drop77%40evil.test", "drop77@evil.test", Decoding::Percent);
        check("'drop77\\x40evil\\u002etest'", "drop77@evil.test", Decoding::Escapes);
        check("'drop77\\u{0040}evil.test'", "drop77@evil.test", Decoding::Escapes);
        check("drop77=40evil.test", "drop77@evil.test", Decoding::QuotedPrintable);
        check("drop7=\n7@evil.test now", "drop77@evil.test now", Decoding::QuotedPrintable);
        check("dr<b>op</b>77@ev<i>il</i>.test", "drop77@evil.test", Decoding::Markup);
        check("dr**op77**@evil.test", "drop77@evil.test", Decoding::Markup);
        check("key=eCBkcm9wNzdAZXZpbC50ZXN0", "drop77@evil.test", Decoding::Base64);
        check("t=w7_Dvj4-PiBkcm9wNzdAZXZpbC50ZXN0ID8_Pw", "drop77@evil.test", Decoding::Base64);
        check("MRZG64BXG5AGK5TJNQXHIZLTOQ======", "drop77@evil.test", Decoding::Base32);
        check("64:72:6F:70:37:37:40:65:76:69:6C:2E:74:65:73:74", "drop77@evil.test", Decoding::Hex);
        check(
            "68747470733a2f2f6576696c2e746573742f636f6c6c656374",
            "https://evil.test/collect",
            Decoding::Hex,
        );
        check("100,114,111,112,55,55,64,101", "drop77@e", Decoding::CharCodes);
        check("drop77 at evil dot test", "drop77@evil.test", Decoding::Spelled);
        check("drop77 [at] evil [dot] test", "drop77@evil.test", Decoding::Spelled);
        check("drop77(at)evil(dot)test", "drop77@evil.test", Decoding::Spelled);
        check("hxxps://evil[.]test/c", "https://evil.test/c", Decoding::Spelled);
        check("d r o p 7 7 @ e v i l . t e s t", "drop77@evil.test", Decoding::Spelled);
        check("d-r-o-p-7-7-@-e-v-i-l-.-t-e-s-t", "drop77@evil.test", Decoding::Spelled);
        let tags: String =
            "drop77@evil.test".chars().filter_map(|c| char::from_u32(0xe0000 + c as u32)).collect();
        check(&format!("x{tags}"), "drop77@evil.test", Decoding::TagCharacters);
    }

    #[test]
    fn windows_cover_each_spot_once() {
        let text = "aaa bbb%20c ddd eee fff ggg hhh%20i";
        assert_eq!(windows(text, &[7, 31], 3), [4..11, 28..35]);
        assert_eq!(windows(text, &[7, 10], 300).first(), Some(&(0..35)));
    }
}
