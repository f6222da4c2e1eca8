//! `bouncer status`: what runs, what does not, why, and where to look next.
//!
//! Ends with exit code 5 when a Bouncer runs none of whose servers is up, so that a script can tell.

use std::io::Write;
use std::path::PathBuf;

use crate::clock;
use crate::config::state_folder;
use crate::transport::{
    ReloadReport, Reply, Request, StandingReport, StatusReport, UpstreamReport, ask, running,
};

use super::Exit;
use super::args::Format;
use super::show::{self, span};

/// What was asked for.
#[derive(Debug, clap::Args)]
pub(super) struct StatusArgs {
    /// How to print; JSON is a line for each Bouncer.
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
    /// The state folder [default: `$BOUNCER_HOME` or `~/.bouncer`].
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
}

/// Runs the command.
pub(super) fn status(args: &StatusArgs, out: &mut dyn Write, err: &mut dyn Write) -> Exit {
    let Some(state) = state_folder(args.state.clone(), &|name| std::env::var(name).ok()) else {
        return show::no_state(err);
    };
    let now = clock::unix_millis();
    let mut reached = 0;
    let mut exit = Exit::Done;
    for (pid, socket) in running(&state) {
        let report = match ask(&socket, &Request::Status) {
            Ok(Reply::Status(report)) => *report,
            // One that was killed leaves its socket.
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => continue,
            Ok(Reply::NotHeard(why)) => {
                let _ = writeln!(err, "warning: Bouncer {pid} does not answer: {}", show::line(&why));
                continue;
            }
            Ok(_) => continue,
            Err(error) => {
                let _ = writeln!(err, "warning: Bouncer {pid} does not answer: {error}");
                continue;
            }
        };
        reached += 1;
        if !report.upstreams.is_empty()
            && report.upstreams.iter().all(|row| row.standing != StandingReport::Up)
        {
            exit = Exit::NoUpstream;
        }
        if args.format == Format::Json {
            let line = serde_json::json!({ "process": pid, "status": report });
            let _ = writeln!(out, "{}", show::harmless(&line.to_string()));
        } else {
            describe(pid, &report, now, out);
        }
    }
    if reached == 0 && args.format == Format::Text {
        let _ = writeln!(
            out,
            "no Bouncer is running (state folder {})",
            show::line(&state.display().to_string())
        );
    }
    let _ = out.flush();
    exit
}

fn describe(pid: u32, report: &StatusReport, now: u64, out: &mut dyn Write) {
    let since = |moment: u64| span(now.saturating_sub(moment) / 1000);
    let client =
        if report.client.is_empty() { "no client yet".to_owned() } else { show::line(&report.client) };
    let program =
        report.program.as_ref().map(|(name, pid)| format!(", started by {} ({pid})", show::line(name)));
    let _ = writeln!(
        out,
        "Bouncer {pid}: {client}{}, for {}",
        program.unwrap_or_default(),
        since(report.started)
    );
    let _ = writeln!(out, "  config {}", show::line(&report.config));
    let _ = writeln!(out, "  audit  {}", show::line(&report.audit));
    if let Some(reload) = &report.reload {
        describe_reload(reload, &since, out);
    }
    let waits = report.open + report.waiting + report.held;
    if waits > 0 {
        let _ = writeln!(
            out,
            "  questions: {} open in the client, {} waiting, {} held for `bouncer approve`",
            report.open, report.waiting, report.held
        );
    }
    for row in &report.upstreams {
        upstream(row, &since, out);
    }
}

fn describe_reload(reload: &ReloadReport, since: &dyn Fn(u64) -> String, out: &mut dyn Write) {
    let ago = since(reload.at);
    if !reload.problems.is_empty() {
        let _ = writeln!(out, "  reload: NOT LOADED {ago} ago; what was in force before still is");
    } else if reload.waiting.is_empty() {
        let _ = writeln!(out, "  reload: in force since {ago}");
    } else {
        let _ = writeln!(out, "  reload: read {ago} ago; restart the client's session to accept what waits");
    }
    for line in reload.problems.iter().flat_map(|problem| problem.lines()) {
        let _ = writeln!(out, "    {}", show::line(line));
    }
    for line in &reload.waiting {
        let _ = writeln!(out, "    waits: {}", show::line(line));
    }
}

fn upstream(row: &UpstreamReport, since: &dyn Fn(u64) -> String, out: &mut dyn Write) {
    let (standing, why) = match &row.standing {
        StandingReport::Starting => ("starting", None),
        StandingReport::Up => ("up", None),
        StandingReport::Restarting(why) => ("restarting", Some(why)),
        StandingReport::Failed(why) => ("failed, trying again", Some(why)),
        StandingReport::Removed => ("taken out of the config", None),
    };
    let held_back =
        if row.withheld.is_empty() { String::new() } else { format!(", {} withheld", row.withheld.len()) };
    let ends = if row.ends == 0 {
        String::new()
    } else {
        format!(", went away {}", show::counted(row.ends, "time", "times"))
    };
    let _ = writeln!(
        out,
        "  {}: {standing} for {}, {}{held_back}{ends}",
        show::line(&row.name),
        since(row.since),
        show::counted(row.tools, "tool", "tools")
    );
    if let Some(why) = why {
        let _ = writeln!(out, "    why: {}", show::line(why));
        let _ = writeln!(out, "    log: {}", show::line(row.log.as_deref().unwrap_or("none")));
    }
    for (name, why) in &row.withheld {
        let _ = writeln!(out, "    withheld: {}: {}", show::line(name), show::line(why));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn each_standing_is_said_with_its_reason() {
        let row = |name: &str, standing| UpstreamReport {
            name: name.to_owned(),
            standing,
            since: 60_000,
            ends: 0,
            tools: 2,
            withheld: BTreeMap::new(),
            log: Some(format!("/s/logs/{name}.log")),
        };
        let away = StandingReport::Restarting("exit code 1\u{1b}[2J".to_owned());
        let away = UpstreamReport { ends: 3, ..row("away", away) };
        let drifted = BTreeMap::from([("send".to_owned(), "its description changed".to_owned())]);
        let held_back = UpstreamReport { tools: 1, withheld: drifted, ..row("drifted", StandingReport::Up) };
        let report = StatusReport {
            version: String::new(),
            started: 0,
            client: String::new(),
            program: Some(("node".to_owned(), 7)),
            config: "/c.yaml".to_owned(),
            policies: Vec::new(),
            reload: None,
            audit: "/s/audit.jsonl".to_owned(),
            upstreams: vec![
                row("new", StandingReport::Starting),
                away,
                row("broken", StandingReport::Failed("program `npx` not found".to_owned())),
                held_back,
                row("gone", StandingReport::Removed),
            ],
            open: 1,
            waiting: 2,
            held: 0,
        };
        let mut out = Vec::new();
        describe(9, &report, 120_000, &mut out);
        let expected = "\
Bouncer 9: no client yet, started by node (7), for 2 min
  config /c.yaml
  audit  /s/audit.jsonl
  questions: 1 open in the client, 2 waiting, 0 held for `bouncer approve`
  new: starting for 1 min, 2 tools
  away: restarting for 1 min, 2 tools, went away 3 times
    why: exit code 1\\u{1b}[2J
    log: /s/logs/away.log
  broken: failed, trying again for 1 min, 2 tools
    why: program `npx` not found
    log: /s/logs/broken.log
  drifted: up for 1 min, 1 tool, 1 withheld
    withheld: send: its description changed
  gone: taken out of the config for 1 min, 2 tools
";
        assert_eq!(String::from_utf8_lossy(&out), expected);
    }
}
