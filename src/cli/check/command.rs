//! The options of `check`, and which of its works they ask for.

use std::io::Write;
use std::path::PathBuf;

use super::super::args::Format;
use super::super::{Exit, run, show};
use super::world::{Files, World};
use super::{accept, call, cases, rows, table};

/// What was asked for.
#[derive(Debug, Clone, clap::Args)]
pub(in crate::cli) struct CheckArgs {
    /// The servers: a bouncer.yaml, or a client's file with `mcpServers` or `servers`.
    #[arg(long, value_name = "FILE", required_unless_present = "cases")]
    pub(super) config: Option<PathBuf>,
    /// A policy file, after those that the config names; may be given several times.
    #[arg(long, value_name = "FILE")]
    pub(super) policy: Vec<PathBuf>,
    /// The folder of pins, grants and the audit log [default: `$BOUNCER_HOME` or `~/.bouncer`].
    #[arg(long, value_name = "DIR")]
    pub(super) state: Option<PathBuf>,
    /// How to print.
    #[arg(long, value_enum, default_value = "text")]
    pub(super) format: Format,
    /// Judge one call of this tool, `upstream.tool`, without sending it.
    #[arg(long, value_name = "TOOL", conflicts_with_all = ["cases", "accept"])]
    pub(super) call: Option<String>,
    /// The arguments of the call, as a JSON object.
    #[arg(long, value_name = "JSON", default_value = "{}")]
    pub(super) args: String,
    /// A file whose text the agent has read before the call; may be given several times.
    #[arg(long, value_name = "FILE", requires = "call")]
    pub(super) context: Vec<PathBuf>,
    /// What the user has typed before the call; may be given several times.
    #[arg(long, value_name = "TEXT", requires = "call")]
    pub(super) user_said: Vec<String>,
    /// Run the policy cases of this file; starts no server. May be given several times.
    #[arg(long, value_name = "FILE", conflicts_with = "accept")]
    pub(super) cases: Vec<PathBuf>,
    /// Show what changed since it was first seen, of all servers or of this one, and accept it.
    #[arg(long, value_name = "UPSTREAM[.TOOL]", num_args = 0..=1, default_missing_value = "")]
    pub(super) accept: Option<String>,
}

/// Runs the command.
pub(in crate::cli) fn check(args: &CheckArgs, out: &mut dyn Write, errors: &mut dyn Write) -> Exit {
    run::start_log("error");
    let exit = if args.cases.is_empty() { look(args, out, errors) } else { cases::cases(args, out, errors) };
    if out.flush().is_err() { Exit::Bug } else { exit }
}

fn look(args: &CheckArgs, out: &mut dyn Write, errors: &mut dyn Write) -> Exit {
    let config = args.config.clone().unwrap_or_default();
    let files = Files { config: &config, policy: &args.policy, state: args.state.as_deref() };
    let world = match World::load(&files, errors) {
        Ok(world) => world,
        Err(exit) => return exit,
    };
    if let Some(which) = &args.accept {
        return accept::accept(&world, which, out, errors);
    }
    if let Some(tool) = &args.call {
        return call::call(&world, tool, args, out, errors);
    }
    let servers = rows::servers(&world);
    let general = rows::general(&world);
    match args.format {
        Format::Text => table::print(&servers, &general, out),
        Format::Json => table::print_json(&servers, &general, out),
    }
    if !servers.is_empty() && servers.iter().all(|server| server.down.is_some()) {
        return show::failed(errors, "no server could be reached", "see the reasons above", Exit::NoUpstream);
    }
    let needs = servers.iter().any(rows::Server::needs_decision) || general.iter().any(|f| f.needs_decision);
    if needs { Exit::CheckFailed } else { Exit::Done }
}
