//! The options of `audit`, and which of its works they ask for.

use std::env;
use std::fs::File;
use std::io::{self, BufReader, Write};
use std::path::{Path, PathBuf};

use clap::{Subcommand, ValueEnum};
use serde_json::json;

use super::super::args::Format;
use super::super::{Exit, show};
use super::{counts, export, record, tail};
use crate::actors::audit::{Checked, HeadFile, Records, Summary, verify};
use crate::config::state_folder;

/// Bytes of one read.
const CHUNK: usize = 1 << 20;

/// What was asked for.
#[derive(Debug, clap::Args)]
pub(in crate::cli) struct AuditArgs {
    #[command(subcommand)]
    command: AuditCommand,
    /// The audit log [default: audit.jsonl in the state folder].
    #[arg(long, value_name = "FILE", global = true)]
    audit: Option<PathBuf>,
    /// The state folder [default: `$BOUNCER_HOME` or `~/.bouncer`].
    #[arg(long, value_name = "DIR", global = true)]
    state: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum AuditCommand {
    /// Show the last records, one a line, and follow the log as it grows.
    #[command(after_help = "Examples:
  bouncer audit tail -n 20 -f")]
    Tail {
        /// How many records.
        #[arg(short = 'n', long, default_value_t = 10)]
        lines: usize,
        /// Go on showing what is written.
        #[arg(short, long)]
        follow: bool,
    },
    /// Count calls by verdict, contract, tool, upstream and hour, and questions with their answers.
    #[command(after_help = "Examples:
  bouncer audit summary
  bouncer audit summary --format json")]
    Summary {
        /// How to print.
        #[arg(long, value_enum, default_value = "text")]
        format: Format,
    },
    /// Show one record with its evidence.
    #[command(after_help = "Examples:
  bouncer audit show 12")]
    Show {
        /// Its number, as `audit tail` shows it.
        number: u64,
    },
    /// Check the chain of all records, and that its tail is there.
    #[command(after_help = "Examples:
  bouncer audit verify
  bouncer audit verify --head kept.head --format json")]
    Verify {
        /// A head that was kept elsewhere, instead of the one beside the log.
        #[arg(long, value_name = "FILE")]
        head: Option<PathBuf>,
        /// How to print.
        #[arg(long, value_enum, default_value = "text")]
        format: Format,
    },
    /// Write all records as a table or as JSON.
    #[command(after_help = "Examples:
  bouncer audit export > calls.csv
  bouncer audit export --format json > calls.json")]
    Export {
        /// How to write.
        #[arg(long, value_enum, default_value = "csv")]
        format: ExportFormat,
    },
}

/// How to write records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ExportFormat {
    /// A table with a line for each record.
    Csv,
    /// A JSON array of the records as they are.
    Json,
}

/// Runs the command.
pub(in crate::cli) fn audit(args: &AuditArgs, out: &mut dyn Write, errors: &mut dyn Write) -> Exit {
    let Some(log) = args.audit.clone().or_else(|| {
        let state = state_folder(args.state.clone(), &|name| env::var(name).ok());
        state.map(|state| state.join("audit.jsonl"))
    }) else {
        return show::no_state(errors);
    };
    let done = match &args.command {
        AuditCommand::Tail { lines, follow } => {
            let go_on = if *follow { tail::Follow::Growing } else { tail::Follow::No };
            tail::tail(&log, *lines, go_on, out).map(|()| Exit::Done)
        }
        AuditCommand::Summary { format } => summarize(&log).and_then(|summary| {
            match format {
                Format::Text => counts::print(&summary, out)?,
                Format::Json => show::json(out, &counts::as_json(&summary)),
            }
            Ok(Exit::Done)
        }),
        AuditCommand::Show { number } => show_record(&log, *number, out, errors),
        AuditCommand::Verify { head, format } => check_chain(&log, head.as_deref(), *format, out, errors),
        AuditCommand::Export { format } => open(&log).and_then(|file| {
            match format {
                ExportFormat::Csv => export::csv(file, out)?,
                ExportFormat::Json => export::json(file, out)?,
            }
            Ok(Exit::Done)
        }),
    };
    match done.and_then(|exit| out.flush().map(|()| exit)) {
        Ok(exit) => exit,
        // A reader that went away (`| head`) wants no more.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Exit::Done,
        Err(error) => {
            let problem = format!("audit log `{}` cannot be read: {error}", log.display());
            show::failed(errors, &problem, "give the log with `--audit FILE` or `--state DIR`", Exit::Config)
        }
    }
}

