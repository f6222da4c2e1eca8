//! The command line: one file a command, and the only place that prints.
//!
//! `args.rs` says what was typed, each command's file what it means. Exit codes stand in `exit.rs`.

mod approve;
mod args;
mod audit;
mod check;
mod classify;
mod demo;
mod demo_servers;
mod exit;
mod grants;
mod hook;
mod init;
mod logs;
mod person;
mod policy;
mod report;
mod restore;
mod run;
mod serve;
mod show;
mod status;

use std::io::{self, Write};

use clap::Parser;
use clap::error::ErrorKind;

use crate::transport;

use args::{Args, Command};

pub use exit::Exit;

/// Parses the command line, runs the command and returns its exit code.
pub fn main() -> std::process::ExitCode {
    if let Some(arguments) = run::held_child() {
        return run::become_child(arguments).into();
    }
    if run::is_guard() {
        transport::guard();
        return Exit::Done.into();
    }
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => {
            let asked_for = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
            // Nothing is left to report to when even this cannot be written.
            let _ = error.print();
            return if asked_for { Exit::Done } else { Exit::Usage }.into();
        }
    };
    match args.command {
        Command::Run(args) => run::run(args, &mut io::stderr()),
        Command::Check(args) => check::check(&args, &mut out(), &mut io::stderr()),
        Command::Audit(args) => audit::audit(&args, &mut out(), &mut io::stderr()),
        Command::Serve(args) => serve::serve(&args, &mut io::stderr()),
        Command::Report(args) => report::report(&args, &mut out(), &mut io::stderr()),
        Command::Demo => demo::demo(&mut out()),
        Command::DemoServer { name, folder } => demo_servers::demo_server(&name, &folder),
        Command::Init(args) => init::init(&args, &mut out(), &mut io::stderr()),
        Command::Restore(args) => restore::restore(&args, &mut out(), &mut io::stderr()),
        Command::Approve(args) => approve::approve(&args, &mut out(), &mut io::stderr()),
        Command::Grants(args) => grants::grants(&args, &mut out(), &mut io::stderr()),
        Command::Status(args) => status::status(&args, &mut out(), &mut io::stderr()),
        Command::Logs(args) => logs::logs(&args, &mut out(), &mut io::stderr()),
        Command::Hook { arguments } => hook::hook(&arguments),
        Command::Policy(command) => policy::policy(command, &mut out(), &mut io::stderr()),
        Command::Classify { files } => classify::classify(&files, &mut out(), &mut io::stderr()),
    }
    .into()
}

/// Standard output, written in blocks.
fn out() -> impl Write {
    io::BufWriter::new(io::stdout())
}
