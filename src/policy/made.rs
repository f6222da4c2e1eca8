//! What calls made: the ids that their results named, what each is, and where those calls went.
//!
//! The id of a thing that an allowed call made is the user's own at that upstream. A bare number is so
//! only as what it was made as, where it was made: issue 7 of one repository is neither its pull
//! request 7 nor issue 7 of another. Whoever the making call was addressed to stands behind the id: a
//! draft to somebody is sent to them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::{Map, Value};

use crate::provenance::{Destination, Thing};

use super::handle::is_id_key;

/// Ids taken from one result.
const IDS: usize = 16;
/// Things of one number, and destinations behind one id, that are told apart.
const EACH: usize = 16;
/// Bytes of an entry beside its texts, about.
const ENTRY: usize = 192;

/// An id in the result of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) id: String,
    /// What it identifies, as far as its key and the tool say.
    pub(super) thing: Option<Thing>,
}

/// What is known of one id.
#[derive(Debug, Clone, Default)]
struct Entry {
    /// What it is as a thing of the user's own, each with the containers it was made in.
    own: Vec<(Option<Thing>, Vec<String>)>,
    /// Where the calls that made it went.
    to: Vec<Destination>,
    /// Whether more stood there than is kept.
    cut: bool,
}

/// The ids that calls made, by upstream and id.
#[derive(Debug)]
pub(super) struct Made {
    known: BTreeMap<(String, String), Entry>,
    order: VecDeque<(String, String)>,
    bytes: usize,
    most: usize,
    /// The upstreams of which something was given up.
    gone: BTreeSet<String>,
}

impl Made {
    /// Nothing yet; at most `most` bytes are kept.
    pub(super) fn new(most: usize) -> Self {
        Self { known: BTreeMap::new(), order: VecDeque::new(), bytes: 0, most, gone: BTreeSet::new() }
    }

    /// The id is the user's own.
    pub(super) fn own(&mut self, upstream: &str, named: Named, within: &[String]) {
        let bytes = ENTRY + within.iter().map(String::len).sum::<usize>();
        self.entry(upstream, named.id, bytes, |entry| {
            let made = (named.thing, within.to_vec());
            let is_new = !entry.own.contains(&made) && entry.own.len() < EACH;
            if is_new {
                entry.own.push(made);
            }
            is_new
        });
    }

    /// The call that named the id went there.
    pub(super) fn went(&mut self, upstream: &str, id: &str, to: &[Destination]) {
        for destination in to {
            let bytes = ENTRY + 2 * destination.text.len();
            self.entry(upstream, id.to_owned(), bytes, |entry| {
                let known = entry.to.iter().any(|other| is_same(other, destination));
                entry.cut |= !known && entry.to.len() >= EACH;
                let is_new = !known && entry.to.len() < EACH;
                if is_new {
                    entry.to.push(destination.clone());
                }
                is_new
            });
        }
    }

    fn entry(&mut self, upstream: &str, id: String, bytes: usize, add: impl FnOnce(&mut Entry) -> bool) {
        let key = (upstream.to_owned(), id);
        if !self.known.contains_key(&key) {
            self.bytes += ENTRY + 2 * (key.0.len() + key.1.len());
            self.order.push_back(key.clone());
        }
        if add(self.known.entry(key).or_default()) {
            self.bytes += bytes;
        }
        while self.bytes > self.most
            && let Some(oldest) = self.order.pop_front()
        {
            self.gone.insert(oldest.0.clone());
            let size = self.known.remove(&oldest).map_or(0, |entry| size_of_entry(&oldest, &entry));
            self.bytes = self.bytes.saturating_sub(size);
        }
    }

    /// Whether an allowed call made the thing of this id.
    pub(super) fn is_own(&self, upstream: &str, id: &str, thing: Option<&Thing>, within: &[String]) -> bool {
        let Some(entry) = self.get(upstream, id) else { return false };
        if entry.own.is_empty() || !is_number(id) {
            return !entry.own.is_empty();
        }
        entry.own.iter().any(|(made, there)| {
            let same = made.as_ref().zip(thing).is_some_and(|(made, thing)| made.is(thing));
            let here =
                there.is_empty() || within.is_empty() || there.iter().any(|name| within.contains(name));
            same && here
        })
    }

    /// Where the calls that made the id went.
    pub(super) fn to(&self, upstream: &str, id: &str) -> &[Destination] {
        self.get(upstream, id).map_or(&[], |entry| entry.to.as_slice())
    }

    /// Whether somebody may stand behind the id who is not known.
    pub(super) fn is_in_doubt(&self, upstream: &str, id: &str) -> bool {
        self.get(upstream, id).map_or_else(|| self.gone.contains(upstream), |entry| entry.cut)
    }

