//! Exported names: what clients call a tool.
//!
//! A name is a pure function of the upstream's prefix and the tool's own name, never of who else is
//! there, so it is the same after every restart. It is at most 50 characters of `[A-Za-z0-9_-]`,
//! because the longest prefix that a client puts before it is 14 and the shortest limit is 64. A name that
//! had to be changed to fit, or that could be read as another upstream's, ends in a hash of the whole.
//! Nothing splits a name again: `catalog.rs` resolves it by table.

use data_encoding::BASE32_NOPAD;
use sha2::{Digest, Sha256};

/// The most characters of an exported name.
pub const NAME_LIMIT: usize = 50;

/// Between prefix and tool.
const SEPARATOR: &str = "__";
/// An underscore and eight letters of hash.
const TAIL: usize = 9;
/// What is left of a prefix in a name that is too long.
const PREFIX_KEPT: usize = 20;

/// The name under which clients see `tool` of the upstream with `prefix`; an empty prefix exports
/// the tool bare.
pub fn exported(prefix: &str, tool: &str) -> String {
    let separator = if prefix.is_empty() { "" } else { SEPARATOR };
    let whole = prefix.len() + separator.len() + tool.len();
    if is_clean(tool) && is_plain_prefix(prefix) && whole <= NAME_LIMIT {
        return format!("{prefix}{separator}{tool}");
    }
    let mut kept_prefix = clean(prefix);
    let mut kept_tool = clean(tool);
    if kept_prefix.len() + separator.len() + kept_tool.len() + TAIL > NAME_LIMIT {
        kept_prefix.truncate(PREFIX_KEPT);
        let left = NAME_LIMIT - TAIL - separator.len() - kept_prefix.len();
        kept_tool.truncate(left);
    }
    format!("{kept_prefix}{separator}{kept_tool}_{}", hash(prefix, tool))
}

/// Whether the first `__` of a name made with this prefix ends the prefix, so that no other prefix
/// of the kind can make the same name.
fn is_plain_prefix(prefix: &str) -> bool {
    is_clean(prefix) && !prefix.contains(SEPARATOR) && !prefix.ends_with('_') || prefix.is_empty()
}

fn is_clean(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(is_allowed)
}

fn is_allowed(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

/// The allowed characters of a text, each run of others as one underscore.
fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len().min(NAME_LIMIT));
    for letter in text.chars() {
        if letter.is_ascii_alphanumeric() || letter == '_' || letter == '-' {
            out.push(letter);
        } else if !out.ends_with('_') {
            out.push('_');
        }
    }
    out.truncate(out.trim_end_matches('_').len());
    out
}

fn hash(prefix: &str, tool: &str) -> String {
    let mut digest = Sha256::new();
    digest.update(prefix.as_bytes());
    digest.update([0]);
    digest.update(tool.as_bytes());
    let digest = digest.finalize();
    BASE32_NOPAD.encode(digest.get(..5).unwrap_or_default()).to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn clean_names_are_joined_and_others_end_in_a_hash() {
        fn check(prefix: &str, tool: &str, expected: &str) {
            let name = exported(prefix, tool);
            match expected.strip_suffix('*') {
                Some(start) => {
                    let (head, tail) = name.split_at(name.len() - TAIL);
                    assert_eq!(head, start, "{name}");
                    assert!(tail.starts_with('_') && tail.len() == TAIL, "{name}");
                }
                None => assert_eq!(name, expected),
            }
            assert!(name.len() <= NAME_LIMIT && is_clean(&name), "{name}");
        }
        check("x", "search", "x__search");
        check("ctx", "resolve-library-id", "ctx__resolve-library-id");
        check("a", "b__c", "a__b__c");
        check("a__b", "c", "a__b__c*");
        check("acme", "_status", "acme___status");
        check("acme_", "status", "acme__status*");
        check("my__server", "do_thing", "my__server__do_thing*");
        check("My Tools 工具", "run", "My_Tools__run*");
        check("工具", "run", "__run*");
        check("", "bare_tool", "bare_tool");
        check("", "files.read", "files_read*");
        check("n", "namespace/subtool", "n__namespace_subtool*");
        check("n", "event_types-get_event_type", "n__event_types-get_event_type");
        check("n", "_5gpt_query", "n___5gpt_query");
        check("n", "123_tool", "n__123_tool");
        check(
            "g",
            "GOOGLESHEETS_SPREADSHEETS_VALUES_BATCH_CLEAR_BY_DATA_FILTER",
            "g__GOOGLESHEETS_SPREADSHEETS_VALUES_BATCH*",
        );
        check(
            "a-very-long-upstream-name-indeed",
            "and_a_rather_long_tool_name",
            "a-very-long-upstream__and_a_rather_long_t*",
        );
        check("chrome-devtools", "click", "chrome-devtools__click");
        check("n", "", "n__*");
    }

    proptest! {
        #[test]
        fn two_tools_never_share_a_name(a in "[a-c_.]{0,4}", b in "[a-c_/]{1,4}", c in "[a-c_.]{0,4}", d in "[a-c_/]{1,4}") {
            prop_assume!((&a, &b) != (&c, &d) && !a.is_empty() && !c.is_empty());
            prop_assert_ne!(exported(&a, &b), exported(&c, &d));
        }
    }
}
