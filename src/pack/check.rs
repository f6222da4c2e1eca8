//! Reads typed values out of a tree and collects every problem on the way.
//!
//! Nothing is coerced: a string is no list of one, `'0'` is no number, an empty value is no empty
//! mapping. Each reader returns `None` after it has noted why.

use super::diagnostic::{Diagnostic, Position, nearest, quoted};
use super::tree::{Entry, Node, Parsed, Value};

/// Collects the problems of one file while its values are read.
#[derive(Debug)]
pub struct Checker {
    file: String,
    problems: Vec<Diagnostic>,
}

impl Checker {
    /// A checker for the file with this name, as the user would write it.
    pub fn new(file: &str) -> Self {
        Self { file: file.to_owned(), problems: Vec::new() }
    }

    /// The file's name.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The tree of what was parsed, its problems noted. `None` when nothing is left to check.
    pub fn tree(&mut self, parsed: Parsed) -> Option<Node> {
        self.problems.extend(parsed.problems);
        parsed.node
    }

    /// Notes an error.
    pub fn error(&mut self, at: Position, message: impl Into<String>, help: impl Into<String>) {
        self.problems.push(Diagnostic::error(&self.file, at, message).help(help));
    }

    /// Notes a warning.
    pub fn warn(&mut self, at: Position, message: impl Into<String>, help: impl Into<String>) {
        self.problems.push(Diagnostic::error(&self.file, at, message).help(help).warning());
    }

    /// Whether an error was noted.
    pub fn failed(&self) -> bool {
        self.problems.iter().any(Diagnostic::is_error)
    }

    /// All that was noted, in the order of the file.
    pub fn into_problems(mut self) -> Vec<Diagnostic> {
        self.problems.sort_by_key(|d| d.at);
        self.problems
    }

    /// The value, if nothing was wrong, with the warnings; otherwise all problems.
    ///
    /// # Errors
    /// All problems, when one of them is an error.
    pub fn finish<T>(self, value: T) -> Result<(T, Vec<Diagnostic>), Vec<Diagnostic>> {
        let failed = self.failed();
        let problems = self.into_problems();
        if failed { Err(problems) } else { Ok((value, problems)) }
    }

    /// Notes that `what` has the wrong type.
    pub fn wrong_type(&mut self, node: &Node, what: &str, expected: &str) {
        let help = match &node.value {
            Value::Null => format!("write {expected} or take the key out"),
            _ if expected == "a mapping" => "write keys with their values: `KEY: VALUE`".to_owned(),
            Value::String(s) if expected.starts_with("a list") => format!("write `[{}]`", one_line(s)),
            Value::String(s)
                if expected == "true or false" && matches!(s.as_str(), "yes" | "on" | "Yes" | "On") =>
            {
                "write `true`".to_owned()
            }
            Value::String(s)
                if expected == "true or false" && matches!(s.as_str(), "no" | "off" | "No" | "Off") =>
            {
                "write `false`".to_owned()
            }
            Value::String(s) if expected.starts_with("a whole number") && s.parse::<u32>().is_ok() => {
                format!("write `{s}` without quotes")
            }
            Value::Int(i) if expected == "a string" => format!("write `\"{i}\"`"),
            Value::Bool(b) if expected == "a string" => format!("write `\"{b}\"`"),
            Value::Float(f) if expected == "a string" => format!("write `\"{f}\"`"),
            _ => format!("write {expected}"),
        };
        self.error(node.at, format!("{what} must be {expected}, not {}", node.describe()), help);
    }

    /// Notes an entry whose key is not known here.
    pub fn unknown_key(&mut self, entry: &Entry, place: &str, known: &[&str]) {
        let list = known.join(", ");
        let help = match nearest(&entry.key, known) {
            Some(near) => format!("write `{near}`; known keys: {list}"),
            None => format!("known keys: {list}"),
        };
        self.error(entry.at, format!("unknown key {} {place}", quoted(&entry.key)), help);
    }

