//! `bouncer report`: the review pack in Markdown, for whoever has to sign off on a set of servers.
//!
//! It says what was looked at, what each tool may do and under which controls, what was found, what the
//! log counted, and what Bouncer does and does not enforce. Text of servers is escaped for Markdown too.

use std::fmt::Write as _;
use std::io::Write;
use std::path::PathBuf;

use super::check::{Files, Found, Row, Server, World, general, servers};
use super::show::counted;
use super::{Exit, audit, run, show};
use crate::actors::audit::{HeadFile, Summary, verify};
use crate::clock;
use crate::policy::{Layer, Outcome, PinMode};
use crate::provenance::escaped;

/// The arguments of `report`.
#[derive(Debug, clap::Args)]
pub(super) struct ReportArgs {
    /// The servers: a bouncer.yaml, or a client's file with `mcpServers` or `servers`.
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// A policy file, after those that the config names; may be given several times.
    #[arg(long, value_name = "FILE")]
    policy: Vec<PathBuf>,
    /// The state folder [default: `$BOUNCER_HOME` or `~/.bouncer`].
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    /// The audit log [default: audit.jsonl in the state folder].
    #[arg(long, value_name = "FILE")]
    audit: Option<PathBuf>,
}

/// The answer that depends on what drift means in the config.
const PINS: &str = "";

/// Each risk with what answers it here, and what stays open.
const LLM: [(&str, &str, &str); 10] = [
    (
        "LLM01 Prompt injection",
        "destinations read from untrusted text are refused or asked about",
        "what the agent says or writes inside a trusted place",
    ),
    (
        "LLM02 Sensitive information disclosure",
        "secret-shaped values and text of another server ask before they leave",
        "rewording by the model",
    ),
    ("LLM03 Supply chain", PINS, "what a server was on the first day"),
    (
        "LLM04 Data and model poisoning",
        "own data is trusted only where declared, and not what was planted",
        "training data",
    ),
    (
        "LLM05 Improper output handling",
        "commands, queries, paths and urls that the model wrote are read before they go out",
        "how a client shows results",
    ),
    (
        "LLM06 Excessive agency",
        "questions for what leaves the user's hands or cannot be undone; budgets and constraints where they are set",
        "the client's built-in tools",
    ),
    ("LLM07 System prompt leakage", "not addressed", "all of it"),
    (
        "LLM08 Vector and embedding weaknesses",
        "results are untrusted whatever store they come from",
        "the store itself",
    ),
    ("LLM09 Misinformation", "not addressed", "all of it"),
    (
        "LLM10 Unbounded consumption",
        "budgets a session where they are set; limits on sizes and waits",
        "the model's own tokens",
    ),
];

/// The same for agents.
const AGENTIC: [(&str, &str, &str); 10] = [
    (
        "ASI01 Agent goal hijack",
        "a place that only the attacker's text named gets nothing, or a person is asked first",
        "harm inside trusted places",
    ),
    (
        "ASI02 Tool misuse and exploitation",
        "each tool is judged by its effect; constraints and budgets where they are set",
        "effects that were guessed wrong",
    ),
    (
        "ASI03 Identity and privilege abuse",
        "servers get a short list of environment variables; audience arguments count as recipients",
        "what a server's token may do",
    ),
    ("ASI04 Agentic supply chain vulnerabilities", PINS, "what a server was on the first day"),
    (
        "ASI05 Unexpected code execution (RCE)",
        "running code is asked about; shell and SQL are read; so are files that run later",
        "the client's own shell",
    ),
    (
        "ASI06 Memory and context poisoning",
        "what was read stays untrusted, from memory servers too",
        "what was read before Bouncer started",
    ),
    (
        "ASI07 Insecure inter-agent communication",
        "a message to another agent is judged as a send",
        "channels outside MCP",
    ),
    (
        "ASI08 Cascading failures",
        "what does not answer refuses; one server does not take others down",
        "the client",
    ),
    (
        "ASI09 Human-agent trust exploitation",
        "questions in a fixed form, few, with origin and destination",
        "a yes without reading",
    ),
    (
        "ASI10 Rogue agents",
        "every call is judged and recorded in a chained log",
        "calls that do not pass Bouncer",
    ),
];

/// Writes the report.
pub(super) fn report(args: &ReportArgs, out: &mut dyn Write, errors: &mut dyn Write) -> Exit {
    run::start_log("error");
    let files = Files { config: &args.config, policy: &args.policy, state: args.state.as_deref() };
    let world = match World::load(&files, errors) {
        Ok(world) => world,
        Err(exit) => return exit,
    };
    let log = args.audit.clone().unwrap_or_else(|| world.audit_log());
    let (servers, general) = (servers(&world), general(&world));
    let mut text = String::new();
    head(args, world.policy_files(), &servers, &general, &mut text);
    inventory(&servers, &mut text);
    findings(&servers, &general, &mut text);
    calls(&log, &mut text);
    limits(world.pin_mode(), &servers, &mut text);
    owasp(world.pin_mode(), &mut text);
    if out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_err() { Exit::Bug } else { Exit::Done }
}

