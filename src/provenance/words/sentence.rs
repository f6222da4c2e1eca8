//! Typed text cut into sentences, with what is no prose blanked out.
//!
//! The policy looks for verbs here, so everything that cannot be an order of the user's own is
//! replaced by a placeholder of the same length: urls and addresses, and what stands in quotes. A
//! sentence also says whether it has a destination of its own, because a verb counts for another
//! sentence's destination only where it has none.

use std::ops::Range;

use super::nouns;
use super::tokens::{self, Cut};

/// One sentence that the user typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sentence {
    /// Its byte range in the prompt.
    pub range: Range<usize>,
    /// Its text, where urls, addresses and quoted text are replaced by `\u{1}`, byte for byte.
    pub plain: String,
    /// The most particular destination that stands in it.
    pub own: Own,
    /// Where destinations begin in `plain`, in order, and what each is.
    pub marks: Vec<(usize, Own)>,
}

/// The most particular destination of a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Own {
    /// None that can be told.
    None,
    /// A thing: a file, a repository, an issue, quoted text.
    Thing,
    /// A name that something goes to.
    Name,
    /// An address, url, channel or account, or a thing that something goes to.
    Address,
}

/// Stands for blanked text: no letter, no punctuation, no white space.
const BLANK: &str = "\u{1}";
/// Longest text between two quotation marks, in bytes; a longer one is a stray mark.
const QUOTED: usize = 2_000;

/// The sentences of the typed stretch `range` of `text`.
pub(super) fn sentences(text: &str, range: &Range<usize>) -> Vec<Sentence> {
    let part = text.get(range.clone()).unwrap_or_default();
    let mut plain = part.to_owned();
    let mut own = Vec::new();
    for token in tokens::tokens(part, Cut::Coarse) {
        let end = tokens::lost_space(token.text).map_or(token.range.end, |at| token.range.start + at);
        if is_address(token.text) {
            own.push((token.range.start, Own::Address));
            blank(&mut plain, &(token.range.start..end));
        }
    }
    own.extend(spaced_accounts(part));
    own.extend(things(part));
    for quoted in quotes(part) {
        let goes =
            is_towards(part.get(..quoted.start).and_then(|before| before.split_whitespace().next_back()));
        own.push((quoted.start, if goes { Own::Address } else { Own::Thing }));
        blank(&mut plain, &quoted);
    }
    own.extend(addressed_names(&plain).into_iter().map(|at| (at, Own::Name)));
    cut(&plain)
        .into_iter()
        .filter_map(|piece| {
            let plain = plain.get(piece.clone())?.to_owned();
            let inside = own.iter().filter(|(at, _)| piece.contains(at));
            let mut marks: Vec<_> = inside.map(|(at, own)| (at - piece.start, *own)).collect();
            marks.sort_unstable();
            let own = marks.iter().map(|(_, own)| *own).max().unwrap_or(Own::None);
            let range = range.start + piece.start..range.start + piece.end;
            (!plain.trim().is_empty()).then_some(Sentence { range, plain, own, marks })
        })
        .collect()
}

fn blank(text: &mut String, range: &Range<usize>) {
    if text.get(range.clone()).is_some() {
        text.replace_range(range.clone(), &BLANK.repeat(range.len()));
    }
}

/// Whether a token is an address by its looks: mail, url, web host, channel, mention, phone, IBAN.
fn is_address(token: &str) -> bool {
    let letters = |text: &str| text.chars().next().is_some_and(char::is_alphanumeric);
    let iban = token.len() >= 15
        && token.get(..2).is_some_and(|code| code.chars().all(|c| c.is_ascii_uppercase()))
        && token.get(2..4).is_some_and(|check| check.chars().all(|c| c.is_ascii_digit()))
        && token.chars().all(|c| c.is_ascii_alphanumeric());
    token.contains("://")
        || token.starts_with("www.")
        || token.starts_with("mailto:")
        || token
            .split_once('@')
            .is_some_and(|(local, domain)| !domain.is_empty() && (local.is_empty() || letters(domain)))
        || token
            .strip_prefix('#')
            .is_some_and(|rest| letters(rest) && !rest.chars().all(|c| c.is_ascii_digit()))
        || token.strip_prefix('+').is_some_and(|rest| rest.chars().filter(char::is_ascii_digit).count() >= 6)
        || iban
}