    /// Bytes in memory, about.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    fn get(&self, upstream: &str, id: &str) -> Option<&Entry> {
        self.known.get(&(upstream.to_owned(), id.trim().to_owned()))
    }
}

fn size_of_entry(key: &(String, String), entry: &Entry) -> usize {
    let own: usize =
        entry.own.iter().map(|(_, within)| ENTRY + within.iter().map(String::len).sum::<usize>()).sum();
    let to: usize = entry.to.iter().map(|destination| ENTRY + 2 * destination.text.len()).sum();
    ENTRY + 2 * (key.0.len() + key.1.len()) + own + to
}

/// Whether two destinations are the same place: their STRICT forms where there are any.
pub(super) fn is_same(one: &Destination, other: &Destination) -> bool {
    one.kind == other.kind
        && match (&one.strict, &other.strict) {
            (Some(one), Some(other)) => one == other,
            _ => one.text == other.text,
        }
}

/// Whether an id says nothing by itself: the same number names one thing of each kind.
pub(super) fn is_number(id: &str) -> bool {
    let digits = id.trim().trim_start_matches('#');
    !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit())
}

/// The ids that results name at their top or one level below: whole scalars under id-like keys. What
/// names another kind of thing than `thing` is left out: the author of the issue was not made by it.
pub(super) fn ids_named(structures: &[Value], thing: Option<&Thing>) -> Vec<Named> {
    let mut ids = Vec::new();
    for structure in structures {
        if let Value::Object(members) = structure {
            collect(members, thing, true, &mut ids);
        }
    }
    ids.truncate(IDS);
    ids
}

fn collect(members: &Map<String, Value>, thing: Option<&Thing>, deeper: bool, ids: &mut Vec<Named>) {
    let fits = |named: &Option<Thing>| match (named, thing) {
        (Some(named), Some(thing)) => named.is(thing),
        _ => true,
    };
    for (key, value) in members.iter().take(64) {
        let named = Thing::named_by(key);
        if !fits(&named) {
            continue;
        }
        let id = match value {
            Value::String(text) if is_id_key(key) && !text.trim().is_empty() && text.len() <= 256 => {
                text.trim().to_owned()
            }
            Value::Number(number) if is_id_key(key) => number.to_string(),
            Value::Object(inner) if deeper => {
                collect(inner, thing, false, ids);
                continue;
            }
            _ => continue,
        };
        ids.push(Named { id, thing: named.or_else(|| thing.cloned()) });
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn thing(name: &str) -> Option<Thing> {
        Thing::of(name)
    }

    #[test]
    fn only_what_the_call_makes_is_named() {
        let result = json!({"number": 7, "id": 90, "title": "x", "user": {"id": 5}, "repository_id": 3,
            "data": {"issue_id": 8}, "parent_id": 2});
        let ids = ids_named(&[result], thing("issue").as_ref());
        let ids: Vec<&str> = ids.iter().map(|named| named.id.as_str()).collect();
        assert_eq!(ids, ["7", "90", "8"]);
    }

    #[test]
    fn a_number_is_own_as_what_it_was_made_as() {
        let mut made = Made::new(1 << 16);
        let within = ["mara/site".to_owned()];
        made.own("hub", Named { id: "7".into(), thing: thing("issue") }, &within);
        made.own("hub", Named { id: "d-7f".into(), thing: thing("draft") }, &[]);
        for (id, kind, within, expected) in [
            ("7", "issue", "mara/site", true),
            ("7", "ticket", "mara/site", true),
            ("7", "pull_request", "mara/site", false),
            ("7", "repo", "mara/site", false),
            ("7", "issue", "mara/kiln", false),
            ("d-7f", "message", "", true),
            ("d-7f", "id", "", true),
            ("8", "issue", "mara/site", false),
        ] {
            let within = [within.to_owned()];
            let within: &[String] = if within[0].is_empty() { &[] } else { &within };
            assert_eq!(made.is_own("hub", id, thing(kind).as_ref(), within), expected, "{id} {kind}");
        }
        assert!(!made.is_own("other", "d-7f", None, &[]));
        assert!(!made.is_own("hub", "7", None, &[]), "a number without its noun");
    }

    #[test]
    fn what_is_given_up_is_in_doubt() {
        let mut made = Made::new(4 * ENTRY);
        for id in 0..50 {
            made.own("hub", Named { id: format!("d-{id}"), thing: None }, &[]);
        }
        assert!(made.bytes() <= 4 * ENTRY);
        assert!(made.is_own("hub", "d-49", None, &[]) && !made.is_own("hub", "d-0", None, &[]));
        assert!(made.is_in_doubt("hub", "d-0") && !made.is_in_doubt("hub", "d-49"));
        assert!(!made.is_in_doubt("mail", "d-0"), "nothing of this upstream was given up");
    }
}
