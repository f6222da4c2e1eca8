//! Handles: what stands behind an id. The record that an id was read from says what it is called and
//! who is concerned, so that a question can name more than a number, and a reply to a thread is judged
//! by the people in it.

use std::collections::{BTreeMap, VecDeque};

use serde::Serialize;
use serde_json::{Map, Value};

/// Ids that are remembered.
const KEPT: usize = 16_384;
/// People told of one record.
const PEOPLE: usize = 16;
/// Objects of one result that are looked at.
const OBJECTS: usize = 2_000;
/// Characters of a name that are kept.
const NAME: usize = 120;

/// What the record of an id says.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Handle {
    /// What the thing is called: its subject, title or name. Upstream text: escape before showing.
    pub name: Option<String>,
    /// The people in its identity fields.
    pub people: Vec<String>,
}

/// The handles of a session, by upstream and id.
#[derive(Debug, Default)]
pub(super) struct Handles {
    known: BTreeMap<(String, String), Handle>,
    order: VecDeque<(String, String)>,
}

impl Handles {
    /// Takes in the objects of a result.
    pub(super) fn read(&mut self, upstream: &str, structure: &Value) {
        let mut pending = vec![structure];
        for _ in 0..OBJECTS {
            let Some(value) = pending.pop() else { return };
            match value {
                Value::Array(items) => pending.extend(items.iter().take(OBJECTS)),
                Value::Object(members) => {
                    self.object(upstream, members);
                    pending.extend(members.values().filter(|value| value.is_object() || value.is_array()));
                }
                _ => {}
            }
        }
    }

    fn object(&mut self, upstream: &str, members: &Map<String, Value>) {
        let ids = members.iter().filter(|(key, _)| is_id_key(key)).filter_map(|(_, value)| scalar(value));
        let ids: Vec<String> = ids.collect();
        if ids.is_empty() {
            return;
        }
        let handle = Handle { name: name_of(members), people: people_of(members) };
        for id in ids {
            let key = (upstream.to_owned(), id);
            if self.known.insert(key.clone(), handle.clone()).is_none() {
                self.order.push_back(key);
            }
        }
        while self.order.len() > KEPT {
            if let Some(oldest) = self.order.pop_front() {
                self.known.remove(&oldest);
            }
        }
    }

    /// What stands behind an id of an upstream.
    pub(super) fn get(&self, upstream: &str, id: &str) -> Option<&Handle> {
        self.known.get(&(upstream.to_owned(), id.trim().to_owned()))
    }
}

/// Whether a member's name says that it identifies its record.
pub(super) fn is_id_key(key: &str) -> bool {
    let key = key.trim_end_matches('_');
    let lower = key.to_ascii_lowercase();
    ["id", "key", "number", "ts", "sha", "uuid", "slug"]
        .iter()
        .any(|word| lower == *word || lower.strip_suffix(word).is_some_and(|head| head.ends_with(['_', '-'])))
        || key.strip_suffix("Id").is_some_and(|head| head.ends_with(|c: char| c.is_ascii_lowercase()))
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.trim().is_empty() && text.len() <= 256 => Some(text.trim().to_owned()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn name_of(members: &Map<String, Value>) -> Option<String> {
    ["subject", "title", "filename", "file_name", "name", "summary", "label"].iter().find_map(|wanted| {
        let (_, value) = members.iter().find(|(key, _)| key.eq_ignore_ascii_case(wanted))?;
        Some(value.as_str()?.chars().take(NAME).collect())
    })
}

/// The people in the identity fields of a record: strings, lists of strings, objects with an address,
/// and maps keyed by address.
fn people_of(members: &Map<String, Value>) -> Vec<String> {
    const WHO: [&str; 22] = [
        "sender",
        "from",
        "reply_to",
        "to",
        "cc",
        "bcc",
        "recipient",
        "recipients",
        "owner",
        "author",
        "creator",
        "organizer",
        "participants",
        "participant",
        "attendees",
        "members",
        "guests",
        "shared_with",
        "collaborators",
        "user",
        "assignee",
        "reporter",
    ];
    let mut people = Vec::new();
    for (key, value) in members {
        if !WHO.contains(&key.to_ascii_lowercase().as_str()) {
            continue;
        }
        let mut add = |text: &str| {
            let text = text.trim();
            if !text.is_empty()
                && text.len() <= 256
                && people.len() < PEOPLE
                && !people.iter().any(|p| p == text)
            {
                people.push(text.to_owned());
            }
        };
        let mut one = |value: &Value| match value {
            Value::String(text) => add(text),
            Value::Object(inner) => {
                let address = ["email", "address", "login", "handle", "id"]
                    .iter()
                    .find_map(|key| inner.get(*key).and_then(Value::as_str));
                match address {
                    Some(address) => add(address),
                    None => inner.keys().filter(|key| key.contains('@')).for_each(|key| add(key)),
                }
            }
            _ => {}
        };
        match value {
            Value::Array(items) => items.iter().take(PEOPLE).for_each(&mut one),
            other => one(other),
        }
    }
    people
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_id_knows_its_name_and_people() {
        let mut handles = Handles::default();
        handles.read(
            "mail",
            &json!({"threads": [
                {"id": "t1", "subject": "Lunch", "from": "Ana <ana@x.test>", "to": ["bo@x.test"]},
                {"id_": 26, "filename": "plan.docx", "shared_with": {"cy@x.test": "rw"}, "owner": {"email": "di@x.test"}},
                {"note": "no id"},
            ]}),
        );
        let lunch = handles.get("mail", "t1").unwrap();
        assert_eq!((lunch.name.as_deref(), lunch.people.len()), (Some("Lunch"), 2));
        let plan = handles.get("mail", " 26 ").unwrap();
        assert_eq!(
            (plan.name.as_deref(), plan.people.clone()),
            (Some("plan.docx"), vec!["cy@x.test".into(), "di@x.test".into()])
        );
        assert_eq!(handles.get("drive", "t1"), None);
    }
}
