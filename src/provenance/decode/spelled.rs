//! Destinations spelled so that programs miss them: `drop at evil dot test`, `drop[at]evil[.]test`,
//! `hxxps://`, and letters set apart, `d r o p`.
//!
//! A bare `at` counts only before a spelled dot, for `Meet Sam at example.com` is prose.

use std::sync::LazyLock;

use regex::Regex;

use super::views::{Derived, push, windows};
use crate::provenance::Decoding;
use crate::provenance::text::{byte, cut};

const REACH: usize = 120;
/// Fewest letters set apart that are joined.
const FEWEST: usize = 6;

/// What makes a closer look worth its time.
pub(super) const TRIGGERS: [&str; 24] = [
    "dot", "hxxp", "h**p", "[.", "(.", "{.", "<.", "[:", "(:", "[/", " @", "@ ", " . ", "[@", "(@", "{@",
    "[at", "(at", "{at", "<at>", "_at_", "-at-", "\" at \"", ".]",
];

static MARKS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?i)(?<dot>\s*[\[({<]+\s*(?:dot|punkt|punto|point|\.)\s*[\])}>]+\s*|\s+dot\s+|_dot_|-dot-|\s+\.\s+)",
        r"|(?<at>\s*[\[({<]+\s*(?:at|@)\s*[\])}>]+\s*|_at_|-at-|\s*@\s+|\s+@)",
        r"|(?<bare>\s+at\s+)",
        r"|(?<http>\bh(?:xx|\*\*)p)",
        r"|(?<colon>[\[(]+(?:://|:/|:|/|//)[\])]+)",
    ))
    .ok()
});

static AFTER_BARE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)^[\w-]+(?:\s*[\[({<]\s*(?:dot|punkt|punto|point|\.)\s*[\])}>]|\s+dot\s|_dot_)").ok()
});

static BEFORE_BARE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)(?:[\[({<]\s*(?:dot|punkt|punto|point|\.)\s*[\])}>]\s*|\sdot\s+|_dot_)[\w-]+$").ok()
});

/// `spots`: where a trigger stands, in order.
pub(crate) fn derive(text: &str, spots: &[usize], all: &mut Vec<Derived>) {
    let Some(marks) = MARKS.as_ref().filter(|_| !spots.is_empty()) else { return };
    for range in windows(text, spots, REACH) {
        let part = cut(text, range.clone());
        push(all, text, range, undo(part, marks), vec![Decoding::Spelled]);
    }
}

fn undo(text: &str, marks: &Regex) -> String {
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for found in marks.captures_iter(text) {
        let Some(whole) = found.get(0) else { continue };
        let before = cut(text, 0..whole.start()).chars().next_back();
        let rest = cut(text, whole.end()..text.len());
        let between = before.is_some_and(char::is_alphanumeric)
            && rest.chars().next().is_some_and(|c| c.is_alphanumeric() || c == '[' || c == '(');
        let with = if found.name("dot").is_some() {
            between.then(|| ".".to_owned())
        } else if found.name("at").is_some() {
            between.then(|| "@".to_owned())
        } else if found.name("bare").is_some() {
            let near = whole.start() - whole.start().min(80);
            let before = text.get(near..whole.start()).unwrap_or_default();
            let spelled = AFTER_BARE.as_ref().is_some_and(|after| after.is_match(rest))
                || BEFORE_BARE.as_ref().is_some_and(|marks| marks.is_match(before));
            (between && spelled).then(|| "@".to_owned())
        } else if found.name("http").is_some() {
            Some("http".to_owned())
        } else {
            found.name("colon").map(|inner| inner.as_str().trim_matches(['[', ']', '(', ')']).to_owned())
        };
        if let Some(with) = with {
            out.push_str(cut(text, from..whole.start()));
            out.push_str(&with);
            from = whole.end();
        }
    }
    out.push_str(cut(text, from..text.len()));
    out
}

/// Single characters that one and the same separator sets apart, joined. Twice the separator is a character
/// that folding dropped, three times is the separator itself, spaced like the rest.
pub(crate) fn spaced(text: &str, all: &mut Vec<Derived>) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at + 2 * FEWEST <= bytes.len() + 1 {
        let Some(alike) = next_alike(bytes, at + 1) else { return };
        at = alike - 1;
        let separator = byte(bytes, at + 1);
        let starts =
            byte(bytes, at).is_ascii_graphic() && !(at > 0 && byte(bytes, at - 1).is_ascii_alphanumeric());
        if !starts {
            at += 1;
            continue;
        }
        let mut joined = String::new();
        let mut end = at;
        loop {
            joined.push(char::from(byte(bytes, end)));
            end += 1;
            let gap =
                bytes.get(end..).unwrap_or_default().iter().take(4).take_while(|b| **b == separator).count();
            // A separator that is an item of its own: `d-r---o` is `dr-o`.
            let next = end + gap;
            let item = byte(bytes, next);
            let after = byte(bytes, next + 1);
            let single = item.is_ascii_graphic()
                && (after == separator || !(after.is_ascii_alphanumeric() || after >= 0x80));
            if !(1..=3).contains(&gap) || !single {
                break;
            }
            if gap == 3 {
                joined.push(char::from(separator));
            }
            end = next;
        }
        if joined.len() >= FEWEST {
            push(all, text, at..end, joined, vec![Decoding::Spelled]);
        }
        at = end.max(at + 1);
    }
}

/// The next of two separators that stand next to each other or with one place between them.
fn next_alike(bytes: &[u8], from: usize) -> Option<usize> {
    const STEP: usize = 16;
    let mut at = from;
    // Many at a time, without a branch for each: hardly any text has more than a few.
    while let (Some(first), Some(second), Some(third)) =
        (part::<STEP>(bytes, at), part::<STEP>(bytes, at + 1), part::<STEP>(bytes, at + 2))
    {
        let mut any = false;
        for ((first, second), third) in first.iter().zip(second).zip(third) {
            let alike = u8::from(first == third) | u8::from(first == second);
            any |= alike & u8::from(!first.is_ascii_alphanumeric()) == 1;
        }
        let near = bytes.get(at..at + STEP + 2).unwrap_or_default();
        if any && let Some(ahead) = near.windows(3).position(is_alike) {
            return Some(at + ahead);
        }
        at += STEP;
    }
    bytes.get(at..)?.windows(3).position(is_alike).map(|ahead| at + ahead)
}

fn part<const LENGTH: usize>(bytes: &[u8], at: usize) -> Option<&[u8; LENGTH]> {
    bytes.get(at..)?.first_chunk()
}

fn is_alike(near: &[u8]) -> bool {
    match near {
        [first, second, third] => (first == third || first == second) && is_separator(*first),
        _ => false,
    }
}

fn is_separator(b: u8) -> bool {
    matches!(b, b' ' | b'\t' | b'\n' | b'-' | b'.' | b'_' | b',' | b'|' | b'/' | b'*' | b'~' | b':')
}
