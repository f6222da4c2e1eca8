//! The nouns that make a number an identifier: "issue 212", "account 4711", but not "June 13".
//!
//! They are data (`config/words/nouns.txt`), one group of synonyms a line, so that "PR 7" names the
//! pull request 7 and not the issue 7. English comes first; other languages add lines.

use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Group 0 holds the words that go with every group.
static NOUNS: LazyLock<BTreeMap<&'static str, Vec<usize>>> = LazyLock::new(|| {
    let mut nouns: BTreeMap<&'static str, Vec<usize>> = BTreeMap::new();
    let lines = include_str!("../../../config/words/nouns.txt").lines();
    for (number, line) in lines.filter(|line| !line.starts_with('#') && !line.trim().is_empty()).enumerate() {
        let (group, line) = match line.strip_prefix("any:") {
            Some(rest) => (0, rest),
            None => (number + 1, line),
        };
        for word in line.split(',').map(str::trim).filter(|word| !word.is_empty()) {
            nouns.entry(word).or_default().push(group);
        }
    }
    nouns
});

/// Whether the word, or the two words ending in it, is a noun of this kind at all.
pub(super) fn is_noun(word: &str) -> bool {
    NOUNS.contains_key(word.to_lowercase().as_str())
}

/// Whether a number after `noun` can be meant by an argument of this dotted path. An argument that
/// names no group of nouns (`number`, `id`) takes any.
pub(super) fn fits(noun: &str, argument: &str) -> bool {
    let Some(said) = NOUNS.get(noun.to_lowercase().as_str()) else { return false };
    let words: Vec<String> = words_of(argument);
    let meant: Vec<usize> = words
        .iter()
        .filter_map(|word| NOUNS.get(word.as_str()))
        .flatten()
        .copied()
        .filter(|group| *group != 0)
        .collect();
    said.contains(&0) || meant.is_empty() || said.iter().any(|group| meant.contains(group))
}

/// Arguments that take a person or a channel, whatever their names say besides.
const RECEIVERS: &[&str] = &["to", "cc", "bcc", "recipient", "recipients", "receiver", "addressee", "chat"];

/// Whether `noun` beside a plain word makes it the name of what the argument takes: "the general
/// channel" names a channel, "the status report" names nobody.
pub(super) fn names(noun: &str, argument: &str) -> bool {
    let words = words_of(argument);
    let receives = words.iter().any(|word| RECEIVERS.contains(&word.as_str()));
    if !receives {
        return is_noun(noun);
    }
    let noun = noun.to_lowercase();
    let of = |word: &str| NOUNS.get(word).map(Vec::as_slice).unwrap_or_default();
    let near = of(&noun)
        .iter()
        .any(|group| *group != 0 && (of("channel").contains(group) || of("user").contains(group)));
    near || noun == "team"
}

/// The lower-case words of an identifier in snake, kebab, dotted or camel case.
fn words_of(identifier: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before_was_lower = false;
    for c in identifier.chars().take(256) {
        if !c.is_alphanumeric() || (c.is_uppercase() && before_was_lower) {
            words.push(String::new());
        }
        before_was_lower = c.is_lowercase();
        if c.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(c.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_belongs_to_its_noun() {
        for (noun, argument, expected) in [
            ("issue", "issue_number", true),
            ("issue", "number", true),
            ("Issue", "issueId", true),
            ("PR", "pull_number", true),
            ("PR", "issue_number", false),
            ("no.", "issue_number", true),
            ("June", "id", false),
            ("account", "to_account", true),
            ("event", "file_id", false),
        ] {
            assert_eq!(fits(noun, argument), expected, "{noun} {argument}");
        }
    }

    #[test]
    fn a_word_is_named_by_a_noun_of_its_kind() {
        for (noun, argument, expected) in [
            ("channel", "chat_id", true),
            ("report", "chat_id", false),
            ("report", "to", false),
            ("user", "recipient", true),
            ("table", "name", true),
        ] {
            assert_eq!(names(noun, argument), expected, "{noun} {argument}");
        }
    }
}
