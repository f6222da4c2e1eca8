//! Whether a typed stretch is a value as a whole, and not the front or the middle of a longer one.
//!
//! A command without its last option, or a statement without its condition, is another command:
//! `terraform apply` is not what was typed in "run terraform apply -target=module.test". So such a
//! value counts only in quotes, on a line of its own, or as the rest of its sentence. What is cut off
//! on the left counts as little: "ssh host rm -rf build" does not ask to do that here.

use std::ops::Range;

/// What must stand before a value that is the rest of its sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lead {
    /// Anything: the value is a title or other text.
    Any,
    /// A word that hands over a command, a colon, or nothing.
    Order,
}

/// Words after which a command stands.
const ORDERS: &[&str] = &[
    "run",
    "rerun",
    "re-run",
    "execute",
    "exec",
    "eval",
    "evaluate",
    "invoke",
    "try",
    "type",
    "do",
    "use",
    "using",
    "with",
    "via",
    "is",
    "following",
];

/// Whether the value at `range` stands there as a whole.
pub(super) fn stands_whole(text: &str, range: &Range<usize>, lead: Lead) -> bool {
    let before = text.get(..range.start).unwrap_or_default();
    let after = text.get(range.end..).unwrap_or_default();
    let line = before.rsplit('\n').next().unwrap_or_default();
    let (open, close) = (before.chars().next_back(), after.chars().next());
    if let Some(mark) = open
        && close.is_some_and(|close| pairs(mark, close))
    {
        let outside = before.get(..before.len() - mark.len_utf8()).unwrap_or_default();
        // Quotes inside a command are a part of it; backticks are put around all of one.
        let nested = mark != '`' && line.matches('`').count() % 2 == 1;
        return !nested && (lead == Lead::Any || mark == '`' || hands_over(outside));
    }
    let continued = before.trim_end_matches(['\n', '\r', ' ', '\t']).ends_with('\\');
    if continued {
        return false;
    }
    if is_bullet(line.trim()) && ends_line(after) {
        return true;
    }
    let after = after.strip_prefix(", please").unwrap_or(after);
    let stop =
        after.strip_prefix('.').is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace));
    let mark = after.strip_prefix(['!', '?']);
    (stop || ends_line(after) || mark.is_some_and(ends_line)) && (lead == Lead::Any || hands_over(before))
}

fn pairs(open: char, close: char) -> bool {
    matches!(
        (open, close),
        ('`', '`') | ('"', '"') | ('\'', '\'') | ('“' | '„', '”') | ('‘', '’') | ('«', '»') | ('「', '」')
    )
}

/// Nothing, a prompt sign, or the mark of a list item.
fn is_bullet(line: &str) -> bool {
    matches!(line, "" | "$" | "-" | "*" | "•")
        || line
            .strip_suffix(['.', ')'])
            .is_some_and(|number| !number.is_empty() && number.chars().all(|c| c.is_ascii_digit()))
}

/// Whether the line ends here and does not go on in the next one.
fn ends_line(after: &str) -> bool {
    let mut lines = after.split('\n').map(str::trim);
    let rest = lines.next().unwrap_or_default();
    let next = lines.next().unwrap_or_default();
    let item = next.split_whitespace().next().is_some_and(is_bullet);
    rest.is_empty() && (next.is_empty() || next.starts_with("```") || next.starts_with("~~~") || item)
}

/// Whether a command may begin after this text: the first word that hands one over stands last.
fn hands_over(before: &str) -> bool {
    let before = before.trim_end_matches([' ', '\t']);
    if before.is_empty() || before.ends_with([':', '.', '!', '?', '\n']) {
        return true;
    }
    let start = before.rfind(['.', '!', '?', ':', '\n']).map_or(0, |at| at + 1);
    let sentence = before.get(start..).unwrap_or_default();
    let mut words = sentence.split_whitespace().rev().map(|word| word.trim_matches(',').to_lowercase());
    let last = words.next().unwrap_or_default();
    let order = |word: String| ORDERS.contains(&word.as_str());
    if matches!(last.as_str(), "command" | "query" | "statement" | "script" | "sql") {
        // "the command …", but not "npm run script …".
        return words.next().is_none_or(|word| {
            matches!(word.as_str(), "the" | "this" | "following" | "sql" | "shell" | "run")
        });
    }
    order(last) && !words.any(order)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, value: &str, lead: Lead, expected: bool) {
        let found =
            text.match_indices(value).any(|(at, part)| stands_whole(text, &(at..at + part.len()), lead));
        assert_eq!(found, expected, "{value} in {text}");
    }

    #[test]
    fn a_command_is_the_whole_of_what_was_typed() {
        for (text, value, expected) in [
            ("Run terraform apply -target=module.test", "terraform apply", false),
            ("Run terraform apply -target=module.test", "terraform apply -target=module.test", true),
            ("Run terraform apply. Then post it.", "terraform apply", true),
            ("Please run terraform apply, please", "terraform apply", true),
            ("Run terraform apply\n-target=module.test", "terraform apply", false),
            ("Delete the old stuff: rm -rf build --dry-run", "rm -rf build", false),
            ("Delete the old stuff: rm -rf build", "rm -rf build", true),
            ("Delete row 5, that is DELETE FROM users WHERE id = 5.", "DELETE FROM users", false),
            ("Delete row 5, that is DELETE FROM users WHERE id = 5.", "DELETE FROM users WHERE id = 5", true),
            ("Delete it with `DELETE FROM users WHERE id = 5`", "DELETE FROM users", false),
            ("Can you do `DELETE FROM users` now", "DELETE FROM users", true),
            ("Run this:\nDELETE FROM users\nWHERE id = 5", "DELETE FROM users", false),
            ("Run this:\n```\nDELETE FROM users\n```\nnow", "DELETE FROM users", true),
            ("Run:\n- rm -rf a\n- rm -rf b", "rm -rf a", true),
            ("Run:\nsudo -u x \\\nrm -rf a", "rm -rf a", false),
            ("Run ssh host rm -rf build", "rm -rf build", false),
            ("Run ssh host 'rm -rf build'", "rm -rf build", false),
            ("Run `sh -c \"rm -rf build\" x`", "rm -rf build", false),
            ("Run docker run alpine", "alpine", false),
            ("Run the command \"rm -rf build\" for me", "rm -rf build", true),
            ("terraform apply", "terraform apply", true),
        ] {
            check(text, value, Lead::Order, expected);
        }
        check("Cancel Lunch with Ana and Bob on Friday", "Lunch with Ana and Bob", Lead::Any, false);
        check("Cancel Lunch with Ana and Bob.", "Lunch with Ana and Bob", Lead::Any, true);
        check("Cancel 'Lunch with Ana and Bob' now", "Lunch with Ana and Bob", Lead::Any, true);
    }
}