    /// The entries of a mapping.
    pub fn map<'n>(&mut self, node: &'n Node, what: &str) -> Option<&'n [Entry]> {
        if let Value::Map(entries) = &node.value {
            Some(entries)
        } else {
            self.wrong_type(node, what, "a mapping");
            None
        }
    }

    /// The items of a list.
    pub fn list<'n>(&mut self, node: &'n Node, what: &str) -> Option<&'n [Node]> {
        if let Value::Seq(items) = &node.value {
            Some(items)
        } else {
            self.wrong_type(node, what, "a list");
            None
        }
    }

    /// A string that is not empty.
    pub fn string<'n>(&mut self, node: &'n Node, what: &str) -> Option<&'n str> {
        match &node.value {
            Value::String(s) if s.is_empty() => {
                self.error(node.at, format!("{what} is empty"), "write a value or take the key out");
                None
            }
            Value::String(s) => Some(s),
            _ => {
                self.wrong_type(node, what, "a string");
                None
            }
        }
    }

    /// A list of strings, none of them empty.
    pub fn strings(&mut self, node: &Node, what: &str) -> Option<Vec<String>> {
        let Value::Seq(items) = &node.value else {
            self.wrong_type(node, what, "a list of strings");
            return None;
        };
        let read: Vec<_> =
            items.iter().map(|item| self.string(item, &format!("an item of {what}"))).collect();
        read.into_iter().map(|s| s.map(str::to_owned)).collect()
    }

    /// `true` or `false`.
    pub fn boolean(&mut self, node: &Node, what: &str) -> Option<bool> {
        if let Value::Bool(b) = node.value {
            Some(b)
        } else {
            self.wrong_type(node, what, "true or false");
            None
        }
    }

    /// A whole number from 0 to 4,294,967,295.
    pub fn count(&mut self, node: &Node, what: &str) -> Option<u32> {
        let Value::Int(number) = node.value else {
            self.wrong_type(node, what, "a whole number");
            return None;
        };
        let fits = u32::try_from(number).ok();
        if fits.is_none() {
            let message = format!("{what} must be from 0 to {}, not `{number}`", u32::MAX);
            self.error(node.at, message, "write 0 to forbid the call");
        }
        fits
    }

    /// One of a fixed set of words.
    pub fn choice<T: Copy>(&mut self, node: &Node, what: &str, choices: &[(&str, T)]) -> Option<T> {
        let text = self.string(node, what)?;
        if let Some((_, value)) = choices.iter().find(|(word, _)| *word == text) {
            return Some(*value);
        }
        let words: Vec<&str> = choices.iter().map(|(w, _)| *w).collect();
        let list = words.join(", ");
        let help = match nearest(text, &words) {
            Some(near) => format!("write `{near}`; one of {list}"),
            None => format!("write one of {list}"),
        };
        self.error(node.at, format!("{what} is {}, which is not known", quoted(text)), help);
        None
    }

    /// A span of time: a number of seconds, or a number with `ms`, `s` or `m`. At most a day.
    pub fn duration(&mut self, node: &Node, what: &str) -> Option<std::time::Duration> {
        let text = match &node.value {
            Value::Int(i) => i.to_string(),
            Value::Float(f) | Value::String(f) => f.clone(),
            _ => String::new(),
        };
        let unit_at = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
        let (number, unit) = text.split_at(unit_at);
        let scale = match unit.trim() {
            "ms" => 0.001,
            "" | "s" => 1.0,
            "m" => 60.0,
            _ => f64::NAN,
        };
        let seconds = number.parse::<f64>().unwrap_or(f64::NAN) * scale;
        if (0.0..=86_400.0).contains(&seconds) {
            return std::time::Duration::try_from_secs_f64(seconds).ok();
        }
        self.error(
            node.at,
            format!("{what} is not a span of time"),
            "write seconds, or a number with its unit: `30`, `500ms`, `2m`; at most a day",
        );
        None
    }
}

fn one_line(text: &str) -> String {
    quoted(text).trim_matches('`').to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::tree::parse_yaml;
    use super::*;

    #[test]
    fn nothing_is_coerced() {
        let node = parse_yaml("[x, '0', 0.0, false, -1, 7, yes, ~, [a, 1]]", "f").whole().unwrap();
        let Value::Seq(items) = &node.value else { panic!() };
        let mut c = Checker::new("f");
        let counts: Vec<_> = items.iter().map(|n| c.count(n, "max_calls")).collect();
        assert_eq!(counts, [None, None, None, None, None, Some(7), None, None, None]);
        assert!(items.iter().all(|n| c.boolean(n, "x").is_none() || n.value == Value::Bool(false)));
        assert!(items.iter().all(|n| c.strings(n, "x").is_none()));
        let text: Vec<_> = c.into_problems().iter().map(ToString::to_string).collect();
        assert!(text.iter().any(|t| t.contains("help: write `true`")), "{text:?}");
        assert!(text.iter().any(|t| t.contains("not `-1`")), "{text:?}");
    }

    #[test]
    fn spans_of_time_have_units() {
        let check = |text: &str, millis: Option<u128>| {
            let node = parse_yaml(text, "f").whole().unwrap();
            let got = Checker::new("f").duration(&node, "wait").map(|d| d.as_millis());
            assert_eq!(got, millis, "{text}");
        };
        check("4", Some(4000));
        check("0.5", Some(500));
        check("500ms", Some(500));
        check("2m", Some(120_000));
        check("2 s", Some(2000));
        check("-1", None);
        check("2h", None);
        check("[1]", None);
        check("1e30", None);
        check("99999999", None);
    }
}
