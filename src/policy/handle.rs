//! Handles: what stands behind an id. The records that an id was read from say what it is called and
//! who is concerned, so that a question can name more than a number, and a reply to a thread is judged
//! by the people in it. Several records of one id are joined: a later one adds people and names, and
//! takes none away. The ids of one list are kept together, so that one question can be about all.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

use serde::Serialize;
use serde_json::{Map, Value};

use super::faded::Faded;
use super::members::{PEOPLE, is_id_key, name_of, people_of, scalar};

/// Names told of one id.
const NAMES: usize = 3;
/// Objects and lists of one result that are looked at, or wait for it.
const OBJECTS: usize = 10_000;
/// Ids taken from one record.
const IDS: usize = 64;
/// Ids of one list that are kept, lists of one call, and letters of the way to one.
pub(super) const LISTED: usize = 32;
const LISTS: usize = 64;
const WAY: usize = 512;
/// Bytes of an entry beside its texts, about.
const ENTRY: usize = 160;

/// What the records of an id say.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Handle {
    /// What the thing is called: its subject, title or name; several where records differ. Upstream
    /// text: escape before showing.
    pub names: Vec<String>,
    /// The people in its identity fields.
    pub people: Vec<String>,
    /// Whether more people or names stood there than are told.
    pub cut: bool,
}

impl Handle {
    fn bytes(&self) -> usize {
        ENTRY + self.names.iter().chain(&self.people).map(|text| text.len() + 24).sum::<usize>()
    }

    fn join(&mut self, other: &Self) {
        self.cut |= other.cut;
        for (mine, theirs, most) in
            [(&mut self.names, &other.names, NAMES), (&mut self.people, &other.people, PEOPLE)]
        {
            for text in theirs.iter().filter(|text| !mine.contains(text)).cloned().collect::<Vec<_>>() {
                if mine.len() < most {
                    mine.push(text);
                } else {
                    self.cut = true;
                }
            }
        }
    }
}

/// The ids that stand in one field of all records of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Siblings {
    /// The session's number of the call that showed the list.
    pub call: u64,
    /// How many there are.
    pub total: usize,
    /// The first of them, at most 32, each with what its record in this list calls it. Upstream text.
    pub ids: Vec<(String, Option<String>)>,
    /// Whether another record at that upstream calls one of them otherwise, or may.
    pub in_doubt: bool,
}

/// A list of one result.
#[derive(Debug, Default)]
struct List {
    total: usize,
    /// Each with its name here: what other records call it is no name of this list.
    ids: Vec<(String, Option<String>)>,
    /// All of them, while the result is read.
    seen: BTreeSet<String>,
}

/// The handles of a session, by upstream and id.
#[derive(Debug)]
pub(super) struct Handles {
    known: BTreeMap<(String, String), Handle>,
    order: VecDeque<(String, String)>,
    /// The lists by call, and by the way to their field.
    lists: BTreeMap<u64, BTreeMap<String, List>>,
    bytes: usize,
    most: usize,
    /// What of them is not known.
    faded: Faded,
}

impl Handles {
    /// Nothing yet; at most `most` bytes are kept.
    pub(super) fn new(most: usize) -> Self {
        let (known, order, lists) = (BTreeMap::new(), VecDeque::new(), BTreeMap::new());
        Self { known, order, lists, bytes: 0, most, faded: Faded::default() }
    }