/// A text for a cell of a table: on one line, and no markup.
fn cell(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in escaped(text, 300).chars() {
        if "\\`*_{}[]<>#|!&~".contains(c) {
            shown.push('\\');
        }
        shown.push(c);
    }
    shown
}

fn head(args: &ReportArgs, policies: &[PathBuf], servers: &[Server], general: &[Found], text: &mut String) {
    let tools: usize = servers.iter().map(|server| server.tools.len()).sum();
    let rows = || servers.iter().flat_map(|server| &server.tools);
    let sinks = rows().filter(|row| row.effect.is_sink()).count();
    let guessed = rows().filter(|row| row.layer == Layer::Heuristic).count();
    let open = servers
        .iter()
        .flat_map(|server| server.found.iter().chain(server.tools.iter().flat_map(|row| &row.found)))
        .chain(general)
        .filter(|found| found.needs_decision)
        .count();
    let down = servers.iter().filter(|server| server.down.is_some()).count();
    let policies: Vec<String> = policies.iter().map(|file| cell(&file.display().to_string())).collect();
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "# Bouncer review\n\nConfig {}, looked at {} with Bouncer {}.\nPolicies over the packs that ship with it: {}.\n\n\
         ## Summary\n\n\
         * {}, {down} not reached; {}, {sinks} with effects that leave the user's hands or cannot be undone.\n\
         * {} by a guess from name and schema; the others by a policy or a pack.\n\
         * {} a decision.\n",
        cell(&args.config.display().to_string()),
        show::moment(clock::unix_millis()),
        env!("CARGO_PKG_VERSION"),
        if policies.is_empty() { "none".to_owned() } else { policies.join(", ") },
        counted(servers.len(), "server", "servers"),
        counted(tools, "tool", "tools"),
        ruled(guessed),
        counted(open, "thing needs", "things need"),
    );
}

fn inventory(servers: &[Server], text: &mut String) {
    text.push_str("## Tools\n\nVerdicts are for a trusted, an unknown, and a tainted destination.\n");
    for server in servers {
        let state = server.down.as_deref().unwrap_or(server.pinned);
        let _ = writeln!(text, "\n### {} ({})\n", cell(&server.upstream), cell(state));
        if server.tools.is_empty() {
            continue;
        }
        text.push_str("| tool | effect | by | destinations | verdicts | calls a session | constraints |\n|---|---|---|---|---|---|---|\n");
        for row in &server.tools {
            let by = match row.layer {
                Layer::Heuristic => "guess",
                Layer::Pack => "pack",
                Layer::User => "user",
            };
            let verdicts = [row.verdicts.allowlisted, row.verdicts.unproven, row.verdicts.tainted];
            let _ = writeln!(
                text,
                "| {}{} | {} | {by} | {} | {} | {} | {} |",
                cell(&row.tool),
                if row.is_offered { "" } else { " (not offered)" },
                row.effect,
                cell(&row.sinks.join(", ")),
                verdicts.map(Outcome::as_str).join(" / "),
                row.budget.map_or_else(|| "no limit".to_owned(), |calls| calls.to_string()),
                row.constraints
            );
        }
    }
}

fn findings(servers: &[Server], general: &[Found], text: &mut String) {
    text.push_str("\n## Findings\n\n");
    let mut all: Vec<(String, &Found)> = Vec::new();
    for server in servers {
        let name = cell(&server.upstream);
        all.extend(server.found.iter().map(|found| (format!("{name}: "), found)));
        for Row { tool, found, .. } in &server.tools {
            all.extend(found.iter().map(|found| (format!("{name}.{}: ", cell(tool)), found)));
        }
    }
    all.extend(general.iter().map(|found| (String::new(), found)));
    // What somebody has to do something about comes first.
    all.sort_by_key(|(_, found)| !found.needs_decision);
    for (place, found) in &all {
        let weight = if found.needs_decision { "**needs a decision**" } else { "note" };
        let _ = writeln!(text, "* {weight}: {place}{}: {}", found.kind, cell(&found.text));
    }
    if all.is_empty() {
        text.push_str("None.\n");
    }
}

