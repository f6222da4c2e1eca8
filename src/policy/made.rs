//! What calls made: the ids that their results named, what each is, and where those calls went.
//!
//! The id of a thing that an allowed call made is the user's own at that upstream. A bare number is so
//! only as what it was made as, where it was made: issue 7 of one repository is neither its pull
//! request 7 nor issue 7 of another. Whoever the making call was addressed to stands behind the id: a
//! draft to somebody is sent to them.

use std::collections::{BTreeMap, VecDeque};

use serde_json::Value;

use crate::provenance::{Destination, Thing};

use super::container::Within;
use super::faded::Faded;
use super::members::is_id_key;

/// Ids of one result that are told apart; and nodes of it that are looked at, or ids that are taken in.
const IDS: usize = 64;
const NODES: usize = 10_000;
/// Levels of objects at the top of a result whose ids may be what the call made.
const DEEP: usize = 2;
/// Bytes of an id.
const LONGEST: usize = 256;
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
    /// Whether it stands at the top of its structure or in an object one level below, and in no list.
    pub(super) is_top: bool,
}

/// The ids in the result of a call.
#[derive(Debug, Default)]
pub(super) struct NamedIds {
    /// The first of them.
    pub(super) named: Vec<Named>,
    /// Others, that are too many or too long to be kept.
    pub(super) beyond: Vec<String>,
    /// Whether these are all.
    pub(super) is_whole: bool,
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
    /// What of them is not known.
    faded: Faded,
}

impl Made {
    /// Nothing yet; at most `most` bytes are kept.
    pub(super) fn new(most: usize) -> Self {
        Self { known: BTreeMap::new(), order: VecDeque::new(), bytes: 0, most, faded: Faded::default() }
    }

