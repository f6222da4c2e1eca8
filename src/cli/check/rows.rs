//! What is found: of each tool what its calls would get and what a person should look at, of each server
//! how it stands, and of the policy which of its rules can never match.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

use super::world::{Listed, Upstream, World};
use crate::actors::pins::in_words;
use crate::pack::nearest;
use crate::policy::{
    Bound, Change, Effect, Gate, Layer, NoteKind, Outcome, PinMode, Preview, ServerPin, ToolKey, ToolPolicy,
    preview, review,
};
use crate::provenance::escaped;

/// Something to look at. Harmless to show.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(in crate::cli) struct Found {
    /// What it is.
    pub(in crate::cli) kind: &'static str,
    /// The words.
    pub(in crate::cli) text: String,
    /// Whether a person has to decide.
    pub(in crate::cli) needs_decision: bool,
}

impl Found {
    fn decide(kind: &'static str, text: impl Into<String>) -> Self {
        Self { kind, text: text.into(), needs_decision: true }
    }

    /// Whether it stays until a person accepts what the server says of itself, changed or not.
    pub(super) fn is_lasting(&self) -> bool {
        self.needs_decision && NoteKind::ALL.iter().any(|kind| kind.as_str() == self.kind)
    }

    fn note(kind: &'static str, text: impl Into<String>) -> Self {
        Self { kind, text: text.into(), needs_decision: false }
    }
}

/// The verdicts of the three calls.
#[derive(Debug, Clone, Serialize)]
pub(in crate::cli) struct Verdicts {
    pub(in crate::cli) allowlisted: Outcome,
    pub(in crate::cli) unproven: Outcome,
    pub(in crate::cli) tainted: Outcome,
}

/// One tool.
#[derive(Debug, Clone, Serialize)]
pub(in crate::cli) struct Row {
    /// Its own name, escaped.
    pub(in crate::cli) tool: String,
    /// The name clients see.
    pub(in crate::cli) exported: String,
    pub(in crate::cli) effect: Effect,
    /// The arguments that say where a call goes, escaped.
    pub(in crate::cli) sinks: Vec<String>,
    pub(in crate::cli) verdicts: Verdicts,
    /// Who said what the tool does.
    pub(in crate::cli) layer: Layer,
    /// Calls a session.
    pub(in crate::cli) budget: Option<u32>,
    pub(in crate::cli) constraints: usize,
    pub(in crate::cli) is_offered: bool,
    /// Whether the policy lets it send anywhere unasked.
    pub(in crate::cli) is_open: bool,
    pub(in crate::cli) found: Vec<Found>,
}

/// One server.
#[derive(Debug, Clone, Serialize)]
pub(in crate::cli) struct Server {
    pub(in crate::cli) upstream: String,
    /// Why it could not be reached, escaped.
    pub(in crate::cli) down: Option<String>,
    /// How it stands to its pin.
    pub(in crate::cli) pinned: &'static str,
    pub(in crate::cli) tools: Vec<Row>,
    pub(in crate::cli) found: Vec<Found>,
}

impl Server {
    /// Whether a person has to decide about something of it.
    pub(in crate::cli) fn needs_decision(&self) -> bool {
        let mut all = self.found.iter().chain(self.tools.iter().flat_map(|row| &row.found));
        all.any(|found| found.needs_decision)
    }
}

/// Every server with its tools.
pub(in crate::cli) fn servers(world: &World) -> Vec<Server> {
    let owners = owners(world);
    world.upstreams.iter().map(|upstream| server(world, upstream, &owners)).collect()
}

/// The names of tools, each with the servers that have one.
fn owners(world: &World) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut owners: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for upstream in &world.upstreams {
        for tool in &upstream.tools {
            owners.entry(&tool.name).or_default().insert(&upstream.config.name);
            owners.entry(&tool.exported).or_default().insert(&upstream.config.name);
        }
    }
    owners
}

