//! What an upstream asks of a human, looked at before the human sees it.
//!
//! A form whose words ask for a secret, and a page that the human is to open, are asked about first by
//! Bouncer itself; a form that could be taken for one of Bouncer's own questions is refused. What is shown
//! of it stands under a fixed line that names the server, every line of its text quoted.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use crate::provenance::{escaped, folded, secret_key};

use super::question::{self, Question};

/// Characters of an upstream's text that are shown, and lines.
const SHOWN: usize = 4_000;
const LINES: usize = 60;
/// Fields that a question names.
const NAMED: usize = 8;

/// A form as the human would see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Form {
    /// What it says beside its fields, its title and description: hostile text.
    pub texts: Vec<String>,
    /// Its fields.
    pub fields: Vec<FormField>,
}

/// A field of a form as the human would see it: hostile text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormField {
    /// The key of its value.
    pub name: String,
    /// Everything else that is shown of it: title, description, the names of choices.
    pub texts: Vec<String>,
    /// Whether anything can be typed into it, or only chosen.
    pub entry: Entry,
}

/// How a value gets into a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry {
    /// By typing text or digits.
    Typed,
    /// By choosing among what is offered.
    Chosen,
}

/// The words of `config/words/secrets.txt`.
struct Secrets {
    whole: BTreeSet<String>,
    parts: Vec<String>,
}

static SECRETS: LazyLock<Secrets> = LazyLock::new(|| {
    let mut secrets = Secrets { whole: BTreeSet::new(), parts: Vec::new() };
    for line in include_str!("../../config/words/secrets.txt").lines().filter(|line| !line.starts_with('#')) {
        let Some((language, words)) = line.split_once(':') else { continue };
        let words = words.split(',').map(|word| folded(word.trim())).filter(|word| !word.is_empty());
        if language == "parts" { secrets.parts.extend(words) } else { secrets.whole.extend(words) }
    }
    secrets
});

/// The fields that ask for a secret, each with the word that says so. `message` is what stands above the
/// form; it counts for every field that can be typed into, and so does what the form says of itself.
pub fn asks_for_secrets<'f>(message: &str, form: &'f Form) -> Vec<(&'f FormField, String)> {
    let texts = std::iter::once(message).chain(form.texts.iter().map(String::as_str));
    let above = texts.map(secret_word).find_map(|word| word);
    form.fields
        .iter()
        .filter(|field| field.entry == Entry::Typed)
        .filter_map(|field| {
            let named = secret_key(&field.name).then(|| field.name.clone());
            let texts = std::iter::once(&field.name).chain(&field.texts);
            let word = named.or_else(|| texts.into_iter().find_map(|text| secret_word(text)));
            Some((field, word.or_else(|| above.clone())?))
        })
        .collect()
}

/// The first word of a text that names a secret.
fn secret_word(text: &str) -> Option<String> {
    let spoken = format!(" {} ", words(text).join(" "));
    let stands =
        |word: &&String| spoken.contains(&format!(" {word} ")) || spoken.contains(&format!(" {word}s "));
    SECRETS.whole.iter().find(stands).cloned().or_else(|| {
        let text = folded(text);
        SECRETS.parts.iter().find(|part| text.contains(part.as_str())).cloned()
    })
}

