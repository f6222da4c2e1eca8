//! Whether a pattern can match any value at all: `a^b`, `[a-z&&[0-9]]` and `end$\n` cannot.
//!
//! A part of a pattern is read as a relation: between which neighbours it can stand, and with which kind
//! of character what it matches begins and ends. Six kinds of neighbour tell apart all that anchors and
//! word boundaries look at, so the relations are finite and are put together exactly; only repetitions
//! of more than [`TIMES`] are taken for more than they are, which can miss a warning and never gives a
//! wrong one.

use std::collections::{BTreeMap, BTreeSet};

use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, Hir, HirKind, Look};

/// Repetitions that are put together one by one.
const TIMES: u32 = 8;

/// What stands beside a place in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Side {
    /// Nothing: the text begins or ends here.
    Edge,
    Feed,
    Return,
    /// A letter, digit or underscore of ASCII.
    Word,
    /// Any other letter or digit.
    FarWord,
    Other,
}

const SIDES: [Side; 6] = [Side::Edge, Side::Feed, Side::Return, Side::Word, Side::FarWord, Side::Other];

/// One way to match: what stands before, what stands after, and the first and last character of what is
/// matched, unless that is empty.
type Way = (Side, Side, Option<(Side, Side)>);
type Ways = BTreeSet<Way>;

/// Whether no value matches this pattern from end to end. `false` for what is no pattern.
pub fn never_matches(source: &str) -> bool {
    let Ok(hir) = regex_syntax::parse(source) else { return false };
    let whole = |way: &Way| way.0 == Side::Edge && way.1 == Side::Edge;
    !Reader::new().ways(&hir).iter().any(whole)
}

struct Reader {
    word: Option<ClassUnicode>,
}

impl Reader {
    fn new() -> Self {
        let word = regex_syntax::parse(r"\w").ok().and_then(|hir| match hir.into_kind() {
            HirKind::Class(Class::Unicode(word)) => Some(word),
            _ => None,
        });
        Self { word }
    }

    fn ways(&self, hir: &Hir) -> Ways {
        match hir.kind() {
            HirKind::Empty => empty(|_, _| true),
            HirKind::Look(look) => empty(|before, after| holds(*look, before, after)),
            HirKind::Literal(literal) => {
                // Bytes that are no text stand for any character.
                let text = std::str::from_utf8(&literal.0).unwrap_or_default();
                let ends = text.chars().next().zip(text.chars().next_back());
                match ends.map(|(first, last)| (self.sides_of(first), self.sides_of(last))) {
                    Some((first, last)) => matched(&first, &last),
                    None => matched(&SIDES[1..], &SIDES[1..]),
                }
            }
            HirKind::Class(class) => {
                let sides = self.sides(class);
                let one = |side: &Side| matched(&[*side], &[*side]);
                sides.iter().flat_map(one).collect()
            }
            HirKind::Capture(capture) => self.ways(&capture.sub),
            HirKind::Alternation(parts) => parts.iter().flat_map(|part| self.ways(part)).collect(),
            HirKind::Concat(parts) => {
                parts.iter().fold(empty(|_, _| true), |all, part| joined(&all, &self.ways(part)))
            }
            HirKind::Repetition(repetition) => {
                let once = self.ways(&repetition.sub);
                let least = repetition.min.min(TIMES);
                let mut all = empty(|_, _| true);
                for _ in 0..least {
                    all = joined(&all, &once);
                }
                let more = repetition.max.map_or(u32::MAX, |max| max.saturating_sub(least));
                // The ways only grow, so that this ends.
                for _ in 0..more {
                    let longer: Ways = all.union(&joined(&all, &once)).copied().collect();
                    if longer == all {
                        break;
                    }
                    all = longer;
                }
                all
            }
        }
    }

    fn sides_of(&self, c: char) -> Vec<Side> {
        self.sides(&Class::Unicode(ClassUnicode::new([ClassUnicodeRange::new(c, c)])))
    }

    /// The kinds of character that a class holds.
    fn sides(&self, class: &Class) -> Vec<Side> {
        let Class::Unicode(class) = class else {
            // Classes of bytes: rare, and taken for any character unless they are empty.
            let is_empty = matches!(class, Class::Bytes(bytes) if bytes.ranges().is_empty());
            return if is_empty { Vec::new() } else { SIDES[1..].to_vec() };
        };
        let mut sides = Vec::new();
        let mut rest = class.clone();
        let range = |from, to| ClassUnicode::new([ClassUnicodeRange::new(from, to)]);
        let mut word = self.word.clone().unwrap_or_else(|| range('a', 'z'));
        let mut near = word.clone();
        near.intersect(&range('\0', '\u{7f}'));
        word.difference(&near);
        for (side, of) in [
            (Side::Feed, range('\n', '\n')),
            (Side::Return, range('\r', '\r')),
            (Side::Word, near),
            (Side::FarWord, word),
        ] {
            let mut both = class.clone();
            both.intersect(&of);
            if !both.ranges().is_empty() {
                sides.push(side);
            }
            rest.difference(&of);
        }
        if !rest.ranges().is_empty() {
            sides.push(Side::Other);
        }
        sides
    }
}

/// Matching nothing, between neighbours for which this holds.
fn empty(holds: impl Fn(Side, Side) -> bool) -> Ways {
    let pairs = SIDES.into_iter().flat_map(|before| SIDES.into_iter().map(move |after| (before, after)));
    pairs
        .filter(|(before, after)| holds(*before, *after))
        .map(|(before, after)| (before, after, None))
        .collect()
}

