//! The `bouncer` program: hands the command line to [`bouncer::cli`] and returns its exit code.

use std::process::ExitCode;

fn main() -> ExitCode {
    bouncer::cli::main()
}
