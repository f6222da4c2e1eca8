//! What the members of one record say of it: its ids, its name, and the people who take part in it.

use serde_json::{Map, Value};

use crate::provenance::names_people;

/// People told of one record.
pub(super) const PEOPLE: usize = 16;
/// Items of one member that are looked at.
const MOST: usize = 10_000;
/// Levels within one member that are looked at.
const DEEP: usize = 4;
/// Characters of a name that are kept.
const NAME: usize = 120;

/// Whether a member's name says that it identifies its record.
pub(super) fn is_id_key(key: &str) -> bool {
    let key = key.trim_end_matches('_');
    let lower = key.to_ascii_lowercase();
    ["id", "key", "number", "ts", "sha", "uuid", "slug"]
        .iter()
        .any(|word| lower == *word || lower.strip_suffix(word).is_some_and(|head| head.ends_with(['_', '-'])))
        || key.strip_suffix("Id").is_some_and(|head| head.ends_with(|c: char| c.is_ascii_lowercase()))
}

/// The id that a member holds: at most 256 bytes.
pub(super) fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.trim().is_empty() && text.len() <= 256 => Some(text.trim().to_owned()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// What a record calls itself. Upstream text.
pub(super) fn name_of(members: &Map<String, Value>) -> Option<String> {
    ["subject", "title", "filename", "file_name", "name", "summary", "label"].iter().find_map(|wanted| {
        let (_, value) = members.iter().find(|(key, _)| key.eq_ignore_ascii_case(wanted))?;
        Some(value.as_str()?.chars().take(NAME).collect())
    })
}

/// The people in the identity fields of a record: strings, lists of strings, objects with an address,
/// lists of such objects within an object, and maps keyed by address. Says also whether there are more than are
/// told.
pub(super) fn people_of(members: &Map<String, Value>) -> (Vec<String>, bool) {
    let mut people = People::default();
    for (_, value) in members.iter().filter(|(key, _)| names_people(key)) {
        match value {
            Value::Array(items) => {
                items.iter().take(MOST).for_each(|item| people.one(item));
                people.cut |= items.len() > MOST;
            }
            other => people.one(other),
        }
    }
    (people.told, people.cut)
}

/// Who an object or a list in an identity field is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Who {
    /// It holds nothing.
    Nobody,
    /// Somebody, perhaps.
    Unknown,
    /// Somebody who is told.
    Told,
}

/// The people of one record.
#[derive(Debug, Default)]
struct People {
    told: Vec<String>,
    /// Whether there is somebody who is not told.
    cut: bool,
}

impl People {
    fn add(&mut self, text: &str) {
        let text = text.trim();
        if text.is_empty() || self.told.iter().any(|person| person == text) {
            return;
        }
        if text.len() <= 256 && self.told.len() < PEOPLE {
            self.told.push(text.to_owned());
        } else {
            self.cut = true;
        }
    }

    fn one(&mut self, value: &Value) {
        match value {
            Value::String(text) => self.add(text),
            // FAIL CLOSED: whoever that is, it is somebody.
            Value::Object(_) | Value::Array(_) => self.cut |= self.look(value, 0) == Who::Unknown,
            _ => {}
        }
    }

    /// Looks for addresses in a value and, where it has none itself, in what it holds.
    fn look(&mut self, value: &Value, depth: usize) -> Who {
        match value {
            Value::Object(person) => {
                let (addresses, is_id) = addresses_in(person);
                if !addresses.is_empty() {
                    for address in &addresses {
                        self.add(address);
                    }
                    // An id may be that of a group.
                    for (_, list) in person.iter().filter(|(key, list)| is_id && is_crowd(key, list)) {
                        self.cut |= self.look(list, depth + 1) == Who::Unknown;
                    }
                    self.cut |= is_id && is_part(person);
                    return Who::Told;
                }
                let keyed: Vec<&String> = person.keys().filter(|key| key.contains('@')).collect();
                if !keyed.is_empty() {
                    for key in keyed {
                        self.add(key);
                    }
                    return Who::Told;
                }
                if depth >= DEEP && !person.is_empty() {
                    return Who::Unknown;
                }
                self.cut |= is_part(person);
                person.values().map(|value| self.look(value, depth + 1)).fold(Who::Nobody, Who::max)
            }
            Value::Array(items) => {
                if depth >= DEEP && !items.is_empty() {
                    return Who::Unknown;
                }
                let (mut who, mut in_doubt) = (Who::Nobody, items.len() > MOST);
                for item in items.iter().take(MOST) {
                    let one = match item {
                        Value::String(text) if text.contains('@') => {
                            self.add(text);
                            Who::Told
                        }
                        other => self.look(other, depth + 1),
                    };
                    in_doubt |= one == Who::Unknown;
                    who = who.max(one);
                }
                // A list of which nothing is a person is none of people.
                self.cut |= in_doubt && who == Who::Told;
                who
            }
            Value::Null | Value::Bool(false) => Who::Nobody,
            Value::Number(number) if number.as_u64() == Some(0) => Who::Nobody,
            Value::String(text) if text.trim().is_empty() => Who::Nobody,
            _ => Who::Unknown,
        }
    }
}

/// The members of a person that say who it is, the best first: small, without separators.
const ADDRESSES: [&str; 16] = [
    "email",
    "emailaddress",
    "mail",
    "address",
    "login",
    "handle",
    "username",
    "userprincipalname",
    "screenname",
    "id",
    "accountid",
    "userid",
    "memberid",
    "uid",
    "uuid",
    "gid",
];

/// A key, small and without separators.
fn bare(key: &str) -> String {
    let letters = key.chars().take(32).filter(|c| !matches!(c, '_' | '-' | ' ' | '.'));
    letters.flat_map(char::to_lowercase).collect()
}

/// Whether a member is a list of people.
fn is_crowd(key: &str, value: &Value) -> bool {
    let of_people = ["nodes", "edges", "items", "values", "results", "data", "members", "users", "people"];
    value.is_array() && (names_people(key) || of_people.contains(&bare(key).as_str()))
}

/// The address of a person who is an object, several where it has several by the same key; and whether it is
/// an id.
fn addresses_in(person: &Map<String, Value>) -> (Vec<String>, bool) {
    let (mut best, mut found) = (ADDRESSES.len(), Vec::new());
    for (key, value) in person {
        let text = match value {
            Value::String(text) if !text.trim().is_empty() => text.clone(),
            // The number alone, typed of anything else, would vouch for them.
            Value::Number(number) => format!("user {number}"),
            _ => continue,
        };
        let key = bare(key);
        let Some(rank) = ADDRESSES.iter().position(|address| *address == key) else { continue };
        if rank < best {
            (best, found) = (rank, Vec::new());
        }
        if rank == best {
            found.push(text);
        }
    }
    (found, ADDRESSES.get(best).is_some_and(|key| key.ends_with("id")))
}

/// Whether an object says of the list that it holds that there is more of it.
fn is_part(holder: &Map<String, Value>) -> bool {
    let longest = holder.values().filter_map(Value::as_array).map(Vec::len).max().unwrap_or_default();
    holder.iter().any(|(key, value)| match value {
        Value::Bool(true) => ["hasnextpage", "hasmore", "truncated"].contains(&bare(key).as_str()),
        Value::Number(number) => {
            ["total", "totalcount", "count"].contains(&bare(key).as_str())
                && number.as_u64().is_none_or(|number| number > longest as u64)
        }
        _ => false,
    })
}
