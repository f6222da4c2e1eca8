//! What a human has allowed or refused in a session, and what that covers.
//!
//! A grant for a mail address, phone, account or exact url holds at every upstream; ids, paths, names
//! and channels carry theirs. Session grants exist for sends, for fetches (that host's urls as read or
//! with a small change) and for a pair of upstreams between which content flows; anything graver is
//! granted for exactly one call. A grant belongs to the session that answered.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::provenance::{AlterationSize, Kind, Place};

use super::facts::{DestinationFacts, FlowContent};
use super::question::NAMED;
use super::verdict::{Reason, Verdict};
use super::{Effect, Outcome};

/// What a session grant or a remembered refusal is about.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GrantKey {
    /// A destination, by its STRICT form.
    Destination {
        /// The upstream it means something at; `None` where it means the same everywhere.
        upstream: Option<String>,
        /// The STRICT form.
        strict: String,
    },
    /// A host whose urls may be fetched as read or with a small change.
    FetchHost(String),
    /// Content that flows from one upstream to another.
    Flow {
        /// Where it was read.
        from: String,
        /// Where it goes.
        to: String,
    },
    /// Exactly this call: a digest of upstream, tool and arguments.
    Call(String),
}

impl GrantKey {
    /// The upstreams, by configured name, that it means something at.
    pub fn upstreams(&self) -> impl Iterator<Item = &str> {
        let (one, two) = match self {
            Self::Destination { upstream, .. } => (upstream.as_deref(), None),
            Self::Flow { from, to } => (Some(from.as_str()), Some(to.as_str())),
            Self::FetchHost(_) | Self::Call(_) => (None, None),
        };
        one.into_iter().chain(two)
    }
}

/// Whether a question may offer more than this one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Offer {
    /// This call only.
    Once,
    /// Also all calls of this session to the same destinations.
    Session,
    /// It is not about a call: the new words of a tool, to be accepted for good.
    Words,
    /// Also the same call, once each, for the other things of the list that the question names.
    Listed,
}

/// What the questions of one verdict are about, and what an answer may cover.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AskedAbout {
    /// The keys of the findings that ask.
    pub keys: Vec<GrantKey>,
    /// What may be offered.
    pub offer: Offer,
}

/// The key of a destination, if it has a STRICT form that an answer can hold on to.
pub fn destination_key(facts: &DestinationFacts, upstream: &str) -> Option<GrantKey> {
    let destination = &facts.destination;
    let upstream = if destination.kind.is_global() { None } else { Some(upstream.to_owned()) };
    let strict = destination.strict.as_ref()?.as_str().to_owned();
    Some(GrantKey::Destination { upstream, strict })
}

/// The host key of a url that a fetch grant may cover: one used as read or with a small change.
pub fn fetch_key(facts: &DestinationFacts) -> Option<GrantKey> {
    if facts.destination.kind != Kind::Url {
        return None;
    }
    let read = facts.trace.places.iter().any(|place| place.exact);
    let near = facts.trace.altered.as_ref().is_some_and(|altered| altered.size == AlterationSize::Small);
    if !read && !near {
        return None;
    }
    let url = url::Url::parse(facts.destination.strict.as_ref()?.as_str()).ok()?;
    url.host_str().map(|host| GrantKey::FetchHost(host.to_owned()))
}

/// The key of content that flows from a place to an upstream.
pub(super) fn flow_key(from: &Place, container: Option<&str>, to: &str) -> GrantKey {
    let from = match container {
        Some(container) => format!("{} {container}", from.upstream),
        None => from.upstream.clone(),
    };
    GrantKey::Flow { from, to: to.to_owned() }
}

