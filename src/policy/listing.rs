//! One question for the targets of one list: which calls an answer may cover, and what is said of them.
//!
//! "Delete the newsletters" becomes twenty calls, one after the other, that differ in one id. A person
//! may answer for all of them, but only for what they were shown: exactly these ids of that list, each
//! by its name, with all other arguments equal, each once. Every call is still judged by itself; the
//! answer only takes the place of its question. Argued in `docs/adr/0005-one-question-for-a-list.md`.

use std::collections::BTreeSet;

use serde_json::{Number, Value};
use sha2::{Digest, Sha256};

use crate::provenance::escaped;

use super::facts::{BudgetState, Facts, Via};
use super::verdict::{Reason, Verdict};
use super::{Effect, Outcome, Role};

/// Names shown of a list that is too long for an answer.
const FIRST: usize = 8;
/// Letters of a name and of an id. What is longer is shown cut, and not answered for.
const NAME: usize = 80;
const ID: usize = 64;
/// Depth of arguments that have an exact digest.
const DEPTH: usize = 64;

/// What a question may say and offer of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// What is said of the list: escaped lines.
    pub lines: Vec<String>,
    /// The exact digests of the calls that one answer may cover, the asked one among them; empty where
    /// none is offered.
    pub calls: BTreeSet<String>,
}

/// The list behind a call that is asked about because of one target in a list, and nothing else.
///
/// `tool`: the upstream's configured name and the tool's own. `None` where the question is about
/// anything more than that target, or where what the call does is not the same for each of the list.
pub fn listing(verdict: &Verdict, facts: &Facts, tool: (&str, &str), arguments: &Value) -> Option<Listing> {
    if verdict.outcome != Outcome::Ask || !matches!(facts.effect, Effect::Destroy | Effect::Account) {
        return None;
    }
    let mut open = verdict.open();
    let (Some(finding), None) = (open.next(), open.next()) else { return None };
    let Reason::Destination { facts: target, .. } = &finding.reason else { return None };
    if target.role != Some(Role::Target) || target.via != Via::Argument || target.destination.is_key {
        return None;
    }
    let list = target.siblings.as_ref()?;
    let pointer = target.destination.pointer.as_str();
    let is_whole = match arguments.pointer(pointer)? {
        Value::String(text) => *text == target.destination.text,
        Value::Number(number) => number.to_string() == target.destination.text,
        _ => false,
    };
    if !is_whole {
        return None;
    }
    let left = match facts.budget {
        BudgetState::Taken { used, max } => Some(max.saturating_sub(used)),
        _ => None,
    };
    let fits = |text: &str, most: usize| text.chars().count() <= most;
    let is_cut = |(id, name): &(String, Option<String>)| {
        !fits(id, ID) || name.as_ref().is_some_and(|name| !fits(name, NAME))
    };
    // What is not shown whole, and by a name that nothing contradicts, is not answered for.
    let is_shown = list.total == list.ids.len() && !list.in_doubt && !list.ids.iter().any(is_cut);
    let calls = if is_shown && left != Some(0) {
        let digests = list.ids.iter().map(|(id, _)| exact_digest(tool, &with(arguments, pointer, id)?));
        // FAIL CLOSED: an id that cannot stand in the argument as this one does makes no list.
        digests.collect::<Option<BTreeSet<String>>>().unwrap_or_default()
    } else {
        BTreeSet::new()
    };
    let shown = if calls.is_empty() { FIRST } else { list.ids.len() };
    let mut lines = vec![format!("one of {} in the list of call {}:", list.total, list.call)];
    lines.extend(list.ids.iter().take(shown).map(|(id, name)| {
        let name = name.as_ref().map(|name| format!(" \"{}\"", unquoted(name, NAME))).unwrap_or_default();
        format!("  {}{name}", unquoted(id, ID))
    }));
    if list.ids.len().min(shown) < list.total {
        lines.push(format!("  … and {} more", list.total - list.ids.len().min(shown)));
    }
    let others = u64::try_from(list.total.saturating_sub(1)).unwrap_or(u64::MAX);
    if let Some(left) = left.filter(|left| *left < others) {
        lines.push(format!("  {left} more calls are left of the tool's budget"));
    }
    Some(Listing { lines, calls })
}

