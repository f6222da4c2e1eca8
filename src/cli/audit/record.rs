//! One record as a person reads it: briefly on a line, or with all its evidence.

use std::io::{self, Write};

use serde_json::Value;

use super::super::show;
use crate::actors::audit::{Entry, Line, verify_line};
use crate::provenance::escaped;

/// Characters of a value that are shown.
const SHOWN: usize = 400;

/// A record on one line.
pub(super) fn brief(line: &[u8]) -> String {
    let Some(entry) = Entry::read(line) else {
        let text = String::from_utf8_lossy(line.get(..120).unwrap_or(line)).into_owned();
        return format!("(no record) {}", escaped(&text, 100));
    };
    let time = entry.millis().map_or_else(|| "(no time)".to_owned(), show::moment);
    let text = |value: Option<&str>, limit: usize| escaped(value.unwrap_or("-"), limit);
    let tool = match entry.upstream.as_deref() {
        Some(upstream) => format!("{}.{}", escaped(upstream, 40), text(entry.tool.as_deref(), 60)),
        None => text(entry.tool.as_deref(), 60),
    };
    if !entry.is_verdict() {
        let after = entry.latency_ms.map(|ms| format!(" after {ms} ms")).unwrap_or_default();
        return format!(
            "{time} {:7} {tool}{after}",
            text(entry.outcome.as_deref().or(entry.kind.as_deref()), 20)
        );
    }
    let answer = match entry.answer.as_deref() {
        Some("no_human") => " (nobody could be asked)".to_owned(),
        Some("tired") => " (not asked: too many refused in a row)".to_owned(),
        Some(answer) => format!(" ({})", escaped(answer, 20)),
        None => String::new(),
    };
    let verdict = text(entry.verdict.as_deref(), 10);
    let mut said = format!("{time} {verdict:7} {tool}{answer}");
    if verdict != "allow" {
        said.extend([": ", &text(entry.reason.as_deref(), 200)]);
    }
    said
}

/// A record with its evidence.
pub(super) fn print(line: &Line<'_>, out: &mut dyn Write) -> io::Result<()> {
    let text = String::from_utf8_lossy(line.bytes);
    let seal = match verify_line(&text) {
        Ok(_) => "its hash fits its text",
        Err(why) => why,
    };
    writeln!(out, "record {} (byte {}, {seal})", line.number, line.at)?;
    let Ok(Value::Object(record)) = serde_json::from_slice::<Value>(line.bytes) else {
        return writeln!(out, "  it is no record: {}", escaped(&text, SHOWN));
    };
    if let Some(millis) = Entry::read(line.bytes).and_then(|entry| entry.millis()) {
        writeln!(out, "  time       {}", show::moment(millis))?;
    }
    for (key, value) in &record {
        match (key.as_str(), value) {
            ("ts" | "prev" | "hash", _) => {}
            ("args", Value::Object(args)) => {
                for (name, value) in args {
                    writeln!(out, "  args.{}: {}", escaped(name, 60), plain(value))?;
                }
            }
            ("evidence", Value::Array(findings)) => {
                for finding in findings {
                    evidence(finding, out)?;
                }
            }
            (key, value) => writeln!(out, "  {:10} {}", escaped(key, 40), plain(value))?,
        }
    }
    Ok(())
}

/// One finding. What is not known is shown as it is.
pub(in crate::cli) fn evidence(finding: &Value, out: &mut dyn Write) -> io::Result<()> {
    let outcome = finding.get("outcome").and_then(Value::as_str).unwrap_or("?");
    let reason = finding.get("reason").unwrap_or(finding);
    let Some(destination) = reason.get("destination") else {
        return writeln!(out, "  evidence   {}: {}", escaped(outcome, 10), plain(reason));
    };
    let value = destination.pointer("/facts/destination");
    let text = |pointer: &str| value.and_then(|value| value.pointer(pointer)).map(plain).unwrap_or_default();
    let provenance = destination.get("provenance").map(plain).unwrap_or_default();
    writeln!(
        out,
        "  evidence   {}: `{}` = {} ({}) is {provenance}",
        escaped(outcome, 10),
        text("/argument"),
        text("/text"),
        text("/kind")
    )?;
    for (name, known) in [("allowed by", "allowlisted"), ("granted by", "granted")] {
        let known = destination.pointer(&format!("/facts/{known}")).filter(|known| !known.is_null());
        if let Some(known) = known {
            writeln!(out, "             {name} {}", plain(known))?;
        }
    }
    let places = destination.pointer("/facts/trace/places").and_then(Value::as_array);
    for place in places.into_iter().flatten().take(8) {
        let of = |key: &str| place.get(key).map(plain).unwrap_or_default();
        writeln!(
            out,
            "             read at {}.{}, call {}, {} as {}",
            of("upstream"),
            of("tool"),
            of("call"),
            of("path"),
            of("kind")
        )?;
        let excerpt = place.get("excerpt").and_then(Value::as_str).unwrap_or_default();
        writeln!(out, "               \"{}\"", escaped(excerpt, 120))?;
    }
    Ok(())
}

/// A value on one line.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => escaped(text, SHOWN),
        other => escaped(&other.to_string(), SHOWN),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_harmless_whatever_stands_in_it() {
        let check = |line: &str, expected: &str| assert_eq!(brief(line.as_bytes()), expected);
        check(
            r#"{"kind":"verdict","ts":1764547200123,"upstream":"mail","tool":"send","verdict":"deny","contract":"sink_gate","reason":"x\u001b[2Jy"}"#,
            "2025-12-01T00:00:00Z deny    mail.send: x\\u{1b}[2Jy",
        );
        check(
            r#"{"kind":"outcome","ts":1764547200123,"upstream":"mail","tool":"send","outcome":"result","latency_ms":12}"#,
            "2025-12-01T00:00:00Z result  mail.send after 12 ms",
        );
        check("\u{1b}[31mhello", "(no record) \\u{1b}[31mhello");
        check(r#"{"tool":"send","verdict":"allow"}"#, "(no time) allow   send");
    }

    #[test]
    fn evidence_is_told_with_its_places() {
        let record = r#"{"kind":"verdict","verdict":"deny","args":{"to":"m@evil.example"},"evidence":[{"outcome":"deny","reason":{"destination":{"facts":{"destination":{"argument":"to","text":"m@evil.example","kind":"email"},"allowlisted":null,"trace":{"places":[{"upstream":"web","tool":"fetch","call":3,"path":"$['a']","kind":"free_text","excerpt":"to m@evil\nnow"}]}},"provenance":"free-text"}}},{"outcome":"ask","reason":"no_destination"}]}"#;
        let mut out = Vec::new();
        let line = Line { number: 4, at: 9, bytes: record.as_bytes(), is_whole: true };
        print(&line, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        for piece in [
            "record 4 (byte 9, it has no hash)",
            "args.to: m@evil.example",
            "deny: `to` = m@evil.example (email) is free-text",
            "read at web.fetch, call 3, $['a'] as free_text",
            "\"to m@evil\\nnow\"",
            "ask: no_destination",
        ] {
            assert!(text.contains(piece), "{piece} is not in\n{text}");
        }
    }
}