fn server(world: &World, upstream: &Upstream, owners: &BTreeMap<&str, BTreeSet<&str>>) -> Server {
    let name = upstream.config.name.as_str();
    // A word of everyday language is no reference to a tool.
    let is_telling = |tool: &str| tool.len() >= 6 && tool.contains(['_', '-']);
    let others: BTreeSet<&str> = owners
        .iter()
        .filter(|(tool, of)| is_telling(tool) && !of.contains(name))
        .map(|(tool, _)| *tool)
        .collect();
    let drift = upstream.drift();
    let mut found = Vec::new();
    if let Some(down) = &upstream.down {
        found.push(Found::decide("down", escaped(down, 300)));
    }
    if let Some(text) = &upstream.instructions {
        let differs = drift.values().flatten().any(|change| *change == Change::Instructions);
        if differs && world.mode != PinMode::Off {
            found.push(Found::decide("drift", "its instructions changed since they were first seen"));
        }
        let is_accepted =
            !differs && upstream.pinned.as_ref().is_some_and(ServerPin::has_accepted_instructions);
        for note in review(&Value::String(text.clone()), &others) {
            let text = format!("instructions{}", note.text);
            let needs_decision = note.kind.needs_decision() && !is_accepted;
            found.push(Found { kind: note.kind.as_str(), text, needs_decision });
        }
    }
    let tools = upstream.tools.iter().filter_map(|tool| row(world, upstream, tool, &drift, &others));
    let tools: Vec<Row> = tools.collect();
    Server {
        upstream: escaped(name, 60),
        down: upstream.down.as_ref().map(|down| escaped(down, 300)),
        pinned: match &upstream.pinned {
            None => "not pinned yet",
            Some(_) if drift.is_empty() => "as pinned",
            Some(_) => "drifted",
        },
        tools,
        found,
    }
}

fn row(
    world: &World,
    upstream: &Upstream,
    tool: &Listed,
    drift: &BTreeMap<String, Vec<Change>>,
    others: &BTreeSet<&str>,
) -> Option<Row> {
    let policy = world.policy.tool_policy(&upstream.config.identity(), tool.description.as_ref()?);
    let Preview { effect, sinks, allowlisted, unproven, tainted } = preview(&policy);
    let mut found = Vec::new();
    let changes = drift.get(&tool.name);
    if let Some(changes) = changes.filter(|_| world.mode != PinMode::Off) {
        found.push(Found::decide("drift", in_words(changes)));
    }
    // What a person accepted is known to them, as long as it stays as it was.
    let is_accepted = changes.is_none()
        && upstream.pinned.as_ref().is_some_and(|pin| ServerPin::is_accepted(pin, &tool.name));
    for note in review(&tool.entry, others) {
        let needs_decision = note.kind.needs_decision() && !is_accepted;
        found.push(Found { kind: note.kind.as_str(), text: note.text, needs_decision });
    }
    let prefix = upstream.config.prefix.as_deref().unwrap_or(&upstream.config.name);
    let whole = if prefix.is_empty() { tool.name.clone() } else { format!("{prefix}__{}", tool.name) };
    if tool.exported != whole {
        found.push(Found::note("renamed for clients", format!("`{}`", escaped(&tool.exported, 60))));
    }
    // A pack that is this server's would have said so.
    let is_known = policy.packs.iter().any(|(_, bound)| *bound == Bound::ByConfig);
    let is_open = policy.gate == Gate::Off && effect.is_sink();
    if is_open {
        found.push(Found::note("sink gate off", "the policy says so: it may send anywhere unasked"));
    }
    if !is_covered(&policy) {
        found.push(Found::note("no policy", "no policy and no pack says what it does"));
    }
    if effect == Effect::Read && policy.own_data.is_empty() && !is_known && looks_like_directory(&tool.name) {
        let place = format!("own_data: {{{}.{}: [JSONPATH]}}", upstream.config.name, tool.name);
        let text = format!("looks like a directory; if it is yours: {}", escaped(&place, 120));
        found.push(Found::note("directory", text));
    }
    Some(Row {
        tool: escaped(&tool.name, 80),
        exported: escaped(&tool.exported, 60),
        effect,
        sinks: sinks.iter().map(|path| escaped(&path.0, 60)).collect(),
        verdicts: Verdicts { allowlisted, unproven, tainted },
        layer: policy.effect_layer,
        budget: policy.budget.map(|budget| budget.max_calls),
        constraints: policy.constraints.len(),
        is_offered: tool.is_offered,
        is_open,
        found,
    })
}

