//! The summary of a log, for people and for programs.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde_json::{Value, json};

use super::super::show;
use crate::actors::audit::{Count, Summary};
use crate::provenance::escaped;

/// Names of one kind that are shown, those with the most calls first.
const SHOWN: usize = 20;

/// Prints the counts.
pub(super) fn print(summary: &Summary, out: &mut dyn Write) -> io::Result<()> {
    let Count { allow, ask, deny } = summary.verdicts;
    writeln!(out, "{} calls: {allow} allowed, {ask} asked about, {deny} refused", summary.calls)?;
    if let Some((first, last)) = summary.span {
        writeln!(out, "from {} to {}", show::moment(first), show::moment(last))?;
    }
    if summary.prompts > 0 {
        let (prompts, rate) = (summary.prompts, summary.approval_rate());
        writeln!(
            out,
            "{prompts} questions ({} for each 100 calls), {rate} % of them approved",
            summary.prompts_per_100()
        )?;
    }
    if summary.nobody_asked > 0 {
        writeln!(
            out,
            "{} calls should have been asked about, and nobody could be asked",
            summary.nobody_asked
        )?;
    }
    for (title, counts) in
        [("contract", &summary.contracts), ("upstream", &summary.upstreams), ("tool", &summary.tools)]
    {
        table(title, counts, out)?;
    }
    let hours = summary.hours.iter().rev().take(24);
    let hours: BTreeMap<String, Count> =
        hours.map(|(hour, count)| (show::moment(*hour), count.clone())).collect();
    if !hours.is_empty() {
        writeln!(
            out,
            "\n{:44} {:>8} {:>8} {:>8}",
            "hour (the last 24 with calls)", "allowed", "asked", "refused"
        )?;
        for (hour, count) in hours {
            row(&hour, &count, out)?;
        }
    }
    if !summary.outcomes.is_empty() {
        let ends: Vec<String> =
            summary.outcomes.iter().map(|(name, count)| format!("{} {count}", escaped(name, 40))).collect();
        writeln!(out, "\nended with: {}", ends.join(", "))?;
    }
    for (count, what) in [
        (summary.foreign, "lines are no records"),
        (summary.bad_times, "records have no time that makes sense"),
        (summary.incomplete, "verdicts lack a tool or a contract"),
    ] {
        if count > 0 {
            writeln!(out, "note: {count} {what}")?;
        }
    }
    Ok(())
}

fn table(title: &str, counts: &BTreeMap<String, Count>, out: &mut dyn Write) -> io::Result<()> {
    if counts.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{title:44} {:>8} {:>8} {:>8}", "allowed", "asked", "refused")?;
    let mut rows: Vec<(&String, &Count)> = counts.iter().collect();
    rows.sort_by_key(|(_, count)| std::cmp::Reverse(count.allow + count.ask + count.deny));
    for (name, count) in rows.iter().take(SHOWN) {
        row(name, count, out)?;
    }
    if rows.len() > SHOWN {
        writeln!(out, "  … {} more", rows.len() - SHOWN)?;
    }
    Ok(())
}

fn row(name: &str, count: &Count, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "  {:42} {:8} {:8} {:8}", escaped(name, 41), count.allow, count.ask, count.deny)
}

/// The counts for programs. Names are as they stand in the log.
pub(in crate::cli) fn as_json(summary: &Summary) -> Value {
    let mut value = json!(summary);
    if let Value::Object(members) = &mut value {
        members.insert("prompts_per_100_calls".to_owned(), json!(summary.prompts_per_100()));
        members.insert("approval_rate_percent".to_owned(), json!(summary.approval_rate()));
    }
    value
}
