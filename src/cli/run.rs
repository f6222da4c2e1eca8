//! `bouncer run`: from the command line to the running system.
//!
//! Nothing but MCP frames goes to stdout. What the operator should know goes to stderr, at once where
//! it stops the start, as a log line where it does not. Read `app` next.

use std::env;
use std::ffi::OsString;
use std::io::Write;

use tracing_subscriber::EnvFilter;

use super::Exit;
use super::args::RunArgs;
use crate::app::{self, Reread, Settings, Watching};
use crate::config;
use crate::pack::{builtin_packs, load_policy, refuse_all};
use crate::transport;

/// Serves one client until it leaves.
pub(super) fn run(args: RunArgs, errors: &mut dyn Write) -> Exit {
    start_log("warn");
    let config = match config::load(&args.config, &|name| env::var(name).ok()) {
        Ok(config) => config,
        Err(problems) => {
            for problem in problems {
                // Nothing is left to report to when even this cannot be written.
                let _ = writeln!(errors, "{problem}");
            }
            return Exit::Config;
        }
    };
    for warning in &config.warnings {
        let _ = writeln!(errors, "{warning}");
    }
    for skipped in &config.skipped {
        let _ = writeln!(errors, "note: upstream `{}` is not started: {}", skipped.name, skipped.why);
    }
    let Some(state) = config::state_folder(args.state, &|name| env::var(name).ok()) else {
        let _ = writeln!(
            errors,
            "error: no folder for Bouncer's state\n  help: give one with `--state DIR`, or set BOUNCER_HOME or HOME"
        );
        return Exit::Config;
    };
    let sources = config.policy_sources(&args.policy);
    let loaded = builtin_packs().and_then(|packs| load_policy(&sources, packs));
    let policy = match loaded {
        Ok((policy, warnings)) => {
            for warning in warnings {
                let _ = writeln!(errors, "{warning}");
            }
            policy
        }
        // FAIL CLOSED: a policy that does not load refuses every call, and says so loudly.
        Err(problems) => {
            for problem in &problems {
                let _ = writeln!(errors, "{problem}");
            }
            let _ = writeln!(errors, "error: the policy does not load, so every call will be refused");
            refuse_all(&problems)
        }
    };
    let policy_files = sources.iter().map(|source| source.file().to_owned()).collect();
    let reread = Reread {
        extra_policies: args.policy,
        watching: if args.watch { Watching::On } else { Watching::Off },
    };
    match app::run(Settings { config, state, audit: args.audit, policy_files }, policy, reread) {
        Ok(()) => Exit::Done,
        Err(fault) => {
            let _ = writeln!(errors, "error: {fault}");
            Exit::Config
        }
    }
}

/// Logs go to stderr, plain, at the level of `BOUNCER_LOG` or this one.
pub(super) fn start_log(level: &str) {
    let filter = EnvFilter::try_from_env("BOUNCER_LOG").unwrap_or_else(|_| EnvFilter::new(level));
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(false);
    // A second log in one process (a test) is no fault.
    let _ = log.with_target(false).try_init();
}

/// The arguments of the hidden subcommand that turns this process into a server's, when that is what it
/// was started for. Looked at before anything else, because it stands between us and the server.
pub(super) fn held_child() -> Option<impl Iterator<Item = OsString>> {
    let mut arguments = env::args_os().skip(1);
    (arguments.next()? == transport::HELD_CHILD).then_some(arguments)
}

/// Whether this process was started as the guardian.
pub(super) fn is_guard() -> bool {
    env::args_os().nth(1).is_some_and(|argument| argument == transport::GUARD)
}

/// Becomes the server; returns only when that failed.
pub(super) fn become_child(arguments: impl Iterator<Item = OsString>) -> Exit {
    let fault = transport::become_child(arguments);
    // This is the server's stderr, which goes to its log.
    let _ = writeln!(std::io::stderr(), "{fault}");
    Exit::NoUpstream
}
