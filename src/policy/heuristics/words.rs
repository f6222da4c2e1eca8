//! Takes names apart: `sendEmailMsgs`, `send-email_msgs` and `API.SendEmailMsgs` are all
//! *send*, *email*, *message* (plural).
//!
//! Splits at everything that is no letter, between lower and upper case, before the last capital of
//! a run of capitals (`HTTPServer`) and around digits, which are dropped. Words are lower-cased,
//! made singular, abbreviations written out, and words that belong together joined (`pull request`).
//! A name that is one lower-case run is split after a verb when the rest is a known word
//! (`sendmail`). Linear in the name, of which at most 256 bytes and 40 words are read.

use super::lexicon;

/// The most bytes of a name that are looked at; longer names are cut.
const NAME_BYTES: usize = 256;
/// The most words of a name that are looked at.
const NAME_WORDS: usize = 40;

/// One word of a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    /// Lower case, singular, written out.
    pub(super) text: String,
    /// Whether it stood in the plural: such a word is a thing, not a verb.
    pub(super) plural: bool,
}

/// The words of a name or of a phrase.
pub(super) fn words(name: &str) -> Vec<Word> {
    let mut out: Vec<Word> = Vec::new();
    for raw in pieces(name) {
        for word in normal(&raw) {
            if let Some(last) = out.last_mut()
                && let Some(joined) = lexicon::joined(&last.text, &word.text)
            {
                joined.clone_into(&mut last.text);
                last.plural = word.plural;
                continue;
            }
            out.push(word);
        }
    }
    out
}

/// What stands behind the last namespace of a name: behind `__`, `--`, `.`, `/` or `:`, or behind one word in
/// capitals and small letters where the rest is written with `_`. `None` where nothing is set apart.
pub(super) fn own_part(name: &str) -> Option<&str> {
    let separated =
        ["__", "--", ".", "/", ":"].iter().filter_map(|by| name.rfind(by).map(|at| at + by.len())).max();
    if let Some(part) = separated.and_then(|at| name.get(at..)).filter(|part| !part.is_empty()) {
        return Some(part);
    }
    let is_camel = |piece: &str| {
        piece.bytes().filter(u8::is_ascii_uppercase).count() > 1
            && piece.bytes().any(|b| b.is_ascii_lowercase())
    };
    let ends = name.match_indices('_').map(|(at, _)| at);
    let mut camel =
        ends.filter(|at| name.get(..*at).and_then(|head| head.rsplit('_').next()).is_some_and(is_camel));
    let camel = camel.next_back()?;
    name.get(camel + 1..).filter(|rest| !rest.is_empty() && !rest.bytes().any(|b| b.is_ascii_uppercase()))
}

/// Words that end what a name is about.
const TURNS: [&str; 10] = ["by", "in", "of", "for", "to", "from", "with", "on", "at", "as"];

/// What a tool's name is about: the last word before a preposition, if it is more than its first word.
pub(in crate::policy) fn thing(name: &str) -> Option<String> {
    let words = words(name);
    let end = words.iter().skip(1).position(|word| TURNS.contains(&word.text.as_str()));
    let object = words.get(1..end.map_or(words.len(), |end| end + 1))?;
    object.last().map(|word| word.text.clone())
}

/// The pieces of a name as they stand, digits and separators dropped.
fn pieces(name: &str) -> Vec<String> {
    let mut end = name.len().min(NAME_BYTES);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    let chars: Vec<char> = name
        .chars()
        .scan(0, |at, c| {
            *at += c.len_utf8();
            (*at <= end).then_some(c)
        })
        .collect();
    let mut out = Vec::new();
    let mut piece = String::new();
    for (at, &c) in chars.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|it| chars.get(it)).copied();
        let after = chars.get(at + 1).copied();
        if !c.is_alphabetic() || (c.is_uppercase() && starts_word(&chars, at, before, after)) {
            flush(&mut piece, &mut out);
        }
        if c.is_alphabetic() {
            piece.push(c);
        }
        // `text2image` is text to image.
        let between = |it: Option<char>| it.is_some_and(char::is_alphabetic);
        if c == '2' && between(before) && between(after) {
            out.push("to".to_owned());
        }
    }
    flush(&mut piece, &mut out);
    out.truncate(NAME_WORDS);
    out
}