    /// Takes in the objects of a result. `own`: the structure that the result itself is, if it is one;
    /// `texts`: the structures of texts in it. A text is somebody's document, and makes no list.
    pub(super) fn read(&mut self, upstream: &str, call: u64, own: &[Value], texts: &[Value]) {
        let mut lists: BTreeMap<String, List> = BTreeMap::new();
        let (top, nowhere): (Rc<str>, Rc<str>) = ("$".into(), "".into());
        // Each with the way to its holder, and the member that it is there.
        let mut pending: Vec<(&Value, Rc<str>, Option<&str>)> = Vec::new();
        pending.extend(texts.iter().rev().map(|text| (text, Rc::clone(&nowhere), None)));
        pending.extend(own.iter().rev().map(|own| (own, Rc::clone(&top), None)));
        let mut is_gone = false;
        for _ in 0..OBJECTS {
            let Some((value, holder, member)) = pending.pop() else { break };
            let way =
                member.map_or_else(|| Rc::clone(&holder), |member| step(&holder, &field(member)).into());
            // Numbers and texts say nothing by themselves, and wait for nothing.
            let room = OBJECTS.saturating_sub(pending.len());
            let mut inner: Vec<(&Value, Rc<str>, Option<&str>)> = match value {
                Value::Array(items) => {
                    let way: Rc<str> = step(&way, "[*]").into();
                    let nodes = items.iter().filter(|item| is_node(item)).take(room + 1);
                    nodes.map(|item| (item, Rc::clone(&way), None)).collect()
                }
                Value::Object(members) => {
                    is_gone |= !self.object(upstream, members, &way, &mut lists);
                    self.make_room();
                    let nodes = members.iter().filter(|(_, value)| is_node(value)).take(room + 1);
                    nodes.map(|(key, value)| (value, Rc::clone(&way), Some(key.as_str()))).collect()
                }
                _ => continue,
            };
            is_gone |= inner.len() > room;
            inner.truncate(room);
            pending.extend(inner.into_iter().rev());
        }
        if is_gone || !pending.is_empty() {
            self.faded.upstream(upstream);
        }
        lists.retain(|_, list| {
            list.total = std::mem::take(&mut list.seen).len();
            list.total > 1
        });
        if call != 0 && !lists.is_empty() {
            self.bytes += lists.iter().map(|(way, list)| size_of_list(way, list)).sum::<usize>();
            let before = self.lists.insert(call, lists).unwrap_or_default();
            self.bytes -= before.iter().map(|(way, list)| size_of_list(way, list)).sum::<usize>();
        }
        self.make_room();
    }

    /// Takes in one record. Says whether all of its ids were.
    fn object(
        &mut self,
        upstream: &str,
        members: &Map<String, Value>,
        way: &str,
        lists: &mut BTreeMap<String, List>,
    ) -> bool {
        let ids = members.iter().filter(|(key, _)| is_id_key(key));
        let mut ids: Vec<(&String, String)> =
            ids.filter_map(|(key, value)| Some((key, scalar(value)?))).take(IDS + 1).collect();
        let is_whole = ids.len() <= IDS;
        ids.truncate(IDS);
        if ids.is_empty() {
            return is_whole;
        }
        let (people, cut) = people_of(members);
        let name = name_of(members);
        let handle = Handle { names: name.iter().cloned().collect(), people, cut };
        for (key, id) in ids {
            let way = step(way, &field(key));
            // What is in no list has no siblings.
            if way.contains("[*]") && (lists.contains_key(&way) || lists.len() < LISTS) {
                let list = lists.entry(way).or_default();
                if list.seen.insert(id.clone()) && list.ids.len() < LISTED {
                    list.ids.push((id.clone(), name.clone()));
                }
            }
            let key = (upstream.to_owned(), id);
            if let Some(known) = self.known.get_mut(&key) {
                self.bytes -= known.bytes();
                known.join(&handle);
                self.bytes += known.bytes();
            } else {
                // FAIL CLOSED: what is read again does not bring back what was given up.
                let cut = handle.cut || self.faded.holds(upstream, &key.1);
                self.bytes += handle.bytes() + 2 * (key.0.len() + key.1.len());
                self.known.insert(key.clone(), Handle { cut, ..handle.clone() });
                self.order.push_back(key);
            }
        }
        is_whole
    }

    fn make_room(&mut self) {
        while self.bytes > self.most {
            // Without a list a question is about one thing: nothing is lost but the offer.
            if let Some((_, lists)) = self.lists.pop_first() {
                self.bytes -= lists.iter().map(|(way, list)| size_of_list(way, list)).sum::<usize>();
                continue;
            }
            let Some(oldest) = self.order.pop_front() else { return };
            self.faded.id(&oldest.0, &oldest.1);
            let bytes = self.known.remove(&oldest).map_or(0, |handle| handle.bytes());
            self.bytes -= bytes + 2 * (oldest.0.len() + oldest.1.len());
        }
    }

    /// What stands behind an id of an upstream.
    pub(super) fn get(&self, upstream: &str, id: &str) -> Option<&Handle> {
        self.known.get(&(upstream.to_owned(), id.trim().to_owned()))
    }

