//! Destinations spelled so that programs miss them: `drop at evil dot test`, `drop[at]evil[.]test`,
//! `hxxps://`, and letters set apart, `d r o p`.
//!
//! A bare `at` counts only before a spelled dot, for `Meet Sam at example.com` is prose.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use regex::Regex;

use super::views::{Derived, push, windows};
use crate::provenance::Decoding;
use crate::provenance::text::{byte, cut};

const REACH: usize = 120;
/// Fewest letters set apart that are joined.
const FEWEST: usize = 6;

/// What makes a closer look worth its time.
const TRIGGERS: [&str; 24] = [
    "dot", "hxxp", "h**p", "[.", "(.", "{.", "<.", "[:", "(:", "[/", " @", "@ ", " . ", "[@", "(@", "{@",
    "[at", "(at", "{at", "<at>", "_at_", "-at-", "\" at \"", ".]",
];

static TRIGGER: LazyLock<Option<AhoCorasick>> =
    LazyLock::new(|| AhoCorasick::builder().ascii_case_insensitive(true).build(TRIGGERS).ok());

static MARKS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?i)(?<dot>\s*[\[({<]\s*(?:dot|punkt|punto|point|\.)\s*[\])}>]\s*|\s+dot\s+|_dot_|-dot-|\s+\.\s+)",
        r"|(?<at>\s*[\[({<]\s*(?:at|@)\s*[\])}>]\s*|_at_|-at-|\s*@\s+|\s+@)",
        r"|(?<bare>\s+at\s+)",
        r"|(?<http>\bh(?:xx|\*\*)p)",
        r"|(?<colon>[\[(](?:://|:/|:|/|//)[\])])",
    ))
    .ok()
});

static AFTER_BARE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)^[\w-]+(?:\s*[\[({<]\s*(?:dot|punkt|punto|point|\.)\s*[\])}>]|\s+dot\s|_dot_)").ok()
});

pub(crate) fn derive(text: &str, all: &mut Vec<Derived>) {
    let (Some(trigger), Some(marks)) = (TRIGGER.as_ref(), MARKS.as_ref()) else { return };
    let spots: Vec<usize> = trigger.find_iter(text).map(|found| found.start()).collect();
    for range in windows(text, &spots, REACH) {
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
            let spelled = AFTER_BARE.as_ref().is_some_and(|after| after.is_match(rest));
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

/// Single characters that one and the same separator sets apart, joined.
pub(crate) fn spaced(text: &str, all: &mut Vec<Derived>) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at + 2 * FEWEST <= bytes.len() + 1 {
        let separator = byte(bytes, at + 1);
        let starts = byte(bytes, at).is_ascii_graphic()
            && b" \t\n-._,|/*~:".contains(&separator)
            && byte(bytes, at + 3) == separator
            && !(at > 0 && byte(bytes, at - 1).is_ascii_alphanumeric());
        if !starts {
            at += 1;
            continue;
        }
        let mut joined = String::new();
        let mut end = at;
        loop {
            let item = byte(bytes, end);
            if !item.is_ascii_graphic() {
                break;
            }
            joined.push(char::from(item));
            end += 1;
            if byte(bytes, end) != separator || !byte(bytes, end + 1).is_ascii_graphic() {
                break;
            }
            // The next item must be one character long.
            let after = byte(bytes, end + 2);
            let single = after == separator || !(after.is_ascii_alphanumeric() || after >= 0x80);
            if !single {
                break;
            }
            end += 1;
        }
        if joined.len() >= FEWEST {
            push(all, text, at..end, joined, vec![Decoding::Spelled]);
        }
        at = end.max(at + 1);
    }
}