/// Matching a text between any neighbours.
fn matched(first: &[Side], last: &[Side]) -> Ways {
    let mut ways = Ways::new();
    for (before, after, _) in empty(|_, _| true) {
        for first in first {
            ways.extend(last.iter().map(|last| (before, after, Some((*first, *last)))));
        }
    }
    ways
}

/// One after the other: each is the neighbour of the other, unless it is empty.
fn joined(left: &Ways, right: &Ways) -> Ways {
    let mut by_neighbours: BTreeMap<(Side, Side), Vec<&Way>> = BTreeMap::new();
    for way in right {
        let first = way.2.map_or(way.1, |(first, _)| first);
        by_neighbours.entry((way.0, first)).or_default().push(way);
    }
    let mut ways = Ways::new();
    for (before, next, text) in left {
        let last = text.map_or(*before, |(_, last)| last);
        for (_, after, more) in by_neighbours.get(&(last, *next)).into_iter().flatten() {
            let both = match (*text, *more) {
                (Some((first, _)), Some((_, last))) => Some((first, last)),
                (text, None) => text,
                (None, more) => more,
            };
            ways.insert((*before, *after, both));
        }
    }
    ways
}

/// Whether an anchor or a word boundary holds between these neighbours.
fn holds(look: Look, before: Side, after: Side) -> bool {
    let near = |side| side == Side::Word;
    let any = |side| matches!(side, Side::Word | Side::FarWord);
    match look {
        Look::Start => before == Side::Edge,
        Look::End => after == Side::Edge,
        Look::StartLF => matches!(before, Side::Edge | Side::Feed),
        Look::EndLF => matches!(after, Side::Edge | Side::Feed),
        Look::StartCRLF => {
            matches!(before, Side::Edge | Side::Feed) || (before == Side::Return && after != Side::Feed)
        }
        Look::EndCRLF => {
            matches!(after, Side::Edge | Side::Return) || (after == Side::Feed && before != Side::Return)
        }
        Look::WordAscii => near(before) != near(after),
        Look::WordAsciiNegate => near(before) == near(after),
        Look::WordUnicode => any(before) != any(after),
        Look::WordUnicodeNegate => any(before) == any(after),
        Look::WordStartAscii => !near(before) && near(after),
        Look::WordEndAscii => near(before) && !near(after),
        Look::WordStartUnicode => !any(before) && any(after),
        Look::WordEndUnicode => any(before) && !any(after),
        Look::WordStartHalfAscii => !near(before),
        Look::WordEndHalfAscii => !near(after),
        Look::WordStartHalfUnicode => !any(before),
        Look::WordEndHalfUnicode => !any(after),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::constraint::Pattern;

    #[test]
    fn patterns_that_nothing_matches_are_known() {
        for pattern in [
            "a^b",
            "[a-z&&[0-9]]",
            "x[a&&b]y",
            "end$\\n",
            "\\bfoo\\b\\w",
            "a\\Bb\\b c^",
            "(a^b|c$d)",
            "$a",
            "a^",
            "(?:^a){2}",
            "(?:a^){1,3}",
            "(?m)a^b",
            "(?m)a$b",
            "\\w\\b\\w",
            " \\b ",
            "(a$b)+",
            "[^\\s\\S]",
            "(?x) a ^ b",
            "\\b",
            "(?R)(?m)\\r$\\n",
        ] {
            assert!(never_matches(pattern), "{pattern}");
        }
    }

    #[test]
    fn a_pattern_that_some_text_matches_is_left_alone() {
        for (pattern, text) in [
            ("", ""),
            ("^abc$", "abc"),
            ("a^b|c", "c"),
            ("(a^b)*", ""),
            ("(?m)a\\n^b", "a\nb"),
            ("(?m)a$\\nb", "a\nb"),
            ("\\bfoo\\b.*", "foo bar"),
            ("[a-z]{3,40}@corp\\.example", "ana@corp.example"),
            ("\\w\\b.\\w", "a-b"),
            ("é\\bx?", "é"),
            ("é(?-u:\\b)x", "éx"),
            ("(?:^a)?b", "b"),
            ("(?:a|^)+b", "aab"),
            ("(?:x\\b.){9}", "x.x.x.x.x.x.x.x.x."),
            ("(?i)STRASSE|straße", "Straße"),
            ("\\B", ""),
            ("(?s).*", "\u{1F600}\r\n"),
            ("(?R)(?m)a$\\r\\nb", "a\r\nb"),
        ] {
            assert!(Pattern::new(pattern).unwrap().matches(text), "{pattern}");
            assert!(!never_matches(pattern), "{pattern}");
        }
        assert!(!never_matches("("));
    }

    #[test]
    fn no_text_of_a_few_letters_matches_what_is_said_to_match_nothing() {
        let parts = ["a", "^", "$", "\\b", "\\B", "-", "(?m:^)", "(?m:$)", "\\n", "[a-]?", "é*", "(?-u:\\b)"];
        let letters = ["a", "-", "\n", "é"];
        let mut texts = vec![String::new()];
        for length in 1..=4 {
            let longer: Vec<String> = texts
                .iter()
                .filter(|text| text.chars().count() == length - 1)
                .flat_map(|text| letters.iter().map(move |letter| format!("{text}{letter}")))
                .collect();
            texts.extend(longer);
        }
        let (mut never, mut some) = (0, 0);
        for first in parts {
            for second in parts {
                for third in parts {
                    let pattern = format!("{first}{second}{third}");
                    let compiled = Pattern::new(&pattern).unwrap();
                    let matches = texts.iter().any(|text| compiled.matches(text));
                    assert_eq!(never_matches(&pattern), !matches, "{pattern}");
                    if matches { some += 1 } else { never += 1 }
                }
            }
        }
        assert!(never > 100 && some > 100, "{never} {some}");
    }
}
