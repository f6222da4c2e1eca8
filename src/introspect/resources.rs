//! The two resources, and the packs as data.

use serde_json::{Value, json};

use super::Knowledge;
use super::server::Fault;
use crate::pack::SHIPPED;
use crate::policy::Locality;

const BUILTIN: &str = "bouncer://policies/builtin";
const AUDIT: &str = "bouncer://audit/summary";

/// What `resources/list` tells.
pub(super) fn list() -> Value {
    json!([
        {"uri": BUILTIN, "name": "builtin-policies", "title": "The packs that ship with Bouncer", "mimeType": "application/yaml"},
        {"uri": AUDIT, "name": "audit-summary", "title": "Counts over the audit log", "mimeType": "application/json"},
    ])
}

/// Reads a resource.
pub(super) fn read(knowledge: &Knowledge, uri: &str) -> Result<Value, Fault> {
    let (kind, text) = match uri {
        BUILTIN => {
            let all: Vec<String> =
                SHIPPED.iter().map(|pack| format!("# {}\n{}", pack.file, pack.text)).collect();
            ("application/yaml", all.join("\n---\n"))
        }
        AUDIT => match (knowledge.audit)(0) {
            Ok(value) => ("application/json", format!("{value:#}")),
            Err(why) => ("application/json", format!("{:#}", json!({"error": why}))),
        },
        _ => return Err(Fault::no_resource()),
    };
    Ok(json!({"contents": [{"uri": uri, "mimeType": kind, "text": text}]}))
}

/// The names of all packs.
pub(super) fn names() -> Vec<String> {
    Knowledge::packs().iter().map(|pack| pack.name.clone()).collect()
}

/// All packs, or the one of this name with its text.
pub(super) fn packs(wanted: Option<&str>) -> Vec<Value> {
    let packs = Knowledge::packs();
    let chosen =
        packs.iter().zip(SHIPPED).filter(|(pack, _)| wanted.is_none_or(|wanted| wanted == pack.name));
    chosen
        .map(|(pack, shipped)| {
            let mut value = json!({
                "name": pack.name,
                "entries": pack.rules.rules.len(),
                "local": pack.locality == Locality::Local,
            });
            if let (Some(_), Value::Object(members)) = (wanted, &mut value) {
                members.insert("yaml".to_owned(), shipped.text.into());
            }
            value
        })
        .collect()
}