/// Escaped, and without a quote that could end our own.
fn unquoted(text: &str, most: usize) -> String {
    escaped(text, most).replace('"', "\\\"")
}

/// The arguments with another id in the place of the one at `pointer`, in the form of that one.
fn with(arguments: &Value, pointer: &str, id: &str) -> Option<Value> {
    let mut other = arguments.clone();
    let place = other.pointer_mut(pointer)?;
    *place = match place {
        Value::Number(_) => {
            let number: Number = id.parse::<u64>().map(Number::from).ok()?;
            (number.to_string() == id).then_some(Value::Number(number))?
        }
        _ => Value::String(id.to_owned()),
    };
    Some(other)
}

/// A digest of upstream, tool and arguments that does not depend on the order of members and on white
/// space. `None` for arguments with numbers that two programs may read differently, or too deep.
pub fn exact_digest(tool: (&str, &str), arguments: &Value) -> Option<String> {
    let mut hash = Sha256::new();
    for part in ["exact", tool.0, tool.1] {
        feed(&mut hash, 't', part);
    }
    feed_value(&mut hash, arguments, 0)?;
    Some(data_encoding::HEXLOWER.encode(&hash.finalize()))
}

fn feed(hash: &mut Sha256, mark: char, text: &str) {
    hash.update([mark as u8]);
    hash.update((text.len() as u64).to_le_bytes());
    hash.update(text);
}

