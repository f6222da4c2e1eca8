//! The tools that upstreams listed, each with the policy that rules on it, derived once when it is
//! listed and looked up at every call, and what each differs in from its pin.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use serde_json::Value;

use crate::actors::messages::{Admission, RecordListing};
use crate::actors::pins::{Compared, in_words};
use crate::mcp::{Capabilities, Tool};
use crate::policy::heuristics::ToolDescription;
use crate::policy::{
    Change, Effect, OwnPlace, Pin, Rewording, Rules, ServerPin, ToolPolicy, UpstreamIdentity,
};

/// A listed tool.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) policy: ToolPolicy,
    /// In what the newest policy is laxer than this rule, which therefore stays; mostly empty.
    pub(super) waits: Vec<&'static str>,
    pub(super) own_data: Arc<[OwnPlace]>,
    /// The upstream's state key: its name and a digest of its launch.
    pub(super) state_key: Arc<str>,
    /// The upstream's working folder, where it is known.
    pub(super) cwd: Option<String>,
}

/// What the gate knows of an upstream before it starts.
#[derive(Debug, Clone)]
pub struct UpstreamFacts {
    /// What packs and policies bind to.
    pub identity: UpstreamIdentity,
    /// Its working folder.
    pub cwd: Option<String>,
}

/// A listing as it was read. An entry that is no tool is left out, so that calls to it are refused.
pub(super) struct Listed {
    upstream: Arc<str>,
    tools: Vec<(Arc<str>, ToolDescription)>,
    /// What it pins.
    pub(super) pin: Arc<ServerPin>,
    /// What its server declared, and its instructions.
    pub(super) capabilities: Capabilities,
    pub(super) instructions: Option<String>,
    /// Its number: a listing that is overtaken by a later one is not installed over it.
    turn: u64,
}

/// New words that a person may be asked about.
#[derive(Debug, Clone)]
pub(super) struct NewWords {
    pub(super) rewording: Rewording,
    pub(super) state_key: Arc<str>,
    /// What the tool does, in either words.
    pub(super) effect: Effect,
    /// What the listing pins.
    pub(super) listed: Arc<ServerPin>,
}

/// A state of the file of pins.
pub(super) type Stamp = Option<(SystemTime, u64)>;

/// The tools of one upstream, by name, and how they stand to the pins.
struct Shelf {
    turn: u64,
    state_key: Arc<str>,
    pin: Arc<ServerPin>,
    tools: BTreeMap<Arc<str>, Arc<Known>>,
    stamp: Stamp,
    drift: BTreeMap<String, Vec<Change>>,
    reworded: BTreeMap<String, Rewording>,
}

/// The tools by upstream and name.
#[derive(Default)]
pub(super) struct Tools {
    known: BTreeMap<Arc<str>, Shelf>,
    turns: u64,
    /// Words that a person did not accept when asked, by upstream and tool: asked about once.
    declined: BTreeMap<(Arc<str>, Arc<str>), Pin>,
}

impl Tools {
    /// Reads a listing.
    pub(super) fn listed(&mut self, listing: &RecordListing) -> Listed {
        self.turns += 1;
        let mut tools = Vec::with_capacity(listing.tools.len());
        let mut pins = BTreeMap::new();
        for tool in &listing.tools {
            let Ok(entry) = serde_json::from_slice::<Value>(&tool.listed) else { continue };
            let Ok(description) = ToolDescription::from_entry(&entry) else { continue };
            pins.insert(tool.name.to_string(), Pin::of(&entry));
            tools.push((Arc::clone(&tool.name), description));
        }
        Listed {
            upstream: Arc::clone(&listing.upstream),
            tools,
            pin: Arc::new(ServerPin::new(listing.instructions.as_deref(), pins)),
            capabilities: listing.capabilities.clone(),
            instructions: listing.instructions.clone(),
            turn: self.turns,
        }
    }

    /// Takes a listing in place of the upstream's earlier one. Everything of it is drift until
    /// [`Self::compared`] says otherwise, in the same step.
    pub(super) fn install(
        &mut self,
        rules: &Rules,
        facts: &UpstreamFacts,
        state_key: &Arc<str>,
        listed: Listed,
    ) {
        if self.known.get(&listed.upstream).is_some_and(|kept| kept.turn > listed.turn) {
            return;
        }
        let entry = |(name, description): (Arc<str>, ToolDescription)| {
            (name, Arc::new(known(rules, facts, state_key, &description)))
        };
        let kept = Shelf {
            turn: listed.turn,
            state_key: Arc::clone(state_key),
            drift: ServerPin::default().drift(&listed.pin),
            pin: listed.pin,
            tools: listed.tools.into_iter().map(entry).collect(),
            stamp: None,
            reworded: BTreeMap::new(),
        };
        self.known.insert(listed.upstream, kept);
    }

    /// Rules anew on all tools that are listed.
    ///
    /// FAIL CLOSED: a tool whose entry was too long to be kept is taken for unlisted until it is listed
    /// again.
    pub(super) fn rule_again(&mut self, rules: &Rules, upstreams: &BTreeMap<Arc<str>, UpstreamFacts>) {
        for (upstream, kept) in &mut self.known {
            let Some(facts) = upstreams.get(upstream) else { continue };
            let (pin, state_key) = (&kept.pin, &kept.state_key);
            let again = |name: &Arc<str>| {
                let description = ToolDescription::from_entry(&pin.tool(name)?.entry()?).ok()?;
                Some((Arc::clone(name), Arc::new(known(rules, facts, state_key, &description))))
            };
            kept.tools = kept.tools.keys().filter_map(again).collect();
        }
    }

