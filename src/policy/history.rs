//! The history of a session: what upstreams showed, what the client sent, what the user said, and
//! what allowed calls created. One value, so that the running proxy, `check` and the cases of a
//! policy trace through the same thing.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::Value;

use crate::provenance::{
    Destination, DestinationReason, Engine, Flow, Kind, Limits, Origin, OwnField, Place, ReadCall, Reading,
    Record, Said, Sent, Source, Standing, Trace, Vouched, Words, extract, secrets_in, strict_form,
    structures,
};

use super::container::containers;
use super::facts::{Asked, Typed};
use super::handle::{Handle, Handles, is_id_key};
use super::{ArgPath, Asks, Effect, OwnPlace, ToolPolicy};

/// Ids of created things that are remembered.
const CREATED: usize = 16_384;
/// Calls whose containers are remembered.
const CALLS: usize = 16_384;
/// Ids taken from one result.
const IDS: usize = 16;

/// What an upstream put before the model.
#[derive(Debug, Clone, Copy)]
pub struct Shown<'a> {
    /// The upstream's configured name.
    pub upstream: &'a str,
    /// The tool whose result it is; `None` for listings and the like.
    pub tool: Option<&'a str>,
    /// The session's number of the call; 0 where there is none.
    pub call: u64,
    /// What it is.
    pub source: Source,
    /// The raw JSON.
    pub message: &'a [u8],
    /// The own-data fields that policy declares for the tool.
    pub own_data: &'a [OwnPlace],
    /// The arguments of the call, for a result.
    pub arguments: Option<&'a Value>,
    /// Whether the call made something whose id is the user's own at that upstream.
    pub creates: Creates,
    /// Whether a human's answer let the call pass: then they pointed at what it reads.
    pub granted: Vouched,
}

/// Whether a call makes a thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Creates {
    /// Its result names a thing that it made.
    Yes,
    /// It does not.
    No,
}

impl Creates {
    /// Whether calls of a tool do.
    pub fn of(policy: &ToolPolicy) -> Self {
        if policy.creates.is_some() { Self::Yes } else { Self::No }
    }
}

/// What is asked of the history about a call.
#[derive(Debug, Clone)]
pub struct Query {
    /// The upstream's configured name.
    pub upstream: String,
    /// The effect of the call.
    pub effect: Effect,
    /// The destinations.
    pub destinations: Vec<Destination>,
    /// The arguments that name things at the upstream itself.
    pub targets: Vec<String>,
    /// The arguments that hold a command or statement.
    pub commands: Vec<ArgPath>,
    /// Amounts of the call: decimal text and currency.
    pub amounts: Vec<(String, Option<String>)>,
    /// Whether the arguments are searched for content of other upstreams.
    pub content: Content,
}

/// Whether the content of the arguments matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// Search it.
    Searched,
    /// It stays with the user, or is too short to carry anything.
    Left,
}

/// What is known of one destination.
#[derive(Debug, Clone)]
pub struct TracedDestination {
    /// Which.
    pub destination: Destination,
    /// Whether the user typed it.
    pub typed: Typed,
    /// The latest prompt that names it, from 1.
    pub prompt: Option<usize>,
    /// Whether the user asked for the effect on it.
    pub asked: Asked,
    /// Where it stood.
    pub trace: Trace,
    /// Whether an allowed call created it at this upstream.
    pub created: bool,
    /// What stands behind it, for a target that was read.
    pub handle: Option<Handle>,
}

/// The answer to a [`Query`].
#[derive(Debug, Clone)]
pub struct Traced {
    /// One for each destination, in order; behind a thread that something is sent to
    /// stand its people.
    pub destinations: Vec<TracedDestination>,
    /// Whether the user asked for the effect at all.
    pub asked: Asked,
    /// Whether every amount was typed.
    pub amounts_typed: bool,
    /// Content that leaves its upstream or its container.
    pub flows: Vec<FlowSeen>,
    /// Secret-shaped values.
    pub secrets: Vec<SecretSeen>,
    /// Whether the history is whole.
    pub complete: bool,
}

/// Content that leaves where it was read.
#[derive(Debug, Clone)]
pub struct FlowSeen {
    /// What, and where it was read.
    pub flow: Flow,
    /// The container that it leaves, where it stays at its upstream.
    pub container: Option<String>,
}

/// A secret-shaped value in the arguments.
#[derive(Debug, Clone)]
pub struct SecretSeen {
    /// RFC 6901 pointer of the argument.
    pub pointer: String,
    /// What it looks like.
    pub shape: &'static str,
    /// Where another upstream showed it.
    pub from: Option<Place>,
}

/// The history.
pub struct History {
    engine: Engine,
    words: Words,
    asks: Asks,
    created: BTreeSet<(String, String)>,
    order: VecDeque<(String, String)>,
    /// The containers that calls worked in, by the number of the call.
    containers: BTreeMap<u64, Vec<String>>,
    handles: Handles,
}

