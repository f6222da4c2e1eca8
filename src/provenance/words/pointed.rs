//! Whether a read was of one thing that the user pointed at.
//!
//! The selector of the call must be whole and specific (a file name with its extension, a url, an
//! identifier with its noun, a quoted title), stand in what the user typed or was granted, and the
//! call must have returned one item. Searches and lists point at nothing, whatever they return:
//! the answer then chose the item, not the user.

use serde_json::Value;

use super::super::{Destination, DestinationReason, Kind};
use super::tokens::is_quote;
use super::{Said, Words};

/// A read whose result is recorded.
#[derive(Debug, Clone, Copy)]
pub struct ReadCall<'a> {
    /// The tool's name at its upstream.
    pub tool: &'a str,
    /// Its arguments.
    pub arguments: &'a Value,
    /// How many items came back: content blocks, or elements where the one item is a list.
    pub items: usize,
}

/// Words of a tool's name that make it a search or a list.
const SEARCHES: &[&str] = &[
    "search", "searches", "list", "lists", "find", "query", "lookup", "grep", "glob", "browse", "all",
    "recent", "latest", "many", "multiple", "batch", "inbox", "unread", "history", "feed", "timeline",
    "crawl", "explore", "discover", "tree", "results",
];
/// Leaves of the arguments that are looked at.
const LEAVES: usize = 64;

impl Words {
    /// Whether the record that this call returned is one that the user pointed at. `granted` says
    /// whether a human's answer named a value.
    pub fn pointed_at(&self, call: &ReadCall<'_>, granted: &dyn Fn(&str) -> bool) -> bool {
        if call.items != 1 || is_search(call.tool) {
            return false;
        }
        let mut leaves = Vec::new();
        collect(call.arguments, "", &mut leaves);
        leaves.iter().any(|(name, value)| self.selects(name, value, granted))
    }

    fn selects(&self, name: &str, value: &str, granted: &dyn Fn(&str) -> bool) -> bool {
        let value = value.trim();
        if value.is_empty() || value.contains('\n') {
            return false;
        }
        let number = value.trim_start_matches('#').chars().all(|c| c.is_ascii_digit());
        let kind = if is_link(value) {
            Some(Kind::Url)
        } else if has_extension(value) {
            Some(Kind::Path)
        } else if number || is_specific(value) {
            Some(Kind::Id)
        } else {
            None
        };
        let Some(kind) = kind else { return self.quotes(value) };
        if granted(value) || self.quotes(value) {
            return true;
        }
        let is_typed = |text: &str| {
            let destination = Destination {
                pointer: String::new(),
                argument: name.to_owned(),
                is_key: false,
                text: text.to_owned(),
                kind,
                reason: DestinationReason::Declared,
                strict: None,
            };
            matches!(self.typed(&destination), Said::Typed { .. })
        };
        // A file is named by its last component as well: people do not type folders.
        let file = value.rsplit(['/', '\\']).next().filter(|file| kind == Kind::Path && has_extension(file));
        is_typed(value) || file.is_some_and(is_typed)
    }

    /// Whether the user typed this very text in quotes.
    fn quotes(&self, value: &str) -> bool {
        let value = value.to_lowercase();
        let mark = |c: Option<char>| c.is_some_and(|c| is_quote(c) || matches!(c, '\'' | '’'));
        value.chars().count() >= 3
            && self.typed_texts().any(|text| {
                let lower = text.to_lowercase();
                lower.match_indices(&value).any(|(at, part)| {
                    mark(lower.get(..at).and_then(|text| text.chars().next_back()))
                        && mark(lower.get(at + part.len()..).and_then(|text| text.chars().next()))
                })
            })
    }
}

