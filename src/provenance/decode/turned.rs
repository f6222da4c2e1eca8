//! Encodings that stand backwards or under rot13. Neither is undone in plain words (`stressed` is no
//! `desserts`); here the marks of the encoding show that something was turned.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::views::{Derived, push, reversed, rot13, windows};
use crate::provenance::Decoding;
use crate::provenance::text::{byte, cut};

const REACH: usize = 120;
/// Longest token that is turned.
const LONGEST_TOKEN: usize = 4096;
/// Fewest marks of an encoding in a token that is turned.
const FEWEST_MARKS: usize = 2;

/// What makes a closer look worth its time.
pub(super) const TRIGGERS: [&str; 15] = [
    " tod ", "\ttod", "\ntod", "].[", "}.{", ").(", "]tod[", "]ta[", ")tod(", "//:", "qbg", "[ng]", "(ng)",
    "ukkc", "/<",
];

/// Spelled marks backwards, and by rot13.
static BACKWARDS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)\stod\s|[\])}](?:\.|tod|ta)[\[({]|//:s?p(?:xx|\*\*)h|>[a-z]{1,8}/<").ok()
});
static BY_ROT13: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(?i)\sqbg\s|[\[({](?:qbg|ng)[\])}]|ukkcf?://").ok());

/// `marked`: whether a trigger stands anywhere.
pub(crate) fn derive(text: &str, marked: bool, all: &mut Vec<Derived>) {
    escaped_tokens(text, all);
    if !marked {
        return;
    }
    for (marks, step) in [(&BACKWARDS, Decoding::Reversed), (&BY_ROT13, Decoding::Rot13)] {
        let Some(marks) = marks.as_ref() else { continue };
        let spots: Vec<usize> = marks.find_iter(text).map(|found| found.start()).collect();
        for range in windows(text, &spots, REACH) {
            let part = cut(text, range.clone());
            let turned = if step == Decoding::Rot13 { rot13(part) } else { reversed(part) };
            push(all, text, range, turned, vec![step]);
        }
    }
}

/// Tokens with several marks of escapes, turned both ways.
fn escaped_tokens(text: &str, all: &mut Vec<Derived>) {
    let bytes = text.as_bytes();
    let mut done = 0;
    for at in memchr::memchr3_iter(b'%', b'\\', b'&', bytes) {
        if at >= done {
            let token = token_around(text, at);
            done = token.end;
            turn(text, token, all);
        }
    }
    // Of the equal signs of a token the first one counts.
    let mut last: Option<usize> = None;
    for at in memchr::memchr_iter(b'=', bytes) {
        let is_first = last.is_none_or(|last| {
            at - last > LONGEST_TOKEN
                || bytes.get(last..at).is_some_and(|gap| gap.iter().any(u8::is_ascii_whitespace))
        });
        if is_first {
            turn(text, token_around(text, at), all);
        }
        last = Some(at);
    }
}

/// The token around a place, cut where it is long.
fn token_around(text: &str, at: usize) -> Range<usize> {
    let bytes = text.as_bytes();
    let floor = at.saturating_sub(LONGEST_TOKEN);
    let before = bytes.get(floor..at).unwrap_or_default();
    let start = before.iter().rposition(u8::is_ascii_whitespace).map_or(floor, |gap| floor + gap + 1);
    let tail = bytes.get(at..(at + LONGEST_TOKEN).min(bytes.len())).unwrap_or_default();
    start..at + tail.iter().position(u8::is_ascii_whitespace).unwrap_or(tail.len())
}

fn turn(text: &str, range: Range<usize>, all: &mut Vec<Derived>) {
    let token = cut(text, range.clone());
    if !token.is_empty() && marks(token) >= FEWEST_MARKS {
        push(all, text, range.clone(), reversed(token), vec![Decoding::Reversed]);
        push(all, text, range, rot13(token), vec![Decoding::Rot13]);
    }
}

fn marks(token: &str) -> usize {
    let bytes = token.as_bytes();
    let code = |b: u8| b.is_ascii_hexdigit() || matches!(b, b'n'..=b's' | b'N'..=b'S');
    let ahead = |at: usize| code(byte(bytes, at + 1)) && code(byte(bytes, at + 2));
    let behind = |at: usize| at >= 2 && code(byte(bytes, at - 1)) && code(byte(bytes, at - 2));
    let (mut count, mut opens, mut ends) = (0, 0, 0);
    for (at, b) in bytes.iter().enumerate() {
        match b {
            b'%' | b'=' if ahead(at) || behind(at) => count += 1,
            b'\\' => count += 1,
            b'&' => opens += 1,
            b';' => ends += 1,
            _ => {}
        }
    }
    count + opens.min(ends)
}
