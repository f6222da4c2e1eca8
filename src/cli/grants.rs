//! `bouncer grants`: what a person has granted for more than a session, and the end of it.
//!
//! Grants are made by `bouncer approve` only. Ending one only makes Bouncer ask again, so nothing is
//! asked here; but the file is a person's, so it is changed at a terminal only. Running Bouncers see the
//! change with their next call.

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;

use clap::Subcommand;
use serde_json::json;

use crate::actors::GrantsFile;
use crate::clock;
use crate::config::state_folder;
use crate::policy::{GrantKey, LastingGrant, revoke_line};
use crate::provenance::escaped;

use super::Exit;
use super::args::Format;
use super::person::person;
use super::show::{self, date};

/// What was asked for.
#[derive(Debug, clap::Args)]
pub(super) struct GrantsArgs {
    #[command(subcommand)]
    command: GrantsCommand,
    /// The state folder [default: `$BOUNCER_HOME` or `~/.bouncer`].
    #[arg(long, value_name = "DIR", global = true)]
    state: Option<PathBuf>,
}

/// The commands on grants.
#[derive(Debug, Subcommand)]
enum GrantsCommand {
    /// Show the grants that are in force.
    #[command(after_help = "Examples:
  bouncer grants list
  bouncer grants list --format json")]
    List {
        /// How to print.
        #[arg(long, value_enum, default_value = "text")]
        format: Format,
    },
    /// End grants; the calls that they covered are asked about again.
    #[command(after_help = "Examples:
  bouncer grants revoke ID")]
    Revoke {
        /// The grants' ids.
        #[arg(required = true, value_name = "ID")]
        ids: Vec<String>,
    },
    /// Remove what has ended or was revoked from the file.
    #[command(after_help = "Examples:
  bouncer grants expire")]
    Expire,
}

/// Runs the command.
pub(super) fn grants(args: &GrantsArgs, out: &mut dyn Write, err: &mut dyn Write) -> Exit {
    let Some(state) = state_folder(args.state.clone(), &|name| std::env::var(name).ok()) else {
        return show::no_state(err);
    };
    if !matches!(args.command, GrantsCommand::List { .. }) && !io::stdin().is_terminal() {
        let help = "run it in a terminal of your own";
        return show::failed(err, "grants are changed on a terminal only", help, Exit::Usage);
    }
    let file = GrantsFile::of(&state);
    let now = clock::unix_millis();
    let lasting = match file.read() {
        Ok(lasting) => lasting,
        Err(error) => {
            let problem = format!("`{}` cannot be read: {error}", file.path().display());
            return show::failed(err, &problem, "nothing in it counts until this is repaired", Exit::Config);
        }
    };
    if lasting.unread > 0 {
        let _ = writeln!(err, "warning: {} lines cannot be read and grant nothing", lasting.unread);
    }
    let exit = match &args.command {
        GrantsCommand::List { format } => {
            let counts: Vec<_> = lasting.grants().iter().filter(|grant| now < grant.ends).collect();
            match format {
                Format::Json => show::json(out, &json!({ "grants": counts })),
                Format::Text if counts.is_empty() => {
                    let _ = writeln!(out, "no lasting grant");
                }
                Format::Text => counts.into_iter().for_each(|grant| describe(grant, out)),
            }
            Exit::Done
        }
        GrantsCommand::Revoke { ids } => {
            let known = |id: &&String| lasting.grants().iter().any(|grant| grant.id == **id);
            if let Some(unknown) = ids.iter().find(|id| !known(id)) {
                let help = "`bouncer grants list` shows them; nothing was changed";
                return show::failed(
                    err,
                    &format!("no grant has the id `{unknown}`"),
                    help,
                    Exit::CheckFailed,
                );
            }
            for id in ids {
                if let Err(error) = file.append(&revoke_line(id, &person(), now)) {
                    let problem = format!("`{}` cannot be written: {error}", file.path().display());
                    return show::failed(err, &problem, "check the state folder", Exit::Config);
                }
                let _ = writeln!(out, "revoked {}", show::line(id));
            }
            Exit::Done
        }
        GrantsCommand::Expire => match file.expire(now) {
            Ok(gone) => {
                let _ = writeln!(out, "{gone} ended");
                Exit::Done
            }
            Err(error) => {
                let problem = format!("`{}` cannot be written: {error}", file.path().display());
                show::failed(err, &problem, "check the state folder", Exit::Config)
            }
        },
    };
    let _ = out.flush();
    exit
}

fn describe(grant: &LastingGrant, out: &mut dyn Write) {
    let _ = writeln!(out, "{}  {}", escaped(&grant.id, 16), grant.effect.as_str());
    for key in &grant.keys {
        let _ = writeln!(out, "  {}", covered(key));
    }
    let _ = writeln!(
        out,
        "  asked for {}; by {} on {}; ends {}",
        escaped(&grant.about, 160),
        escaped(&grant.by, 160),
        date(grant.given),
        date(grant.ends)
    );
}

/// What a key covers, in words.
fn covered(key: &GrantKey) -> String {
    match key {
        GrantKey::Destination { upstream: None, strict } => {
            format!("to {}, at every server", escaped(strict, 300))
        }
        GrantKey::Destination { upstream: Some(upstream), strict } => {
            format!("to {}, at server {} only", escaped(strict, 300), escaped(upstream, 64))
        }
        GrantKey::FetchHost(host) => format!("urls of {}, as read or little changed", escaped(host, 300)),
        GrantKey::Flow { from, to } => {
            format!("text read from server {} to server {}", escaped(from, 64), escaped(to, 64))
        }
        GrantKey::Call(_) => "one call".to_owned(),
    }
}