impl History {
    /// An empty one. `key` makes its hashes its own.
    pub fn new(limits: Limits, key: [u8; 16]) -> Self {
        Self {
            engine: Engine::new(limits, key),
            words: Words::new(),
            asks: Asks::default(),
            created: BTreeSet::new(),
            order: VecDeque::new(),
            containers: BTreeMap::new(),
            handles: Handles::default(),
        }
    }

    /// Notes what a call sends, before it is forwarded.
    pub fn sent(&mut self, sent: &Sent<'_>) {
        self.engine.sent(sent);
    }

    /// Notes what an upstream shows, before anyone sees it.
    pub fn shown(&mut self, shown: &Shown<'_>) {
        let pointed = shown.arguments.zip(shown.tool).is_some_and(|(arguments, tool)| {
            let call = ReadCall { tool, arguments, items: items(shown.message) };
            self.words.pointed_at(&call, &|_| shown.granted == Vouched::Yes)
        });
        let containers = shown.arguments.map(containers).unwrap_or_default();
        if !containers.is_empty() {
            self.containers.insert(shown.call, containers);
            while self.containers.len() > CALLS {
                self.containers.pop_first();
            }
        }
        for structure in parsed(shown.message) {
            self.handles.read(shown.upstream, &structure);
        }
        if shown.creates == Creates::Yes {
            let sent = shown.arguments.map(sent_words).unwrap_or_default();
            for id in created_ids(shown.message) {
                // What stood somewhere before was not made by this call, and what the call itself sent
                // is an echo: who chose it is not known.
                if !self.engine.holds_text(&id) && !repeats(&sent, &id) {
                    self.create(shown.upstream, id);
                }
            }
        }
        let own_data: Vec<OwnField<'_>> =
            shown.own_data.iter().map(|own| OwnField { path: &own.path, kinds: &own.kinds }).collect();
        self.engine.record(&Record {
            upstream: shown.upstream,
            tool: shown.tool,
            call: shown.call,
            source: shown.source,
            message: shown.message,
            own_data: &own_data,
            pointed,
        });
    }

    /// Notes a prompt.
    pub fn prompt(&mut self, text: &str, origin: Origin) {
        let engine = &self.engine;
        let number = self.words.prompt(text, origin, &|text| engine.holds_text(text));
        self.asks.note(&self.words, number);
    }

    /// Answers a query about a call with these arguments.
    pub fn trace(&self, query: &Query, arguments: &Value) -> Traced {
        let destinations =
            query.destinations.iter().flat_map(|destination| self.destinations(query, destination)).collect();
        let typed = |(value, currency): &(String, Option<String>)| {
            self.words.typed_amount(value, currency.as_deref())
        };
        let searched = query.content == Content::Searched;
        Traced {
            destinations,
            asked: self.asks.asked(query.effect, None),
            amounts_typed: query.amounts.iter().all(typed),
            flows: if searched { self.flows(query, arguments) } else { Vec::new() },
            secrets: if searched { self.secrets(arguments, &query.upstream) } else { Vec::new() },
            complete: self.engine.is_complete(),
        }
    }

    /// A destination, and the people that stand behind it: who sends to a thread sends to them. They are
    /// judged beside the id, never in its place, because whoever wrote the record wrote them too.
    fn destinations(&self, query: &Query, destination: &Destination) -> Vec<TracedDestination> {
        let is_target = query.targets.contains(&destination.argument);
        let handle = self.handles.get(&query.upstream, &destination.text).filter(|_| is_target);
        let mut id = self.destination(query, destination);
        id.handle = handle.cloned();
        let unnamed = matches!(id.typed, Typed::No | Typed::Pasted) && !id.created;
        let mut all = vec![id];
        let people = handle.filter(|_| query.effect == Effect::Send && unnamed).map(|handle| &handle.people);
        for person in people.into_iter().flatten() {
            let text = Value::String(person.clone());
            let found = extract(&text, &|_| Standing::Authority(None)).destinations;
            all.extend(found.into_iter().map(|found| {
                let (pointer, argument) = (destination.pointer.clone(), destination.argument.clone());
                self.destination(query, &Destination { pointer, argument, ..found })
            }));
        }
        all
    }

    fn destination(&self, query: &Query, destination: &Destination) -> TracedDestination {
        let command = query.commands.iter().any(|path| path.covers(&destination.argument));
        let reading = if command { Reading::Statement } else { Reading::Value };
        let named = self.words.named(destination, reading);
        let id = (query.upstream.clone(), destination.text.trim().to_owned());
        TracedDestination {
            destination: destination.clone(),
            handle: None,
            typed: named.said.into(),
            prompt: if let Said::Typed { prompt, .. } = named.said { Some(prompt) } else { None },
            asked: self.asks.asked(query.effect, Some((destination.kind, &named))),
            trace: self.engine.trace(destination),
            // An address or a url is nothing that a server makes: its record is, and has an id.
            created: !destination.kind.is_global() && self.created.contains(&id),
        }
    }

