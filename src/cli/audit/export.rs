//! All records as a table or as JSON, line by line in constant memory.

use std::io::{self, BufRead, Write};

use super::super::show;
use crate::actors::audit::{Entry, Records};
use crate::provenance::escaped;

/// Characters of one cell.
const CELL: usize = 4_000;

/// Writes a table. A line that is no record has its number and nothing else.
pub(super) fn csv(log: impl BufRead, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(
        b"record,time,kind,session,call,client,upstream,tool,verdict,contract,reason,answer,outcome,latency_ms\r\n",
    )?;
    let mut records = Records::new(log);
    while let Some(line) = records.next_line()? {
        write!(out, "{}", line.number)?;
        let Some(entry) = Entry::read(line.bytes) else {
            out.write_all(b",,no record,,,,,,,,,,,\r\n")?;
            continue;
        };
        let number = |value: Option<u64>| value.map(|value| value.to_string());
        let time = entry.millis().map(show::moment);
        let (call, latency) = (number(entry.call), number(entry.latency_ms));
        for value in [
            time.as_deref(),
            entry.kind.as_deref(),
            entry.session.as_deref(),
            call.as_deref(),
            entry.client.as_deref(),
            entry.upstream.as_deref(),
            entry.tool.as_deref(),
            entry.verdict.as_deref(),
            entry.contract.as_deref(),
            entry.reason.as_deref(),
            entry.answer.as_deref(),
            entry.outcome.as_deref(),
            latency.as_deref(),
        ] {
            write!(out, ",{}", cell(value.unwrap_or_default()))?;
        }
        out.write_all(b"\r\n")?;
    }
    Ok(())
}

/// A cell (RFC 4180) that no program takes for a formula.
fn cell(text: &str) -> String {
    let text = escaped(text, CELL);
    let guard = if text.starts_with(['=', '+', '-', '@']) { "'" } else { "" };
    if text.contains([',', '"']) || !guard.is_empty() {
        format!("\"{guard}{}\"", text.replace('"', "\"\""))
    } else {
        text
    }
}

/// Writes the records with all they hold; a line that is no JSON as `{"no_record": TEXT}`.
pub(super) fn json(log: impl BufRead, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(b"[")?;
    let mut records = Records::new(log);
    let mut before = "\n";
    while let Some(line) = records.next_line()? {
        out.write_all(before.as_bytes())?;
        before = ",\n";
        let text = std::str::from_utf8(line.bytes).ok();
        let text = text.filter(|text| serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok());
        if let Some(text) = text {
            out.write_all(show::harmless(text).as_bytes())?;
        } else {
            let text = String::from_utf8_lossy(line.bytes.get(..CELL).unwrap_or(line.bytes)).into_owned();
            write!(out, "{}", serde_json::json!({"no_record": escaped(&text, CELL)}))?;
        }
    }
    out.write_all(b"\n]\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "{\"kind\":\"verdict\",\"ts\":1764547200000,\"upstream\":\"m\",\"tool\":\"=cmd()\",\"verdict\":\"deny\",\"reason\":\"a, \\\"b\\\"\\n\"}\nnot json\n";

    #[test]
    fn cells_are_quoted_and_no_formulas() {
        let mut out = Vec::new();
        csv(LOG.as_bytes(), &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let mut lines = text.split("\r\n").skip(1);
        assert_eq!(
            lines.next(),
            Some("1,2025-12-01T00:00:00Z,verdict,,,,m,\"'=cmd()\",deny,,\"a, \"\"b\"\"\\n\",,,")
        );
        assert_eq!(lines.next(), Some("2,,no record,,,,,,,,,,,"));
    }

    #[test]
    fn the_array_is_json_whatever_the_lines_are() {
        let mut out = Vec::new();
        json(LOG.as_bytes(), &mut out).unwrap();
        let value: serde_json::Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(value[0]["tool"], "=cmd()");
        assert_eq!(value[1]["no_record"], "not json");
        out.clear();
        json(&b""[..], &mut out).unwrap();
        assert_eq!(serde_json::from_slice::<serde_json::Value>(&out).unwrap(), serde_json::json!([]));
    }
}
