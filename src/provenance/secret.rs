//! Values with the shape of a secret: tokens with known prefixes, private keys, JSON web tokens, and
//! assignments to a key whose name says so.
//!
//! Shapes, not entropy: OAuth states, signed urls and tracking ids are random too, and a rule that
//! stops them is switched off. One linear pass per text.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::text::{cut, head};

/// A secret-shaped value in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Secret {
    /// What it looks like, in words for a person.
    pub shape: &'static str,
    /// Byte range of the value itself.
    pub range: (usize, usize),
}

/// Shapes. The value is the group `value`, or the whole match; the group `random` must look made by a machine.
const SHAPES: [(&str, &str); 10] = [
    ("private key", r"-----BEGIN [A-Z ]{0,24}PRIVATE KEY-----[A-Za-z0-9+/=\s\\n]*"),
    ("cloud access key", r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b"),
    (
        "access token",
        r"\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{22,}|glpat-[A-Za-z0-9_-]{16,}|npm_[A-Za-z0-9]{30,}|pypi-[A-Za-z0-9_-]{30,}|dop_v1_[a-f0-9]{32,}|hf_[A-Za-z0-9]{30,}|lin_api_[A-Za-z0-9]{30,}|ntn_[A-Za-z0-9]{30,}|shp(?:at|ca|ss)_[a-fA-F0-9]{24,})",
    ),
    ("chat token", r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}"),
    ("API key", r"\b(?:AIza[A-Za-z0-9_-]{30,}|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}|key-[a-f0-9]{32})"),
    (
        "API key",
        r"\b(?:sk|pk|rk|ak|tk|api|key)[_-](?:live|test|prod|proj|ant|or|svcacct)[_-][A-Za-z0-9_-]{10,}",
    ),
    // The form that many issuers took over: whose key it is, for which of their worlds, and the key.
    ("API key", r"\b[a-z]{2,4}_(?:live|test|prod|sandbox|dev|stage|staging)_(?P<random>[A-Za-z0-9]{12,})"),
    ("API key", r"\bsk-[A-Za-z0-9_-]{20,}"),
    ("web token", r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}"),
    (
        "secret value",
        r#"(?i)[a-z0-9_.-]{0,40}(?:secret|password|passwd|passphrase|api[_-]?key|access[_-]?key|private[_-]?key|auth[_-]?token|access[_-]?token|refresh[_-]?token|credential)[a-z0-9_]{0,20}["']?\s{0,3}[:=]\s{0,3}["']?(?P<value>(?P<random>[^\s"',;<>]{8,}))"#,
    ),
];

/// The same shapes for text put together of pieces: nothing says where a value ends when the next piece
/// goes on with letters.
static OPEN_PATTERNS: LazyLock<Vec<(&'static str, Regex)>> = LazyLock::new(|| {
    let open = |pattern: &'static str| pattern.strip_suffix(r"\b").unwrap_or(pattern);
    SHAPES.iter().filter_map(|(shape, pattern)| Some((*shape, Regex::new(open(pattern)).ok()?))).collect()
});

/// The shapes that begin at a word border, at the very beginning of a text.
static FIRST_PATTERNS: LazyLock<Vec<(&'static str, Regex)>> = LazyLock::new(|| {
    let first = |pattern: &'static str| {
        let rest = pattern.strip_prefix(r"\b")?;
        Regex::new(&format!("^(?:{})", rest.strip_suffix(r"\b").unwrap_or(rest))).ok()
    };
    SHAPES.iter().filter_map(|(shape, pattern)| Some((*shape, first(pattern)?))).collect()
});

/// Longest start of a value that is looked at to tell its shape, in bytes.
const START: usize = 256;

static PATTERNS: LazyLock<Vec<(&'static str, Regex)>> = LazyLock::new(|| {
    SHAPES.iter().filter_map(|(shape, pattern)| Some((*shape, Regex::new(pattern).ok()?))).collect()
});

/// Bytes that every secret has at least: shorter texts are not looked at.
pub(super) const SHORTEST: usize = 12;

/// All secret-shaped values of a text, in order, without overlaps.
pub fn secrets(text: &str) -> Vec<Secret> {
    if text.len() < SHORTEST { Vec::new() } else { apart(matches(text, &PATTERNS)) }
}

/// All secret-shaped values of a text that was put together of pieces, which begin at `starts`.
pub(super) fn secrets_across(text: &str, starts: impl Iterator<Item = usize>) -> Vec<Secret> {
    let mut found = matches(text, &OPEN_PATTERNS);
    for start in starts {
        let window = head(cut(text, start..text.len()), START);
        let first = FIRST_PATTERNS.iter().find_map(|(shape, pattern)| {
            let range = value_of(&pattern.captures(window)?)?;
            Some(Secret { shape, range: (start, start + range.end) })
        });
        found.extend(first);
    }
    apart(found)
}

