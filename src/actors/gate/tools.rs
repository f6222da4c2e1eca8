//! The tools that upstreams listed, each with the policy that rules on it, derived once when it is
//! listed and looked up at every call.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::actors::messages::RecordListing;
use crate::actors::pins::in_words;
use crate::mcp::Tool;
use crate::policy::heuristics::ToolDescription;
use crate::policy::{Change, OwnPlace, Pin, Policy, ServerPin, ToolPolicy, UpstreamIdentity};

/// A listed tool.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) policy: ToolPolicy,
    pub(super) own_data: Arc<[OwnPlace]>,
    /// The upstream's state key: its name and a digest of its launch.
    pub(super) state_key: Arc<str>,
    /// The upstream's working folder, where it is known.
    pub(super) cwd: Option<String>,
    /// In what the tool differs from what it was when first seen, where that withholds it.
    pub(super) drift: Vec<Change>,
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
    pub(super) pin: ServerPin,
    /// Its number: a listing that is overtaken by a later one is not installed over it.
    turn: u64,
}

/// The tools of one upstream, by name.
struct Shelf {
    turn: u64,
    tools: BTreeMap<Arc<str>, Arc<Known>>,
}

/// The tools by upstream and name.
#[derive(Default)]
pub(super) struct Tools {
    known: BTreeMap<Arc<str>, Shelf>,
    turns: u64,
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
            pin: ServerPin::new(listing.instructions.as_deref(), pins),
            turn: self.turns,
        }
    }

    /// Takes a listing in place of the upstream's earlier one, and tells which tools are withheld.
    pub(super) fn install(
        &mut self,
        policy: &Policy,
        facts: &UpstreamFacts,
        state_key: &Arc<str>,
        listed: Listed,
        mut drift: BTreeMap<String, Vec<Change>>,
    ) -> BTreeMap<Arc<str>, String> {
        let mut withheld = BTreeMap::new();
        let tools = listed
            .tools
            .into_iter()
            .map(|(name, description)| {
                let drift = drift.remove(&*name).unwrap_or_default();
                if !drift.is_empty() {
                    withheld.insert(Arc::clone(&name), in_words(&drift));
                }
                let policy = policy.tool_policy(&facts.identity, &description);
                let known = Known {
                    own_data: policy.own_data.clone().into(),
                    policy,
                    state_key: Arc::clone(state_key),
                    cwd: facts.cwd.clone(),
                    drift,
                };
                (name, Arc::new(known))
            })
            .collect();
        let is_overtaken = self.known.get(&listed.upstream).is_some_and(|shelf| shelf.turn > listed.turn);
        if !is_overtaken {
            self.known.insert(listed.upstream, Shelf { turn: listed.turn, tools });
        }
        withheld
    }

    pub(super) fn get(&self, tool: &Tool) -> Option<Arc<Known>> {
        self.known.get(&tool.upstream)?.tools.get(&tool.name).cloned()
    }
}
