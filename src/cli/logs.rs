//! `bouncer logs UPSTREAM`: the last lines that a server wrote to its stderr; without a name, which
//! servers have a log.
//!
//! The text is the server's own, so whatever a terminal would act on is shown as an escape, and what
//! looks like a secret is masked.

use std::fs;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::config::{log_file, log_folder, state_folder};

use super::Exit;
use super::show;

/// Most bytes that are read from the end of a log.
const TAIL: u64 = 1024 * 1024;

/// What was asked for.
#[derive(Debug, clap::Args)]
pub(super) struct LogsArgs {
    /// The server's name in the config; without it, the servers that have a log are named.
    upstream: Option<String>,
    /// How many lines.
    #[arg(long, short = 'n', value_name = "N", default_value_t = 100)]
    lines: usize,
    /// The state folder [default: `$BOUNCER_HOME` or `~/.bouncer`].
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
}

/// Runs the command.
pub(super) fn logs(args: &LogsArgs, out: &mut dyn Write, err: &mut dyn Write) -> Exit {
    let Some(state) = state_folder(args.state.clone(), &|name| std::env::var(name).ok()) else {
        return show::no_state(err);
    };
    let Some(upstream) = &args.upstream else {
        for name in known(&state) {
            let _ = writeln!(out, "bouncer logs {}", show::line(&name));
        }
        let _ = out.flush();
        return show::failed(err, "which server's log is meant?", "`bouncer status` names them", Exit::Usage);
    };
    let file = log_file(&state, upstream);
    let text = match tail(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let known = known(&state);
            let known = if known.is_empty() { "there is none yet".to_owned() } else { known.join(", ") };
            let problem = format!("server `{upstream}` has written no log");
            return show::failed(
                err,
                &problem,
                &format!("logs in this state folder: {known}"),
                Exit::CheckFailed,
            );
        }
        Err(error) => {
            let problem = format!("`{}` cannot be read: {error}", file.display());
            return show::failed(err, &problem, "check the file", Exit::Config);
        }
    };
    let rows: Vec<&str> = text.lines().collect();
    for row in rows.iter().skip(rows.len().saturating_sub(args.lines)) {
        let _ = writeln!(out, "{}", show::masked(row));
    }
    let _ = out.flush();
    Exit::Done
}

/// The end of a log, with that of its predecessor where it is short.
fn tail(file: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    let mut old = file.as_os_str().to_owned();
    old.push(".1");
    let size = fs::metadata(file)?.len();
    if size < TAIL
        && let Ok(old) = end_of(Path::new(&old), TAIL - size)
    {
        bytes = old;
    }
    bytes.extend(end_of(file, TAIL)?);
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn end_of(file: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut file = fs::File::open(file)?;
    let size = file.metadata()?.len();
    file.seek(SeekFrom::Start(size.saturating_sub(most)))?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The servers that have a log, as far as their names are plain.
fn known(state: &Path) -> Vec<String> {
    let entries = fs::read_dir(log_folder(state)).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.file_name().to_str()?.strip_suffix(".log").map(str::to_owned))
        .filter(|name| !name.contains('%'))
        .collect();
    names.sort();
    names
}