    fn flows(&self, query: &Query, arguments: &Value) -> Vec<FlowSeen> {
        let here = containers(arguments);
        let flows = self.engine.flows(arguments, &query.upstream).into_iter();
        flows
            .filter_map(|flow| {
                if flow.from.upstream != query.upstream {
                    return Some(FlowSeen { flow, container: None });
                }
                let left = self.containers.get(&flow.from.call).filter(|_| query.effect.is_sink())?;
                let container =
                    left.iter().find(|left| !here.contains(left) && !self.is_named(left))?.clone();
                Some(FlowSeen { flow, container: Some(container) })
            })
            .collect()
    }

    /// Whether the user typed the name of a container.
    fn is_named(&self, container: &str) -> bool {
        [Kind::Repo, Kind::Name, Kind::Id].into_iter().any(|kind| {
            let named = Destination {
                pointer: String::new(),
                argument: String::new(),
                is_key: false,
                text: container.to_owned(),
                kind,
                reason: DestinationReason::Declared,
                strict: strict_form(container, kind),
            };
            matches!(self.words.typed(&named), Said::Typed { .. } | Said::Mentioned)
        })
    }

    fn secrets(&self, arguments: &Value, to: &str) -> Vec<SecretSeen> {
        secrets_in(arguments)
            .into_iter()
            .map(|found| {
                let as_destination = Destination {
                    pointer: found.pointer.clone(),
                    argument: String::new(),
                    is_key: false,
                    text: found.value,
                    kind: Kind::Text,
                    reason: DestinationReason::Shaped,
                    strict: None,
                };
                let places = self.engine.trace(&as_destination).places;
                let from = places.into_iter().find(|place| place.upstream != to);
                SecretSeen { pointer: found.pointer, shape: found.shape, from }
            })
            .collect()
    }

    fn create(&mut self, upstream: &str, id: String) {
        let entry = (upstream.to_owned(), id);
        if self.created.insert(entry.clone()) {
            self.order.push_back(entry);
        }
        while self.order.len() > CREATED {
            if let Some(oldest) = self.order.pop_front() {
                self.created.remove(&oldest);
            }
        }
    }
}

/// The structures of a result.
fn parsed(message: &[u8]) -> Vec<Value> {
    serde_json::from_slice::<Value>(message).map(|result| structures(&result)).unwrap_or_default()
}

/// How many items a result holds: its content blocks, or the elements where the one block is a list.
fn items(message: &[u8]) -> usize {
    let Ok(result) = serde_json::from_slice::<Value>(message) else { return 0 };
    match structures(&result).as_slice() {
        [] => result.get("content").and_then(Value::as_array).map_or(0, Vec::len),
        [one] => list_len(one).unwrap_or(1),
        several => several.len(),
    }
}

/// The length of a list, or of the only list that an object holds.
fn list_len(value: &Value) -> Option<usize> {
    match value {
        Value::Array(items) => Some(items.len()),
        Value::Object(members) => match members.values().collect::<Vec<_>>().as_slice() {
            [Value::Array(items)] => Some(items.len()),
            _ => None,
        },
        _ => None,
    }
}

/// Ids of the thing that a call made: whole scalars under id-like keys at the top of its result, or
/// one level below.
fn created_ids(message: &[u8]) -> Vec<String> {
    let mut ids = Vec::new();
    for structure in parsed(message) {
        if let Value::Object(members) = structure {
            collect_ids(&members, 0, &mut ids);
        }
    }
    ids.truncate(IDS);
    ids
}

fn collect_ids(members: &serde_json::Map<String, Value>, depth: usize, ids: &mut Vec<String>) {
    for (key, value) in members.iter().take(64) {
        match value {
            Value::String(text) if is_id_key(key) && !text.is_empty() && text.len() <= 256 => {
                ids.push(text.trim().to_owned());
            }
            Value::Number(number) if is_id_key(key) => ids.push(number.to_string()),
            Value::Object(inner) if depth == 0 => collect_ids(inner, 1, ids),
            _ => {}
        }
    }
}

/// The strings and numbers of a call's arguments, without what is no letter or digit.
fn sent_words(arguments: &Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open = vec![arguments];
    while let Some(value) = open.pop() {
        match value {
            Value::String(text) => drop(found.insert(bare(text))),
            Value::Number(number) => drop(found.insert(bare(&number.to_string()))),
            Value::Array(items) => open.extend(items),
            Value::Object(members) => {
                for (key, member) in members {
                    found.insert(bare(key));
                    open.push(member);
                }
            }
            Value::Null | Value::Bool(_) => {}
        }
    }
    found
}

fn bare(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Shorter ids stand in longer texts by chance.
const TELLING: usize = 6;

/// Whether an id merely repeats what a call sent.
fn repeats(sent: &BTreeSet<String>, id: &str) -> bool {
    let id = bare(id);
    sent.contains(&id) || (id.len() >= TELLING && sent.iter().any(|text| text.contains(&id)))
}
