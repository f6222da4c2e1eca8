//! Text without its marks: HTML tags and comments, and the emphasis of markdown. Tags that only change
//! the look join what they separate, others part it.

use super::views::{Derived, push, windows};
use crate::provenance::Decoding;
use crate::provenance::text::{byte, cut};

const REACH: usize = 160;
/// Longest tag or comment that is taken out.
const LONGEST_TAG: usize = 512;

pub(crate) fn derive(text: &str, all: &mut Vec<Derived>) {
    let bytes = text.as_bytes();
    let mut spots: Vec<usize> = Vec::new();
    let mut skip = 0;
    for at in memchr::memchr3_iter(b'<', b'*', b'`', bytes) {
        if at >= skip
            && let Some((length, _)) = mark_at(text, at)
        {
            spots.push(at);
            skip = at + length;
        }
    }
    let doubled = doubled(text);
    if !doubled.is_empty() {
        spots.extend(doubled);
        spots.sort_unstable();
    }
    for range in windows(text, &spots, REACH) {
        let part = cut(text, range.clone());
        push(all, text, range, strip(part), vec![Decoding::Markup]);
    }
}

/// Where `__`, `~~` and the two ends of `_emphasis_` stand.
fn doubled(text: &str) -> Vec<usize> {
    let bytes = text.as_bytes();
    let mut spots = Vec::new();
    let mut skip = 0;
    for at in memchr::memchr2_iter(b'_', b'~', bytes) {
        if at >= skip && byte(bytes, at + 1) == byte(bytes, at) {
            spots.push(at);
            skip = at + 2;
        } else if at >= skip && is_emphasis(bytes, at) {
            spots.push(at);
        }
    }
    spots
}

/// Whether a `_` stands at one end of a word and at no other `_`: what it opens or closes is emphasised.
fn is_emphasis(bytes: &[u8], at: usize) -> bool {
    if byte(bytes, at) != b'_' {
        return false;
    }
    let edge = |at: Option<usize>| {
        at.and_then(|at| bytes.get(at))
            .is_none_or(|b| b.is_ascii_whitespace() || b"()[]{},;:.!?\"'*>|".contains(b))
    };
    let inner = |at: Option<usize>| {
        at.and_then(|at| bytes.get(at)).is_some_and(|b| !b.is_ascii_whitespace() && *b != b'_')
    };
    let (before, after) = (at.checked_sub(1), Some(at + 1));
    edge(before) && inner(after) || edge(after) && inner(before)
}

fn strip(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    let mut at = 0;
    let bytes = text.as_bytes();
    let may_mark = |b: &u8| matches!(b, b'<' | b'*' | b'`' | b'_' | b'~');
    while let Some(skip) = bytes.get(at..).and_then(|rest| rest.iter().position(may_mark)) {
        at += skip;
        let b = byte(bytes, at);
        let mark = match b {
            b'_' | b'~' if byte(bytes, at + 1) == b => Some((2, "")),
            b'_' | b'~' => is_emphasis(bytes, at).then_some((1, "")),
            _ => mark_at(text, at),
        };
        if let Some((length, with)) = mark {
            out.push_str(cut(text, from..at));
            out.push_str(with);
            from = at + length;
        }
        at = from.max(at + 1);
    }
    out.push_str(cut(text, from..text.len()));
    out
}

/// The length of the mark that starts here, and what takes its place.
fn mark_at(text: &str, at: usize) -> Option<(usize, &'static str)> {
    let bytes = text.as_bytes();
    match byte(bytes, at) {
        b'*' | b'`' => {
            let tail = bytes.get(at..).unwrap_or_default();
            let length = tail.iter().take(3).take_while(|b| **b == byte(bytes, at)).count();
            Some((length, ""))
        }
        b'<' => {
            let next = byte(bytes, at + 1);
            if !(next.is_ascii_alphabetic() || matches!(next, b'/' | b'!' | b'?')) {
                return None;
            }
            let tail = bytes.get(at..(at + LONGEST_TAG).min(bytes.len()))?;
            if tail.starts_with(b"<!--") {
                let end = memchr::memmem::find(tail, b"-->")?;
                return Some((end + 3, ""));
            }
            let end = memchr::memchr(b'>', tail)?;
            let inside = tail.get(1..end)?;
            // An address in angle brackets is no tag.
            if inside.iter().any(|b| matches!(b, b'<' | b'@')) && !inside.contains(&b'=') {
                return None;
            }
            let name: Vec<u8> = inside
                .iter()
                .skip(usize::from(next == b'/'))
                .take_while(|b| b.is_ascii_alphanumeric())
                .map(u8::to_ascii_lowercase)
                .collect();
            Some((end + 1, if parts(&name) { " " } else { "" }))
        }
        _ => None,
    }
}

/// Whether an element stands on lines or in cells of its own.
fn parts(name: &[u8]) -> bool {
    matches!(
        name,
        b"p" | b"div"
            | b"br"
            | b"tr"
            | b"td"
            | b"th"
            | b"li"
            | b"ul"
            | b"ol"
            | b"dl"
            | b"dt"
            | b"dd"
            | b"table"
            | b"h1"
            | b"h2"
            | b"h3"
            | b"h4"
            | b"h5"
            | b"h6"
            | b"section"
            | b"article"
            | b"header"
            | b"footer"
            | b"pre"
            | b"hr"
            | b"body"
            | b"head"
            | b"html"
            | b"title"
            | b"option"
            | b"script"
            | b"style"
            | b"nav"
            | b"main"
            | b"form"
            | b"input"
            | b"button"
            | b"blockquote"
            | b"figure"
            | b"img"
    )
}