    /// Whether somebody may stand behind the id who is not known.
    pub(super) fn is_in_doubt(&self, upstream: &str, id: &str) -> bool {
        self.get(upstream, id).map_or_else(|| self.faded.holds(upstream, id.trim()), |handle| handle.cut)
    }

    /// The list that an id stands in, at a place of this path in what a call showed.
    pub(super) fn siblings(&self, upstream: &str, call: u64, path: &str, id: &str) -> Option<Siblings> {
        let (lists, way) = (self.lists.get(&call)?, way_of(path)?);
        let list = lists.get(&way)?;
        if !list.ids.iter().any(|(other, _)| other == id) {
            return None;
        }
        // FAIL CLOSED: a name that another record contradicts, or could, is nobody's word.
        let is_sure = |(id, name): &(String, Option<String>)| {
            self.get(upstream, id).is_some_and(|known| !known.cut && known.names.iter().eq(name))
        };
        let in_doubt = self.faded.holds_any(upstream) || !list.ids.iter().all(is_sure);
        Some(Siblings { call, total: list.total, ids: list.ids.clone(), in_doubt })
    }

    /// Bytes in memory, about.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}

fn size_of_list(way: &str, list: &List) -> usize {
    let size = |(id, name): &(String, Option<String>)| id.len() + name.as_ref().map_or(0, String::len) + 48;
    ENTRY + way.len() + list.ids.iter().map(size).sum::<usize>()
}

fn is_node(value: &Value) -> bool {
    value.is_object() || value.is_array()
}

/// A longer way; one that is too long leads to no list.
fn step(way: &str, next: &str) -> String {
    if way.is_empty() || next.is_empty() || way.len() + next.len() > WAY {
        return String::new();
    }
    format!("{way}{next}")
}

/// A member as a normalised path writes it; empty for a name that would need escapes.
fn field(key: &str) -> String {
    if key.chars().any(|c| matches!(c, '\'' | '\\' | '[' | ']') || c.is_control()) {
        return String::new();
    }
    format!("['{key}']")
}

/// The way that the path of a place goes in the structure that its result is. `None` for a place in any
/// other: what is a structure within a structure, or one of several texts, is somebody's text.
fn way_of(path: &str) -> Option<String> {
    let mut parts = path.split(" » ");
    let within = match (parts.next()?, parts.next(), parts.next()) {
        ("$['content'][0]['text']", Some(inner), None) => inner.strip_prefix('$')?,
        (outer, None, None) => outer.strip_prefix("$['structuredContent']")?,
        _ => return None,
    };
    let mut way = "$".to_owned();
    for part in within.split_inclusive(']') {
        let number = part.strip_prefix('[').and_then(|part| part.strip_suffix(']'));
        let is_item = number.is_some_and(|number| number.bytes().all(|b| b.is_ascii_digit()));
        way.push_str(if is_item { "[*]" } else { part });
    }
    Some(way)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn handles(most: usize, results: &[Value]) -> Handles {
        let mut handles = Handles::new(most);
        for (call, result) in (1..).zip(results) {
            handles.read("mail", call, std::slice::from_ref(result), &[]);
        }
        handles
    }

    #[test]
    fn an_id_knows_its_name_and_people() {
        let handles = handles(
            1 << 20,
            &[json!({"threads": [
                {"id": "t1", "subject": "Lunch", "from": "Ana <ana@x.test>", "to": ["bo@x.test"]},
                {"id_": 26, "filename": "plan.docx", "shared_with": {"cy@x.test": "rw"}, "owner": {"email": "di@x.test"}},
                {"note": "no id"},
            ]})],
        );
        let lunch = handles.get("mail", "t1").unwrap();
        assert_eq!((lunch.names.as_slice(), lunch.people.len()), (["Lunch".to_owned()].as_slice(), 2));
        let plan = handles.get("mail", " 26 ").unwrap();
        assert_eq!(
            (plan.names.as_slice(), plan.people.clone()),
            (["plan.docx".to_owned()].as_slice(), vec!["cy@x.test".into(), "di@x.test".into()])
        );
        assert_eq!(handles.get("drive", "t1"), None);
    }

    #[test]
    fn a_person_without_an_address_is_somebody_unknown() {
        for (person, known, in_doubt) in [
            (json!({"emailAddress": {"name": "Eve", "address": "eve@out.test"}}), 1, false),
            (json!([{"login": "eve"}, {"username": "bo"}]), 2, false),
            (json!({"kind": "guest"}), 0, true),
            (json!({}), 0, false),
            (json!([{"displayName": "Eve", "emailAddress": "eve@out.test"}]), 1, false),
            (json!({"accountId": "5b10-ac", "Email_Address": "eve@out.test"}), 1, false),
            (json!({"email": "bo@x.test", "Email": "eve@out.test"}), 2, false),
            (json!({"id": 5}), 1, false),
            (json!({"nodes": [{"login": "eve"}, {"id": 5}], "totalCount": 2}), 2, false),
            (json!({"edges": [{"node": {"login": "eve"}}], "pageInfo": {"hasNextPage": false}}), 1, false),
            (json!({"owner": {"email": "bo@x.test"}, "values": ["eve@out.test"]}), 2, false),
            (json!({"nodes": [], "totalCount": 0, "pageInfo": {"endCursor": null}}), 0, false),
            (json!({"nodes": [], "totalCount": 3}), 0, true),
            (json!({"id": 7, "members": [{"login": "eve"}]}), 2, false),
            (json!({"id": 7, "members": [{"kind": "guest"}]}), 1, true),
            (json!({"login": "bo", "id": 7, "roles": [{"id": 9}]}), 1, false),
            (json!({"nodes": [{"login": "eve"}, {"kind": "guest"}]}), 1, true),
            (json!({"nodes": [{"login": "eve"}], "pageInfo": {"hasNextPage": true}}), 1, true),
            (json!({"a": {"b": {"c": {"d": {"e": {"login": "eve"}}}}}}), 0, true),
        ] {
            let handles = handles(1 << 20, &[json!({"id": "t1", "sender": person})]);
            let people = handles.get("mail", "t1").unwrap().people.len();
            assert_eq!((people, handles.is_in_doubt("mail", "t1")), (known, in_doubt), "{person}");
        }
    }

    #[test]
    fn a_later_record_takes_nobody_away() {
        let handles = handles(
            1 << 20,
            &[
                json!({"id": "t1", "subject": "Salaries", "from": "eve@out.test"}),
                json!({"id": "t1", "subject": "Lunch", "from": "ana@x.test"}),
            ],
        );
        let both = handles.get("mail", "t1").unwrap();
        assert_eq!(both.names, ["Salaries", "Lunch"]);
        assert_eq!(both.people, ["eve@out.test", "ana@x.test"]);
    }

    #[test]
    fn memory_is_bounded_and_what_is_given_up_is_in_doubt() {
        let records: Vec<Value> = (0..500)
            .map(|n| json!([{"id": format!("t{n}"), "subject": "s".repeat(500)}, {"id": format!("u{n}")}]))
            .collect();
        let all = handles(20_000, &records);
        assert!(all.bytes() <= 20_000);
        assert!(all.is_in_doubt("mail", "t0") && !all.is_in_doubt("mail", "t499"));
        assert!(!all.is_in_doubt("mail", "never read"));
        // Read again, with less.
        let mut again = records.clone();
        again.push(json!({"id": "t0", "subject": "Lunch"}));
        let again = handles(20_000, &again);
        assert!(again.get("mail", "t0").is_some() && again.is_in_doubt("mail", "t0"));
        let crowd: Vec<String> = (0..40).map(|n| format!("p{n}@x.test")).collect();
        let crowd = handles(1 << 20, &[json!({"id": "t1", "to": crowd})]);
        assert!(crowd.is_in_doubt("mail", "t1"));
    }

    #[test]
    fn the_ids_of_a_list_stand_together() {
        let letters: Vec<Value> = (0..20)
            .map(|n| json!({"id": format!("m{n}"), "thread_id": "t", "subject": format!("Letter {n}")}))
            .collect();
        let many: Vec<Value> = (0..500).map(|n| json!({"id": n})).collect();
        let handles = handles(1 << 20, &[json!(letters), json!({"hits": many}), json!({"id": "m1"})]);
        let list = handles.siblings("mail", 1, "$['content'][0]['text'] » $[3]['id']", "m3").unwrap();
        assert_eq!((list.total, list.ids.len()), (20, 20));
        assert_eq!(list.ids.get(1), Some(&("m1".to_owned(), Some("Letter 1".to_owned()))));
        let many = handles.siblings("mail", 2, "$['structuredContent']['hits'][7]['id']", "7").unwrap();
        assert_eq!((many.total, many.ids.len()), (500, LISTED));
        let mut texts = Handles::new(1 << 20);
        texts.read("mail", 1, &[], &[json!([{"id": "a1"}, {"id": "a2"}])]);
        assert_eq!(texts.siblings("mail", 1, "$['content'][0]['text'] » $[1]['id']", "a2"), None);
        for (call, path, id) in [
            (1, "$['content'][0]['text'] » $[3]['id']", "m99"),
            (1, "$['content'][0]['text'] » $[3]['thread_id']", "t"),
            (1, "$['content'][0]['text'] » $[3]['body'] » $[0]['id']", "m3"),
            (1, "$['content'][0]['text']", "m3"),
            (1, "$['content'][1]['text'] » $[3]['id']", "m3"),
            (1, "$['structuredContent']['body'] » $[3]['id']", "m3"),
            (3, "$['content'][0]['text'] » $['id']", "m1"),
        ] {
            assert_eq!(handles.siblings("mail", call, path, id), None, "{path}");
        }
    }

    #[test]
    fn a_list_is_in_doubt_where_another_record_calls_one_of_it_otherwise() {
        let letters = json!([{"id": "m1", "subject": "Offer"}, {"id": "m2", "subject": "Sale"}]);
        let crowd: Vec<String> = (0..40).map(|n| format!("p{n}@x.test")).collect();
        for (other, in_doubt) in [
            (json!({"id": "m3", "subject": "Contract"}), false),
            (json!({"id": "m2", "subject": "Sale"}), false),
            (json!({"id": "m2", "subject": "Contract"}), true),
            (json!({"id": "m2", "to": crowd}), true),
            (json!(vec![json!({"n": 1}); OBJECTS + 1]), true),
        ] {
            for results in [[letters.clone(), other.clone()], [other.clone(), letters.clone()]] {
                let call = if results[0] == letters { 1 } else { 2 };
                let handles = handles(1 << 20, &results);
                let list = handles.siblings("mail", call, "$['structuredContent'][0]['id']", "m1").unwrap();
                assert_eq!(list.in_doubt, in_doubt, "{}", other.to_string().get(..60).unwrap_or_default());
                assert_eq!(list.ids[1], ("m2".to_owned(), Some("Sale".to_owned())));
            }
        }
        // A name that only another record gives is none of this list's.
        let handles = handles(1 << 20, &[letters, json!([{"id": "m1"}, {"id": "m9"}])]);
        let list = handles.siblings("mail", 2, "$['structuredContent'][0]['id']", "m1").unwrap();
        assert!(list.in_doubt && list.ids.iter().all(|(_, name)| name.is_none()), "{list:?}");
    }

    #[test]
    fn numbers_cost_nothing_and_what_is_not_read_is_in_doubt_there_alone() {
        let rows = json!(vec![json!(vec![0; 1_000]); 1_000]);
        let zeros = handles(1 << 20, &[json!({"rows": rows, "thread": {"id": "t1"}})]);
        assert!(zeros.get("mail", "t1").is_some() && !zeros.is_in_doubt("mail", "t2"));
        for long in [json!(vec![json!([]); OBJECTS + 1]), json!(vec![json!([[]]); OBJECTS])] {
            let long = handles(1 << 20, &[long]);
            assert!(long.is_in_doubt("mail", "t2") && !long.is_in_doubt("drive", "t2"));
        }
        let mut record = Map::new();
        record.extend((0..100_000).map(|n| (format!("n{n}_id"), json!(n))));
        record.insert("to".to_owned(), json!(vec!["p@x.test"; 16]));
        let wide = handles(1 << 20, &[Value::Object(record)]);
        assert!(wide.bytes() < 64 * 1_024 && wide.is_in_doubt("mail", "99999"), "{}", wide.bytes());
    }
}
