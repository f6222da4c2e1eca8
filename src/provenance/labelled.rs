//! Values that stood behind a label which says that they are secret.
//!
//! `AWS_SECRET_ACCESS_KEY=…` is known by its label wherever it goes; the value alone is known only to whoever
//! remembers it. Each upstream has room of its own, so that none can crowd out what another showed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{LazyLock, OnceLock};

use regex::{Regex, RegexBuilder};

use super::secret::is_random;

/// Values that are remembered of one upstream, the first ones.
const MOST: usize = 256;
/// Bytes of a value.
const LENGTHS: std::ops::RangeInclusive<usize> = 8..=256;
/// Bytes that an entry takes beside its value.
const ENTRY: usize = 160;
/// Upstreams.
const UPSTREAMS: usize = 64;
/// Bytes that the search for all of them may take.
const SEARCH: usize = 64 << 20;

/// A label and its value, also within JSON within JSON.
static LABEL: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?i)(?:secret|password|passwd|passphrase|api[_-]?key|access[_-]?key|private[_-]?key|auth[_-]?token|",
        r"access[_-]?token|refresh[_-]?token|credential)[a-z0-9_]{0,20}",
        r#"\\{0,3}["']?\s{0,3}[:=]\s{0,3}\\{0,3}["']?(?<value>[^\s"',;<>\\]{8,})"#
    ))
    .ok()
});

/// The values, each with the upstreams that showed it.
#[derive(Default)]
pub(crate) struct Labelled {
    values: BTreeMap<String, BTreeSet<String>>,
    counts: BTreeMap<String, usize>,
    bytes: usize,
    search: OnceLock<Option<Regex>>,
}

impl Labelled {
    /// Remembers what an upstream shows. Linear in the message.
    pub(crate) fn note(&mut self, upstream: &str, message: &[u8]) {
        let Some((text, label)) = std::str::from_utf8(message).ok().zip(LABEL.as_ref()) else { return };
        for found in label.captures_iter(text).filter_map(|found| found.name("value")) {
            let value = found.as_str().trim_end_matches(['.', ')', ']', '}', '&']);
            if !LENGTHS.contains(&value.len()) || !is_random(value) {
                continue;
            }
            if self.values.get(value).is_some_and(|shown| shown.contains(upstream)) {
                continue;
            }
            if self.counts.len() >= UPSTREAMS && !self.counts.contains_key(upstream) {
                return;
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

    /// The values in a text that is on its way to an upstream which did not show them itself.
    pub(crate) fn in_text(&self, text: &str, to: &str) -> Vec<String> {
        if self.values.is_empty() {
            return Vec::new();
        }
        let built = self.search.get_or_init(|| {
            let any = self.values.keys().map(|value| regex::escape(value)).collect::<Vec<_>>().join("|");
            RegexBuilder::new(&any).size_limit(SEARCH).build().ok()
        });
        // FAIL CLOSED: values that cannot be looked for may stand anywhere.
        let Some(search) = built else { return vec![text.to_owned()] };
        let found = search.find_iter(text).map(|found| found.as_str());
        found
            .filter(|value| self.values.get(*value).is_some_and(|shown| !shown.contains(to)))
            .map(str::to_owned)
            .collect()
    }

    /// Bytes that the values take.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_known_without_its_label() {
        let mut known = Labelled::default();
        let env = "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI7MDENG42\nDEBUG=1\npassword: hunterBlue4277.\nsecret: changeme";
        let record = serde_json::json!({"api_key": "9d8f7a6b5c4d3e2f", "note": "x"}).to_string();
        for text in [env.to_owned(), record] {
            let nested = serde_json::json!({"content": [{"type": "text", "text": text}]}).to_string();
            known.note("files", nested.as_bytes());
        }
        let found = |text: &str, to: &str| known.in_text(text, to);
        for value in ["wJalrXUtnFEMI7MDENG42", "hunterBlue4277", "9d8f7a6b5c4d3e2f"] {
            assert_eq!(found(&format!("hotel porto {value} cheap"), "web"), [value]);
            assert!(found(value, "files").is_empty(), "it goes back to where it came from");
        }
        assert!(found("changeme and hunterBlue", "web").is_empty());
    }

    #[test]
    fn an_upstream_cannot_crowd_out_another() {
        let mut known = Labelled::default();
        for n in 0..2_000 {
            known.note("evil", format!("password=abcd{n:08}").as_bytes());
        }
        known.note("files", b"password=efgh12345678");
        assert_eq!(known.values.len(), MOST + 1);
        assert_eq!(known.in_text("efgh12345678", "web"), ["efgh12345678"]);
        assert!(known.bytes() < 1 << 17);
    }
}
