//! Values that stood behind a label which says that they are secret.
//!
//! `AWS_SECRET_ACCESS_KEY=…` is known by its label wherever it goes; the value alone is known only to whoever
//! remembers it. Each upstream has room of its own, so that none can crowd out what another showed.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::sync::OnceLock;

use aho_corasick::AhoCorasick;

use super::secret::{is_random, secret_key};
use super::text::{byte, cut, head};

/// Values that are remembered of one upstream, the first ones.
const MOST: usize = 128;
/// Bytes of a value.
const LENGTHS: RangeInclusive<usize> = 8..=128;
/// Bytes of a label.
const LABEL: usize = 64;
/// Bytes that an entry takes beside its value.
const ENTRY: usize = 160;
/// Upstreams.
const UPSTREAMS: usize = 64;

/// The values, each with the upstreams that showed it.
#[derive(Default)]
pub(crate) struct Labelled {
    values: BTreeMap<String, BTreeSet<String>>,
    counts: BTreeMap<String, usize>,
    bytes: usize,
    search: OnceLock<Option<AhoCorasick>>,
}

impl Labelled {
    /// Remembers what an upstream shows. Linear in the message.
    pub(crate) fn note(&mut self, upstream: &str, message: &[u8]) {
        let Ok(text) = std::str::from_utf8(message) else { return };
        for at in memchr::memchr2_iter(b'=', b':', message) {
            let Some(value) = labelled(text, at).filter(|value| is_random(value)) else { continue };
            let shown = self.values.get(value).is_some_and(|shown| shown.contains(upstream));
            if shown || self.counts.len() >= UPSTREAMS && !self.counts.contains_key(upstream) {
                continue;
            }
            let count = self.counts.entry(upstream.to_owned()).or_default();
            if *count >= MOST {
                return;
            }
            *count += 1;
            self.bytes += value.len() + ENTRY;
            self.values.entry(value.to_owned()).or_default().insert(upstream.to_owned());
            self.search = OnceLock::new();
        }
    }

    /// The values in a text that is on its way to an upstream which did not show them itself. Linear in the text.
    pub(crate) fn in_text(&self, text: &str, to: &str) -> BTreeSet<String> {
        if self.values.is_empty() {
            return BTreeSet::new();
        }
        let search = self.search.get_or_init(|| AhoCorasick::new(self.values.keys()).ok());
        // FAIL CLOSED: values that cannot be looked for may stand anywhere.
        let Some(search) = search else { return BTreeSet::from([text.to_owned()]) };
        let bytes = text.as_bytes();
        let found = search.find_overlapping_iter(text).filter(|found| {
            // A value inside a longer word or number is another one.
            !byte(bytes, found.start().wrapping_sub(1)).is_ascii_alphanumeric()
                && !byte(bytes, found.end()).is_ascii_alphanumeric()
        });
        found
            .map(|found| cut(text, found.range()))
            .filter(|value| self.values.get(*value).is_some_and(|shown| !shown.contains(to)))
            .map(str::to_owned)
            .collect()
    }

    /// Bytes that the values take.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

/// The value behind the sign at a place, where the word before it is the label of a secret. Both may stand in
/// quotes, also in those of JSON within JSON.
fn labelled(text: &str, sign: usize) -> Option<&str> {
    let quoted = |c: char| matches!(c, '"' | '\'' | '\\' | ' ' | '\t');
    let near = text.get(sign.saturating_sub(LABEL)..sign).unwrap_or_default().trim_end_matches(quoted);
    let start = near
        .rfind(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')))
        .map_or(0, |at| at + 1);
    if !names_a_secret(near.get(start..)?) {
        return None;
    }
    let rest = cut(text, sign + 1..text.len()).trim_start_matches(quoted);
    let rest = head(rest, *LENGTHS.end() + 1);
    let ends = |c: char| {
        c.is_whitespace()
            || matches!(c, '"' | '\'' | '\\' | ',' | ';' | '<' | '>' | '(' | ')' | '{' | '}' | '&')
    };
    let value = cut(rest, 0..rest.find(ends).unwrap_or(rest.len())).trim_end_matches(['.', ']']);
    (LENGTHS.contains(&value.len()) && !value.starts_with("process.env")).then_some(value)
}

/// Whether a name is that of a secret, and not of something about one.
fn names_a_secret(name: &str) -> bool {
    let small = name.to_ascii_lowercase();
    let about = ["name", "id", "type", "version", "path", "arn", "url", "file", "expires", "length"];
    let last = small.rsplit(['_', '-', '.']).next().unwrap_or_default();
    !about.contains(&last) && secret_key(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(known: &Labelled, text: &str, to: &str) -> Vec<String> {
        known.in_text(text, to).into_iter().collect()
    }

    #[test]
    fn a_value_is_known_without_its_label() {
        let mut known = Labelled::default();
        let env = "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI7MDENG42\nDEBUG=1\npassword: hunterBlue4277.\nsecret: changeme\n\
                   secret_name=prod-db-01xy\nAPI_KEY = process.env.API_KEY_22";
        let record = serde_json::json!({"api_key": "9d8f7a6b5c4d3e2f", "note": "x"}).to_string();
        for text in [env.to_owned(), record] {
            let nested = serde_json::json!({"content": [{"type": "text", "text": text}]}).to_string();
            known.note("files", nested.as_bytes());
        }
        for value in ["wJalrXUtnFEMI7MDENG42", "hunterBlue4277", "9d8f7a6b5c4d3e2f"] {
            assert_eq!(found(&known, &format!("hotel porto {value} cheap"), "web"), [value]);
            assert!(found(&known, value, "files").is_empty(), "it goes back to where it came from");
        }
        for other in ["changeme and hunterBlue", "prod-db-01xy", "process.env.API_KEY_22", "xhunterBlue4277"]
        {
            assert!(found(&known, other, "web").is_empty(), "{other}");
        }
    }

    #[test]
    fn an_upstream_cannot_crowd_out_or_hide_another() {
        let mut known = Labelled::default();
        for n in 0..2_000 {
            known.note("evil", format!("password=abcd{n:08}").as_bytes());
        }
        known.note("files", b"password=efgh12345678-ijkl");
        known.note("hub", b"https://x.test/?access_token=mnop87654321&state=1");
        assert_eq!(found(&known, "mnop87654321", "web"), ["mnop87654321"], "the query goes on behind it");
        known.note("web", b"password=efgh12345678");
        assert_eq!(known.values.len(), MOST + 3);
        assert_eq!(found(&known, "efgh12345678-ijkl", "web"), ["efgh12345678-ijkl"]);
        assert!(known.bytes() < 1 << 17);
    }
}
