//! When a stretch of typed text *is* a destination: whole tokens, compared in STRICT form by kind.
//!
//! Only what the protocol folds is folded: the case of hosts, the separators of phone and account
//! numbers, white space between words. Look-alikes, plus tags and sub-domains are other places.
//! Numbers need their noun or sigil, and names and channels are one line of at most 64 characters.

use std::borrow::Cow;
use std::ops::Range;

use super::super::{Destination, Kind, strict_form};
use super::nouns;
use super::tokens::{self, Cut, Token};
use super::whole::{self, Lead};

/// How plainly a destination was named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Naming {
    /// A single word as it stands in any prose: "users", "main". It opens nothing.
    Mention,
    /// Such a word where something goes: after "to", "in", "on" or "with", or as whom a verb of
    /// telling is about.
    BareWord,
    /// Anything more particular.
    Whole,
}

/// How the value of a destination is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// As a value that may stand anywhere in a sentence.
    Value,
    /// As a command or statement: only all of what was typed is the same one.
    Statement,
}

/// Longest name or channel, in characters.
const NAME: usize = 64;
/// Longest url or path, in characters.
const LINK: usize = 2_048;
/// Longest mail address (RFC 5321), phone, account or identifier, in characters.
const ATOM: usize = 320;
/// Words of a text that may stand anywhere in a sentence; a longer one is a statement or a title.
const SHORT: usize = 3;
/// How many places of one destination are kept for one stretch.
const PLACES: usize = 64;

/// The places in `text` that name the destination.
pub(super) fn places(text: &str, destination: &Destination, reading: Reading) -> Vec<(Range<usize>, Naming)> {
    let value = destination.text.trim();
    let length = value.chars().count();
    let longest = match destination.kind {
        _ if reading == Reading::Statement => LINK,
        Kind::Url | Kind::Path => LINK,
        Kind::Channel | Kind::Name | Kind::Text => NAME,
        Kind::Email | Kind::Host | Kind::Phone | Kind::Account | Kind::Repo | Kind::Id => ATOM,
    };
    if value.is_empty() || length > longest || value.contains(['\n', '\r']) {
        return Vec::new();
    }
    let whole = |places: Vec<Range<usize>>| places.into_iter().map(|place| (place, Naming::Whole)).collect();
    match destination.kind {
        // Addresses inside a command are judged as such.
        Kind::Name | Kind::Text | Kind::Path | Kind::Repo | Kind::Id | Kind::Channel
            if reading == Reading::Statement =>
        {
            whole(by_whole(text, value, Fold::Spaces, Lead::Order))
        }
        Kind::Email => whole(by_token(text, &[Cut::Fine], destination, |token| vec![token.into()])),
        Kind::Url => whole(by_token(text, &[Cut::Coarse, Cut::Brackets], destination, |token| {
            // A web address typed without its scheme is either.
            let bare = (!token.contains("://")).then(|| format!("http://{token}").into());
            [Some(token.into()), bare].into_iter().flatten().collect()
        })),
        Kind::Host => {
            whole(by_token(text, &[Cut::Coarse, Cut::Fine], destination, |token| vec![token.into()]))
        }
        Kind::Repo => whole(by_token(text, &[Cut::Coarse, Cut::Brackets, Cut::Fine], destination, |token| {
            let of_reference = reference(token).map(|(repo, _)| repo.into());
            [Some(token.into()), of_reference].into_iter().flatten().collect()
        })),
        Kind::Path => {
            let mention = |token: &str| token.strip_prefix('@').unwrap_or(token).to_owned();
            let mut found =
                by_token(text, &[Cut::Coarse, Cut::Fine], destination, |token| vec![mention(token).into()]);
            if found.is_empty() && value.contains(' ') {
                found = by_phrase(text, value, Fold::Exact);
            }
            whole(found)
        }
        Kind::Phone => whole(by_digits(text, value)),
        Kind::Account => {
            let bare_number = value.chars().all(|c| c.is_ascii_digit());
            if bare_number && value.len() < 8 {
                numbers(text, value, &destination.argument)
            } else {
                whole(by_digits(text, value))
            }
        }
        Kind::Id => {
            let digits = value.trim_start_matches('#');
            if digits.chars().all(|c| c.is_ascii_digit()) {
                numbers(text, digits, &destination.argument)
            } else {
                words(text, value, &destination.argument)
            }
        }
        Kind::Channel => channels(text, value, &destination.argument),
        Kind::Name | Kind::Text if value.split_whitespace().count() > SHORT && !is_title(value) => {
            whole(by_whole(text, value, Fold::Words, Lead::Any))
        }
        Kind::Name | Kind::Text => words(text, value, &destination.argument),
    }
}

