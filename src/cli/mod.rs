//! The command line: one file a command, and the only place that prints.
//!
//! `args.rs` says what was typed, each command's file what it means. Exit codes stand in `exit.rs`.

mod demo;
mod demo_servers;
mod exit;

pub use demo::demo;
pub use demo_servers::demo_server;
pub use exit::Exit;

/// Parses the command line, runs the command and returns its exit code.
pub fn main() -> std::process::ExitCode {
    Exit::Usage.into()
}
