//! The effect that a name tells: its verb, the thing the verb acts on, and the light that the
//! arguments throw on both.
//!
//! The verb is the first word of the name that is hardly ever a noun, or else the first that is a
//! verb at times; so prefixes of products and namespaces fall away without being known. Where the
//! name has no verb the first verb of the description speaks. Every way out of doubt is a write or
//! worse.

use std::collections::BTreeSet;

use super::judge::judge;
use super::lexicon::{
    Sense, Strength, Thing, among, is, is_filler, is_known_noun, is_preposition, verb, verb_word,
};
use super::signals::{Signal, Signals};
use super::words::{Word, words};
use crate::policy::Effect;

/// What a name was read as.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Reading {
    /// The main effect.
    pub(super) effect: Effect,
    /// Effects that a normal call has besides, or has at times.
    pub(super) also: BTreeSet<Effect>,
    /// What the verb does; `None` where no verb was known.
    pub(super) sense: Option<Sense>,
    /// Whether the verb can hardly be anything else.
    pub(super) sure: bool,
    /// The words of the thing acted on, the last one being the thing itself.
    pub(super) object: Vec<String>,
    /// The rules used, the deciding one first.
    pub(super) rules: Vec<String>,
}

impl Reading {
    /// The thing acted on; empty where none is named.
    pub(super) fn head(&self) -> &str {
        self.object.last().map_or("", String::as_str)
    }
}

/// A verb and the words it stands among.
pub(super) struct Phrase<'a> {
    /// What the verb does.
    pub(super) sense: Sense,
    /// How sure it is a verb.
    pub(super) strength: Strength,
    /// The verb itself.
    pub(super) word: &'static str,
    /// The words of what it acts on, the thing itself last.
    pub(super) object: Vec<&'a str>,
    /// The whole name.
    pub(super) all: &'a [Word],
    /// Whether the name speaks of an HTTP API, where `post` creates and `patch` changes.
    pub(super) api: bool,
}

/// What the judgement of a phrase looks at besides it.
#[derive(Clone, Copy)]
pub(super) struct Light<'a> {
    /// What the arguments say.
    pub(super) signals: &'a Signals,
    /// The start of the description, in lower case.
    pub(super) description: &'a str,
}

/// Reads a name, or the value of an action argument.
pub(super) fn read_name(name: &[Word], light: Light<'_>) -> Reading {
    let mut phrases = phrases(name);
    // `email_search_results(to)` mails them: a sender's noun in front counts where a recipient does.
    let told = name
        .iter()
        .take(2)
        .enumerate()
        .find_map(|(at, it)| verb(&it.text).map(|(sense, strength)| (at, sense, strength)))
        .filter(|(at, sense, strength)| {
            let sends = matches!(sense, Sense::Send | Sense::Post | Sense::Call | Sense::Spend);
            let converts = name.get(at + 1).is_some_and(|it| it.text == "to");
            let plural = name.get(*at).is_some_and(|it| it.plural);
            *strength == Strength::Noun && sends && !converts && !plural
        });
    let addressed = light.signals.has(Signal::Recipient) || light.signals.has(Signal::Body);
    if let Some((at, sense, strength)) = told.filter(|_| addressed) {
        phrases.push(phrase(name, at, sense, strength, false));
    }
    let mut best: Option<Reading> = None;
    for phrase in &phrases {
        let reading = judge(phrase, light);
        best = Some(match best {
            Some(known) if rank(known.effect) >= rank(reading.effect) => known,
            _ => reading,
        });
    }
    best.unwrap_or_else(|| without_verb(name, light))
}

/// The order in which the most dangerous effect of several is found.
pub(super) fn rank(effect: Effect) -> u8 {
    match effect {
        Effect::Read => 0,
        Effect::Fetch => 1,
        Effect::Write => 2,
        Effect::Destroy => 3,
        Effect::Send => 4,
        Effect::Account => 5,
        Effect::Spend => 6,
        Effect::Execute => 7,
    }
}

/// The verbs of a name: one, or two where `or` or `and` joins them.
fn phrases(name: &[Word]) -> Vec<Phrase<'_>> {
    let api = name.first().is_some_and(|it| among(&it.text, "api http rest"));
    let candidates: Vec<(usize, Sense, Strength)> = name
        .iter()
        .enumerate()
        .filter(|(at, word)| {
            let after_preposition =
                at.checked_sub(1).and_then(|it| name.get(it)).is_some_and(|it| is_preposition(&it.text));
            // `text_to_speech` texts nobody.
            let converts = word.text == "text" && name.get(at + 1).is_some_and(|it| it.text == "to");
            !word.plural && !after_preposition && !converts
        })
        .filter_map(|(at, word)| verb(&word.text).map(|(sense, strength)| (at, sense, strength)))
        .collect();
    let Some(&(mut at, mut sense, mut strength)) =
        candidates.iter().find(|it| it.2 == Strength::Verb).or_else(|| candidates.first())
    else {
        return Vec::new();
    };
    // `git_log` looks, `downgrade_plan` does not: a noun at the end behind words nobody knows is no verb.
    let behind_unknown = at > 0
        && at + 1 == name.len()
        && strength == Strength::Noun
        && matches!(sense, Sense::Read | Sense::Query)
        && !name.iter().take(at).all(|it| is_known_noun(&it.text));
    if behind_unknown {
        return Vec::new();
    }
    // `run_list_command` runs; `run_list` lists runs.
    if let Some(&(first, Sense::Run, _)) = candidates.first()
        && first < at
        && at + 1 < name.len()
        && sense == Sense::Read
    {
        (at, sense, strength) = (first, Sense::Run, Strength::Noun);
    }
    // `todo_list_delete` deletes: these verbs are nouns before a verb that ends the name.
    let text = |at: usize| name.get(at).map_or("", |it| it.text.as_str());
    if among(text(at), "list view search query report log filter check read copy record link tag mark merge")
        && let Some(&(last, other, Strength::Verb)) = candidates.iter().rev().find(|it| it.0 == at + 1)
        && last + 1 == name.len()
        && among(
            text(last),
            "delete remove drop purge clear create add insert update edit set send run execute cancel pay",
        )
    {
        (at, sense, strength) = (last, other, Strength::Verb);
    }
    let mut out = vec![phrase(name, at, sense, strength, api)];
    for &(other, found, strength) in &candidates {
        let joined = other > at && among(text(other - 1), "or and then");
        // `calendar_list_events_delete` deletes, whatever stands before the verb that ends the name.
        let ends = other > at + 1
            && other + 1 == name.len()
            && strength == Strength::Verb
            && matches!(found, Sense::Destroy | Sense::Remove);
        // A verb that says nothing says nothing against another.
        let says_more = sense == Sense::Generic && other > at + 1 && strength == Strength::Verb;
        if joined || ends || says_more {
            out.push(phrase(name, other, found, strength, api));
        }
    }
    out
}

