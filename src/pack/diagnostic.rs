//! What is wrong with a file that a person wrote: the problem, its place, its cause and the one next
//! step, in the grammar of all operator messages.
//!
//! Problems are collected, never thrown: a file with ten mistakes shows ten. A diagnostic holds no
//! secret; whoever makes one from a value of `env` or `args` names the key and leaves the value out.

use std::fmt;

use serde_json::{Value, json};

/// A place in a file. Both numbers count from 1; columns count characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

impl Position {
    /// The first character of a file.
    pub const START: Self = Self { line: 1, column: 1 };
}

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The file loads; a person should look.
    Warning,
    /// The file does not load.
    Error,
}

impl Severity {
    /// The word of messages.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// One problem of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// The problem: a lower-case fragment without a full stop.
    pub message: String,
    /// The file as the user named it.
    pub file: String,
    /// Where in the file; `None` when the file as a whole is meant.
    pub at: Option<Position>,
    /// What is behind it, where that is not the problem itself.
    pub cause: Option<String>,
    /// The next action.
    pub help: Option<String>,
}

impl Diagnostic {
    /// An error at a place of a file.
    pub fn error(file: &str, at: Position, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            message: message.into(),
            file: file.to_owned(),
            at: Some(at),
            cause: None,
            help: None,
        }
    }

    /// An error of a file as a whole.
    pub fn whole(file: &str, message: impl Into<String>) -> Self {
        Self { at: None, ..Self::error(file, Position::START, message) }
    }

    /// The same as a warning.
    #[must_use]
    pub fn warning(mut self) -> Self {
        self.severity = Severity::Warning;
        self
    }

    /// Adds the cause.
    #[must_use]
    pub fn because(mut self, cause: impl Into<String>) -> Self {
        self.cause = Some(cause.into());
        self
    }

    /// Adds the next action.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Whether it stops the file from loading.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// The problem for programs; what is not said is null. The file is left to whoever names it.
    pub fn as_json(&self) -> Value {
        json!({
            "severity": self.severity.as_str(),
            "message": self.message,
            "line": self.at.map(|at| at.line),
            "column": self.at.map(|at| at.column),
            "cause": self.cause,
            "help": self.help,
        })
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}\n  --> {}", self.severity.as_str(), self.message, self.file)?;
        if let Some(at) = self.at {
            write!(f, ":{}:{}", at.line, at.column)?;
        }
        if let Some(cause) = &self.cause {
            write!(f, "\n  cause: {cause}")?;
        }
        if let Some(help) = &self.help {
            write!(f, "\n  help: {help}")?;
        }
        Ok(())
    }
}

/// Shows a value of the file inside a message: in backticks, one line, at most 60 characters, with
/// control and format characters escaped, so that a file cannot paint over the terminal.
pub fn quoted(text: &str) -> String {
    let mut shown = String::from("`");
    for (count, c) in text.chars().enumerate() {
        if count == 60 {
            shown.push('…');
            break;
        }
        if c.is_control() || ('\u{200b}'..='\u{200f}').contains(&c) || ('\u{202a}'..='\u{202e}').contains(&c)
        {
            shown.extend(c.escape_unicode());
        } else {
            shown.push(c);
        }
    }
    shown.push('`');
    shown
}

/// The known word nearest to `word`, if it is near enough to be what was meant: at most a third of
/// its letters differ.
pub fn nearest<'k>(word: &str, known: &[&'k str]) -> Option<&'k str> {
    let word = word.to_ascii_lowercase();
    known
        .iter()
        .map(|k| (distance(&word, k), *k))
        .filter(|(d, k)| *d * 3 <= k.len().max(3))
        .min()
        .map(|(_, k)| k)
}

/// Edit distance over characters, two swapped neighbours counting as one edit; words longer than 64
/// characters are far from everything.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len() > 64 || b.len() > 64 {
        return usize::MAX / 4;
    }
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut next = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let at = |row: &[usize], at: usize| row.get(at).copied().unwrap_or(usize::MAX / 4);
            let mut best = (at(&row, j) + usize::from(x != y)).min(at(&row, j + 1) + 1).min(at(&next, j) + 1);
            let swapped = i > 0 && j > 0 && a.get(i - 1) == Some(y) && b.get(j - 1) == Some(x);
            if swapped {
                best = best.min(at(&before, j - 1) + 1);
            }
            next.push(best);
        }
        before = std::mem::replace(&mut row, next);
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_problem_place_cause_and_help() {
        let d = Diagnostic::error("policy.yaml", Position { line: 4, column: 3 }, "unknown key `sink_param`")
            .because("no such key")
            .help("write `sink_params`");
        assert_eq!(
            d.to_string(),
            "error: unknown key `sink_param`\n  --> policy.yaml:4:3\n  cause: no such key\n  help: write `sink_params`"
        );
    }

    #[test]
    fn the_nearest_word_is_near() {
        let known = ["sink_params", "max_calls", "exfiltrating"];
        let check =
            |word: &str, expected: Option<&str>| assert_eq!(nearest(word, &known), expected, "{word}");
        check("sink_param", Some("sink_params"));
        check("MAX_CALL", Some("max_calls"));
        check("sink_parmas", Some("sink_params"));
        check("exfil", None);
        check("banana", None);
        check("", None);
    }

    #[test]
    fn shown_values_cannot_paint() {
        assert_eq!(quoted("a\u{1b}[2Jb"), "`a\\u{1b}[2Jb`");
        assert_eq!(quoted(&"x".repeat(100)), format!("`{}…`", "x".repeat(60)));
    }
}