fn calls(log: &std::path::Path, text: &mut String) {
    text.push_str("\n## Calls\n\n");
    let chain = std::fs::File::open(log).and_then(|file| {
        let kept = HeadFile::beside(log).read().unwrap_or_default();
        verify(std::io::BufReader::with_capacity(1 << 20, file), kept.as_ref())
    });
    let (Ok(checked), Ok(summary)) = (chain, audit::summarize(log)) else {
        text.push_str("There is no audit log yet.\n");
        return;
    };
    let Summary { calls, verdicts, prompts, approved, nobody_asked, .. } = &summary;
    let _ = writeln!(
        text,
        "Audit log {}.\n\n* {}: {} allowed, {} asked about, {} refused.\n\
         * {} ({} for each 100 calls), {approved} of them approved; {} could be asked about by nobody.",
        cell(&log.display().to_string()),
        counted(*calls, "call", "calls"),
        verdicts.allow,
        verdicts.ask,
        verdicts.deny,
        counted(*prompts, "question", "questions"),
        summary.prompts_per_100(),
        counted(*nobody_asked, "more call", "more calls"),
    );
    if let Some((first, last)) = summary.span {
        let _ = writeln!(text, "* From {} to {}.", show::moment(first), show::moment(last));
    }
    let _ = match &checked.broken {
        None => writeln!(text, "* The chain of {} records is whole.", checked.records),
        Some(broken) => {
            writeln!(text, "* **The chain is broken at record {}: {}.**", broken.record, broken.why)
        }
    };
    if summary.foreign + summary.bad_times + summary.incomplete > 0 {
        let _ = writeln!(
            text,
            "* {} lines are no records, {} have no time, {} verdicts are incomplete.",
            summary.foreign, summary.bad_times, summary.incomplete
        );
    }
    if !summary.contracts.is_empty() {
        text.push_str("\n| contract | allowed | asked about | refused |\n|---|---|---|---|\n");
        for (name, count) in &summary.contracts {
            let _ = writeln!(text, "| {} | {} | {} | {} |", cell(name), count.allow, count.ask, count.deny);
        }
    }
}

fn limits(pins: PinMode, servers: &[Server], text: &mut String) {
    let rows = || servers.iter().flat_map(|server| &server.tools);
    let _ = writeln!(
        text,
        "\n## What is enforced, and what is not\n\n\
         Enforced, for every call that passes Bouncer:\n\n\
         * {};\n\
         * budgets count attempts; constraints on paths, hosts, values and patterns hold for every element of an argument;\n\
         * where a call sends, spends, destroys, runs code or changes access, a destination that stood in text of others \
         is refused, or asked about where the policy says so; one that stood in a field such as a sender, or in text that the user pointed at, or that nobody \
         vouched for, is asked about;\n\
         * urls that were made up or altered are not fetched without a question;\n\
         * secrets and long passages of one server ask before another server gets them, unless it keeps to this machine;\n\
         * files that configure Bouncer or a client cannot be written through a tool;\n\
         * a question that nobody can answer is a refusal;\n\
         * every verdict is recorded before its call goes out.\n\n\
         Not enforced:\n\n\
         * what does not pass Bouncer: a client's built-in shell, browser and editor, and servers that are not behind it;\n\
         * what a server does by itself with what it was given;\n\
         * what is said inside a place that the user trusts;\n\
         * values that the attacker spells so that only a reader understands them: they count as unknown, and are asked about;\n\
         * the right answer to a question: a yes without reading protects nobody;",
        pinned(pins),
    );
    let open = rows().filter(|row| row.is_open).count();
    if open > 0 {
        let _ =
            writeln!(text, "* **{}: the policy turns the sink gate off;**", counted(open, "tool", "tools"));
    }
    let guessed = rows().filter(|row| row.layer == Layer::Heuristic).count();
    let _ = writeln!(text, "* what was guessed wrong: {} by name and schema only.", ruled(guessed));
}

/// How many tools are ruled.
fn ruled(tools: usize) -> String {
    if tools == 1 { "1 tool is ruled".to_owned() } else { format!("{tools} tools are ruled") }
}

/// What pins do in this config.
fn pinned(pins: PinMode) -> &'static str {
    match pins {
        PinMode::Enforce => {
            "tools that changed, are new or were renamed are withheld until a person accepts them"
        }
        PinMode::Warn => "**pins only warn: a tool that changed stays usable**",
        PinMode::Off => "**pins are off: a tool that changed goes unnoticed**",
    }
}

fn owasp(pins: PinMode, text: &mut String) {
    for (title, rows) in [
        ("OWASP Top 10 for LLM applications (2025)", LLM),
        ("OWASP Top 10 for agentic applications (2026)", AGENTIC),
    ] {
        let _ = writeln!(
            text,
            "\n## {title}\n\n| risk | what answers it here | what stays open |\n|---|---|---|"
        );
        for (risk, answer, open) in rows {
            let answer = if answer == PINS { pinned(pins) } else { answer };
            let _ = writeln!(text, "| {risk} | {answer} | {open} |");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_of_a_server_is_markup() {
        assert_eq!(cell("a|b <img> `c`\n# d"), "a\\|b \\<img\\> \\`c\\`\\\\n\\# d");
    }
}