/// Account numbers that are written in groups: `DE02 1203 0000 …`.
fn spaced_accounts(text: &str) -> Vec<(usize, Own)> {
    let all: Vec<_> = tokens::tokens(text, Cut::Fine).collect();
    let group = |text: &str| text.len() == 4 && text.bytes().all(|b| b.is_ascii_alphanumeric());
    let head = |text: &str| {
        let (country, check) = text.as_bytes().split_at_checked(2).unwrap_or_default();
        group(text) && country.iter().all(u8::is_ascii_uppercase) && check.iter().all(u8::is_ascii_digit)
    };
    all.windows(3)
        .filter_map(|three| match three {
            [first, rest @ ..] if head(first.text) && rest.iter().all(|token| group(token.text)) => {
                Some((first.range.start, Own::Address))
            }
            _ => None,
        })
        .collect()
}

/// Things that a sentence names, by their looks: files, paths, repositories, identifiers, numbers with
/// their noun, and channels beside theirs. One that something goes to is an address.
fn things(text: &str) -> Vec<(usize, Own)> {
    let all: Vec<_> = tokens::tokens(text, Cut::Fine).collect();
    let word = |at: Option<usize>| at.and_then(|at| all.get(at)).map(|token| token.text);
    let mut found = Vec::new();
    for (at, token) in all.iter().enumerate() {
        let before = word(at.checked_sub(1));
        let number = token.text.trim_start_matches('#');
        let numbered = !number.is_empty()
            && number.chars().all(|c| c.is_ascii_digit())
            && (number.len() < token.text.len() || before.is_some_and(nouns::is_noun));
        if numbered || is_thing(token.text) {
            let to =
                before.is_some_and(|word| matches!(word.to_lowercase().as_str(), "to" | "into" | "onto"));
            found.push((token.range.start, if to { Own::Address } else { Own::Thing }));
        } else if token.text.contains('-') && is_towards(before) {
            found.push((token.range.start, Own::Name));
        }
        // "the general channel", but not "the same channel".
        let channel = word(Some(at + 1)).is_some_and(|noun| {
            matches!(noun.to_lowercase().as_str(), "channel" | "room" | "group" | "chat")
        });
        let article = before.is_some_and(|word| matches!(word.to_lowercase().as_str(), "the" | "our" | "my"));
        if channel && article && !UNNAMED.contains(&token.text.to_lowercase().as_str()) {
            found.push((token.range.start, Own::Address));
        }
    }
    found
}

/// Words that stand before a noun and name nothing.
const UNNAMED: &[&str] = &[
    "same",
    "right",
    "new",
    "other",
    "whole",
    "main",
    "public",
    "private",
    "slack",
    "discord",
    "telegram",
    "team",
    "first",
    "last",
    "appropriate",
    "relevant",
    "correct",
    "necessary",
];

/// Pairs of words with a stroke that are no path.
const PAIRS: &[&str] = &[
    "and/or",
    "he/she",
    "she/he",
    "his/her",
    "him/her",
    "yes/no",
    "on/off",
    "either/or",
    "input/output",
    "n/a",
];

/// Whether a token is a file, path, repository or identifier by its looks.
fn is_thing(token: &str) -> bool {
    let file = token.rsplit(['/', '\\']).next().unwrap_or_default();
    let extension = file.rsplit_once('.').is_some_and(|(stem, end)| {
        stem.len() + end.len() > 2
            && !stem.is_empty()
            && (1..=8).contains(&end.len())
            && end.chars().all(|c| c.is_ascii_alphanumeric())
            && end.chars().any(|c| c.is_ascii_alphabetic())
    });
    let letters = token.chars().any(char::is_alphabetic);
    let path = letters && token.len() > 3 && token.contains(['/', '\\']);
    let digits = token.chars().any(|c| c.is_ascii_digit());
    let key =
        letters && digits && token.contains('-') && token.starts_with(|c: char| c.is_ascii_alphabetic());
    (extension || path || key || letters && token.contains('_'))
        && !PAIRS.contains(&token.to_lowercase().as_str())
}

/// Whether what follows this word is where something goes.
fn is_towards(word: Option<&str>) -> bool {
    word.is_some_and(|word| {
        matches!(word.to_lowercase().as_str(), "to" | "into" | "onto" | "in" | "on" | "with" | "channel")
    })
}

/// Quoted stretches, with their marks. An apostrophe opens one only after a space and closes it only
/// before a space or punctuation.
fn quotes(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut open: Option<(usize, char)> = None;
    let mut before = ' ';
    let mut characters = text.char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        let next = characters.peek().map_or(' ', |(_, c)| *c);
        match open {
            Some((start, close)) if c == close && !(close == '\'' && next.is_alphanumeric()) => {
                found.push(start..at + c.len_utf8());
                open = None;
            }
            // A paragraph end, or too far away: the mark was a stray one.
            Some((start, _)) if at - start > QUOTED || c == '\n' && next == '\n' => open = None,
            Some(_) => {}
            None => {
                let close = match c {
                    '"' => '"',
                    '`' => '`',
                    '“' | '„' => '”',
                    '‘' => '’',
                    '«' => '»',
                    '「' => '」',
                    '\'' if !before.is_alphanumeric() && !next.is_whitespace() => '\'',
                    _ => {
                        before = c;
                        continue;
                    }
                };
                open = Some((at, close));
            }
        }
        before = c;
    }
    found
}

