//! The verb list (`config/words/verbs.txt`), parsed once.
//!
//! The file is part of the program and checked by a test, so what it cannot mean is left out here
//! rather than reported. Its own comments say how it is written.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use crate::policy::Effect;

/// One step of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// One of these words.
    Word(Vec<&'static str>),
    /// Up to twelve words of any kind.
    Gap,
}

/// A verb, or a verb with what must follow it.
pub(super) type Pattern = Vec<Step>;

/// The words of all languages together: they hardly meet, and users mix them.
#[derive(Debug, Default)]
pub(super) struct Verbs {
    /// Phrases that stand before an imperative.
    pub(super) openers: Vec<Vec<&'static str>>,
    /// Words before a colon behind which somebody's text stands.
    pub(super) tells: BTreeSet<&'static str>,
    /// Words of those that alone before the colon are the user's own.
    pub(super) reminders: BTreeSet<&'static str>,
    /// Verbs of a sentence that only has a text looked at, which follows.
    pub(super) looks: BTreeSet<&'static str>,
    /// Last words of a question about a text that follows.
    pub(super) doubts: BTreeSet<&'static str>,
    /// Words by which a letter begins.
    pub(super) letters: BTreeSet<&'static str>,
    /// Words behind which an address is only spoken of.
    pub(super) spoken_of: BTreeSet<&'static str>,
    /// Words between an opener and the verb.
    pub(super) fillers: BTreeSet<&'static str>,
    /// Words that take an order back.
    pub(super) negations: BTreeSet<&'static str>,
    /// Words that take an order back from behind its verb.
    pub(super) denies: BTreeSet<&'static str>,
    /// Words whose verb stands at the end of their sentence.
    pub(super) modals: BTreeSet<&'static str>,
    /// Words that begin a sentence of their own before that.
    pub(super) breaks: BTreeSet<&'static str>,
    /// Verbs behind an address that something happened to.
    pub(super) happened: BTreeSet<&'static str>,
    /// Words that take a negation back.
    pub(super) affirms: BTreeSet<&'static str>,
    /// Words that end a negation.
    pub(super) contrast: BTreeSet<&'static str>,
    /// Words before what a sentence takes out again.
    pub(super) except: BTreeSet<&'static str>,
    /// Words that begin no clause of their own.
    pub(super) small: BTreeSet<&'static str>,
    /// Words after which "to" opens no order.
    pub(super) reported: BTreeSet<&'static str>,
    /// Words that may stand between such a word and its "to".
    pub(super) persons: BTreeSet<&'static str>,
    /// Verbs that are nouns as well.
    pub(super) nounish: BTreeSet<&'static str>,
    /// Words that make a noun of such a verb.
    pub(super) nounish_after: BTreeSet<&'static str>,
    /// Verbs by which things are told.
    pub(super) inward: BTreeSet<&'static str>,
    /// Words after them by which they are told to the user.
    pub(super) inward_after: BTreeSet<&'static str>,
    /// Words by which a sentence points back at the one before it.
    pub(super) back: BTreeSet<&'static str>,
    /// Words by which a sentence says what is the user's own.
    pub(super) back_own: BTreeSet<&'static str>,
    /// What such a sentence must be about.
    pub(super) back_nouns: BTreeSet<&'static str>,
    /// Words that stand for what was named before.
    pub(super) pronouns: BTreeSet<&'static str>,
    /// The verbs of each effect.
    pub(super) effects: BTreeMap<Effect, Vec<Pattern>>,
    /// What asks to do as a text says.
    pub(super) delegate: Vec<Pattern>,
    /// Verbs and nouns of an order to do what a text asks, where its author is named.
    pub(super) do_tasks: BTreeSet<&'static str>,
    pub(super) tasks: BTreeSet<&'static str>,
    /// Words between that noun and the author.
    pub(super) tasks_in: BTreeSet<&'static str>,
    /// Words right before the author.
    pub(super) authors: BTreeSet<&'static str>,
    /// Words that may stand before such an order.
    pub(super) polite: BTreeSet<&'static str>,
    /// Words that make it hang on something.
    pub(super) unless: BTreeSet<&'static str>,
    /// The first words of all verbs, and of those that spend.
    pub(super) starts: BTreeSet<&'static str>,
    pub(super) pays: BTreeSet<&'static str>,
}

/// The verb list of this program.
pub(super) static VERBS: LazyLock<Verbs> =
    LazyLock::new(|| parse(include_str!("../../../config/words/verbs.txt")));

