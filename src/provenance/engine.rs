//! The engine: takes in what upstreams show and what the client sends, and answers where a value came
//! from.
//!
//! This file holds its state, its limits and the order in which things are given up when memory is short.
//! Taking in is `take.rs`, answering is `lookup.rs`, what the client sent is `sent.rs`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json_path::JsonPath;

use super::Kind;
use super::atoms::Class;
use super::fields::Keys;
use super::grams::Grams;
use super::index::{Occurrence, Phrases, Prints, Store, Table};
use super::labelled::Labelled;
use super::prints;

/// How much the engine may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of memory for all of the history.
    pub bytes: usize,
}

impl Default for Limits {
    /// 64 MiB.
    fn default() -> Self {
        Self { bytes: 64 * 1024 * 1024 }
    }
}

/// What put a message before the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// The result of a call, also one with `isError`.
    Result,
    /// A JSON-RPC error.
    Error,
    /// A list of tools, resources, templates or prompts.
    Listing,
    /// The instructions of the handshake.
    Instructions,
    /// A resource that was read.
    Resource,
    /// A prompt that was fetched, or a completion.
    Prompt,
    /// A request of the upstream: elicitation, sampling, roots.
    Request,
    /// Progress, logs, task states.
    Notification,
}

/// One message from an upstream to the client.
#[derive(Debug, Clone, Copy)]
pub struct Record<'a> {
    /// The configured name of the upstream.
    pub upstream: &'a str,
    /// The tool that was called, if any.
    pub tool: Option<&'a str>,
    /// The session's number of the call; 0 where there was none.
    pub call: u64,
    /// What the message is.
    pub source: Source,
    /// The raw JSON of the result, error or params. What is no JSON is read as text.
    pub message: &'a [u8],
    /// The fields that a pack or policy declares to be the user's own data, for this upstream and tool.
    pub own_data: &'a [OwnField<'a>],
    /// Whether the user pointed at what was read: its free text is then [`PointedText`].
    ///
    /// [`PointedText`]: super::PlaceKind::PointedText
    pub pointed: bool,
}

/// A field that holds the user's own data.
#[derive(Debug, Clone, Copy)]
pub struct OwnField<'a> {
    /// Where it stands in the structure that a result holds (RFC 9535).
    pub path: &'a JsonPath,
    /// The kinds that it vouches for; empty: any.
    pub kinds: &'a [Kind],
}

/// What a client sends in a call.
#[derive(Debug, Clone, Copy)]
pub struct Sent<'a> {
    /// The configured name of the upstream that it goes to.
    pub upstream: &'a str,
    /// The tool that is called.
    pub tool: &'a str,
    /// The session's number of the call.
    pub call: u64,
    /// Its arguments.
    pub arguments: &'a serde_json::Value,
    /// Whether something else than the arguments vouches for the call.
    pub vouched: Vouched,
}

/// Whether a call was vouched for by something else than its own arguments: an allowlist, a grant, what
/// the user typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Vouched {
    /// It was.
    Yes,
    /// It was not: what it sent is planted at that upstream.
    No,
}

/// Where a record came from.
#[derive(Debug, Clone)]
pub(crate) struct Meta {
    /// Where its text starts in the order of recording.
    pub(crate) order: u64,
    /// Numbers of names.
    pub(crate) upstream: u32,
    pub(crate) tool: Option<u32>,
    pub(crate) call: u64,
}

/// What was sent in a call and not traced then.
#[derive(Debug, Default)]
pub(crate) struct Echo {
    pub(crate) prints: BTreeSet<u64>,
    pub(crate) phrases: BTreeSet<String>,
}

/// The history of what upstreams showed and the client sent, as far as memory allows.
pub struct Engine {
    pub(crate) limits: Limits,
    pub(crate) key: [u8; 16],
    /// Addresses, hosts, phones, accounts, own data: given up last.
    pub(crate) firm: Table,
    /// Tokens, leaves, paths, urls.
    pub(crate) plain: Table,
    pub(crate) faded_firm: Prints,
    pub(crate) faded_plain: Prints,
    /// Whether plain tokens were given up without a fingerprint.
    pub(crate) lost_plain: bool,
    pub(crate) store: Store,
    pub(crate) phrases: Phrases,
    /// Words of decoded views.
    pub(crate) coded_phrases: Phrases,
    /// Member names that were noted.
    pub(crate) names_seen: Prints,
    pub(crate) records: Vec<Meta>,
    pub(crate) names: Vec<String>,
    pub(crate) echoes: BTreeMap<u64, Echo>,
    pub(crate) planted: BTreeSet<u64>,
    /// FAIL CLOSED: more was planted than is remembered, so all own data counts as planted.
    pub(crate) planted_all: bool,
    /// Samples of all text, for content that leaves.
    pub(crate) grams: Grams,
    /// Argument names that were sent, with the upstream mixed in.
    pub(crate) names_sent: Prints,
    /// Samples of what the client sent, with the upstream mixed in.
    pub(crate) sent_grams: BTreeSet<u64>,
    pub(crate) complete: bool,
    /// Values that stood behind the label of a secret.
    pub(crate) labelled: Labelled,
    pub(crate) keys: Keys,
    /// Room for the words of a text.
    pub(crate) words: Vec<u8>,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine")
            .field("bytes", &self.bytes())
            .field("tables", &(self.firm.bytes(), self.plain.bytes()))
            .field("text", &self.store.bytes())
            .field("phrases", &(self.phrases.bytes(), self.coded_phrases.bytes()))
            .field("samples", &self.grams.bytes())
            .field("records", &self.records.len())
            .field("complete", &self.complete)
            .finish_non_exhaustive()
    }
}