/// Places where a token has the STRICT form of the destination in one of its `readings`.
fn by_token(
    text: &str,
    cuts: &[Cut],
    destination: &Destination,
    readings: impl for<'a> Fn(&'a str) -> Vec<Cow<'a, str>>,
) -> Vec<Range<usize>> {
    let kind = destination.kind;
    let Some(wanted) = strict_form(destination.text.trim(), kind) else { return Vec::new() };
    let same = |token: &str| {
        token.len() <= 4 * LINK
            && may_be(token, kind)
            && readings(token)
                .iter()
                .any(|reading| strict_form(reading, kind).is_some_and(|form| form == wanted))
    };
    let mut found: Vec<Range<usize>> = Vec::new();
    for cut in cuts {
        for Token { text: token, range } in tokens::tokens(text, *cut) {
            let unspaced = tokens::lost_space(token).and_then(|end| token.get(..end));
            for part in [Some(token), unspaced].into_iter().flatten() {
                if found.len() < PLACES && !found.iter().any(|place| place.start == range.start) && same(part)
                {
                    found.push(range.start..range.start + part.len());
                }
            }
        }
    }
    found
}

/// Whether a token holds what every value of the kind holds: parsing each word of a long history
/// would take too long.
fn may_be(token: &str, kind: Kind) -> bool {
    match kind {
        Kind::Email => token.contains('@'),
        Kind::Url | Kind::Host => token.contains(['.', ':', '。']),
        Kind::Repo => token.contains('/'),
        _ => true,
    }
}

/// How a phrase is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fold {
    /// Character by character.
    Exact,
    /// The amount of white space does not matter.
    Spaces,
    /// Case and the amount of white space do not matter.
    Words,
}

/// Places where a value is all of what was typed.
fn by_whole(text: &str, value: &str, fold: Fold, lead: Lead) -> Vec<Range<usize>> {
    let mut found = by_phrase(text, value, fold);
    found.retain(|range| whole::stands_whole(text, range, lead));
    found
}

/// Whether a text is a name of several words: each capitalised, but for particles.
fn is_title(value: &str) -> bool {
    value.split_whitespace().all(|word| {
        let mut letters = word.chars();
        let first = letters.next().is_some_and(char::is_uppercase);
        let rest = letters.next().is_none_or(|c| !c.is_uppercase());
        first && rest
            || matches!(word, "de" | "da" | "del" | "la" | "van" | "von" | "der" | "den" | "of" | "al")
    })
}

/// Bounded places of a phrase.
fn by_phrase(text: &str, value: &str, fold: Fold) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let starts = text.char_indices().map(|(at, _)| at);
    for start in starts {
        if found.len() >= PLACES {
            break;
        }
        let rest = text.get(start..).unwrap_or_default();
        if let Some(length) = prefix(rest, value, fold) {
            let range = start..start + length;
            if tokens::bounded(text, &range) {
                found.push(range);
            }
        }
    }
    found
}