/// Places of capitalised words that a message goes to: after "to", "tell", "ask" and the like.
fn addressed_names(plain: &str) -> Vec<usize> {
    const BEFORE: &[&str] = &[
        "to", "with", "tell", "ask", "notify", "invite", "email", "mail", "message", "inform", "cc",
        "remind", "pay", "text", "call",
    ];
    let all: Vec<_> = tokens::tokens(plain, Cut::Fine).collect();
    all.iter()
        .zip(all.iter().skip(1))
        .filter(|(word, name)| {
            BEFORE.contains(&word.text.to_lowercase().as_str())
                && name.text.chars().next().is_some_and(char::is_uppercase)
        })
        .map(|(_, name)| name.range.start)
        .collect()
}

/// Sentence ends: `.`, `!`, `?` before white space or a capital, their wide forms, and line ends.
fn cut(plain: &str) -> Vec<Range<usize>> {
    let mut pieces = Vec::new();
    let mut start = 0;
    let mut characters = plain.char_indices().peekable();
    let mut word = 0;
    while let Some((at, c)) = characters.next() {
        let next = characters.peek().map_or(' ', |(_, c)| *c);
        let ends = match c {
            '\n' | '。' | '！' | '？' => true,
            // One letter before the stop is an initial or an abbreviation.
            '.' => (next.is_whitespace() || next.is_uppercase()) && word != 1,
            '!' | '?' => next.is_whitespace() || next.is_uppercase(),
            _ => false,
        };
        word = if c.is_alphanumeric() || c == '\u{1}' { word + 1 } else { 0 };
        if ends {
            let end = at + c.len_utf8();
            pieces.push(start..end);
            start = end;
        }
    }
    pieces.push(start..plain.len());
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[(&str, Own)]) {
        let found: Vec<(String, Own)> = sentences(text, &(0..text.len()))
            .into_iter()
            .map(|sentence| (sentence.plain.replace('\u{1}', "").trim().to_owned(), sentence.own))
            .collect();
        let expected: Vec<(String, Own)> =
            expected.iter().map(|(text, own)| ((*text).to_owned(), *own)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn urls_and_quotes_are_blanked_and_sentences_cut() {
        check(
            "Mail it to a@b.example. Then rest!",
            &[("Mail it to .", Own::Address), ("Then rest!", Own::None)],
        );
        check(
            "post on www.our-company.com.They sent it",
            &[("post on .", Own::Address), ("They sent it", Own::None)],
        );
        check("Titled 'Send money now' please", &[("Titled  please", Own::Thing)]);
        check("Don't say \"delete it\", it's fine", &[("Don't say , it's fine", Own::Thing)]);
        check(
            "Use v1.2 e.g. here\n- send it",
            &[("Use v1.2 e.g. here", Own::None), ("- send it", Own::None)],
        );
        check(
            "Send it to Bob. What does Alice say?",
            &[("Send it to Bob.", Own::Name), ("What does Alice say?", Own::None)],
        );
        check("post in #general", &[("post in", Own::Address)]);
        for (text, own) in [
            ("Delete old.txt", Own::Thing),
            ("Delete the repo mara/old", Own::Thing),
            ("Close issue 212", Own::Thing),
            ("Close #212", Own::Thing),
            ("Answer ticket T-4410", Own::Thing),
            ("Delete 'Old notes' now", Own::Thing),
            ("Post it in 'general'", Own::Address),
            ("Post it in the general channel", Own::Address),
            ("Post it in the same channel", Own::None),
            ("Post it in payroll-team", Own::Name),
            ("Copy it to mara/old", Own::Address),
            ("Send it and/or mail it on June 13", Own::None),
            ("Write a three-line summary", Own::None),
        ] {
            let found = sentences(text, &(0..text.len()));
            assert_eq!(found.iter().map(|sentence| sentence.own).collect::<Vec<_>>(), [own], "{text}");
        }
    }

    #[test]
    fn ranges_point_into_the_prompt() {
        let text = "x y. Mail “a b” to é. End";
        for sentence in sentences(text, &(2..text.len())) {
            assert_eq!(text.get(sentence.range.clone()).map(str::len), Some(sentence.plain.len()));
        }
    }
}