fn is_search(tool: &str) -> bool {
    let mut before_was_lower = false;
    let mut word = String::new();
    let mut found = false;
    for c in tool.chars().take(256).chain(['_']) {
        if !c.is_alphanumeric() || c.is_uppercase() && before_was_lower {
            found |= SEARCHES.contains(&word.as_str());
            word.clear();
        }
        before_was_lower = c.is_lowercase();
        word.extend(c.to_lowercase().filter(|c| c.is_alphanumeric()));
    }
    found
}

fn collect(value: &Value, name: &str, leaves: &mut Vec<(String, String)>) {
    if leaves.len() >= LEAVES {
        return;
    }
    match value {
        Value::String(text) if text.len() <= 2_048 => leaves.push((name.to_owned(), text.clone())),
        Value::Number(number) => leaves.push((name.to_owned(), number.to_string())),
        Value::Array(items) => items.iter().take(LEAVES).for_each(|item| collect(item, name, leaves)),
        Value::Object(members) => {
            members.iter().take(LEAVES).for_each(|(key, member)| collect(member, key, leaves));
        }
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

fn is_link(value: &str) -> bool {
    value.contains("://") || value.starts_with("www.")
}

/// `report.txt`, but not `v1.2`, `example.` or `.env`.
fn has_extension(value: &str) -> bool {
    let file = value.rsplit(['/', '\\']).next().unwrap_or_default();
    file.rsplit_once('.').is_some_and(|(stem, end)| {
        !stem.is_empty()
            && (1..=8).contains(&end.len())
            && end.chars().all(|c| c.is_ascii_alphanumeric())
            && end.chars().any(|c| c.is_ascii_alphabetic())
    })
}

/// A key such as `PROJ-12` or a long identifier: letters or separators together with digits.
fn is_specific(value: &str) -> bool {
    !value.contains(char::is_whitespace)
        && value.chars().any(|c| c.is_ascii_digit())
        && (value.chars().count() >= 6 || value.contains('-') && value.chars().any(char::is_alphabetic))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provenance::words::Origin;
    use serde_json::json;

    fn check(prompt: &str, tool: &str, arguments: &Value, items: usize, expected: bool) {
        let mut words = Words::new();
        words.prompt(prompt, Origin::Typed, &|_| false);
        let call = ReadCall { tool, arguments, items };
        assert_eq!(words.pointed_at(&call, &|_| false), expected, "{prompt} {tool} {arguments}");
    }

    #[test]
    fn one_named_thing_is_pointed_at() {
        let bill = json!({"file_path": "bill-december-2023.txt"});
        check("Can you please pay the bill 'bill-december-2023.txt' for me?", "read_file", &bill, 1, true);
        check("Please pay the bill.", "read_file", &bill, 1, false);
        check("Pay 'bill-december-2023.txt'", "read_file", &bill, 2, false);
        check("Pay 'bill-december-2023.txt'", "search_files", &bill, 1, false);
        check(
            "Pay 'bill-december-2023.txt'",
            "read_file",
            &json!({"path": "/home/m/bill-december-2023.txt"}),
            1,
            true,
        );
        check(
            "She is on www.dora-website.com",
            "get_webpage",
            &json!({"url": "https://www.dora-website.com"}),
            1,
            true,
        );
        check("Look at issue 212", "get_issue", &json!({"issue_number": 212}), 1, true);
        check("Look at it on June 13", "get_issue", &json!({"issue_number": 13}), 1, false);
        check("Answer ticket T-4410.", "get_ticket", &json!({"id": "T-4410"}), 1, true);
        check("Read the mail \"Rent for June\"", "get_mail", &json!({"subject": "rent for June"}), 1, true);
        check("Read the mail about rent", "get_mail", &json!({"subject": "rent"}), 1, false);
    }

    #[test]
    fn a_grant_points_as_well() {
        let words = Words::new();
        let arguments = json!({"url": "https://a.example/x"});
        let call = ReadCall { tool: "fetch", arguments: &arguments, items: 1 };
        assert!(words.pointed_at(&call, &|value| value == "https://a.example/x"));
        assert!(!words.pointed_at(&call, &|_| false));
    }
}
