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
pub fn is_noun(word: &str) -> bool {
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

/// What an identifier says a thing is: `issue_number` an issue, `pullRequestId` a pull request.
///
/// The last word counts that is no general one (`id`, `number`), and all its synonyms.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Thing {
    word: String,
    groups: Vec<usize>,
}

impl Thing {
    /// The thing that an identifier names; `None` for one that only says that it identifies something.
    pub fn named_by(identifier: &str) -> Option<Self> {
        let general = |word: &String| {
            let of = NOUNS.get(word.as_str()).map(Vec::as_slice).unwrap_or_default();
            of.contains(&0) || GENERAL.contains(&word.as_str())
        };
        words_of(identifier).into_iter().rev().find(|word| !general(word)).map(Self::of_word)
    }

    /// The thing that the object of a tool's name is: as [`Self::named_by`], and for an `item` an item.
    pub fn of(object: &str) -> Option<Self> {
        Self::named_by(object).or_else(|| words_of(object).into_iter().next_back().map(Self::of_word))
    }

    fn of_word(word: String) -> Self {
        let groups = NOUNS.get(word.as_str()).cloned().unwrap_or_default();
        let word = word.strip_suffix('s').map(str::to_owned).unwrap_or(word);
        Self { word, groups }
    }

    /// The word itself, in the singular.
    pub fn word(&self) -> &str {
        &self.word
    }

    /// Whether both are the same kind of thing.
    pub fn is(&self, other: &Self) -> bool {
        self.word == other.word || self.groups.iter().any(|group| other.groups.contains(group))
    }
}

/// Words of identifiers that say nothing of what is identified.
const GENERAL: &[&str] = &[
    "iid", "uuid", "guid", "uid", "sha", "ts", "slug", "keys", "numbers", "uuids", "name", "names", "target",
    "data", "result", "results", "response", "body", "payload", "output", "value", "values", "new",
    "created",
];

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
    fn identifiers_say_what_they_identify() {
        let of = Thing::named_by;
        for (one, other, expected) in [
            ("issue_number", "issue", true),
            ("issueIds", "ticket", true),
            ("pull_number", "pull_request", true),
            ("issue_number", "pull request", false),
            ("issue_comment_id", "issue", false),
            ("playlistId", "playlists", true),
            ("repo_id", "issue", false),
        ] {
            let same = of(one).zip(of(other)).is_some_and(|(one, other)| one.is(&other));
            assert_eq!(same, expected, "{one} {other}");
        }
        assert_eq!((of("id"), of("number"), of("item_key")), (None, None, None));
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
