//! The tools that upstreams listed, each with the policy that rules on it, derived once when it is
//! listed and looked up at every call.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::actors::messages::RecordListing;
use crate::mcp::Tool;
use crate::policy::heuristics::ToolDescription;
use crate::policy::{OwnPlace, Pin, Policy, ToolPolicy, UpstreamIdentity};

/// A listed tool.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) policy: ToolPolicy,
    pub(super) own_data: Arc<[OwnPlace]>,
    /// The upstream's state key: its name and a digest of its launch.
    pub(super) state_key: Arc<str>,
    /// The upstream's working folder, where it is known.
    pub(super) cwd: Option<String>,
    /// In what the tool differs from what it was when first seen.
    pub(super) drift: Vec<String>,
}

/// What the gate knows of an upstream before it starts.
#[derive(Debug, Clone)]
pub struct UpstreamFacts {
    /// What packs and policies bind to.
    pub identity: UpstreamIdentity,
    /// Its working folder.
    pub cwd: Option<String>,
}

/// An upstream's state is kept under its name and a digest of its launch, so that another server put
/// under the same name starts anew.
pub fn state_key(identity: &UpstreamIdentity) -> String {
    let mut digest = Sha256::new();
    let host = identity.host.as_deref().unwrap_or_default();
    for part in [identity.command.as_str(), host].into_iter().chain(identity.args.iter().map(String::as_str))
    {
        digest.update((part.len() as u64).to_le_bytes());
        digest.update(part);
    }
    let digest = data_encoding::HEXLOWER.encode(&digest.finalize());
    format!("{}@{}", identity.name, digest.get(..16).unwrap_or_default())
}

/// The tools by upstream and name.
#[derive(Default)]
pub(super) struct Tools {
    known: BTreeMap<Arc<str>, BTreeMap<Arc<str>, Arc<Known>>>,
    pins: BTreeMap<(Arc<str>, Arc<str>), Pin>,
}

impl Tools {
    /// Takes a listing in place of the upstream's earlier one, and tells which tools are withheld. An
    /// entry that is no tool is left out, so that calls to it are refused.
    pub(super) fn list(
        &mut self,
        policy: &Policy,
        facts: &UpstreamFacts,
        listing: &RecordListing,
    ) -> BTreeMap<Arc<str>, String> {
        let described: Vec<(&Arc<Tool>, Pin, ToolDescription)> = listing
            .tools
            .iter()
            .filter_map(|tool| {
                let entry: Value = serde_json::from_slice(&tool.listed).ok()?;
                Some((tool, Pin::of(&entry), ToolDescription::from_entry(&entry).ok()?))
            })
            .collect();
        let state_key: Arc<str> = state_key(&facts.identity).into();
        let mut withheld = BTreeMap::new();
        let tools = described
            .iter()
            .map(|(tool, pin, description)| {
                let key = (Arc::clone(&tool.upstream), Arc::clone(&tool.name));
                let drift = self.pins.entry(key).or_insert_with(|| pin.clone()).drift(pin);
                if !drift.is_empty() {
                    let why = format!("it changed since it was first seen: {}", drift.join(", "));
                    withheld.insert(Arc::clone(&tool.name), why);
                }
                let policy = policy.tool_policy(&facts.identity, description);
                let known = Known {
                    own_data: policy.own_data.clone().into(),
                    policy,
                    state_key: Arc::clone(&state_key),
                    cwd: facts.cwd.clone(),
                    drift,
                };
                (Arc::clone(&tool.name), Arc::new(known))
            })
            .collect();
        self.known.insert(Arc::clone(&listing.upstream), tools);
        withheld
    }

    pub(super) fn get(&self, tool: &Tool) -> Option<Arc<Known>> {
        self.known.get(&tool.upstream)?.get(&tool.name).cloned()
    }
}