fn matches(text: &str, patterns: &[(&'static str, Regex)]) -> Vec<Secret> {
    patterns
        .iter()
        .flat_map(|(shape, pattern)| {
            pattern.captures_iter(text).filter_map(|captures| {
                let range = value_of(&captures)?;
                Some(Secret { shape, range: (range.start, range.end) })
            })
        })
        .collect()
}

/// Where the value of a match stands, if it is one.
fn value_of(captures: &Captures<'_>) -> Option<Range<usize>> {
    let is_one = captures.name("random").is_none_or(|random| is_random(random.as_str()));
    captures.name("value").or_else(|| captures.get(0)).filter(|_| is_one).map(|value| value.range())
}

fn apart(mut found: Vec<Secret>) -> Vec<Secret> {
    found.sort_by_key(|secret| (secret.range.0, std::cmp::Reverse(secret.range.1)));
    let mut end = 0;
    found.retain(|secret| {
        let clear = secret.range.0 >= end;
        if clear {
            end = secret.range.1;
        }
        clear
    });
    found
}

/// Whether an assigned value looks made by a machine: letters and digits mixed, and no placeholder,
/// variable or path.
pub(super) fn is_random(value: &str) -> bool {
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    let letters = value.bytes().filter(u8::is_ascii_alphabetic).count();
    let placeholder = value.starts_with(['$', '<', '{', '%', '/', '.', '*']) || value.contains("://");
    digits >= 2 && letters >= 4 && !placeholder
}

/// The text with each secret-shaped value replaced by `[masked]`.
pub fn mask_secrets(text: &str) -> Cow<'_, str> {
    let found = secrets(text);
    if found.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for secret in found {
        out.push_str(text.get(from..secret.range.0).unwrap_or_default());
        out.push_str("[masked]");
        from = secret.range.1;
    }
    out.push_str(text.get(from..).unwrap_or_default());
    Cow::Owned(out)
}

/// Whether the name of a member says that its value is a secret.
pub fn secret_key(name: &str) -> bool {
    let plain = if name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit()) {
        Cow::Borrowed(name)
    } else {
        let letters = name.chars().filter(char::is_ascii_alphanumeric);
        Cow::Owned(letters.map(|letter| letter.to_ascii_lowercase()).collect())
    };
    [
        "password",
        "passwd",
        "passphrase",
        "secret",
        "clientsecret",
        "apikey",
        "accesskey",
        "privatekey",
        "token",
        "accesstoken",
        "refreshtoken",
        "authtoken",
        "authorization",
        "credentials",
        "otp",
        "pin",
    ]
    .iter()
    .any(|word| plain == *word || (word.len() >= 5 && plain.ends_with(word) && !is_cursor(&plain)))
}

/// Tokens that only say how far a list was read.
fn is_cursor(name: &str) -> bool {
    ["pagetoken", "nexttoken", "continuationtoken", "synctoken", "resumetoken"]
        .iter()
        .any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_found_and_ordinary_text_is_not() {
        for (text, shapes) in [
            ("aws_secret_access_key=wJalrXUtnFEMIK7MDENGbPxRfiCYEXAMPLEKEY42", vec!["secret value"]),
            ("Your key: qz_live_81hf0s3kd92m", vec!["API key"]),
            ("-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjE\n", vec!["private key"]),
            ("id AKIAIOSFODNN7EXAMPLE and xoxb-123456789012-abc", vec!["cloud access key", "chat token"]),
            ("password: \"tr0ub4dor&3xyz\"", vec!["secret value"]),
            ("password: ${DB_PASSWORD_2024}", vec![]),
            ("The secret of good coffee is patience", vec![]),
            (
                "https://login.client.test/cb?state=9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
                vec![],
            ),
            ("reset your password: https://corp.example/reset/12345abcde", vec![]),
            ("token bucket sizes: 12", vec![]),
            ("acme_prod_9f27ac01bd44ee", vec!["API key"]),
            ("unit_test_helpersAndFixtures, run_test_20240101120000", vec![]),
            ("web-prod-7d9f8b6c5d8a-x2k4j", vec![]),
            ("qz_live_short1a2", vec![]),
        ] {
            assert_eq!(secrets(text).iter().map(|s| s.shape).collect::<Vec<_>>(), shapes, "{text}");
        }
    }

    #[test]
    fn a_value_in_pieces_has_its_shape() {
        for pieces in [["see", "xoxb-1234", "56789012-abc"], ["see", "AKIAIOSF", "ODNN7EXAMPLEnext"]] {
            let starts = [0, pieces[0].len(), pieces[0].len() + pieces[1].len()];
            let found = secrets_across(&pieces.concat(), starts.into_iter());
            assert_eq!(found.iter().map(|secret| secret.range.0).collect::<Vec<_>>(), [3], "{pieces:?}");
        }
        assert!(secrets_across("taskSK-abc", [0, 4].into_iter()).is_empty());
    }

    #[test]
    fn every_pattern_compiles() {
        assert_eq!(PATTERNS.len(), SHAPES.len());
        assert_eq!(OPEN_PATTERNS.len(), SHAPES.len());
        assert_eq!(FIRST_PATTERNS.len(), SHAPES.iter().filter(|(_, it)| it.starts_with(r"\b")).count());
    }
}
