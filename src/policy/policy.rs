//! All that is known about tools before any call: the user's files, the packs, and what happens when
//! a file does not load.

use std::sync::Arc;

use super::binding::{Binding, UpstreamIdentity};
use super::heuristics::{self, ToolDescription};
use super::layer::{Layers, bind};
use super::rule::{OwnData, RuleSet};
use super::tool::{Bound, OwnPlace, ToolPolicy};
use super::{Layer, Locality};

/// What ships with Bouncer for one server.
#[derive(Debug, Clone)]
pub struct Pack {
    /// Its name, as `pack:` in a config says it.
    pub name: String,
    /// What it is bound by.
    pub binding: Binding,
    /// Whether the server keeps what it is given.
    pub locality: Locality,
    /// Its rules.
    pub rules: RuleSet,
}

/// The policy of a run.
#[derive(Debug, Clone, Default)]
pub struct Policy {
    user: Vec<RuleSet>,
    packs: Vec<Arc<Pack>>,
    refusal: Option<String>,
}

impl Policy {
    /// The user's files, a later one over an earlier one, over the packs.
    pub fn new(user: Vec<RuleSet>, packs: Vec<Arc<Pack>>) -> Self {
        Self { user, packs, refusal: None }
    }

    /// A policy that refuses every call, for the reason given: a file that does not load must not
    /// turn into no policy at all.
    pub fn refuse_all(reason: impl Into<String>) -> Self {
        Self { user: Vec::new(), packs: Vec::new(), refusal: Some(reason.into()) }
    }

    /// Why every call is refused, if it is.
    pub fn refusal(&self) -> Option<&str> {
        self.refusal.as_deref()
    }

    /// The packs, for listings.
    pub fn packs(&self) -> &[Arc<Pack>] {
        &self.packs
    }

    /// The user's files, for listings.
    pub fn user(&self) -> &[RuleSet] {
        &self.user
    }

    /// Whether an upstream may use the client's model: only where a file of the user's names it.
    pub fn admits_sampling(&self, upstream: &str) -> bool {
        self.refusal.is_none()
            && self.user.iter().flat_map(|set| &set.sampling).any(|glob| glob.matches(upstream))
    }

    /// Whether an upstream keeps what it is given.
    pub fn locality(&self, upstream: &UpstreamIdentity) -> Locality {
        let by_pack = self
            .packs
            .iter()
            .any(|pack| pack.locality == Locality::Local && pack.binding.binds(&pack.name, upstream));
        let by_user = self.user.iter().flat_map(|set| &set.local).any(|glob| glob.matches(&upstream.name));
        if by_pack || by_user { Locality::Local } else { upstream.local }
    }

    /// The rule of one tool of one upstream.
    pub fn tool_policy(&self, upstream: &UpstreamIdentity, tool: &ToolDescription) -> ToolPolicy {
        let mut layers = Layers::heuristic(heuristics::derive(tool), &tool.input_schema);
        layers.policy().refused.clone_from(&self.refusal);
        for pack in &self.packs {
            let bound =
                if pack.binding.binds(&pack.name, upstream) { Bound::ByConfig } else { Bound::ByName };
            bind(&mut layers, &pack.name, &pack.rules.about(&upstream.name, &tool.name), bound);
            if bound == Bound::ByConfig {
                own_data(&mut layers, &pack.rules.own_data, upstream, tool, Layer::Pack);
            }
        }
        for set in &self.user {
            let rules = set.about(&upstream.name, &tool.name);
            for rule in rules {
                layers.apply(rule, Layer::User);
            }
            own_data(&mut layers, &set.own_data, upstream, tool, Layer::User);
        }
        // Trust for every tool is no part of an entry, so `replace` does not take it away.
        for set in &self.user {
            for rule in &set.trusted {
                layers.trust(rule, Layer::User);
            }
        }
        layers.policy().locality = self.locality(upstream);
        let packs = self.packs.iter().filter(|pack| pack.binding.binds(&pack.name, upstream));
        let sets = packs.map(|pack| &pack.rules).chain(&self.user);
        if sets.flat_map(|set| &set.own_data).any(|own| own.is_written_by(&upstream.name, &tool.name)) {
            layers.writes_directory();
        }
        layers.finish()
    }
}

fn own_data(
    layers: &mut Layers<'_>,
    all: &[OwnData],
    upstream: &UpstreamIdentity,
    tool: &ToolDescription,
    layer: Layer,
) {
    let about = all.iter().filter(|own| own.key.matches(&upstream.name, &tool.name).is_some());
    layers.policy().own_data.extend(about.map(|own| OwnPlace {
        path: own.path.clone(),
        source: own.source.clone(),
        kinds: own.kinds.clone(),
        layer,
    }));
}
