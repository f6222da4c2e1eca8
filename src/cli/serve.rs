//! `bouncer serve`: the introspection server, from the command line to the end of its input.
//!
//! Nothing but MCP messages goes to stdout. Read `introspect` next.

use std::collections::VecDeque;
use std::env;
use std::io::{self, BufReader, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{Exit, audit, show};
use crate::actors::audit::{Entry, Records, Summary};
use crate::actors::follow_links;
use crate::app::guard_over;
use crate::config::state_folder;
use crate::introspect::{Knowledge, serve as serve_lines};
use crate::pack::read_policy;
use crate::provenance::escaped;

/// The arguments of `serve`.
#[derive(Debug, clap::Args)]
pub(super) struct ServeArgs {
    /// A policy file that hypothetical calls are judged by; may be given several times.
    #[arg(long, value_name = "FILE")]
    policy: Vec<PathBuf>,
    /// The state folder, whose audit log is counted [default: `$BOUNCER_HOME` or `~/.bouncer`].
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    /// The audit log [default: audit.jsonl in the state folder].
    #[arg(long, value_name = "FILE")]
    audit: Option<PathBuf>,
}

/// Serves until the input ends.
pub(super) fn serve(args: &ServeArgs, errors: &mut dyn Write) -> Exit {
    let Some(state) = state_folder(args.state.clone(), &|name| env::var(name).ok()) else {
        return show::no_state(errors);
    };
    let log = args.audit.clone().unwrap_or_else(|| state.join("audit.jsonl"));
    let mut user = Vec::new();
    let mut failed = false;
    for file in &args.policy {
        let problems = match read_policy(file) {
            Ok((rules, warnings)) => {
                user.push(rules);
                warnings
            }
            Err(problems) => {
                failed = true;
                problems
            }
        };
        for problem in problems {
            // Nothing is left to report to when even this cannot be written.
            let _ = writeln!(errors, "{problem}");
        }
    }
    if failed {
        return Exit::Config;
    }
    let own = [state.as_path(), &log].into_iter().chain(args.policy.iter().map(PathBuf::as_path));
    let knowledge = Knowledge {
        user,
        files: args.policy.iter().map(|file| file.display().to_string()).collect(),
        guard: guard_over(own),
        folder: env::current_dir().ok().and_then(|folder| folder.to_str().map(str::to_owned)),
        follow: follow_links,
        audit: Box::new(move |limit| count(&log, limit)),
    };
    match serve_lines(knowledge, &mut BufReader::new(io::stdin()), &mut io::stdout()) {
        Ok(()) => Exit::Done,
        // The client is gone.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Exit::Done,
        Err(error) => show::failed(
            errors,
            &format!("stdin and stdout cannot be used: {error}"),
            "start it from a client",
            Exit::Bug,
        ),
    }
}

/// The counts, and the last records without anything that a stranger could have written at length.
fn count(log: &Path, limit: usize) -> Result<Value, String> {
    let file = match std::fs::File::open(log) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok(json!({"summary": audit::summary_as_json(&Summary::default()), "recent": []}));
        }
        Err(error) => return Err(format!("the audit log cannot be read: {error}")),
    };
    let mut records = Records::new(BufReader::with_capacity(1 << 20, file));
    let mut summary = Summary::default();
    let mut recent = VecDeque::with_capacity(limit);
    loop {
        match records.next_line() {
            Ok(Some(line)) => {
                summary.add(line.bytes);
                if let Some(entry) = Entry::read(line.bytes).filter(|entry| limit > 0 && entry.is_verdict()) {
                    recent.truncate(limit);
                    if recent.len() == limit {
                        recent.pop_front();
                    }
                    recent.push_back(brief(&entry, line.number));
                }
            }
            Ok(None) => return Ok(json!({"summary": audit::summary_as_json(&summary), "recent": recent})),
            Err(error) => return Err(format!("the audit log cannot be read: {error}")),
        }
    }
}

fn brief(entry: &Entry<'_>, number: u64) -> Value {
    let text = |value: Option<&str>| value.map(|value| escaped(value, 80));
    json!({
        "record": number,
        "time": entry.millis().map(show::moment),
        "upstream": text(entry.upstream.as_deref()),
        "tool": text(entry.tool.as_deref()),
        "verdict": text(entry.verdict.as_deref()),
        "contract": text(entry.contract.as_deref()),
        "answer": text(entry.answer.as_deref()),
    })
}