    /// The id is the user's own.
    pub(super) fn own(&mut self, upstream: &str, named: Named, within: &Within) {
        // FAIL CLOSED: a number is own only where it was made, and where that is is not known.
        if within.cut && is_number(&named.id) {
            return;
        }
        let bytes = ENTRY + within.names.iter().map(String::len).sum::<usize>();
        self.entry(upstream, named.id, bytes, |entry| {
            let made = (named.thing, within.names.clone());
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
            // FAIL CLOSED: what is made again does not bring back what was given up.
            let cut = self.faded.holds(upstream, &key.1);
            self.known.insert(key.clone(), Entry { cut, ..Entry::default() });
        }
        if add(self.known.entry(key).or_default()) {
            self.bytes += bytes;
        }
        while self.bytes > self.most
            && let Some(oldest) = self.order.pop_front()
        {
            self.faded.id(&oldest.0, &oldest.1);
            let size = self.known.remove(&oldest).map_or(0, |entry| size_of_entry(&oldest, &entry));
            self.bytes = self.bytes.saturating_sub(size);
        }
    }

    /// Whether an allowed call made the thing of this id.
    pub(super) fn is_own(&self, upstream: &str, id: &str, thing: Option<&Thing>, within: &Within) -> bool {
        let Some(entry) = self.get(upstream, id) else { return false };
        if entry.own.is_empty() || !is_number(id) {
            return !entry.own.is_empty();
        }
        entry.own.iter().any(|(made, there)| {
            let same = made.as_ref().zip(thing).is_some_and(|(made, thing)| made.is(thing));
            let anywhere = there.is_empty() || (within.names.is_empty() && !within.cut);
            let here = anywhere || there.iter().any(|name| within.names.contains(name));
            same && here
        })
    }

    /// Where the calls that made the id went.
    pub(super) fn to(&self, upstream: &str, id: &str) -> &[Destination] {
        self.get(upstream, id).map_or(&[], |entry| entry.to.as_slice())
    }

    /// Whether somebody may stand behind the id who is not known.
    pub(super) fn is_in_doubt(&self, upstream: &str, id: &str) -> bool {
        self.get(upstream, id).map_or_else(|| self.faded.holds(upstream, id.trim()), |entry| entry.cut)
    }

    /// A call went somewhere, and named an id of which no more is kept than that.
    pub(super) fn doubt(&mut self, upstream: &str, id: &str) {
        self.faded.id(upstream, id);
        if let Some(entry) = self.known.get_mut(&(upstream.to_owned(), id.to_owned())) {
            entry.cut = true;
        }
    }

    /// A call went somewhere, and not all ids that it was about are known: it may have been any.
    pub(super) fn lost(&mut self, upstream: &str) {
        self.faded.upstream(upstream);
        let of_upstream = self.known.iter_mut().filter(|((of, _), _)| of == upstream);
        of_upstream.for_each(|(_, entry)| entry.cut = true);
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

/// The ids that results name: whole scalars under id-like keys. What names another kind of thing than `thing`
/// is left out: the author of the issue was not made by it.
pub(super) fn ids_named(structures: &[Value], thing: Option<&Thing>) -> NamedIds {
    let mut ids = NamedIds::default();
    // Nearest the top first, in the order of the result.
    let mut open: VecDeque<(&Value, usize)> = structures.iter().map(|structure| (structure, 0)).collect();
    for _ in 0..NODES {
        let Some((value, depth)) = open.pop_front() else { break };
        let Value::Object(members) = value else {
            // What stands in a list is deep, wherever the list is.
            let items = value.as_array().into_iter().flatten();
            open.extend(items.filter(|item| item.is_object() || item.is_array()).map(|item| (item, DEEP)));
            continue;
        };
        for (key, value) in members {
            let named = Thing::named_by(key);
            if named.as_ref().zip(thing).is_some_and(|(named, thing)| !named.is(thing)) {
                continue;
            }
            let id = match value {
                Value::String(text) if is_id_key(key) && !text.trim().is_empty() => text.trim().to_owned(),
                Value::Number(number) if is_id_key(key) => number.to_string(),
                Value::Object(_) | Value::Array(_) => {
                    open.push_back((value, depth + 1));
                    continue;
                }
                _ => continue,
            };
            if ids.named.len() < IDS && id.len() <= LONGEST {
                let thing = named.or_else(|| thing.cloned());
                ids.named.push(Named { id, thing, is_top: depth < DEEP });
            } else if ids.beyond.len() < NODES {
                ids.beyond.push(id);
            } else {
                return ids;
            }
        }
    }
    ids.is_whole = open.is_empty();
    ids
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn thing(name: &str) -> Option<Thing> {
        Thing::of(name)
    }

    fn named(id: &str, kind: &str) -> Named {
        Named { id: id.to_owned(), thing: thing(kind), is_top: true }
    }

    fn within(name: &str) -> Within {
        Within { names: vec![name.to_owned()], cut: false }
    }

    #[test]
    fn only_what_the_call_makes_is_named() {
        let result = json!({"number": 7, "id": 90, "title": "x", "user": {"id": 5}, "repository_id": 3,
            "data": {"issue_id": 8}, "parent_id": 2});
        let ids = ids_named(&[result], thing("issue").as_ref());
        let named: Vec<&str> = ids.named.iter().map(|named| named.id.as_str()).collect();
        assert_eq!((named, ids.is_whole), (vec!["7", "90", "8"], true));
    }

    #[test]
    fn what_is_named_deep_or_in_a_list_is_known_but_not_own() {
        let check = |result: Value, own: &[&str], other: &[&str]| {
            let ids = ids_named(&[result], thing("draft").as_ref());
            let of = |top: bool| -> Vec<&str> {
                ids.named.iter().filter(|named| named.is_top == top).map(|named| named.id.as_str()).collect()
            };
            assert_eq!((of(true), of(false)), (own.to_vec(), other.to_vec()));
            assert!(ids.is_whole && ids.beyond.is_empty());
        };
        check(json!({"data": {"id": "a", "result": {"id": "b"}}}), &["a"], &["b"]);
        check(json!([{"id": "a"}]), &[], &["a"]);
        check(json!({"drafts": [{"id": "a"}, {"id": "b"}]}), &[], &["a", "b"]);
    }

    #[test]
    fn of_an_id_that_is_too_long_or_one_too_many_no_more_is_kept_than_that_it_was_named() {
        let long = "x".repeat(LONGEST + 1);
        let ids = ids_named(&[json!({"a_id": long, "b_id": "b"})], None);
        assert_eq!((ids.named.len(), ids.beyond, ids.is_whole), (1, vec![long], true));
        let many: Vec<Value> = (0..=IDS).map(|n| json!({"id": n})).collect();
        let ids = ids_named(&[json!(many)], None);
        assert_eq!((ids.named.len(), ids.beyond, ids.is_whole), (IDS, vec![IDS.to_string()], true));
        assert!(!ids_named(&[json!(vec![json!([[]]); NODES])], None).is_whole);
        let wide = (0..=IDS + NODES).map(|n| (format!("n{n}_id"), json!(n))).collect();
        assert!(!ids_named(&[Value::Object(wide)], None).is_whole);
        let mut made = Made::new(1 << 16);
        made.own("hub", named("d-1", "draft"), &Within::default());
        made.doubt("hub", "d-1");
        made.doubt("hub", "d-2");
        assert!(["d-1", "d-2"].iter().all(|id| made.is_in_doubt("hub", id)));
        assert!(!made.is_in_doubt("hub", "d-3") && !made.is_in_doubt("mail", "d-1"));
    }

    #[test]
    fn a_number_is_own_as_what_it_was_made_as() {
        let mut made = Made::new(1 << 16);
        let nowhere = Within::default();
        made.own("hub", named("7", "issue"), &within("mara/site"));
        made.own("hub", named("d-7f", "draft"), &nowhere);
        made.own("hub", named("9", "issue"), &Within { cut: true, ..within("mara/site") });
        for (id, kind, within, expected) in [
            ("7", "issue", "mara/site", true),
            ("7", "ticket", "mara/site", true),
            ("7", "pull_request", "mara/site", false),
            ("7", "repo", "mara/site", false),
            ("7", "issue", "mara/kiln", false),
            ("d-7f", "message", "", true),
            ("d-7f", "id", "", true),
            ("8", "issue", "mara/site", false),
            ("9", "issue", "mara/site", false),
        ] {
            let within = if within.is_empty() { Within::default() } else { self::within(within) };
            assert_eq!(made.is_own("hub", id, thing(kind).as_ref(), &within), expected, "{id} {kind}");
        }
        assert!(!made.is_own("other", "d-7f", None, &nowhere));
        assert!(!made.is_own("hub", "7", None, &nowhere), "a number without its noun");
        let issue = thing("issue");
        assert!(made.is_own("hub", "7", issue.as_ref(), &nowhere));
        assert!(!made.is_own("hub", "7", issue.as_ref(), &Within { cut: true, ..nowhere }));
    }

    #[test]
    fn what_is_given_up_is_in_doubt() {
        let mut made = Made::new(4 * ENTRY);
        for id in 0..50 {
            made.own("hub", named(&format!("d-{id}"), "draft"), &Within::default());
        }
        assert!(made.bytes() <= 4 * ENTRY);
        let is_own = |made: &Made, id: &str| made.is_own("hub", id, None, &Within::default());
        assert!(is_own(&made, "d-49") && !is_own(&made, "d-0"));
        assert!(made.is_in_doubt("hub", "d-0") && !made.is_in_doubt("hub", "d-49"));
        assert!(!made.is_in_doubt("mail", "d-0"), "nothing of this upstream was given up");
        made.own("hub", named("d-0", "draft"), &Within::default());
        assert!(is_own(&made, "d-0") && made.is_in_doubt("hub", "d-0"));
        made.lost("mail");
        assert!(made.is_in_doubt("mail", "unheard of"));
    }
}
