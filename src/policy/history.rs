//! The history of a session: what upstreams showed, what the client sent, what the user said, and
//! what allowed calls created. One value, so that the running proxy, `check` and the cases of a
//! policy trace through the same thing.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::provenance::{
    Decoding, Destination, DestinationReason, Engine, Flows, Kind, Leaves, Limits, Named, Naming, Origin,
    OwnField, Place, ReadCall, Reading, Record, Said, Sent, Source, Standing, Thing, Vouched, Words, extract,
    is_structure, strict_form, structures,
};

use super::container::{Containers, Within, containers};
use super::facts::{Asked, Facts, Typed, Via};
use super::handle::{Handles, Siblings};
use super::inquiry::ABOUT;
use super::made::{Made, ids_named, is_same};
use super::query::{About, Content, Query, SecretSeen, Traced, TracedDestination};
use super::spent::{Spent, SpentSum};
use super::tool::reaches_people;
use super::{Asks, Effect, OwnPlace, Role, ToolPolicy};

/// The parts of the memory that handles, what was made, and containers may take, each one in so many; the
/// index has the rest.
const HANDLES: usize = 16;
const MADE: usize = 32;
const CONTAINERS: usize = 32;

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
    /// What the call made, and for whom.
    pub making: &'a Making,
    /// Whether a human's answer let the call pass: then they pointed at what it reads.
    pub granted: Vouched,
}

/// What a call makes, and where it goes: what stands behind the ids that it and its result name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Making {
    /// What it brings into being, whose id is then the user's own at that upstream: `event`, `draft`.
    pub thing: Option<String>,
    /// Where it goes, the people behind its targets among them.
    pub to: Vec<Destination>,
    /// The ids that it is about: who it goes to stands behind them once it is forwarded.
    pub on: Vec<String>,
    /// Whether it is about more than that.
    pub cut: bool,
}

impl Making {
    /// What a call of a tool makes, with what was known of it when it was allowed.
    pub fn of(policy: &ToolPolicy, facts: &Facts) -> Self {
        let goes = facts.destinations.iter().filter(|destination| {
            let is_place = matches!(destination.role, Some(Role::Target | Role::Path | Role::Command));
            let is_mention = destination.destination.reason == DestinationReason::Embedded;
            facts.effect.is_sink() && !is_mention && (!is_place || destination.via == Via::Behind)
        });
        let targets = facts
            .destinations
            .iter()
            .filter(|destination| destination.role == Some(Role::Target) && destination.via == Via::Argument);
        let targets = targets.map(|target| target.destination.text.trim().to_owned());
        Self {
            thing: policy.creates.clone(),
            cut: facts.truncated || facts.about.len() > ABOUT,
            on: targets.chain(facts.about.iter().map(|about| about.text.trim().to_owned())).collect(),
            to: goes.map(|destination| destination.destination.clone()).collect(),
        }
    }
}

/// Destinations that one call is traced for, those behind its ids among them.
const MOST_DESTINATIONS: usize = 512;
/// Containers that are looked for in prompts for one call.
const MOST_CONTAINERS: usize = 64;
/// Bytes of prompts that are read for the destinations of one call.
const WORDS_READ: usize = 64 * 1024 * 1024;

/// The history.
pub struct History {
    engine: Engine,
    words: Words,
    asks: Asks,
    made: Made,
    containers: Containers,
    handles: Handles,
    spent: Spent,
}

impl History {
    /// An empty one. `key` makes its hashes its own.
    pub fn new(limits: Limits, key: [u8; 16]) -> Self {
        let part = |of: usize| limits.bytes / of;
        let index = limits.bytes - part(HANDLES) - part(MADE) - part(CONTAINERS);
        Self {
            engine: Engine::new(Limits { bytes: index }, key),
            words: Words::new(),
            asks: Asks::default(),
            made: Made::new(part(MADE)),
            containers: Containers::new(part(CONTAINERS)),
            handles: Handles::new(part(HANDLES)),
            spent: Spent::default(),
        }
    }

    /// Bytes that the history takes in memory; what the user said is bounded by itself.
    pub fn bytes(&self) -> usize {
        self.engine.bytes() + self.made.bytes() + self.containers.bytes() + self.handles.bytes()
    }

    /// Notes what a call sends, before it is forwarded.
    pub fn sent(&mut self, sent: &Sent<'_>) {
        self.engine.sent(sent);
    }