/// The length of the prefix of `text` that equals `value`.
fn prefix(text: &str, value: &str, fold: Fold) -> Option<usize> {
    let mut rest = text.char_indices().peekable();
    let mut wanted = value.chars().peekable();
    while let Some(c) = wanted.next() {
        let (_, seen) = rest.next()?;
        let spaces = fold != Fold::Exact && c.is_whitespace() && seen.is_whitespace() && seen != '\n';
        let same = c == seen || spaces || fold == Fold::Words && c.to_lowercase().eq(seen.to_lowercase());
        if !same {
            return None;
        }
        if spaces {
            while wanted.next_if(|c| c.is_whitespace()).is_some() {}
            while rest.next_if(|(_, c)| c.is_whitespace() && *c != '\n').is_some() {}
        }
    }
    Some(rest.peek().map_or(text.len(), |(at, _)| *at))
}

/// Places of a number whose separators do not matter: phones, IBANs, long account numbers.
fn by_digits(text: &str, value: &str) -> Vec<Range<usize>> {
    let compact = |text: &str| -> Vec<char> {
        text.chars().filter(|c| c.is_alphanumeric() || *c == '+').flat_map(char::to_uppercase).collect()
    };
    let mut wanted = compact(value);
    if wanted.starts_with(&['0', '0']) {
        wanted.splice(..2, ['+']);
    }
    let mut found = Vec::new();
    if wanted.len() < 4 {
        return found;
    }
    for (start, first) in text.char_indices() {
        let begins = first == '+' || first.is_alphanumeric() || first == '(';
        if !begins || found.len() >= PLACES {
            continue;
        }
        if let Some(end) = digits_at(text, start, &wanted) {
            let range = start..end;
            if tokens::bounded(text, &range) {
                found.push(range);
            }
        }
    }
    found
}

fn digits_at(text: &str, start: usize, wanted: &[char]) -> Option<usize> {
    let rest = text.get(start..)?;
    let rest_after = rest.strip_prefix("00");
    let (skip, mut matched) = match rest_after {
        Some(_) if wanted.first() == Some(&'+') => (2, 1),
        _ => (0, 0),
    };
    let mut gap = 0;
    for (at, c) in rest.char_indices().skip_while(|(at, _)| *at < skip) {
        if matches!(c, ' ' | '-' | '.' | '(' | ')' | '/' | '\u{a0}') {
            gap += 1;
            if gap > 3 {
                return None;
            }
            continue;
        }
        gap = 0;
        let upper = c.to_uppercase().next().unwrap_or(c);
        if wanted.get(matched) != Some(&upper) {
            return None;
        }
        matched += 1;
        if matched == wanted.len() {
            return Some(start + at + c.len_utf8());
        }
    }
    None
}

/// Places of a plain number that carry its noun or sigil.
fn numbers(text: &str, digits: &str, argument: &str) -> Vec<(Range<usize>, Naming)> {
    let all: Vec<Token<'_>> = tokens::tokens(text, Cut::Fine).collect();
    let mut found = Vec::new();
    for (index, token) in all.iter().enumerate() {
        let number = token.text.trim_start_matches('#');
        if number != digits || found.len() >= PLACES {
            continue;
        }
        if token.text.starts_with('#') || noun_before(&all, index, argument) {
            found.push((token.range.clone(), Naming::Whole));
        }
    }
    if !["issue", "pull request"].iter().any(|noun| nouns::fits(noun, argument)) {
        return found;
    }
    let references = tokens::tokens(text, Cut::Brackets);
    let named = references.filter(|token| reference(token.text).is_some_and(|(_, number)| number == digits));
    found.extend(named.map(|token| (token.range, Naming::Whole)).take(PLACES));
    found
}

/// The repository and the number of an issue or pull request that is written as one: `pine/loom#15`, or the address
/// of its page.
fn reference(token: &str) -> Option<(&str, &str)> {
    const PAGES: [&str; 5] = ["/issues/", "/pull/", "/pulls/", "/-/issues/", "/-/merge_requests/"];
    let (repo, number) = if token.contains("://") {
        let (at, page) = PAGES.iter().find_map(|page| Some((token.find(page)?, page)))?;
        let (repo, rest) = (token.get(..at)?, token.get(at + page.len()..)?);
        (repo, rest.split(['/', '#', '?']).next().unwrap_or_default())
    } else {
        token.split_once('#').filter(|(repo, _)| repo.split('/').count() == 2)?
    };
    (!number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())).then_some((repo, number))
}