/// The words of a name or a sentence: split where no letter stands and where a small letter meets a
/// capital, look-alikes of other scripts taken for what they look like.
fn words(text: &str) -> Vec<String> {
    let mut spaced = String::with_capacity(text.len() + 8);
    let mut after_small = false;
    for c in text.chars() {
        if c.is_uppercase() && after_small {
            spaced.push(' ');
        }
        after_small = c.is_lowercase();
        spaced.push(c);
    }
    let is_break = |c: char| !c.is_alphabetic();
    folded(&spaced).split(is_break).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// Whether a form could be taken for one of Bouncer's own questions: it speaks of Bouncer, or offers what
/// those offer.
pub fn imitates(form: &Form) -> bool {
    let plain = |text: &str| -> String { folded(text).chars().filter(|c| c.is_alphanumeric()).collect() };
    let texts = form.fields.iter().flat_map(|field| std::iter::once(&field.name).chain(&field.texts));
    texts.chain(&form.texts).map(|text| plain(text)).any(|text| {
        ["bouncer", "allowonce", "allowsession", "allowforthissession"].iter().any(|own| text.contains(own))
    })
}

/// A text of `upstream` as the human reads it: below a line of ours, each of its own lines quoted.
pub fn attributed(upstream: &str, text: &str) -> String {
    let mut out = format!("Server `{}` asks this, not Bouncer:", escaped(upstream, 64));
    let mut left = SHOWN;
    for (count, line) in text.split('\n').enumerate() {
        if count == LINES || left == 0 {
            out.push_str("\n> …");
            break;
        }
        let line = line.trim_end_matches('\r').replace('\t', " ");
        out.push_str("\n> ");
        out.push_str(&escaped(&line, left));
        left = left.saturating_sub(line.chars().count().max(1));
    }
    out
}

/// What is asked before a form that asks for secrets is shown.
pub fn secret_question(upstream: &str, asked: &[(&FormField, String)]) -> Question {
    let upstream = escaped(upstream, 64);
    let mut items: Vec<String> = asked
        .iter()
        .take(NAMED)
        .map(|(field, word)| {
            let says = if *word == folded(&field.name) {
                String::new()
            } else {
                format!(" (it says \"{}\")", escaped(word, 40))
            };
            format!("field: `{}`{says}", escaped(&field.name, 64))
        })
        .collect();
    if asked.len() > NAMED {
        items.push(format!("… and {} more", asked.len() - NAMED));
    }
    Question {
        head: format!("Let server `{upstream}` ask you for what may be a secret?"),
        items,
        list: Vec::new(),
        tail: vec![
            format!("to: server `{upstream}`, which gets what you enter"),
            "why: a server that asks for a secret may misuse it; its form comes next if you allow it"
                .to_owned(),
        ],
    }
}

/// What is asked before a human is sent to a page; `None` where the url leads nowhere that could be named.
pub fn page_question(upstream: &str, url: &str) -> Option<Question> {
    let read = url::Url::parse(url).ok().filter(|read| matches!(read.scheme(), "https" | "http"))?;
    // Two readers must see one host: what is shown and what a browser opens is the same text.
    let plain = !url.chars().any(|c| crate::provenance::is_hidden(c) || c.is_whitespace() || c == '\\');
    let domain = question::host_words(read.host_str().filter(|_| plain)?)?;
    let upstream = escaped(upstream, 64);
    Some(Question {
        head: format!("Let server `{upstream}` send you to a web page?"),
        items: vec![format!("to: {}, domain {domain}", escaped(url, 300))],
        list: Vec::new(),
        tail: vec![
            "why: the server wants you to do something there, and learns that you did; the page is not Bouncer's"
                .to_owned(),
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(name: &str, texts: &[&str]) -> Form {
        let texts = texts.iter().map(|text| (*text).to_owned()).collect();
        Form {
            texts: Vec::new(),
            fields: vec![FormField { name: name.to_owned(), texts, entry: Entry::Typed }],
        }
    }

    #[test]
    fn a_secret_is_recognised_by_whole_words() {
        fn check(name: &str, texts: &[&str], expected: bool) {
            let form = form(name, texts);
            let found = asks_for_secrets("", &form);
            assert_eq!(!found.is_empty(), expected, "{name} {texts:?}: {found:?}");
        }
        for name in [
            "password",
            "userPassword",
            "api_key",
            "apiKey",
            "accessToken",
            "card-number",
            "PIN",
            "otp",
            "cvv",
        ] {
            check(name, &[], true);
        }
        for (name, texts) in [
            ("value", &["Your pass\u{200b}word"][..]),
            ("value", &["Please enter your p\u{430}ssword"]),
            ("value", &["Title", "One of your API keys"]),
            ("wert", &["Ihr Passwort"]),
            ("v", &["请输入密码"]),
            ("x", &["Contraseña"]),
            ("x", &["The 6-digit verification code"]),
        ] {
            check(name, texts, true);
        }
        for (name, texts) in [
            ("name", &["Your full, legal name"][..]),
            ("monkey", &["Which monkey?"]),
            ("keyboard", &["The layout"]),
            ("tokenizer", &["Which one"]),
            ("spinner", &["Shopping"]),
            ("email", &[]),
            ("zip", &["Postal code"]),
            ("count", &["How many"]),
        ] {
            check(name, texts, false);
        }
    }

    #[test]
    fn what_stands_above_counts_for_what_can_be_typed() {
        let mut form = form("answer", &[]);
        assert_eq!(asks_for_secrets("Enter the password", &form).len(), 1);
        assert_eq!(asks_for_secrets("", &form), []);
        form.texts = vec!["Sign in".to_owned(), "Your password".to_owned()];
        assert_eq!(asks_for_secrets("", &form).len(), 1);
        form.fields[0].entry = Entry::Chosen;
        assert_eq!(asks_for_secrets("Shall the password be changed?", &form), []);
    }

    #[test]
    fn a_form_that_looks_like_ours_is_known() {
        assert!(imitates(&form("decision", &["Allow once"])));
        assert!(imitates(&form("x", &["B\u{200b}ouncer needs your answer"])));
        assert!(imitates(&form("allow_session", &[])));
        assert!(imitates(&Form { texts: vec!["Bouncer".to_owned()], ..form("x", &[]) }));
        assert!(!imitates(&form("decision", &["Which branch?", "main"])));
    }

    #[test]
    fn an_upstream_cannot_leave_its_quotes() {
        let shown = attributed("a", "one\r\nServer `b` asks\n\u{1b}[2Jtwo\u{2028}\tthree\u{202e}");
        assert_eq!(
            shown,
            "Server `a` asks this, not Bouncer:\n> one\n> Server `b` asks\n> \\u{1b}[2Jtwo\\u{2028} three\\u{202e}"
        );
        let long = attributed("a", &"x\n".repeat(1_000));
        assert_eq!(long.lines().count(), LINES + 2);
        assert!(long.ends_with("\n> …"));
        assert!(attributed("a", &"x".repeat(100_000)).len() < SHOWN + 100);
    }

    #[test]
    fn a_page_is_named_in_full() {
        let question = page_question("a", "https://b\u{fc}cher.example/x?y=1").unwrap().to_string();
        assert!(
            question.contains(
                "to: https://b\u{fc}cher.example/x?y=1, domain xn--bcher-kva.example (b\u{fc}cher.example)"
            ),
            "{question}"
        );
        for bad in [
            "javascript:alert(1)",
            "file:///etc/passwd",
            "https://a.example/\u{202e}x",
            "https://a.example\\@b.example",
            "no url",
            "",
        ] {
            assert_eq!(page_question("a", bad), None, "{bad}");
        }
    }
}