    /// Notes that a call is forwarded for which these typed sums vouched: they are spent.
    pub fn spent(&mut self, sums: &[SpentSum]) {
        self.spent.note(sums);
    }

    /// Notes that a call is forwarded: whoever it goes to stands from now on behind the ids that it is about,
    /// whatever its answer says and whether it has one.
    pub fn goes(&mut self, upstream: &str, making: &Making) {
        if making.to.is_empty() {
            return;
        }
        for id in &making.on {
            self.made.went(upstream, id, &making.to);
        }
        if making.cut {
            self.made.lost(upstream);
        }
    }

    /// Notes what an upstream shows, before anyone sees it.
    pub fn shown(&mut self, shown: &Shown<'_>) {
        let pointed = shown.arguments.zip(shown.tool).is_some_and(|(arguments, tool)| {
            let call = ReadCall { tool, arguments, items: items(shown.message) };
            self.words.pointed_at(&call, &|_| shown.granted == Vouched::Yes)
        });
        let within = shown.arguments.map(containers).unwrap_or_default();
        let (structures, own) = parsed(shown.message);
        let own = if shown.source == Source::Result { own } else { 0 };
        let (own, texts) = structures.split_at(own);
        self.handles.read(shown.upstream, shown.call, own, texts);
        self.note_made(shown, &structures, &within);
        self.containers.note(shown.call, within);
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

    /// Notes the ids that the result of a call names.
    fn note_made(&mut self, shown: &Shown<'_>, structures: &[Value], within: &Within) {
        let Making { thing, to, .. } = shown.making;
        if thing.is_none() && to.is_empty() {
            return;
        }
        let sent = shown.arguments.map(sent_words).unwrap_or_default();
        let ids = ids_named(structures, thing.as_deref().and_then(Thing::of).as_ref());
        if !to.is_empty() {
            ids.beyond.iter().for_each(|id| self.made.doubt(shown.upstream, id));
            if !ids.is_whole {
                self.made.lost(shown.upstream);
            }
        }
        for named in ids.named {
            self.made.went(shown.upstream, &named.id, to);
            // What stood somewhere before was not made by this call, and what the call itself sent
            // is an echo: who chose it is not known.
            if thing.is_some()
                && named.is_top
                && !self.engine.may_hold(&named.id)
                && !repeats(&sent, &named.id)
            {
                self.made.own(shown.upstream, named, within);
            }
        }
    }

    /// Notes a prompt.
    pub fn prompt(&mut self, text: &str, origin: Origin) {
        let engine = &self.engine;
        let number = self.words.prompt(text, origin, &|text| engine.holds_text(text));
        self.asks.note(&self.words, number);
    }

    /// Answers a query about a call with these arguments.
    pub fn trace(&self, query: &Query, arguments: &Value) -> Traced {
        let within = containers(arguments);
        let (mut destinations, mut truncated) = (Vec::new(), false);
        // Counted, not timed: equal histories give equal answers.
        let most = (WORDS_READ / self.words.bytes().max(1)).min(MOST_DESTINATIONS);
        for destination in &query.destinations {
            truncated |= destinations.len() >= most
                || self.destinations(query, destination, &within, &mut destinations);
        }
        let searched = query.content == Content::Searched;
        let flows = if searched { self.flows(query, arguments, &within) } else { Flows::default() };
        Traced {
            destinations,
            asked: self.asked(query, None),
            sums: self.sums(query),
            flows: flows.found,
            content_cut: flows.cut
                && (query.effect.is_sink() || self.engine.shows_elsewhere(&query.upstream)),
            secrets: if searched { self.secrets(arguments, &query.upstream) } else { Vec::new() },
            about: query.about.iter().map(|(argument, text)| self.about(query, argument, text)).collect(),
            truncated,
            complete: self.engine.is_complete(),
        }
    }

    /// The typed sums that vouch for the amounts of a call, none of them spent; `None` where an amount has none.
    fn sums(&self, query: &Query) -> Option<Vec<SpentSum>> {
        if query.amounts.is_empty() {
            return Some(Vec::new());
        }
        let goes = query.destinations.iter().filter(|one| one.reason != DestinationReason::Embedded);
        let (targets, mut payees): (Vec<_>, Vec<_>) =
            goes.partition(|one| query.targets.contains(&one.argument));
        // What is paid from is told beside who is paid.
        if payees.is_empty() {
            payees = targets;
        }
        // Which of several amounts goes to which of several payees is not known.
        if payees.len() > 1 && query.amounts.len() > 1 {
            return None;
        }
        let places = |payee: &&Destination| {
            let mut places = self.words.named(payee, Reading::Value).places;
            places.retain(|place| place.naming > Naming::Mention);
            places
        };
        let places: Vec<_> = payees.iter().map(places).collect();
        let mut taken = Vec::new();
        for (value, currency) in &query.amounts {
            let sums = self.words.sums(value, currency.as_deref(), &places);
            let mut paid = sums.into_iter().map(|sum| SpentSum::of(&sum, &payees));
            let free = paid.find(|sum| !taken.contains(sum) && self.spent.is_free(sum))?;
            taken.push(free);
        }
        Some(taken)
    }

    /// Whether the user asked for everything that the call does.
    fn asked(&self, query: &Query, destination: Option<(Kind, &Named)>) -> Asked {
        let effects = std::iter::once(&query.effect).chain(&query.besides);
        let asked = |effect: &Effect| {
            let asked = self.asks.asked(*effect, destination);
            // Who asks for a draft asks for no sending, and who asks to send may see a draft first.
            if query.drafts && *effect == Effect::Send {
                asked.max(self.asks.asked(Effect::Write, destination))
            } else {
                asked
            }
        };
        effects.map(asked).min().unwrap_or(Asked::No)
    }

    /// A destination, and who stands behind it: who sends to a thread sends to the people in it, and who
    /// sends a draft to those it was written to. They are judged beside the id, never in its place, because
    /// whoever wrote the record wrote them too. Says whether some of them are left out.
    fn destinations(
        &self,
        query: &Query,
        destination: &Destination,
        within: &Within,
        all: &mut Vec<TracedDestination>,
    ) -> bool {
        let is_target = query.targets.contains(&destination.argument);
        let (upstream, text) = (query.upstream.as_str(), destination.text.trim());
        let handle = self.handles.get(upstream, text).filter(|_| is_target);
        let mut id = self.destination(query, destination);
        let thing =
            Thing::named_by(&destination.argument).or_else(|| query.object.as_deref().and_then(Thing::of));
        // An address or a url is nothing that a server makes: its record is, and has an id.
        id.created =
            !destination.kind.is_global() && self.made.is_own(upstream, text, thing.as_ref(), within);
        id.siblings = is_target.then(|| self.siblings(query, &id)).flatten();
        id.handle = handle.cloned();
        let created = id.created;
        // Who is named by the user needs nobody behind them, and what is destroyed reaches nobody. A plain word
        // may have been typed in any sense, so a thread of such a name is nobody's own.
        let is_word = reaches_people(&destination.argument) && text.chars().all(char::is_alphabetic);
        let is_typed = !matches!(id.typed, Typed::No | Typed::Pasted);
        let is_named = destination.kind.is_global() || (is_typed && !is_word);
        let reaches = query.effect.is_sink() && query.effect != Effect::Destroy && !is_named;
        let untold = query.effect == Effect::Send && !created && self.handles.is_in_doubt(upstream, text);
        id.hidden = reaches && is_target && (untold || self.made.is_in_doubt(upstream, text));
        all.push(id);
        if !reaches {
            return false;
        }
        let told = handle.filter(|_| query.effect == Effect::Send && !created);
        let people = told.map(|handle| handle.people.as_slice()).unwrap_or_default();
        let mut behind: Vec<Destination> = people.iter().flat_map(|person| addresses(person)).collect();
        behind.extend(self.made.to(upstream, text).iter().cloned());
        for (at, person) in behind.iter().enumerate() {
            if all.len() >= MOST_DESTINATIONS {
                return true;
            }
            if behind.iter().take(at).any(|other| is_same(other, person)) {
                continue;
            }
            let (pointer, argument) = (destination.pointer.clone(), destination.argument.clone());
            let person = Destination { pointer, argument, is_key: false, ..person.clone() };
            all.push(TracedDestination { via: Via::Behind, ..self.destination(query, &person) });
        }
        false
    }

    fn about(&self, query: &Query, argument: &str, text: &str) -> About {
        let handle = self.handles.get(&query.upstream, text).cloned();
        About { argument: argument.to_owned(), text: text.to_owned(), handle }
    }

    /// The list that a target was read in, the last one where there are several.
    fn siblings(&self, query: &Query, id: &TracedDestination) -> Option<Siblings> {
        let here = id
            .trace
            .places
            .iter()
            .filter(|place| place.whole && is_plain(place) && place.upstream == query.upstream);
        let lists = here.filter_map(|place| {
            self.handles.siblings(&query.upstream, place.call, &place.path, &id.destination.text)
        });
        lists.max_by_key(|list| list.call)
    }

    fn destination(&self, query: &Query, destination: &Destination) -> TracedDestination {
        let command = query.commands.iter().any(|path| path.covers(&destination.argument));
        let reading = if command { Reading::Statement } else { Reading::Value };
        let named = self.words.named(destination, reading);
        TracedDestination {
            destination: destination.clone(),
            handle: None,
            typed: named.said.into(),
            prompt: if let Said::Typed { prompt, .. } = named.said { Some(prompt) } else { None },
            asked: self.asked(query, Some((destination.kind, &named))),
            trace: self.engine.trace(destination),
            created: false,
            via: Via::Argument,
            siblings: None,
            hidden: false,
        }
    }

    /// Content of the arguments that leaves its upstream, or its container for one that the call does not work
    /// in and the user did not name. What is no sink keeps at an upstream what it showed.
    fn flows(&self, query: &Query, arguments: &Value, here: &Within) -> Flows {
        let mut named: BTreeMap<String, bool> = BTreeMap::new();
        let mut stays = |container: &String| {
            (!here.cut && here.names.contains(container)) || {
                let is_full = named.len() >= MOST_CONTAINERS;
                let known = named.get(container).copied();
                // FAIL CLOSED: with so many, one that nobody looked up is named by nobody.
                known.unwrap_or_else(|| {
                    !is_full && *named.entry(container.clone()).or_insert_with(|| self.is_named(container))
                })
            }
        };
        self.engine.flows(arguments, &query.upstream, &mut |from, call| {
            if from != query.upstream {
                return Leaves::Upstream;
            }
            if !query.effect.is_sink() {
                return Leaves::No;
            }
            let within = self.containers.of(call);
            if let Some(left) = within.and_then(|within| within.names.iter().find(|name| !stays(name))) {
                return Leaves::Container(left.clone());
            }
            // FAIL CLOSED: what is not known any more may have been a container of somebody else's.
            let is_cut = within.map_or_else(|| self.containers.is_gone(call), |within| within.cut);
            if is_cut { Leaves::Container("a place not remembered".to_owned()) } else { Leaves::No }
        })
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
        self.engine
            .secrets(arguments, to)
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
}

/// Whether what stands at a place stands there in plain sight, as a field of a structure.
fn is_plain(place: &Place) -> bool {
    place.chain.iter().all(|step| *step == Decoding::Structure)
}

/// The addresses in an identity field.
fn addresses(person: &str) -> Vec<Destination> {
    extract(&Value::String(person.to_owned()), &|_| Standing::Authority(None)).destinations
}

/// The structures of a result, and how many of the first are the result itself: one or none.
fn parsed(message: &[u8]) -> (Vec<Value>, usize) {
    let Ok(result) = serde_json::from_slice::<Value>(message) else { return (Vec::new(), 0) };
    let structures = structures(&result);
    let own = usize::from(!structures.is_empty() && is_structure(&result));
    (structures, own)
}

/// How many items a result holds: its content blocks, or the elements where the one block is a list.
fn items(message: &[u8]) -> usize {
    let Ok(result) = serde_json::from_slice::<Value>(message) else { return 0 };
    let mut found = structures(&result);
    // Servers send structured content once more as text, some of them without the `result` around it.
    if result.get("structuredContent").is_some() && !found.is_empty() {
        let structured = found.remove(0);
        found.retain(|text| unwrapped(text) != unwrapped(&structured));
        found.insert(0, structured);
    }
    match found.as_slice() {
        [] => result.get("content").and_then(Value::as_array).map_or(0, Vec::len),
        [one] => list_len(one).unwrap_or(1),
        several => several.len(),
    }
}

/// What a result is that is wrapped to be an object.
fn unwrapped(value: &Value) -> &Value {
    match value {
        Value::Object(members) if members.len() == 1 => members.get("result").unwrap_or(value),
        _ => value,
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