/// Whether a fitting noun stands before the number, also before a list of numbers that ends in it.
fn noun_before(all: &[Token<'_>], index: usize, argument: &str) -> bool {
    let before = all.get(..index).unwrap_or_default();
    for (back, token) in before.iter().rev().take(12).enumerate() {
        let word = token.text.trim_start_matches('#').to_lowercase();
        let list = word.chars().all(|c| c.is_ascii_digit())
            || matches!(word.as_str(), "and" | "or" | "&" | "to" | "und" | "et" | "y");
        if list {
            continue;
        }
        let second = before.len().checked_sub(back + 2).and_then(|at| before.get(at));
        let pair = second.map(|second| format!("{} {word}", second.text.to_lowercase()));
        // "id 12", "issue number 12" and "issue no. 12": the noun may stand before the general word.
        return nouns::fits(&word, argument)
            && (!matches!(word.as_str(), "number" | "no" | "nr" | "id" | "num")
                || second.is_none_or(|second| {
                    !nouns::is_noun(second.text) || nouns::fits(second.text, argument)
                }))
            || pair.is_some_and(|pair| nouns::fits(&pair, argument));
    }
    false
}

/// Places of a name or a wordy identifier, and how plainly each names it.
fn words(text: &str, value: &str, argument: &str) -> Vec<(Range<usize>, Naming)> {
    let bare = !value.is_empty() && value.chars().all(char::is_alphabetic);
    by_phrase(text, value, Fold::Words)
        .into_iter()
        .map(|range| {
            let naming = if bare { naming(text, &range, argument) } else { Naming::Whole };
            (range, naming)
        })
        .collect()
}

/// Places of a channel or handle. `#team` and `@team` are two things: a written sigil must have been
/// typed, or none.
fn channels(text: &str, value: &str, argument: &str) -> Vec<(Range<usize>, Naming)> {
    let bare = value.trim_start_matches(['#', '@']);
    let written = value.chars().next().filter(|c| matches!(c, '#' | '@'));
    let mut found = words(text, bare, argument);
    found.retain(|(range, _)| {
        let typed = text.get(..range.start).and_then(|before| before.chars().next_back());
        let typed = typed.filter(|c| matches!(c, '#' | '@'));
        typed.is_none() || written.is_none() || typed == written
    });
    found
}

/// Words before the one that something goes to.
const TOWARDS: &[&str] = &[
    "to", "in", "into", "onto", "on", "with", "tell", "ask", "notify", "invite", "email", "mail", "message",
    "inform", "cc", "bcc", "remind", "pay", "text", "call", "dm", "ping", "contact",
];

/// A single word is more than bare when it carries a sigil or quotes, stands beside its noun, or is
/// a name: written with a capital inside a sentence.
fn naming(text: &str, range: &Range<usize>, argument: &str) -> Naming {
    let before = text.get(..range.start).unwrap_or_default();
    let after = text.get(range.end..).unwrap_or_default();
    let sigil = before.ends_with(['#', '@']);
    let quoted = before.chars().next_back().is_some_and(|c| tokens::is_quote(c) || matches!(c, '\'' | '’'))
        && after.chars().next().is_some_and(|c| tokens::is_quote(c) || matches!(c, '\'' | '’'));
    let mut earlier = before.split_whitespace().rev();
    let neighbour = earlier.next().unwrap_or_default();
    let word_after = after.split_whitespace().next().unwrap_or_default();
    let strip = |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric()).to_owned();
    let noun = (before.ends_with(' ') && nouns::names(&strip(neighbour), argument))
        || (after.starts_with(' ') && nouns::names(&strip(word_after), argument));
    let word = text.get(range.clone()).unwrap_or_default();
    let opens = before
        .trim_end()
        .chars()
        .next_back()
        .is_none_or(|c| matches!(c, '.' | '!' | '?' | '\n' | ':' | '-' | '*' | '•'))
        || before.trim_end_matches([' ', '\t']).ends_with('\n');
    let name = word.chars().next().is_some_and(char::is_uppercase) && !opens;
    let article = matches!(neighbour.to_lowercase().as_str(), "the" | "our" | "my");
    let leading = if article { earlier.next().unwrap_or_default() } else { neighbour };
    let addressed = before.ends_with(' ') && TOWARDS.contains(&leading.to_lowercase().as_str());
    if sigil || quoted || noun || name {
        Naming::Whole
    } else if addressed {
        Naming::BareWord
    } else {
        Naming::Mention
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provenance::DestinationReason;

    fn destination(kind: Kind, argument: &str, text: &str) -> Destination {
        Destination {
            pointer: format!("/{argument}"),
            argument: argument.to_owned(),
            is_key: false,
            text: text.to_owned(),
            kind,
            reason: DestinationReason::Declared,
            strict: None,
        }
    }

    fn check(prompt: &str, kind: Kind, argument: &str, value: &str, expected: Option<Naming>) {
        let found = places(prompt, &destination(kind, argument, value), Reading::Value);
        let best = found.into_iter().map(|(_, naming)| naming).max();
        assert_eq!(best, expected, "{value} in {prompt}");
    }

    const WHOLE: Option<Naming> = Some(Naming::Whole);

    #[test]
    fn addresses_are_whole_tokens() {
        check(
            "Mail to Oskar <oskar@Mara-co.example>, please.",
            Kind::Email,
            "to",
            "oskar@mara-co.example",
            WHOLE,
        );
        check("'sarah.connor@gmail.com'.", Kind::Email, "to", "sarah.connor@gmail.com", WHOLE);
        check("to:a@b.example,c@d.example", Kind::Email, "to", "c@d.example", WHOLE);
        check("joann@b.example", Kind::Email, "to", "ann@b.example", None);
        check("a+x@b.example", Kind::Email, "to", "a@b.example", None);
        check("a@b.example.org", Kind::Email, "to", "a@b.example", None);
        check("a@exаmple.com", Kind::Email, "to", "a@example.com", None);
    }

    #[test]
    fn urls_are_exact_and_hosts_do_not_come_from_urls() {
        let page = "https://lintguide.example/setup";
        check("Read https://lintguide.example/setup.", Kind::Url, "url", page, WHOLE);
        check("Read [it](https://lintguide.example/setup)", Kind::Url, "url", page, WHOLE);
        check("Read HTTPS://LintGuide.example:443/setup#a", Kind::Url, "url", page, WHOLE);
        check("Read https://lintguide.example/setup/2", Kind::Url, "url", page, None);
        check("on www.informations.com.", Kind::Url, "url", "https://www.informations.com", WHOLE);
        check("our www.our-company.com.They sent", Kind::Url, "url", "www.our-company.com", WHOLE);
        check("Read http://a.example/x", Kind::Url, "url", "https://a.example/x", None);
        check("Read https://a.example/x", Kind::Host, "host", "a.example", None);
        check("Publish on docs.mara-co.example.", Kind::Host, "site", "docs.mara-co.example", WHOLE);
    }

    #[test]
    fn numbers_need_their_noun() {
        check("Close issue 212 in mara/kiln.", Kind::Id, "number", "212", WHOLE);
        check("Close #87", Kind::Id, "issue_number", "87", WHOLE);
        check("Close issues 1, 2 and 3", Kind::Id, "issue_number", "3", WHOLE);
        check("on June 13", Kind::Id, "id", "13", None);
        check("pull request 7", Kind::Id, "issue_number", "7", None);
        check("pull request 7", Kind::Id, "pull_number", "7", WHOLE);
        check("from account 4711", Kind::Account, "account", "4711", WHOLE);
        check("Answer ticket T-4410.", Kind::Id, "ticket", "T-4410", WHOLE);
        check("Close issue 212 in mara/kiln.", Kind::Repo, "repo", "mara/kiln", WHOLE);
        check("See https://github.com/mara/kiln", Kind::Repo, "repo", "Mara/Kiln", WHOLE);
    }

    #[test]
    fn numbers_with_separators() {
        check("to DE02 1203 0000 0000 2020 51.", Kind::Account, "to", "DE02120300000000202051", WHOLE);
        check("to DE02120300000000202051", Kind::Account, "to", "DE02 1203 0000 0000 2020 51", WHOLE);
        check("to DE021203000000002020519", Kind::Account, "to", "DE02120300000000202051", None);
        check("call +49 (30) 123-456", Kind::Phone, "to", "+4930123456", WHOLE);
        check("call 0049 30 123456", Kind::Phone, "to", "+4930123456", WHOLE);
        check("call 30 123456", Kind::Phone, "to", "+4930123456", None);
    }

    #[test]
    fn a_word_of_prose_is_a_bare_word() {
        check("How many users do we have?", Kind::Name, "table", "users", Some(Naming::Mention));
        check("Drop `users`", Kind::Name, "table", "users", WHOLE);
        check("in the general channel", Kind::Channel, "channel", "general", WHOLE);
        check("in #general", Kind::Channel, "channel", "general", WHOLE);
        check("in 'general'", Kind::Channel, "channel", "#general", WHOLE);
        check("in general we do", Kind::Channel, "channel", "general", Some(Naming::BareWord));
        check("Invite Dora to Slack", Kind::Name, "user", "Dora", WHOLE);
        check("Dora is here", Kind::Name, "user", "Dora", Some(Naming::Mention));
        check("post a summary in the general", Kind::Name, "channel", "general", Some(Naming::BareWord));
        check("message bob", Kind::Name, "to", "bob", Some(Naming::BareWord));
        check("Send the report to Ana", Kind::Channel, "chat_id", "@report", Some(Naming::Mention));
        check("Send the status report to Ana", Kind::Channel, "chat_id", "@status", Some(Naming::Mention));
        check("Send the issue report to Ana", Kind::Name, "to", "report", Some(Naming::Mention));
        check("Post it in #general", Kind::Channel, "chat_id", "@general", None);
        check("Post it in #general", Kind::Channel, "chat_id", "#general", WHOLE);
        check("Post it in #general", Kind::Channel, "chat_id", "general", WHOLE);
        check("Write to @bob", Kind::Channel, "chat_id", "#bob", None);
        check("ask Sarah  Baker today", Kind::Name, "user", "Sarah Baker", WHOLE);
        check("put it into the bucket mara-reports.", Kind::Text, "bucket", "mara-reports", WHOLE);
    }

    #[test]
    fn paths() {
        check(
            "save it as /home/mara/out/clean.txt.",
            Kind::Path,
            "path",
            "/home/mara/./out//clean.txt",
            WHOLE,
        );
        check("save it as clean.txt", Kind::Path, "path", "/home/mara/out/clean.txt", None);
        check("read @src/main.rs", Kind::Path, "path", "src/main.rs", WHOLE);
        check("open \"My Notes/to do.md\"", Kind::Path, "path", "My Notes/to do.md", WHOLE);
    }

    #[test]
    fn statements_and_long_texts_are_typed_as_a_whole() {
        let prompt = "Delete row 5, that is DELETE FROM users WHERE id = 5.";
        for (value, reading, expected) in [
            ("DELETE FROM users", Reading::Statement, false),
            ("DELETE  FROM users WHERE id = 5", Reading::Statement, true),
            ("DELETE FROM users WHERE", Reading::Value, false),
            ("DELETE FROM users WHERE id = 5", Reading::Value, true),
        ] {
            let found = places(prompt, &destination(Kind::Name, "sql", value), reading);
            assert_eq!(!found.is_empty(), expected, "{value}");
        }
        check("Mail Juan Carlos de Rivas today", Kind::Name, "to", "Juan Carlos de Rivas", WHOLE);
    }
}
