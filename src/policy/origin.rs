//! The provenance of a destination, and the table that turns it into an outcome.
//!
//! Every way in which a destination may be vouched for, and every place it stood in, is one
//! [`Provenance`]; the table of the design gives each an outcome for the effect, and the most
//! permissive counts. Trust comes from what the user wrote, granted or typed and from declared own
//! data; a heuristic field is never better than ask.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::provenance::{AlterationSize, DestinationReason, Floor, Place, PlaceKind};

use super::facts::{Asked, DestinationFacts, Typed};
use super::{Effect, Outcome, Role};

/// Where a destination came from, from the best to the worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Provenance {
    /// The policy trusts it.
    Allowlisted,
    /// A human granted it, or an allowed call created it at this upstream.
    Granted,
    /// The user typed it and asked for this effect.
    Typed,
    /// An own-data field holds it.
    OwnData,
    /// The user typed it and asked for something else.
    TypedNotAsked,
    /// A link field holds it.
    LinkField,
    /// An identity field holds it.
    IdentityField,
    /// Own data holds it, but only after untrusted text or a call of this client did.
    Planted,
    /// Free text of a record that the user pointed at holds it.
    PointedText,
    /// Nothing that was seen holds it.
    Unproven,
    /// A url made from one that was read.
    AlteredLink,
    /// Any other text holds it.
    FreeText,
}

impl Provenance {
    /// The name used in policies and records.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allowlisted => "allowlisted",
            Self::Granted => "granted",
            Self::Typed => "typed",
            Self::OwnData => "own-data",
            Self::TypedNotAsked => "typed-not-asked",
            Self::LinkField => "link-field",
            Self::IdentityField => "identity-field",
            Self::Planted => "planted",
            Self::PointedText => "pointed-text",
            Self::Unproven => "unproven",
            Self::AlteredLink => "altered-link",
            Self::FreeText => "free-text",
        }
    }

    /// The provenance of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|provenance| provenance.as_str() == name)
    }

    /// All, from the best to the worst.
    pub const ALL: [Self; 12] = [
        Self::Allowlisted,
        Self::Granted,
        Self::Typed,
        Self::OwnData,
        Self::TypedNotAsked,
        Self::LinkField,
        Self::IdentityField,
        Self::Planted,
        Self::PointedText,
        Self::Unproven,
        Self::AlteredLink,
        Self::FreeText,
    ];
}

/// Cells of the table that a policy changed. Tightening is always possible; the one loosening there
/// is, deny to ask, is checked where the policy is compiled and again here.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(transparent)]
pub struct Cells(pub BTreeMap<Provenance, Outcome>);

impl Cells {
    fn apply(&self, provenance: Provenance, default: Outcome) -> Outcome {
        match self.0.get(&provenance) {
            Some(&wanted) if wanted >= default => wanted,
            Some(_) if default == Outcome::Deny => Outcome::Ask,
            _ => default,
        }
    }
}

/// What one destination comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Judged {
    pub(super) provenance: Provenance,
    pub(super) outcome: Outcome,
    /// The place that made it so, for the question and the audit log.
    pub(super) place: Option<Place>,
}

/// At most this many distinct links of one record and host are used without a question: an alphabet
/// of links is a channel.
const LINKS_PER_RECORD: usize = 3;

/// Judges one destination of a call with this effect.
pub(super) fn judge(facts: &DestinationFacts, effect: Effect, cells: &Cells) -> Judged {
    let mut best: Option<Judged> = None;
    let mut consider = |provenance: Provenance, outcome: Outcome, place: Option<&Place>| {
        let candidate =
            Judged { provenance, outcome: cells.apply(provenance, outcome), place: place.cloned() };
        let better = best
            .as_ref()
            .is_none_or(|best| (candidate.outcome, candidate.provenance) < (best.outcome, best.provenance));
        if better {
            best = Some(candidate);
        }
    };
    if facts.allowlisted.is_some() {
        consider(Provenance::Allowlisted, Outcome::Allow, None);
    }
    if facts.granted.is_some() || facts.created {
        consider(Provenance::Granted, Outcome::Allow, None);
    }
    if let Some((provenance, outcome)) = typed(facts, effect) {
        consider(provenance, outcome, None);
    }
    // A weak match (a parent host, a piece of the value) is no place that holds the value: where one
    // does, only that counts.
    let held = facts.trace.places.iter().any(|place| place.floor == Floor::Deny);
    for place in facts.trace.places.iter().filter(|place| !held || place.floor == Floor::Deny) {
        let provenance = of_place(place.kind);
        consider(provenance, of_match(facts, effect, place), Some(place));
    }
    if let Some(alteration) = &facts.trace.altered {
        let mention = is_mention(facts, effect);
        let outcome = match (effect, alteration.size) {
            _ if mention => Outcome::Ask,
            (Effect::Fetch, AlterationSize::Small) => Outcome::Ask,
            _ => Outcome::Deny,
        };
        consider(Provenance::AlteredLink, outcome, Some(&alteration.of));
    }
    best.unwrap_or_else(|| Judged {
        provenance: Provenance::Unproven,
        outcome: cells.apply(Provenance::Unproven, unproven(facts, effect)),
        place: None,
    })
}