/// Whether the capital at `at` opens a word.
fn starts_word(chars: &[char], at: usize, before: Option<char>, after: Option<char>) -> bool {
    let Some(before) = before else { return false };
    if before.is_lowercase() {
        return true;
    }
    // A capital before a small letter opens a word (`HTTPServer`), but for the `s` of a plural run
    // of capitals (`userIDs`, `URLs`).
    let plural_run =
        after == Some('s') && before.is_uppercase() && chars.get(at + 2).is_none_or(|it| !it.is_lowercase());
    before.is_uppercase() && after.is_some_and(char::is_lowercase) && !plural_run
}

fn flush(piece: &mut String, out: &mut Vec<String>) {
    if !piece.is_empty() {
        out.push(std::mem::take(piece));
    }
}

/// A piece as words: usually one, two for a run such as `sendmail`.
fn normal(piece: &str) -> Vec<Word> {
    let lower = piece.to_lowercase();
    let (singular, plural) = singular(&lower);
    let text = lexicon::written_out(&singular).unwrap_or(&singular).to_owned();
    if let Some((verb, rest)) = lexicon::run_together(&text) {
        let rest = lexicon::written_out(rest).unwrap_or(rest).to_owned();
        return vec![Word { text: verb.to_owned(), plural: false }, Word { text: rest, plural }];
    }
    vec![Word { text, plural }]
}

/// The singular of an English word and whether it was a plural.
fn singular(word: &str) -> (String, bool) {
    if lexicon::looks_plural_but_is_not(word) || !word.is_ascii() {
        return (word.to_owned(), false);
    }
    let kept = ["ss", "us", "is", "os"].iter().any(|it| word.ends_with(it));
    if word.len() < 3 || kept || !word.ends_with('s') {
        return (word.to_owned(), false);
    }
    if let Some(stem) = word.strip_suffix("ies").filter(|it| it.len() > 2) {
        return (format!("{stem}y"), true);
    }
    if let Some(stem) = word.strip_suffix("es")
        && ["ss", "sh", "ch", "x", "us"].iter().any(|it| stem.ends_with(it))
    {
        return (stem.to_owned(), true);
    }
    (word.strip_suffix('s').unwrap_or(word).to_owned(), true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fall_apart_into_the_same_words() {
        let check = |name: &str, expected: &str| {
            let seen: Vec<String> =
                words(name).into_iter().map(|it| if it.plural { it.text + "+" } else { it.text }).collect();
            assert_eq!(seen.join(" "), expected, "{name}");
        };
        check("gmail_send_email", "gmail send email");
        check("SendEmailMsgs", "send email message+");
        check("notion-create-pages", "notion create page+");
        check("API-post-page", "api post page");
        check("HTTPServer.getURLs", "http server get url+");
        check("userIDs", "user id+");
        check("linear_createOAuthClient", "linear create oauth client");
        check("delete_statuses_v2", "delete status+ v");
        check("createPullRequestReview", "create pr review");
        check("sendmail", "send email");
        check("getaddress", "get address");
        check("address_settings", "address setting+");
        check("branches boxes queries", "branch+ box+ query+");
        check("rm", "remove");
        check("confirm_form_alarm", "confirm form alarm");
        check("e-mail", "email");
        check("text2image", "text to image");
        for (name, part) in [
            ("Verify--CreateVerification", Some("CreateVerification")),
            ("calendar.events.delete", Some("delete")),
            ("XActionProvider_post_tweet", Some("post_tweet")),
            ("send_email", None),
            ("API-post-page", None),
            ("trailing__", None),
        ] {
            assert_eq!(own_part(name), part, "{name}");
        }
        check("", "");
        check("__--__", "");
    }

    #[test]
    fn a_hostile_name_is_cut() {
        assert!(words(&"aB".repeat(100_000)).len() <= NAME_WORDS);
        assert!(words(&"é".repeat(1000)).len() <= NAME_WORDS);
    }
}