fn parse(text: &'static str) -> Verbs {
    let mut verbs = Verbs::default();
    for line in text.lines().map(str::trim) {
        if line.is_empty() || line.starts_with(['#', '[']) {
            continue;
        }
        let Some((key, rest)) = line.split_once(':') else { continue };
        let entries = rest.split(',').map(str::trim).filter(|entry| !entry.is_empty());
        let set = match key {
            "fillers" => &mut verbs.fillers,
            "tells" => &mut verbs.tells,
            "reminders" => &mut verbs.reminders,
            "looks" => &mut verbs.looks,
            "letters" => &mut verbs.letters,
            "doubts" => &mut verbs.doubts,
            "denies" => &mut verbs.denies,
            "modals" => &mut verbs.modals,
            "breaks" => &mut verbs.breaks,
            "happened" => &mut verbs.happened,
            "spoken_of" => &mut verbs.spoken_of,
            "negations" => &mut verbs.negations,
            "affirms" => &mut verbs.affirms,
            "contrast" => &mut verbs.contrast,
            "except" => &mut verbs.except,
            "small" => &mut verbs.small,
            "reported" => &mut verbs.reported,
            "persons" => &mut verbs.persons,
            "nounish" => &mut verbs.nounish,
            "nounish_after" => &mut verbs.nounish_after,
            "back" => &mut verbs.back,
            "back_own" => &mut verbs.back_own,
            "back_nouns" => &mut verbs.back_nouns,
            "pronouns" => &mut verbs.pronouns,
            "inward" => &mut verbs.inward,
            "inward_after" => &mut verbs.inward_after,
            "do_tasks" => &mut verbs.do_tasks,
            "tasks" => &mut verbs.tasks,
            "tasks_in" => &mut verbs.tasks_in,
            "authors" => &mut verbs.authors,
            "polite" => &mut verbs.polite,
            "unless" => &mut verbs.unless,
            "openers" => {
                verbs.openers.extend(entries.map(|entry| entry.split_whitespace().collect()));
                continue;
            }
            "delegate" => {
                verbs.delegate.extend(entries.map(pattern));
                continue;
            }
            _ => {
                if let Some(effect) = Effect::ALL.into_iter().find(|effect| effect.as_str() == key) {
                    verbs.effects.entry(effect).or_default().extend(entries.map(pattern));
                }
                continue;
            }
        };
        set.extend(entries);
    }
    let first = |pattern: &Pattern| match pattern.first() {
        Some(Step::Word(words)) => words.clone(),
        _ => Vec::new(),
    };
    verbs.starts = verbs.effects.values().flatten().chain(&verbs.delegate).flat_map(first).collect();
    verbs.pays = verbs.effects.get(&Effect::Spend).into_iter().flatten().flat_map(first).collect();
    verbs
}

fn pattern(entry: &'static str) -> Pattern {
    entry
        .split_whitespace()
        .map(|word| if word == "*" { Step::Gap } else { Step::Word(word.split('|').collect()) })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_has_words_for_every_sink_and_nothing_it_does_not_mean() {
        for effect in Effect::ALL.into_iter().filter(|effect| effect.is_sink()) {
            assert!(VERBS.effects.get(&effect).is_some_and(|verbs| verbs.len() > 20), "{effect}");
        }
        let known = [
            "openers",
            "tells",
            "reminders",
            "looks",
            "denies",
            "modals",
            "breaks",
            "happened",
            "doubts",
            "letters",
            "spoken_of",
            "fillers",
            "negations",
            "affirms",
            "contrast",
            "except",
            "small",
            "reported",
            "persons",
            "nounish",
            "nounish_after",
            "inward",
            "inward_after",
            "back",
            "back_own",
            "back_nouns",
            "pronouns",
            "delegate",
            "do_tasks",
            "tasks",
            "tasks_in",
            "authors",
            "polite",
            "unless",
            "read",
            "send",
            "spend",
            "destroy",
            "execute",
            "account",
            "write",
        ];
        for line in include_str!("../../../config/words/verbs.txt").lines() {
            let key = line.split_once(':').map(|(key, _)| key);
            assert!(
                line.is_empty()
                    || line.starts_with(['#', '['])
                    || key.is_some_and(|key| known.contains(&key)),
                "{line}"
            );
        }
    }

    #[test]
    fn patterns_begin_and_end_in_a_word() {
        for pattern in VERBS.effects.values().flatten().chain(&VERBS.delegate) {
            assert!(
                matches!(pattern.first(), Some(Step::Word(_)))
                    && matches!(pattern.last(), Some(Step::Word(_)))
            );
        }
    }
}