/// What typing does. A fetch needs no verb, nor does a link inside of what is sent: either way a host is
/// told nothing that the user did not write. The other effects need to be asked for, and grave ones need more than a word.
fn typed(facts: &DestinationFacts, effect: Effect) -> Option<(Provenance, Outcome)> {
    let grave = matches!(effect, Effect::Destroy | Effect::Spend | Effect::Execute | Effect::Account);
    match facts.typed {
        Typed::No | Typed::Pasted => None,
        Typed::BareWord if grave => None,
        Typed::Yes if facts.destination.reason == DestinationReason::Embedded => {
            Some((Provenance::Typed, Outcome::Allow))
        }
        Typed::BareWord | Typed::Yes if effect == Effect::Fetch || facts.asked == Asked::Yes => {
            Some((Provenance::Typed, Outcome::Allow))
        }
        Typed::BareWord | Typed::Yes => Some((Provenance::TypedNotAsked, Outcome::Ask)),
    }
}

fn of_place(kind: PlaceKind) -> Provenance {
    match kind {
        PlaceKind::OwnData => Provenance::OwnData,
        PlaceKind::LinkField => Provenance::LinkField,
        PlaceKind::IdentityField => Provenance::IdentityField,
        PlaceKind::Planted => Provenance::Planted,
        PlaceKind::PointedText => Provenance::PointedText,
        PlaceKind::FreeText => Provenance::FreeText,
    }
}

/// The table of the design, by place and effect.
fn of_match(facts: &DestinationFacts, effect: Effect, place: &Place) -> Outcome {
    // A weak match (a parent host, a piece of the value) is less than the value: it neither trusts
    // nor denies.
    if place.floor == Floor::Ask {
        return Outcome::Ask;
    }
    if effect == Effect::Fetch {
        return match (place.kind, place.exact) {
            (PlaceKind::LinkField, true) if facts.links_used < LINKS_PER_RECORD => Outcome::Allow,
            (_, true) => Outcome::Ask,
            // The host was read, but not this url: the alteration says how far it may go.
            (_, false) => Outcome::Deny,
        };
    }
    if facts.destination.reason == DestinationReason::Embedded {
        // A link that travels as it was read tells its host nothing but that it was opened.
        return match (place.kind, place.exact) {
            (PlaceKind::OwnData, true) => Outcome::Allow,
            (_, true) => Outcome::Ask,
            // A mention of a site that was read is a person's to judge; only one that carries data is refused.
            (_, false) if is_mention(facts, effect) => Outcome::Ask,
            (_, false) => Outcome::Deny,
        };
    }
    match place.kind {
        PlaceKind::OwnData if place.exact => Outcome::Allow,
        PlaceKind::OwnData | PlaceKind::LinkField | PlaceKind::IdentityField | PlaceKind::Planted => {
            Outcome::Ask
        }
        PlaceKind::PointedText if facts.asked > Asked::No => Outcome::Ask,
        // A target is a thing at the upstream itself: a whole field of a record names it, where a
        // mention in prose does not.
        PlaceKind::PointedText | PlaceKind::FreeText if place.whole && is_target(facts.role) => Outcome::Ask,
        PlaceKind::PointedText | PlaceKind::FreeText => Outcome::Deny,
    }
}

fn is_target(role: Option<Role>) -> bool {
    matches!(role, Some(Role::Target | Role::Path))
}

/// A link in outgoing text that nothing untrusted holds is the model's own mention of a site, unless
/// it carries something along.
fn unproven(facts: &DestinationFacts, effect: Effect) -> Outcome {
    if is_mention(facts, effect) { Outcome::Allow } else { Outcome::Ask }
}

/// Whether a link in outgoing text has no room for data.
fn is_mention(facts: &DestinationFacts, effect: Effect) -> bool {
    effect != Effect::Fetch
        && facts.destination.reason == DestinationReason::Embedded
        && !carries_data(&facts.destination.text)
}

/// Words of a path that a link may have and still carry nothing, and their letters.
const PATH_WORDS: usize = 3;
const WORD_LETTERS: usize = 16;

/// Whether a link has room for data: a query, a fragment, a userinfo, a port, a long host, or a path of more
/// than a few plain words.
fn carries_data(link: &str) -> bool {
    let rest = link.split_once("://").map_or(link, |(_, rest)| rest);
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let words: Vec<&str> = path.split('/').filter(|word| !word.is_empty()).collect();
    let plain = |word: &&str| {
        let stem = word.rsplit_once('.').map_or(*word, |(stem, _)| stem);
        word.len() <= WORD_LETTERS + 5
            && stem.len() <= WORD_LETTERS
            && stem.chars().all(|c| c.is_ascii_alphabetic() || c == '-')
    };
    rest.contains(['?', '@', '#', '%', '\\'])
        || host.contains(':')
        || host
            .split('.')
            .any(|label| label.len() > 24 || (label.len() >= 6 && label.bytes().any(|b| b.is_ascii_digit())))
        || host.split('.').count() > 4
        || words.len() > PATH_WORDS
        || !words.iter().all(plain)
}