/// What an answer to the questions of `verdict` is about.
pub fn asked_about(verdict: &Verdict, effect: Effect, upstream: &str, digest: &str) -> AskedAbout {
    let mut keys = Vec::new();
    // What a question does not show one by one is not answered for more than this call.
    let asked = verdict.findings.iter().filter(|finding| finding.outcome == Outcome::Ask).count();
    let mut offer = if asked > NAMED { Offer::Once } else { Offer::Session };
    for finding in verdict.findings.iter().filter(|finding| finding.outcome == Outcome::Ask) {
        let found = match &finding.reason {
            Reason::Destination { facts, .. } if effect == Effect::Fetch => {
                fetch_key(facts).into_iter().chain(destination_key(facts, upstream)).collect()
            }
            Reason::Destination { facts, .. } => destination_key(facts, upstream).into_iter().collect(),
            Reason::Flow(flow) => match &flow.content {
                FlowContent::Text { from, container, .. } => {
                    vec![flow_key(from, container.as_deref(), upstream)]
                }
                FlowContent::Secret { .. } => Vec::new(),
            },
            _ => Vec::new(),
        };
        if found.is_empty() {
            offer = Offer::Once;
        }
        keys.extend(found);
    }
    if effect.is_answered_by_call() {
        offer = Offer::Once;
    }
    keys.push(GrantKey::Call(digest.to_owned()));
    AskedAbout { keys, offer }
}

/// A yes to the calls of one list, each once.
#[derive(Debug, Clone)]
pub struct ListYes {
    /// The session that answered.
    pub session: u64,
    /// What groups the calls that are asked about together: the same tool and the same record.
    pub group: Option<String>,
    /// The exact digests of all calls of the list.
    pub calls: BTreeSet<String>,
    /// Those that may still be made.
    pub left: BTreeSet<String>,
    /// Says for the audit log how the yes came.
    pub by: String,
    /// When it ends, in milliseconds on the clock of whoever keeps it.
    pub until: u64,
}

/// The grants and refusals of the sessions of this process.
#[derive(Debug, Default)]
pub struct Ledger {
    granted: BTreeMap<(u64, Effect, GrantKey), String>,
    refused: BTreeMap<(u64, Effect, GrantKey), u64>,
    once: BTreeMap<(u64, String), String>,
    lists: Vec<ListYes>,
    next: u64,
}

/// The most grants, refusals or waiting single answers that are kept; more are not, so that a flood
/// of questions cannot grow memory. What is not kept is asked again.
const KEPT: usize = 16_384;
/// The most lists, likewise.
const LISTS: usize = 512;

impl Ledger {
    /// Grants `keys` for the rest of the session and returns the grant's id.
    pub fn grant(&mut self, session: u64, effect: Effect, keys: &[GrantKey]) -> String {
        self.next += 1;
        let id = format!("g{}", self.next);
        for key in keys {
            // One call is granted once, never for the session.
            if !matches!(key, GrantKey::Call(_)) && self.granted.len() < KEPT {
                self.granted.insert((session, effect, key.clone()), id.clone());
            }
            self.refused.remove(&(session, effect, key.clone()));
        }
        id
    }

    /// Keeps a yes that came when nobody waited for it any more: the next call with this digest passes
    /// once. `by` says for the audit log how it came.
    pub fn keep_once(&mut self, session: u64, digest: &str, by: &str) {
        if self.once.len() < KEPT {
            self.once.insert((session, digest.to_owned()), by.to_owned());
        }
    }

    /// Keeps a yes to a list. It takes the place of an earlier one to the same calls.
    pub fn keep_list(&mut self, yes: ListYes) {
        for other in self.lists.iter_mut().filter(|other| other.session == yes.session) {
            other.left.retain(|digest| !yes.calls.contains(digest));
        }
        self.lists.retain(|other| !other.left.is_empty());
        if self.lists.len() < LISTS {
            self.lists.push(yes);
        }
    }

    /// Takes a yes to a list for one call, by its exact digest. `now`: as [`ListYes::until`].
    pub fn take_listed(&mut self, session: u64, digest: &str, now: u64) -> Option<String> {
        self.lists.retain(|yes| now < yes.until);
        let mut own = self.lists.iter_mut().filter(|yes| yes.session == session);
        own.find_map(|yes| yes.left.remove(digest).then(|| yes.by.clone()))
    }

    /// Ends the yes to any list that a refused call belongs to: by its exact digest, or by its group.
    pub fn refuse_lists(&mut self, session: u64, group: Option<&str>, digest: Option<&str>) {
        self.lists.retain(|yes| {
            let same_group = group.is_some() && group == yes.group.as_deref();
            let is_in = same_group || digest.is_some_and(|digest| yes.calls.contains(digest));
            yes.session != session || !is_in
        });
    }