impl Engine {
    /// An empty history. `key` must be random and unknown to upstreams.
    pub fn new(limits: Limits, key: [u8; 16]) -> Self {
        Self {
            limits,
            key,
            firm: Table::default(),
            plain: Table::default(),
            faded_firm: Prints::default(),
            faded_plain: Prints::default(),
            lost_plain: false,
            store: Store::default(),
            phrases: Phrases::default(),
            coded_phrases: Phrases::default(),
            names_seen: Prints::default(),
            names_sent: Prints::default(),
            records: Vec::new(),
            names: Vec::new(),
            echoes: BTreeMap::new(),
            planted: BTreeSet::new(),
            planted_all: false,
            grams: Grams::default(),
            sent_grams: BTreeSet::new(),
            complete: true,
            labelled: Labelled::default(),
            keys: Keys::default(),
            words: Vec::new(),
        }
    }

    /// Bytes that the history takes in memory.
    pub fn bytes(&self) -> usize {
        self.firm.bytes()
            + self.plain.bytes()
            + self.faded_firm.bytes()
            + self.faded_plain.bytes()
            + self.store.bytes()
            + self.phrases.bytes()
            + self.coded_phrases.bytes()
            + self.names_seen.bytes()
            + self.names_sent.bytes()
            + self.grams.bytes()
            + self.labelled.bytes()
            + self.records.len() * size_of::<Meta>()
    }

    /// Whether nothing was given up yet.
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    pub(crate) fn print(&self, class: Class, form: &str) -> u64 {
        prints::print(&self.key, class as u8, form).max(1)
    }

    pub(crate) fn word_print(&self, word: &str) -> u64 {
        prints::word_print(&self.key, word)
    }

    pub(crate) fn name(&mut self, name: &str) -> u32 {
        let known = self.names.iter().position(|known| known == name);
        let at = known.unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        });
        u32::try_from(at).unwrap_or(u32::MAX)
    }

    pub(crate) fn table(&self, class: Class) -> &Table {
        if is_firm(class) { &self.firm } else { &self.plain }
    }

    /// The record that a place belongs to.
    pub(crate) fn record_at(&self, order: u64) -> Option<(usize, &Meta)> {
        let at = self.records.partition_point(|meta| meta.order <= order).checked_sub(1)?;
        self.records.get(at).map(|meta| (at, meta))
    }

    pub(crate) fn insert(&mut self, class: Class, print: u64, occurrence: Occurrence) {
        let table = if is_firm(class) { &self.firm } else { &self.plain };
        let growth = table.bytes_after_insert() - table.bytes();
        if growth > 0 && self.bytes() + growth > self.limits.bytes {
            self.make_room(growth);
            let table = if is_firm(class) { &self.firm } else { &self.plain };
            let growth = table.bytes_after_insert() - table.bytes();
            if growth > 0 && self.bytes() + growth > self.limits.bytes {
                // What is not noted is not traced, and what is not traced is never allowed.
                self.complete = false;
                self.lost_plain |= !is_firm(class);
                return;
            }
        }
        if is_firm(class) {
            self.firm.insert(print, occurrence);
        } else {
            self.plain.insert(print, occurrence);
        }
    }

    /// Gives up history until there is room for so many bytes more.
    ///
    /// ORDER: oldest text, then the provenance of the oldest atoms, then the oldest plain tokens. Addresses,
    /// hosts, accounts and phones keep at least their fingerprints, as long as these take no more than half of
    /// the memory: who shows millions of addresses must not fill the machine.
    pub(crate) fn make_room(&mut self, room: usize) {
        let most = self.limits.bytes.saturating_sub(room);
        while self.bytes() > most && self.store.give_up_oldest() {
            self.complete = false;
            self.phrases.give_up(self.store.oldest());
            self.coded_phrases.give_up(self.store.oldest());
        }
        while self.bytes() > most && self.grams.give_up_oldest() {}
        if self.bytes() <= most {
            return;
        }
        self.complete = false;
        self.lost_plain |= self.faded_plain.bytes() > 0;
        self.faded_plain.clear();
        let newest = self.records.last().map_or(0, |meta| meta.order);
        let oldest = self.records.first().map_or(0, |meta| meta.order);
        let middle = oldest + (newest - oldest) / 2;
        let faded = &mut self.faded_plain;
        self.plain.give_up(middle, |print| faded.insert(print));
        if self.bytes() > most {
            self.lost_plain = true;
            self.faded_plain.clear();
            self.plain.give_up(u64::MAX, |_| {});
        }
        let half = self.limits.bytes / 2;
        for until in [middle, u64::MAX] {
            if self.bytes() <= most {
                return;
            }
            let faded = &mut self.faded_firm;
            self.firm.give_up(until, |print| {
                if faded.bytes_after_insert() > half {
                    faded.clear();
                }
                faded.insert(print);
            });
        }
    }
}

pub(crate) fn is_firm(class: Class) -> bool {
    matches!(
        class,
        Class::Email
            | Class::Host
            | Class::Parent
            | Class::MailDomain
            | Class::Tenant
            | Class::Phone
            | Class::PhoneTail
            | Class::Account
            | Class::Own
    )
}