/// Whether anybody but a guess says something of the tool.
fn is_covered(policy: &ToolPolicy) -> bool {
    let above = |layer: Layer| layer != Layer::Heuristic;
    above(policy.effect_layer)
        || !policy.packs.is_empty()
        || policy.args.iter().any(|arg| above(arg.layer))
        || policy.constraints.iter().any(|constraint| above(constraint.layer))
        || policy.budget.is_some_and(|budget| above(budget.layer))
}

/// Words of names whose results are people, places or accounts of the user's own.
const DIRECTORIES: [&str; 17] = [
    "contact",
    "contacts",
    "member",
    "members",
    "users",
    "people",
    "colleagues",
    "employees",
    "channels",
    "accounts",
    "customers",
    "participants",
    "teams",
    "payees",
    "recipients",
    "groups",
    "teammates",
];

fn looks_like_directory(name: &str) -> bool {
    let mut words = String::new();
    let mut before = ' ';
    for c in name.chars() {
        if c.is_uppercase() && before.is_lowercase() {
            words.push(' ');
        }
        words.extend(if c.is_alphanumeric() { c.to_lowercase().next() } else { Some(' ') });
        before = c;
    }
    words.split(' ').any(|word| DIRECTORIES.contains(&word))
}

/// What is found of the policy as a whole. A rule is only said to match nothing when every server was
/// there to be matched.
pub(in crate::cli) fn general(world: &World) -> Vec<Found> {
    if world.upstreams.iter().any(|upstream| upstream.down.is_some()) || !world.config().skipped.is_empty() {
        return Vec::new();
    }
    let tools: Vec<(&str, &str)> = world
        .upstreams
        .iter()
        .flat_map(|upstream| {
            upstream.tools.iter().map(|tool| (upstream.config.name.as_str(), tool.name.as_str()))
        })
        .collect();
    let mut found = Vec::new();
    let keys = world.policy.user().iter().flat_map(|set| {
        let rules = set.rules.iter().map(|rule| ("tools", &rule.key));
        rules.chain(set.own_data.iter().map(|own| ("own_data", &own.key)))
    });
    for (place, key) in keys {
        if !tools.iter().any(|(upstream, tool)| key.matches(upstream, tool).is_some()) {
            found.push(Found::decide("never matches", unmatched(place, key, &tools)));
        }
    }
    for upstream in &world.upstreams {
        for pattern in upstream.config.tools.allow.iter().flatten().chain(&upstream.config.tools.deny) {
            let glob = crate::policy::Glob::new(pattern);
            if !upstream.tools.iter().any(|tool| glob.matches(&tool.name)) {
                let (pattern, name) = (escaped(pattern, 60), escaped(&upstream.config.name, 60));
                found.push(Found::decide(
                    "never matches",
                    format!("`{pattern}` in `tools` of `{name}` matches no tool"),
                ));
            }
        }
    }
    let mut exported: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for upstream in &world.upstreams {
        for tool in upstream.tools.iter().filter(|tool| tool.is_offered) {
            exported.entry(&tool.exported).or_default().push(escaped(&upstream.config.name, 60));
        }
    }
    for (name, owners) in exported.into_iter().filter(|(_, owners)| owners.len() > 1) {
        let text =
            format!("`{}` is a tool of {}; neither is offered", escaped(name, 60), owners.join(" and "));
        found.push(Found::decide("name clash", text));
    }
    found
}

fn unmatched(place: &str, key: &ToolKey, tools: &[(&str, &str)]) -> String {
    let names: Vec<String> = tools
        .iter()
        .flat_map(|(upstream, tool)| [(*tool).to_owned(), format!("{upstream}.{tool}")])
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let near = nearest(key.as_str(), &names).map(|near| format!("; is it `{}`?", escaped(near, 80)));
    format!("`{}` in `{place}` matches no tool{}", escaped(key.as_str(), 80), near.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_are_known_by_whole_words() {
        for (name, expected) in [
            ("list_contacts", true),
            ("getTeamMembers", true),
            ("slack-list-channels", true),
            ("remember", false),
            ("list_files", false),
        ] {
            assert_eq!(looks_like_directory(name), expected, "{name}");
        }
    }
}
