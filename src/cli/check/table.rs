//! The verdict table at 80 columns, and the same as JSON.

use std::fmt::Write as _;
use std::io::Write;

use serde_json::json;

use super::super::show;
use super::rows::{Found, Row, Server};
use crate::policy::Layer;

const WIDTH: usize = 80;
const TOOL: usize = 28;
/// What the columns mean.
const LEGEND: &str = "\
LISTED, UNPROVEN, TAINTED: what a call gets whose destination your policy lists,
nobody vouched for, or a stranger's text named. BY: who says what the tool does.
CALLS: the limit a session.

";

/// Prints servers and findings for people.
pub(super) fn print(servers: &[Server], general: &[Found], out: &mut dyn Write) {
    let mut text = String::new();
    for server in servers {
        let state = if server.down.is_some() { "not reached" } else { server.pinned };
        let count = server.tools.len();
        let tools = if count == 1 { "tool" } else { "tools" };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}: {count} {tools}, {state}", server.upstream);
        if count > 0 {
            text.push_str(&line("TOOL", "EFFECT", ["LISTED", "UNPROVEN", "TAINTED"], "BY", "CALLS"));
        }
        for row in &server.tools {
            text.push_str(&tool(row));
        }
        for found in &server.found {
            text.push_str(&finding(found, "  "));
        }
        text.push('\n');
    }
    if servers.iter().any(|server| !server.tools.is_empty()) {
        text.push_str(LEGEND);
    }
    for found in general {
        text.push_str(&finding(found, ""));
    }
    let all = || {
        let own =
            servers.iter().flat_map(|s| s.found.iter().chain(s.tools.iter().flat_map(|row| &row.found)));
        own.chain(general)
    };
    let open = all().filter(|found| found.needs_decision).count();
    let _ = match open {
        0 => writeln!(text, "nothing needs a decision"),
        1 => writeln!(text, "1 thing needs a decision (marked !)"),
        n => writeln!(text, "{n} things need a decision (marked !)"),
    };
    if all().any(|found| found.kind == "drift") {
        text.push_str("help: `bouncer check --accept` shows each change and asks\n");
    }
    if all().any(Found::is_lasting) {
        text.push_str(
            "help: `bouncer check --accept SERVER.TOOL` accepts a tool as it is, SERVER all of it\n",
        );
    }
    // A reader that went away (`| head`) wants no more.
    let _ = out.write_all(text.as_bytes());
}

fn tool(row: &Row) -> String {
    let verdicts = [&row.verdicts.allowlisted, &row.verdicts.unproven, &row.verdicts.tainted];
    let by = match row.layer {
        Layer::Heuristic => "guess",
        Layer::Pack => "pack",
        Layer::User => "user",
    };
    let calls = row.budget.map_or_else(|| "-".to_owned(), |calls| calls.to_string());
    let name = if row.is_offered { row.tool.clone() } else { format!("({})", row.tool) };
    let mut text = line(&name, row.effect.as_str(), verdicts.map(|outcome| outcome.as_str()), by, &calls);
    if !row.sinks.is_empty() {
        text.push_str(&wrapped("      to: ", &row.sinks.join(", ")));
    }
    for found in &row.found {
        text.push_str(&finding(found, "    "));
    }
    text
}

fn line(tool: &str, effect: &str, verdicts: [&str; 3], by: &str, calls: &str) -> String {
    let [listed, unproven, tainted] = verdicts;
    // A name that does not fit has a line of its own.
    let (head, tool) =
        if tool.chars().count() > TOOL { (format!("  {tool}\n"), "") } else { (String::new(), tool) };
    format!("{head}  {tool:TOOL$} {effect:8} {listed:7} {unproven:9} {tainted:8} {by:6} {calls:>5}\n")
}

fn finding(found: &Found, indent: &str) -> String {
    let mark = if found.needs_decision { '!' } else { '-' };
    wrapped(&format!("{indent}{mark} {}: ", found.kind), &found.text)
}

/// A text after its head, broken at spaces so that lines keep to the width where words allow.
fn wrapped(head: &str, text: &str) -> String {
    let indent = head.chars().take_while(|c| *c == ' ').count() + 2;
    let mut out = head.trim_end().to_owned();
    let mut column = out.chars().count();
    for word in text.split(' ') {
        let length = word.chars().count();
        if column + 1 + length > WIDTH && column > indent {
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            column = indent;
        } else {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += length;
    }
    out.push('\n');
    out
}

/// Prints servers and findings for programs.
pub(super) fn print_json(servers: &[Server], general: &[Found], out: &mut dyn Write) {
    let needs =
        servers.iter().any(Server::needs_decision) || general.iter().any(|found| found.needs_decision);
    let value = json!({"servers": servers, "findings": general, "needs_decision": needs});
    show::json(out, &value);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_keep_to_the_width() {
        let text = wrapped("    ! drift: ", &"word ".repeat(60));
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        assert!(text.starts_with("    ! drift: word word"));
        let row = line(&"x".repeat(40), "destroy", ["allow", "allow", "allow"], "guess", "1000");
        assert!(row.lines().count() == 2 && row.lines().all(|line| line.chars().count() <= WIDTH), "{row}");
    }
}
