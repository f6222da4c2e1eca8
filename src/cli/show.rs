//! What the commands print alike: failures, diffs, and text of others made harmless for a terminal.

use std::fmt::Write as _;
use std::io::Write;

use similar::TextDiff;

use crate::provenance::{is_hidden, mask_secrets, secret_key};

use super::Exit;

/// Reports a failure, and returns the exit code.
pub(super) fn failed(err: &mut dyn Write, problem: &str, help: &str, exit: Exit) -> Exit {
    let _ = writeln!(err, "error: {}\n  help: {help}", line(problem));
    exit
}

/// Says that there is no state folder.
pub(super) fn no_state(err: &mut dyn Write) -> Exit {
    let help = "give one with `--state DIR`, or set BOUNCER_HOME or HOME";
    failed(err, "no folder for Bouncer's state", help, Exit::Usage)
}

/// Prints a value for programs.
pub(super) fn json(out: &mut dyn Write, value: &serde_json::Value) {
    // A reader that went away (`| head`) wants no more.
    let _ = writeln!(out, "{}", harmless(&format!("{value:#}")));
}

/// JSON text in which every character that a terminal acts on, or that takes no ink, is an escape of
/// JSON; it means the same.
pub(super) fn harmless(json: &str) -> String {
    let mut shown = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '\n' => shown.push(c),
            // Between values only: strings of JSON hold neither.
            '\t' | '\r' => shown.push(' '),
            _ if c.is_control() || is_hidden(c) => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let _ = write!(shown, "\\u{unit:04x}");
                }
            }
            _ => shown.push(c),
        }
    }
    shown
}

/// A number with its noun.
pub(super) fn counted<N: Copy + PartialEq + From<u8> + std::fmt::Display>(
    number: N,
    one: &str,
    many: &str,
) -> String {
    format!("{number} {}", if number == N::from(1) { one } else { many })
}

/// A span of seconds in words, rounded down.
pub(super) fn span(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..7_200 => format!("{} min", seconds / 60),
        7_200..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} days", seconds / 86_400),
    }
}

/// The day of a moment (UTC), given in milliseconds since 1970.
pub(super) fn date(millis: u64) -> String {
    let moment = i64::try_from(millis).ok().and_then(|millis| jiff::Timestamp::from_millisecond(millis).ok());
    let text = moment.map(|moment| moment.to_string()).unwrap_or_default();
    text.get(..10).unwrap_or("never").to_owned()
}

/// A moment (UTC, to the second), given in milliseconds since 1970.
pub(super) fn moment(millis: u64) -> String {
    let seconds = i64::try_from(millis / 1_000).ok();
    let moment = seconds.and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
    moment.map_or_else(|| "(no time)".to_owned(), |moment| moment.to_string())
}

/// A text on one line without characters that a terminal acts on.
pub(super) fn line(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() || is_hidden(c) {
            let _ = write!(shown, "{}", c.escape_unicode());
        } else {
            shown.push(c);
        }
    }
    shown
}

/// Prints what changes in a file, secrets masked.
pub(super) fn diff(out: &mut dyn Write, name: &str, before: &str, after: &str) {
    let diff = TextDiff::from_lines(before, after);
    let name = line(name);
    let text = diff.unified_diff().context_radius(2).header(&name, &name).to_string();
    for row in text.lines() {
        let _ = writeln!(out, "  {}", masked(row));
    }
}

/// One line of a config: the values of secret-like names and whatever looks like a secret are masked.
pub(super) fn masked(row: &str) -> String {
    let row = row.trim_end_matches('\r').replace('\t', "  ");
    let row = mask_secrets(&row);
    let mut shown = String::new();
    let mut rest = row.as_ref();
    // `"NAME": "value"` and `NAME = "value"`, also several in a line.
    while let Some(at) = rest.find([':', '=']) {
        let (name, value) = rest.split_at(at + 1);
        shown.push_str(name);
        rest = value;
        let name =
            name.trim_end_matches([':', '=']).trim().rsplit([',', '{', ' ']).next().unwrap_or_default();
        let gap = value.len() - value.trim_start().len();
        let quote = value.trim_start().chars().next().filter(|c| matches!(c, '"' | '\''));
        if let Some(quote) = quote
            && secret_key(name.trim_matches(['"', '\'']))
            && let Some(length) = value.get(gap + 1..).and_then(|text| text.find(quote))
            && length > 0
        {
            let _ = write!(shown, "{}{quote}[masked]", value.get(..gap).unwrap_or_default());
            rest = value.get(gap + 1 + length..).unwrap_or_default();
        } else if quote.is_none() && secret_key(name.trim_matches(['"', '\''])) {
            // `NAME: value` inside a string, as headers stand among arguments.
            let length = value.find(['"', '\'']).unwrap_or(value.len());
            let secret = value.get(gap..length).unwrap_or_default();
            if !secret.trim_matches(['{', '[', '}', ']', ',', ' ']).is_empty() {
                let _ = write!(shown, "{}[masked]", value.get(..gap).unwrap_or_default());
                rest = value.get(length..).unwrap_or_default();
            }
        }
    }
    shown.push_str(rest);
    line(&shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_and_controls_do_not_reach_the_terminal() {
        for (row, hidden, kept) in [
            (r#"-   "env": {"API_KEY": "hunter2hunter2", "MODE": "fast"}"#, "hunter2", "fast"),
            (r#"+GITHUB_TOKEN = "abc""#, "abc", "GITHUB_TOKEN"),
            (
                r#"-  "args": ["--header", "Authorization: Bearer sk-neutral-123abcDEF456"]"#,
                "123abcDEF456",
                "Authorization",
            ),
            (r#"- "args": ["--header", "Authorization: Bearer sk-short-1", "next"]"#, "sk-short-1", "next"),
            (r#"- "env": {"TOKENS": {"API_KEY": ["hunter2"]}, "A": 1}"#, "\u{0}", "hunter2"),
            ("-\u{1b}[31mred", "\u{1b}", "red"),
        ] {
            let shown = masked(row);
            assert!(!shown.contains(hidden), "{shown}");
            assert!(shown.contains(kept), "{shown}");
        }
    }

    #[test]
    fn json_means_the_same_without_what_a_terminal_acts_on() {
        let value = serde_json::json!({"a": "\u{1b}[2J\u{9b}2J \u{202e}x \u{e0041}é\n", "b": 1});
        let mut out = Vec::new();
        json(&mut out, &value);
        let text = String::from_utf8(out).unwrap();
        assert!(text.chars().all(|c| c == '\n' || !(c.is_control() || is_hidden(c))), "{text:?}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }

    #[test]
    fn spans_and_days_are_short() {
        for (seconds, expected) in [(5, "5 s"), (60, "1 min"), (7_200, "2 h"), (200_000, "2 days")] {
            assert_eq!(span(seconds), expected);
        }
        assert_eq!(date(1_796_083_200_000), "2026-12-01");
        assert_eq!(date(u64::MAX), "never");
    }

    #[test]
    fn diffs_name_the_file_and_show_both_sides() {
        let mut out = Vec::new();
        diff(&mut out, "f", "a\nb\n", "a\nc\n");
        assert_eq!(String::from_utf8_lossy(&out), "  --- f\n  +++ f\n  @@ -1,2 +1,2 @@\n   a\n  -b\n  +c\n");
    }
}