fn open(log: &Path) -> io::Result<BufReader<File>> {
    Ok(BufReader::with_capacity(CHUNK, File::open(log)?))
}

/// Counts a whole log.
pub(in crate::cli) fn summarize(log: &Path) -> io::Result<Summary> {
    let mut records = Records::new(open(log)?);
    let mut summary = Summary::default();
    while let Some(line) = records.next_line()? {
        summary.add(line.bytes);
    }
    Ok(summary)
}

fn show_record(log: &Path, number: u64, out: &mut dyn Write, errors: &mut dyn Write) -> io::Result<Exit> {
    let mut records = Records::new(open(log)?);
    let mut last = 0;
    while let Some(line) = records.next_line()? {
        if line.number == number {
            record::print(&line, out)?;
            return Ok(Exit::Done);
        }
        last = line.number;
    }
    let help =
        if last == 0 { "the log is empty".to_owned() } else { format!("the log has records 1 to {last}") };
    Ok(show::failed(errors, &format!("there is no record {number}"), &help, Exit::Usage))
}

fn check_chain(
    log: &Path,
    head: Option<&Path>,
    format: Format,
    out: &mut dyn Write,
    errors: &mut dyn Write,
) -> io::Result<Exit> {
    // ORDER: the head is read first. A log that grows meanwhile only gets longer than its head.
    let heads = head.map_or_else(|| HeadFile::beside(log), HeadFile::at);
    let kept = match heads.read() {
        Ok(None) if head.is_some() => Err("there is no head in that file"),
        Ok(kept) => Ok(kept),
        Err(_) => Err("the head cannot be read"),
    };
    let file = match open(log) {
        // A log that is gone, of which a head is kept, was cut off whole.
        Err(error) if error.kind() == io::ErrorKind::NotFound && matches!(&kept, Ok(Some(_))) => None,
        opened => Some(opened?),
    };
    let against = kept.as_ref().ok().and_then(Option::as_ref);
    let checked = match file {
        Some(file) => verify(file, against)?,
        None => verify(io::empty(), against)?,
    };
    let head_said = match (&kept, against) {
        (Err(why), _) => *why,
        (Ok(_), None) => "no head is kept, so a cut tail would not show",
        (Ok(_), Some(_)) => "its end was compared with the head that is kept",
    };
    print_checked(&checked, head_said, format, out)?;
    if kept.is_err() && checked.broken.is_none() {
        let help = "the chain itself is whole; `--head FILE` compares with a copy kept elsewhere";
        return Ok(show::failed(errors, head_said, help, Exit::AuditBroken));
    }
    Ok(if checked.broken.is_some() { Exit::AuditBroken } else { Exit::Done })
}

fn print_checked(checked: &Checked, head: &str, format: Format, out: &mut dyn Write) -> io::Result<()> {
    if format == Format::Json {
        let broken = checked.broken.as_ref();
        let broken =
            broken.map(|broken| json!({"record": broken.record, "at": broken.at, "why": broken.why}));
        let value = json!({
            "records": checked.records, "bytes": checked.bytes, "whole": checked.broken.is_none(),
            "broken": broken, "breaks": checked.breaks, "head": head, "end": checked.head,
        });
        show::json(out, &value);
        return Ok(());
    }
    match &checked.broken {
        None => {
            writeln!(out, "{} records, {} bytes: the chain is whole", checked.records, checked.bytes)?;
            writeln!(out, "{head}")?;
        }
        Some(broken) => {
            writeln!(out, "record {} (byte {}): {}", broken.record, broken.at, broken.why)?;
            let (records, breaks) = (checked.records, checked.breaks);
            writeln!(out, "{records} records: the chain is broken at {breaks} of them")?;
            writeln!(out, "{head}")?;
        }
    }
    if let Some(end) = &checked.head {
        writeln!(out, "end at byte {}:\n  {}", end.bytes, show::line(&end.hash))?;
    }
    Ok(())
}