    /// Ends the yes to every list: the user has said something since.
    pub fn end_lists(&mut self) {
        self.lists.clear();
    }

    /// Takes a kept yes.
    pub fn take_once(&mut self, session: u64, digest: &str) -> Option<String> {
        self.once.remove(&(session, digest.to_owned()))
    }

    /// Forgets refusals of `keys`: a person has answered otherwise since.
    pub fn forget_refusals(&mut self, session: u64, effect: Effect, keys: &[GrantKey]) {
        for key in keys {
            self.refused.remove(&(session, effect, key.clone()));
        }
    }

    /// Remembers a refusal; `prompt` is how many prompts the user had typed by then.
    ///
    /// A no to a question about several destinations does not say which of them was meant, so it is
    /// remembered for this very call only.
    pub fn refuse(&mut self, session: u64, effect: Effect, keys: &[GrantKey], prompt: u64) {
        let (calls, others): (Vec<_>, Vec<_>) = keys.iter().partition(|key| matches!(key, GrantKey::Call(_)));
        let meant = if others.len() == 1 { others } else { Vec::new() };
        for key in calls.into_iter().chain(meant) {
            if self.refused.len() < KEPT {
                self.refused.insert((session, effect, key.clone()), prompt);
            }
        }
    }

    /// The grant that covers `key` for this effect.
    pub fn granted(&self, session: u64, effect: Effect, key: &GrantKey) -> Option<&str> {
        self.granted.get(&(session, effect, key.clone())).map(String::as_str)
    }

    /// How many prompts the user had typed when `key` was refused.
    pub fn refused(&self, session: u64, effect: Effect, key: &GrantKey) -> Option<u64> {
        self.refused.get(&(session, effect, key.clone())).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Happens = fn(&mut Ledger);

    #[test]
    fn a_yes_to_a_list_ends() {
        let set = |digests: &[&str]| digests.iter().map(|digest| (*digest).to_owned()).collect();
        let yes = |session, until| ListYes {
            session,
            group: Some("delete/13".to_owned()),
            calls: set(&["a", "b", "c"]),
            left: set(&["b", "c"]),
            by: "list, question 1".to_owned(),
            until,
        };
        let rows: [(&str, Happens, u64, bool); 8] = [
            ("nothing happens", |_| {}, 599_999, true),
            ("ten minutes pass", |_| {}, 600_000, false),
            ("the user types", Ledger::end_lists, 1, false),
            ("one of it is refused", |ledger| ledger.refuse_lists(1, None, Some("a")), 1, false),
            (
                "a call of its record is refused",
                |ledger| ledger.refuse_lists(1, Some("delete/13"), None),
                1,
                false,
            ),
            (
                "another list is refused",
                |ledger| ledger.refuse_lists(1, Some("delete/14"), Some("x")),
                1,
                true,
            ),
            (
                "another session refuses",
                |ledger| ledger.refuse_lists(2, Some("delete/13"), Some("a")),
                1,
                true,
            ),
            ("a call is refused that is in no group", |ledger| ledger.refuse_lists(1, None, None), 1, true),
        ];
        for (what, happens, now, is_left) in rows {
            let mut ledger = Ledger::default();
            ledger.keep_list(yes(1, 600_000));
            happens(&mut ledger);
            assert_eq!(ledger.take_listed(1, "a", now), None, "{what}: it was answered for");
            assert_eq!(ledger.take_listed(1, "b", now).is_some(), is_left, "{what}");
            assert_eq!(ledger.take_listed(1, "b", now), None, "{what}: once each");
            assert_eq!(ledger.take_listed(2, "c", now), None, "{what}: in its session");
        }
        let mut ledger = Ledger::default();
        ledger.keep_list(yes(1, 600_000));
        ledger.keep_list(yes(1, 700_000));
        assert!(ledger.take_listed(1, "b", 650_000).is_some());
        assert_eq!(ledger.take_listed(1, "b", 1), None, "a second yes does not double the first");
    }
}
