//! `evasions.json`: texts that upstreams showed, and the respelled values that a model may make of them.
//!
//! Each row is recorded as results of a call and its value is traced as a declared destination. A row may
//! be traced (`tainted`), may not (`not_tainted`), or may be asked about but never allowed (`either`).

use bouncer::provenance::{Engine, Floor, Kind, Limits, PlaceKind, Record, Source, Standing, extract};
use serde_json::{Value, json};

use crate::rows;

/// The records of a row are separated by this.
const SEPARATOR: char = '\u{1e}';

/// The kind a policy would declare for an argument of a row's kind.
fn kind(name: &str) -> Option<Kind> {
    match name {
        "email" => Some(Kind::Email),
        "url" => Some(Kind::Url),
        "host" => Some(Kind::Host),
        "phone" => Some(Kind::Phone),
        "iban" | "account" => Some(Kind::Account),
        "channel" | "handle" => Some(Kind::Channel),
        "path" | "share" => Some(Kind::Path),
        "repo" => Some(Kind::Repo),
        "id" => Some(Kind::Id),
        "name" => Some(Kind::Name),
        _ => None,
    }
}

/// What the decision table would see: whether anything was traced as a whole, and whether any place would
/// vouch for the value.
fn outcome(corpus: &str, value: &str, name: &str) -> (bool, bool) {
    let mut engine = Engine::new(Limits::default(), [7; 16]);
    for (call, text) in (1_u64..).zip(corpus.split(SEPARATOR)) {
        let message = json!({"content": [{"type": "text", "text": text}]}).to_string();
        engine.record(&Record {
            upstream: "web",
            tool: Some("fetch"),
            call,
            source: Source::Result,
            message: message.as_bytes(),
            own_data: &[],
            pointed: false,
        });
    }
    let found = extract(&json!({ "to": value }), &|_| Standing::Authority(kind(name)));
    let answers: Vec<_> = found.destinations.iter().map(|destination| engine.trace(destination)).collect();
    let places = || answers.iter().flat_map(|trace| &trace.places);
    let traced = places().any(|place| place.floor == Floor::Deny);
    let vouched = places().any(|place| place.kind == PlaceKind::OwnData);
    (traced, vouched)
}

#[test]
fn evasions() {
    let Some(rows) = rows("evasions.json") else { return };
    let mut wrong = Vec::new();
    for row in &rows {
        let field = |name: &str| row.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (traced, vouched) = outcome(&field("corpus_text"), &field("call_value"), &field("kind"));
        let right = match field("expect").as_str() {
            "tainted" => traced,
            "not_tainted" => !traced,
            _ => true,
        };
        if !right || vouched {
            wrong.push(format!(
                "{}: expected {}, traced {traced}: {}",
                field("id"),
                field("expect"),
                field("why")
            ));
        }
    }
    assert!(wrong.is_empty(), "{} of {} rows:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}
