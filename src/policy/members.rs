//! What the members of one record say of it: its ids, its name, and the people who take part in it.

use serde_json::{Map, Value};

use crate::provenance::names_people;

/// People told of one record.
pub(super) const PEOPLE: usize = 16;
/// Items of one member that are looked at.
const MOST: usize = 10_000;
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
/// and maps keyed by address. Says also whether there are more than are told.
pub(super) fn people_of(members: &Map<String, Value>) -> (Vec<String>, bool) {
    let mut people: Vec<String> = Vec::new();
    let (mut cut, mut unknown) = (false, false);
    for (key, value) in members {
        if !names_people(key) {
            continue;
        }
        let mut add = |text: &str| {
            let text = text.trim();
            if text.is_empty() || people.iter().any(|person| person == text) {
                return;
            }
            if text.len() <= 256 && people.len() < PEOPLE {
                people.push(text.to_owned());
            } else {
                cut = true;
            }
        };
        let mut one = |value: &Value| match value {
            Value::String(text) => add(text),
            Value::Object(inner) => match address_in(inner) {
                Some(address) => add(address),
                // FAIL CLOSED: whoever that is, it is somebody.
                None if !inner.keys().any(|key| key.contains('@')) => unknown |= !inner.is_empty(),
                None => inner.keys().filter(|key| key.contains('@')).for_each(|key| add(key)),
            },
            _ => {}
        };
        match value {
            Value::Array(items) => {
                items.iter().take(MOST).for_each(&mut one);
                unknown |= items.len() > MOST;
            }
            other => one(other),
        }
    }
    (people, cut || unknown)
}

/// The address of a person who is an object, at its top or in an object within.
fn address_in(person: &Map<String, Value>) -> Option<&str> {
    let keys = ["email", "address", "login", "handle", "username", "id"];
    let mut holders = std::iter::once(person).chain(person.values().filter_map(Value::as_object));
    holders.find_map(|holder| keys.iter().find_map(|key| holder.get(*key)?.as_str()))
}