fn feed_value(hash: &mut Sha256, value: &Value, depth: usize) -> Option<()> {
    if depth > DEPTH {
        return None;
    }
    match value {
        Value::Null => hash.update("n"),
        Value::Bool(true) => hash.update("y"),
        Value::Bool(false) => hash.update("f"),
        Value::Number(number) if number.is_u64() || number.is_i64() => feed(hash, '#', &number.to_string()),
        Value::Number(_) => return None,
        Value::String(text) => feed(hash, 's', text),
        Value::Array(items) => {
            feed(hash, '[', &items.len().to_string());
            items.iter().try_for_each(|item| feed_value(hash, item, depth + 1))?;
        }
        Value::Object(members) => {
            feed(hash, '{', &members.len().to_string());
            let mut sorted: Vec<_> = members.iter().collect();
            sorted.sort_unstable_by_key(|(key, _)| *key);
            for (key, member) in sorted {
                feed(hash, 'k', key);
                feed_value(hash, member, depth + 1)?;
            }
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn exact_means_equal_but_for_the_order_of_members() {
        let digest = |arguments: &Value| exact_digest(("mail", "delete"), arguments);
        let one = digest(&json!({"id": "7", "force": true}));
        assert_eq!(one, digest(&json!({"force": true, "id": "7"})));
        for other in [
            json!({"id": 7, "force": true}),
            json!({"id": "7", "force": false}),
            json!({"id": "7"}),
            json!({"id": ["7"], "force": true}),
        ] {
            assert_ne!(one, digest(&other), "{other}");
        }
        assert_ne!(one, exact_digest(("mail", "purge"), &json!({"id": "7", "force": true})));
        assert_eq!(digest(&json!({"id": 7.5})), None);
    }

    /// What is said and offered about the deletion of one of `count` letters.
    fn of_letters(count: usize, tool: &str, arguments: &Value) -> Option<Listing> {
        let letters = (0..count).map(|n| json!({"id": format!("m-{n}x"), "subject": format!("Letter {n}")}));
        of_results(&[blocks(&[letters.collect()])], tool, arguments)
    }

    fn blocks(texts: &[Value]) -> Value {
        let blocks = texts.iter().map(|text| json!({"type": "text", "text": text.to_string()}));
        json!({"content": blocks.collect::<Value>()})
    }

    /// The same after these results.
    fn of_results(results: &[Value], tool: &str, arguments: &Value) -> Option<Listing> {
        use super::super::heuristics::ToolDescription;
        use super::super::{Guard, Policy, Trial, UpstreamIdentity};
        let mut trial = Trial::new(Policy::default(), Guard::default());
        let upstream = UpstreamIdentity { name: "mail".to_owned(), ..UpstreamIdentity::default() };
        let text = json!({"type": "string"});
        let listed = ["search_mail", "delete_email", "send_email"].map(|name| {
            let properties = json!({"id": text, "to": text, "folder": text});
            let entry = json!({"name": name, "inputSchema": {"type": "object", "properties": properties}});
            ToolDescription::from_entry(&entry).unwrap()
        });
        trial.list(&upstream, &listed);
        for (call, result) in (1..).zip(results) {
            trial.shown("mail", "search_mail", call, Some(&json!({})), result);
        }
        let tried = trial.call("mail", tool, arguments);
        listing(&tried.verdict, &tried.facts, ("mail", tool), arguments)
    }

    #[test]
    fn a_list_is_offered_as_far_as_it_is_shown() {
        let found = of_letters(20, "delete_email", &json!({"id": "m-3x"})).unwrap();
        assert_eq!(found.calls.len(), 20);
        let said = found.lines.join("\n");
        assert!(said.starts_with("one of 20 in the list of call 1:"), "{said}");
        assert!((0..20).all(|n| found.lines.contains(&format!("  m-{n}x \"Letter {n}\""))), "{said}");
        assert!(said.ends_with("1 more calls are left of the tool's budget"), "{said}");
        for n in [0, 19] {
            let call = json!({"id": format!("m-{n}x")});
            assert!(found.calls.contains(&exact_digest(("mail", "delete_email"), &call).unwrap()));
        }
        let long = of_letters(500, "delete_email", &json!({"id": "m-3x"})).unwrap();
        assert!(long.calls.is_empty());
        assert!(long.lines.join("\n").contains("one of 500"), "{long:?}");
        assert_eq!(of_letters(1, "delete_email", &json!({"id": "m-0x"})), None);
        assert_eq!(of_letters(20, "delete_email", &json!({"id": "m-99x"})), None, "not in the list");
        assert_eq!(of_letters(20, "send_email", &json!({"id": "m-3x"})), None, "sends are another matter");
    }

    #[test]
    fn only_what_a_result_itself_shows_whole_by_one_name_is_offered() {
        let first = json!({"id": "m-3x", "subject": "Offer"});
        let list = |name: &str| json!([first, {"id": "m-4x", "subject": name}]);
        let whole = |name: &str| blocks(&[list(name)]);
        let document = json!({"resource": {"uri": "file:///a", "text": list("Sale").to_string()}});
        let long = json!([first, {"id": "m".repeat(ID + 1), "subject": "Sale"}]);
        for (results, offered) in [
            (vec![whole("Sale")], true),
            (vec![json!({"structuredContent": {"letters": list("Sale")}, "content": []})], true),
            // Texts beside others, resources and texts within are documents.
            (vec![blocks(&[list("Sale"), json!({"note": 1})])], false),
            (vec![json!({"content": [document]})], false),
            (vec![json!({"structuredContent": {"body": list("Sale").to_string()}})], false),
            (vec![blocks(&[json!({"body": list("Sale").to_string()})])], false),
            // The tool's own list, before and after a document that says otherwise.
            (vec![whole("Contract"), whole("Sale")], false),
            (vec![whole("Contract"), blocks(&[list("Sale"), json!({"note": 1})])], false),
            (vec![whole("Sale"), json!({"structuredContent": {"id": "m-4x", "title": "Contract"}})], false),
            (vec![whole(&"x".repeat(NAME))], true),
            (vec![whole(&"x".repeat(NAME + 1))], false),
            (vec![blocks(&[long])], false),
        ] {
            let found = of_results(&results, "delete_email", &json!({"id": "m-3x"}));
            let calls = found.map(|found| found.calls.len()).unwrap_or_default();
            assert_eq!(calls, if offered { 2 } else { 0 }, "{results:?}");
        }
        let forged = whole("Sale\"\n  m-9x \"All");
        let forged = of_results(&[forged], "delete_email", &json!({"id": "m-3x"})).unwrap();
        let said = "  m-4x \"Sale\\\"\\n  m-9x \\\"All\"";
        assert!(forged.lines.iter().any(|line| line == said), "{forged:?}");
    }

    #[test]
    fn an_id_takes_the_form_of_the_one_it_stands_for() {
        assert_eq!(with(&json!({"id": "7"}), "/id", "8"), Some(json!({"id": "8"})));
        assert_eq!(with(&json!({"id": 7}), "/id", "8"), Some(json!({"id": 8})));
        assert_eq!(with(&json!({"id": 7}), "/id", "x"), None);
        assert_eq!(with(&json!({"id": 7}), "/id", "08"), None);
    }
}