fn phrase(all: &[Word], at: usize, sense: Sense, strength: Strength, api: bool) -> Phrase<'_> {
    let word = all.get(at).and_then(|it| verb_word(&it.text)).unwrap_or("");
    // In `create_or_update_file` both verbs act on the file.
    let joined_verb = |it: usize| {
        let text = |at: usize| all.get(at).map_or("", |it| it.text.as_str());
        it > 0 && among(text(it - 1), "or and") && verb(text(it)).is_some()
    };
    let after: Vec<&str> = all
        .iter()
        .enumerate()
        .skip(at + 1)
        .filter(|(it, _)| !joined_verb(*it))
        .map(|(_, it)| it.text.as_str())
        .take_while(|it| !is_preposition(it))
        .filter(|it| !is_filler(it) && !among(it, "or and"))
        .collect();
    let object = if after.is_empty() {
        all.iter().take(at).map(|it| it.text.as_str()).filter(|it| !is_filler(it)).collect()
    } else {
        after
    };
    Phrase { sense, strength, word, object, all, api }
}

/// A name in which no verb is known: its last word, then the description, then a write.
fn without_verb(name: &[Word], light: Light<'_>) -> Reading {
    let said = said(light);
    let base = Reading {
        effect: Effect::Write,
        also: BTreeSet::new(),
        sense: None,
        sure: false,
        object: name.iter().map(|it| it.text.clone()).filter(|it| !is_filler(it)).collect(),
        rules: vec!["no-known-verb".to_owned()],
    };
    // Only behind words that are known: an unknown verb is never a read.
    let names_a_glance = base.object.last().is_some_and(|it| is(it, Thing::Glance))
        && name.iter().all(|it| is_known_noun(&it.text))
        || base.object.last().is_some_and(|it| among(it, "reader viewer finder searcher inspector"));
    let risky =
        [Signal::Command, Signal::Recipient, Signal::Body].into_iter().any(|it| light.signals.has(it));
    match said {
        Some(told) if told.effect != Effect::Read || names_a_glance || !risky => Reading {
            effect: told.effect,
            also: told.also,
            rules: prefixed("description", &told.rules),
            ..base
        },
        _ if names_a_glance && !risky => {
            Reading { effect: Effect::Read, rules: vec!["glance".to_owned()], ..base }
        }
        _ => base,
    }
}

fn prefixed(prefix: &str, rules: &[String]) -> Vec<String> {
    rules.iter().map(|it| format!("{prefix}:{it}")).collect()
}

/// What the description says the tool does: the reading of its first verb.
pub(super) fn said(light: Light<'_>) -> Option<Reading> {
    let start: String = light.description.chars().take(240).collect();
    let sentence = start.split(['.', '\n', ';']).find(|it| it.split_whitespace().count() > 1)?;
    let mut told = words(sentence);
    // In a sentence the verb may stand in the third person (`Deletes a file`).
    told.iter_mut().take(8).for_each(|it| it.plural = false);
    let at = told.iter().take(8).position(|it| verb(&it.text).is_some_and(|it| it.1 == Strength::Verb))?;
    let clause: Vec<Word> = told.into_iter().skip(at).take(7).collect();
    let (sense, strength) = verb(&clause.first()?.text)?;
    Some(judge(&phrase(&clause, 0, sense, strength, false), light))
}

/// All effects that a text lists as actions: `Create, list or remove webhooks`.
pub(super) fn listed_actions(text: &str, object: &[String], light: Light<'_>) -> Vec<Reading> {
    let mut told = words(text);
    for word in &mut told {
        word.plural = false;
    }
    let mut out = Vec::new();
    for word in &told {
        if let Some((_, Strength::Verb)) = verb(&word.text) {
            out.push(read_action(std::slice::from_ref(word), object, light));
        }
    }
    out
}

/// Reads the value of an action argument: its own object, else that of the tool.
pub(super) fn read_action(action: &[Word], object: &[String], light: Light<'_>) -> Reading {
    let mut whole: Vec<Word> = action.to_vec();
    if action.len() == 1 {
        whole.extend(object.iter().map(|it| Word { text: it.clone(), plural: true }));
    }
    let mut reading = read_name(&whole, light);
    reading.rules = prefixed("action", &reading.rules);
    reading
}
