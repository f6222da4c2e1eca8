//! Whether the value of an audience argument lets more people in.
//!
//! `private: true`, `role: reader` and `type: user` leave the circle as it is; `private: false`,
//! `visibility: public`, `role: owner` and any value nobody knows widen it. The gate asks about those.

use serde_json::Value;

use super::lexicon::among;
use super::words::words;

/// Values that open nothing to anybody but those named besides.
const NARROW: &str = "private restricted limited none secret closed hidden internal reader viewer read view comment commenter r \
    guest member user group only me owner_only draft unpublished off no false domain_restricted basic";
/// Words in the name of an argument whose `true` closes.
const CLOSES: &str = "private privacy restricted hidden internal confidential";

/// Whether a value of an audience argument makes more people see or do more.
pub fn widens_audience(argument: &str, value: &Value) -> bool {
    let own = argument.rsplit('.').next().unwrap_or(argument);
    let closes = words(own).iter().any(|it| among(&it.text, CLOSES));
    match value {
        Value::Null => false,
        Value::Bool(on) => *on != closes,
        Value::String(text) => {
            let said = words(text);
            said.is_empty() || said.iter().any(|it| !among(&it.text, NARROW))
        }
        Value::Array(items) => items.iter().any(|it| widens_audience(argument, it)),
        // A map keyed by who may: a key that is no plain word names somebody.
        Value::Object(members) => members.iter().any(|(key, it)| {
            !key.chars().all(|c| c.is_ascii_alphabetic() || c == '_') || widens_audience(key, it)
        }),
        Value::Number(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_lets_more_people_in_widens() {
        let check = |argument: &str, value: Value, expected: bool| {
            assert_eq!(widens_audience(argument, &value), expected, "{argument}: {value}");
        };
        check("private", json!(true), false);
        check("private", json!(false), true);
        check("settings.isPublic", json!(true), true);
        check("public", json!(false), false);
        check("visibility", json!("private"), false);
        check("visibility", json!("public"), true);
        check("type", json!("user"), false);
        check("type", json!("anyone"), true);
        check("role", json!("reader"), false);
        check("role", json!("owner"), true);
        check("permission", json!("r"), false);
        check("permission", json!("rw"), true);
        check("visibility", json!(null), false);
        check("visibility", json!(""), true);
        check("visibility", json!(3), true);
        check("roles[]", json!(["viewer", "admin"]), true);
    }
}