    /// The tools whose rule in the newest policy waits, by upstream and name, each with the parts in
    /// which it is laxer.
    pub(super) fn waiting(&self) -> Vec<(Arc<str>, Arc<str>, Vec<&'static str>)> {
        let waits = self.known.iter().flat_map(|(upstream, kept)| {
            let waiting = kept.tools.iter().filter(|(_, known)| !known.waits.is_empty());
            waiting.map(|(name, known)| (Arc::clone(upstream), Arc::clone(name), known.waits.clone()))
        });
        waits.collect()
    }

    /// What an upstream's listing pins, under which state key, and the state of the pins that it was
    /// compared with last.
    pub(super) fn to_compare(&self, upstream: &str) -> Option<(Arc<str>, Arc<ServerPin>, Stamp)> {
        let kept = self.known.get(upstream)?;
        Some((Arc::clone(&kept.state_key), Arc::clone(&kept.pin), kept.stamp))
    }

    /// Takes what the comparison of a listing came to; that of a listing which is gone changes nothing.
    pub(super) fn compared(
        &mut self,
        rules: &Rules,
        facts: &UpstreamFacts,
        upstream: &str,
        listed: &Arc<ServerPin>,
        (stamp, compared): (Stamp, Compared),
    ) {
        let kept = self.known.get_mut(upstream).filter(|kept| Arc::ptr_eq(&kept.pin, listed));
        let Some(kept) = kept else { return };
        let reworded = compared.drift.keys().filter_map(|name| {
            let (pinned, now) = (compared.pinned.tool(name)?, listed.tool(name)?);
            let rewording = Rewording::of(upstream, name, pinned, now)?;
            // Words can change what a tool is taken for: then more than its words changed.
            let before = ToolDescription::from_entry(&pinned.entry()?).ok()?;
            let before = rules.tool_policy(&facts.identity, &before).policy;
            let is_like = before.rules_like(&kept.tools.get(name.as_str())?.policy);
            is_like.then(|| (name.clone(), rewording))
        });
        kept.reworded = reworded.collect();
        kept.drift = compared.drift;
        kept.stamp = stamp;
    }

    /// What is withheld of an upstream's listing.
    pub(super) fn admission(&self, upstream: &Arc<str>) -> Option<Admission> {
        let kept = self.known.get(upstream)?;
        let named = |name: &String| kept.tools.get_key_value(name.as_str()).map(|(name, _)| Arc::clone(name));
        let withheld =
            kept.drift.iter().filter_map(|(name, changes)| Some((named(name)?, in_words(changes))));
        let reworded = kept.reworded.iter().filter_map(|(name, rewording)| {
            let name = named(name)?;
            self.may_ask(upstream, &name, kept).then(|| (name, rewording.pinned.clone()))
        });
        Some(Admission { withheld: withheld.collect(), reworded: reworded.collect() })
    }

    fn may_ask(&self, upstream: &Arc<str>, name: &Arc<str>, kept: &Shelf) -> bool {
        let declined = self.declined.get(&(Arc::clone(upstream), Arc::clone(name)));
        declined.is_none() || declined != kept.pin.tool(name)
    }

    pub(super) fn get(&self, tool: &Tool) -> Option<Arc<Known>> {
        self.known.get(&tool.upstream)?.tools.get(&tool.name).cloned()
    }

    /// In what a tool differs from its pin, where that withholds it.
    pub(super) fn drift(&self, tool: &Tool) -> Vec<Change> {
        let kept = self.known.get(&tool.upstream);
        kept.and_then(|kept| kept.drift.get(&*tool.name)).cloned().unwrap_or_default()
    }

    /// The new words of a tool, where they are all that is new and nobody was asked about them yet.
    pub(super) fn new_words(&self, tool: &Tool) -> Option<NewWords> {
        let kept = self.known.get(&tool.upstream)?;
        let rewording = kept.reworded.get(&*tool.name)?;
        let effect = kept.tools.get(&tool.name)?.policy.effect;
        self.may_ask(&tool.upstream, &tool.name, kept).then(|| NewWords {
            rewording: rewording.clone(),
            effect,
            state_key: Arc::clone(&kept.state_key),
            listed: Arc::clone(&kept.pin),
        })
    }

    /// A person accepted these words, and they are pinned.
    pub(super) fn accepted(&mut self, tool: &Tool, words: &NewWords) {
        let kept = self.known.get_mut(&tool.upstream).filter(|kept| Arc::ptr_eq(&kept.pin, &words.listed));
        if let Some(kept) = kept {
            kept.drift.remove(&*tool.name);
            kept.reworded.remove(&*tool.name);
        }
    }

    /// A person was asked about these words and did not accept them.
    pub(super) fn declined(&mut self, tool: &Tool, words: &NewWords) {
        if let Some(pin) = words.listed.tool(&tool.name) {
            self.declined.insert((Arc::clone(&tool.upstream), Arc::clone(&tool.name)), pin.clone());
        }
    }
}

fn known(rules: &Rules, facts: &UpstreamFacts, state_key: &Arc<str>, description: &ToolDescription) -> Known {
    let found = rules.tool_policy(&facts.identity, description);
    Known {
        own_data: found.policy.own_data.clone().into(),
        policy: found.policy,
        waits: found.waits,
        state_key: Arc::clone(state_key),
        cwd: facts.cwd.clone(),
    }
}
