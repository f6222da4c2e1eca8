//! `bouncer restore`: takes Bouncer out of a client's config again.
//!
//! A file that nobody has changed since comes back byte for byte. In one that was changed, our entry
//! goes, the servers come back, and the change stays; which of the two it was is said. It takes the
//! guard away, so a person at a terminal is asked, and nothing else will do.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use crate::clients::Record;
use crate::clients::install::{Restored, changed_files, find_record, restore as undo};
use crate::config::state_folder;

use super::Exit;
use super::person::agrees;
use super::show;

/// What was asked for.
#[derive(Debug, clap::Args)]
pub(super) struct RestoreArgs {
    /// The client's config that `init` changed; without it, those that there are are named.
    #[arg(long, value_name = "FILE")]
    config: Vec<PathBuf>,
    /// The state folder [default: `$BOUNCER_HOME` or `~/.bouncer`].
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
}

/// Runs the command.
pub(super) fn restore(args: &RestoreArgs, out: &mut dyn Write, err: &mut dyn Write) -> Exit {
    let env = |name: &str| std::env::var(name).ok();
    let Some(state) = state_folder(args.state.clone(), &env) else {
        return show::failed(
            err,
            "there is no home folder to look for state in",
            "give one with `--state DIR`",
            Exit::Usage,
        );
    };
    let state = std::path::absolute(&state).unwrap_or(state);
    if args.config.is_empty() {
        return name_them(&state, out, err);
    }
    let mut worst = Exit::Done;
    for file in &args.config {
        let shown = show::line(&file.display().to_string());
        let file = std::fs::canonicalize(file)
            .or_else(|_| {
                // The file may be gone: its folder names it.
                let folder = std::fs::canonicalize(
                    file.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(".".as_ref()),
                )?;
                Ok::<_, std::io::Error>(folder.join(file.file_name().unwrap_or_default()))
            })
            .unwrap_or_else(|_| file.clone());
        let found = find_record(&state, &file);
        if let Ok((_, record)) = &found {
            if !io::stdin().is_terminal() {
                let help = "run it in a terminal of your own";
                return show::failed(err, "there is no terminal to ask on", help, Exit::Usage);
            }
            let _ =
                writeln!(out, "{shown}: Bouncer goes, and these servers run without it: {}", servers(record));
            if !agrees(out, "Bring this file back?") {
                let _ = writeln!(out, "  nothing was changed");
                continue;
            }
        }
        match found.and_then(|(path, record)| undo(&path, &record)) {
            Ok(done) => {
                for one in &done {
                    let _ = writeln!(out, "{}", say(one));
                }
            }
            Err(why) => {
                let help = "the state folder that `init` was given belongs here too: `--state DIR`";
                worst = show::failed(err, &format!("`{shown}`: {why}"), help, Exit::Config);
            }
        }
    }
    let _ = out.flush();
    worst
}

fn servers(record: &Record) -> String {
    let names: Vec<String> =
        record.maps.iter().flat_map(|map| &map.servers).map(|(name, _)| show::line(name)).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// What could be restored. Nothing is, unless it is named.
fn name_them(state: &Path, out: &mut dyn Write, err: &mut dyn Write) -> Exit {
    let files = changed_files(state);
    if files.is_empty() {
        let _ = writeln!(
            out,
            "nothing to restore: `bouncer init` has changed no file (state folder {})",
            show::line(&state.display().to_string())
        );
        return Exit::Done;
    }
    for file in &files {
        let _ = writeln!(out, "bouncer restore --config {}", show::line(&file.display().to_string()));
    }
    let _ = out.flush();
    show::failed(err, "which file is meant?", "run one of the lines above", Exit::Usage)
}

fn say(done: &Restored) -> String {
    let path = |path: &std::path::Path| show::line(&path.display().to_string());
    match done {
        Restored::Whole(file) => format!("restored {} byte for byte", path(file)),
        Restored::Edited(file) => format!(
            "restored {}: it was changed since, so the servers are back and those changes are kept",
            path(file)
        ),
        Restored::Removed(file) => format!("removed {}, which was not there before", path(file)),
        Restored::Kept(file) => format!("kept {}, which was changed by hand", path(file)),
    }
}
