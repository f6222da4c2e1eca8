//! The answer of both readers: the worst effect, the others, how many statements, and the places.

use std::collections::BTreeSet;

use crate::policy::Effect;

/// How many places are named; the rest is in the text for whoever asks.
const PLACES: usize = 64;

/// What form a place has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PlaceForm {
    /// Has a scheme.
    Url,
    /// A host, with or without a user before it and a port behind it.
    Host,
    /// A path of a file system.
    Path,
}

/// A url, host or path that a statement names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct NamedPlace {
    /// What it is.
    pub form: PlaceForm,
    /// As it stands in the text, quotes undone.
    pub text: String,
}

/// What a text of one or several statements does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatementClass {
    /// The worst effect of all statements: `read`, `fetch`, `write`, `destroy`, `send`, `account`
    /// or `execute`.
    pub effect: Effect,
    /// The effects of the other statements and parts, without `read` and the main one.
    pub also: BTreeSet<Effect>,
    /// How many statements or simple commands, those in substitutions counted too; 0 where the text
    /// holds none or was not understood.
    pub statements: usize,
    /// The places named inside, in their order, at most 64.
    pub places: Vec<NamedPlace>,
    /// Whether all of it was understood. `false` makes the effect `execute`.
    pub understood: bool,
}

impl StatementClass {
    /// A text that does nothing yet.
    pub(super) fn empty() -> Self {
        Self {
            effect: Effect::Read,
            also: BTreeSet::new(),
            statements: 0,
            places: Vec::new(),
            understood: true,
        }
    }

    /// FAIL CLOSED: what is not understood may do anything.
    pub(super) fn unknown() -> Self {
        Self { effect: Effect::Execute, understood: false, ..Self::empty() }
    }

    /// Adds an effect: the worst leads, the others stand beside it.
    pub(super) fn add(&mut self, effect: Effect) {
        let (worse, other) =
            if worse(effect, self.effect) { (effect, self.effect) } else { (self.effect, effect) };
        self.effect = worse;
        if other != Effect::Read {
            self.also.insert(other);
        }
        self.also.remove(&worse);
    }

    /// Adds a place, unless it is there already.
    pub(super) fn place(&mut self, form: PlaceForm, text: &str) {
        let place = NamedPlace { form, text: text.to_owned() };
        if self.places.len() < PLACES && !text.is_empty() && !self.places.contains(&place) {
            self.places.push(place);
        }
    }

    /// Joins another text's class into this one.
    pub(super) fn join(&mut self, other: &Self) {
        self.add(other.effect);
        for effect in &other.also {
            self.add(*effect);
        }
        self.statements += other.statements;
        for place in &other.places {
            self.place(place.form, &place.text);
        }
        self.understood &= other.understood;
    }
}

/// Whether `one` is the worse effect of a statement.
fn worse(one: Effect, other: Effect) -> bool {
    let rank = |effect: Effect| match effect {
        Effect::Read => 0,
        Effect::Fetch => 1,
        Effect::Write => 2,
        Effect::Send | Effect::Spend => 3,
        Effect::Destroy => 4,
        Effect::Account => 5,
        Effect::Execute => 6,
    };
    rank(one) > rank(other)
}

/// The urls in a text: from a scheme to the next blank, quote or bracket.
pub(super) fn urls(text: &str, class: &mut StatementClass) {
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let before = rest.get(..at).unwrap_or_default();
        let scheme = before
            .rfind(|it: char| !it.is_ascii_alphanumeric() && !"+-.".contains(it))
            .map_or(0, |it| it + 1);
        let start = rest.get(scheme..).unwrap_or_default();
        let end =
            start.find(|it: char| it.is_whitespace() || "'\"`<>|;()".contains(it)).unwrap_or(start.len());
        if scheme < at {
            class.place(PlaceForm::Url, start.get(..end).unwrap_or_default());
        }
        rest = rest.get(at + 3..).unwrap_or_default();
    }
}
