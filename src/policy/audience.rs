//! Arguments that say who may see or use what a call makes: `private`, `visibility`, `type: anyone`.
//!
//! A value that keeps the circle small is harmless; one that widens it carries authority like a
//! recipient. What is not understood widens.

use serde_json::Value;

use super::{Audience, ToolPolicy, select};

/// The audience arguments of a call that let more people in.
pub(super) fn widening(policy: &ToolPolicy, arguments: &Value) -> Vec<String> {
    let audience = policy.args.iter().filter(|rule| rule.audience == Audience::Decides);
    audience
        .filter(|rule| {
            let name = rule.path.0.rsplit('.').next().unwrap_or_default();
            select(arguments, &rule.path).iter().any(|found| widens(name, found.value))
        })
        .map(|rule| rule.path.0.clone())
        .collect()
}

/// Words of a name that speak of keeping things in: `true` keeps, `false` opens.
const KEEPING: [&str; 7] =
    ["private", "internal", "restricted", "hidden", "secret", "confidential", "locked"];

/// Values that keep the circle as small as it can be, or let those who are in only look.
const SMALL: [&str; 26] = [
    "private",
    "privat",
    "none",
    "me",
    "self",
    "owner",
    "only_me",
    "onlyme",
    "restricted",
    "secret",
    "confidential",
    "personal",
    "draft",
    "no",
    "off",
    "false",
    "nobody",
    "default",
    "r",
    "read",
    "reader",
    "view",
    "viewer",
    "readonly",
    "read_only",
    "read-only",
];

/// Whether a value of the audience argument `name` lets more people in.
fn widens(name: &str, value: &Value) -> bool {
    let name = name.to_lowercase();
    let keeps = KEEPING.iter().any(|word| name.contains(word));
    match value {
        Value::Null => false,
        Value::Bool(on) => *on != keeps,
        Value::String(text) => {
            let text = text.trim().to_lowercase();
            if keeps && !SMALL.contains(&text.as_str()) {
                return !matches!(text.as_str(), "" | "true" | "yes" | "on");
            }
            if keeps {
                return matches!(text.as_str(), "false" | "no" | "off" | "none" | "nobody");
            }
            !text.is_empty() && !SMALL.contains(&text.as_str())
        }
        Value::Array(items) => items.iter().any(|item| widens(&name, item)),
        // FAIL CLOSED: a number or an object that we cannot read may mean anyone.
        Value::Number(_) | Value::Object(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::widens;
    use serde_json::json;

    #[test]
    fn only_what_lets_more_people_in_widens() {
        for (name, value, expected) in [
            ("private", json!(true), false),
            ("private", json!(false), true),
            ("isPrivate", json!("false"), true),
            ("public", json!(true), true),
            ("public", json!(false), false),
            ("visibility", json!("private"), false),
            ("visibility", json!("public"), true),
            ("visibility", json!(" Private "), false),
            ("role", json!("writer"), true),
            ("type", json!("anyone"), true),
            ("visibility", json!(null), false),
            ("visibility", json!(["private", "everyone"]), true),
            ("access", json!({"all": 1}), true),
        ] {
            assert_eq!(widens(name, &value), expected, "{name}: {value}");
        }
    }
}
