//! What may be typed: the commands and their arguments, and nothing of what they mean.
//!
//! The text of each doc comment is what `--help` shows. Read each command's own file for the rest.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::PathBuf;

use clap::{Parser, Subcommand};

use super::Exit;
use super::approve::ApproveArgs;
use super::audit::AuditArgs;
use super::check::CheckArgs;
use super::grants::GrantsArgs;
use super::init::InitArgs;
use super::logs::LogsArgs;
use super::report::ReportArgs;
use super::restore::RestoreArgs;
use super::serve::ServeArgs;
use super::status::StatusArgs;

/// One local MCP server in front of all of yours: every tool call is allowed, asked about or denied
/// by where its destination came from.
#[derive(Debug, Parser)]
#[command(name = "bouncer", version, disable_help_subcommand = true, after_help = first_steps())]
pub(super) struct Args {
    /// The command.
    #[command(subcommand)]
    pub(super) command: Command,
}

/// What stands below the list of commands.
fn first_steps() -> String {
    let mut text = String::from(
        "Examples:
  bouncer demo                      see it work, with nothing prepared
  bouncer init --dry-run            what it would change in your clients
  bouncer check --config FILE       what it would do with each tool
  bouncer status                    what runs now

Exit codes:",
    );
    for (exit, meaning) in Exit::MEANINGS {
        // Writing to a string cannot fail.
        let _ = write!(text, "\n  {}  {meaning}", exit as u8);
    }
    text
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Stand between one client and its servers: an MCP server on stdin and stdout.
    ///
    /// Clients start this themselves: `bouncer init` writes it into their configs.
    #[command(after_help = "Examples:
  bouncer run --config bouncer.yaml
  bouncer run --config ~/.cursor/mcp.json --policy policy.yaml --watch")]
    Run(RunArgs),
    /// Start every server once, and show what Bouncer would do with each of its tools.
    ///
    /// Ends with exit code 4 when something needs a decision, and 5 when no server could be reached.
    #[command(after_help = "Examples:
  bouncer check --config bouncer.yaml
  bouncer check --config bouncer.yaml --format json
  bouncer check --config bouncer.yaml --call mail.send_email --args '{\"to\": \"ana@corp.example\"}' --context page.txt
  bouncer check --cases cases.yaml --policy policy.yaml
  bouncer check --config bouncer.yaml --accept mail")]
    Check(CheckArgs),
    /// Read the audit log: follow it, count it, show a record, check its chain, export it.
    ///
    /// `verify` ends with exit code 6 when the chain is broken or its tail was cut off.
    #[command(after_help = "Examples:
  bouncer audit tail -f
  bouncer audit summary --format json
  bouncer audit show 12
  bouncer audit verify
  bouncer audit export --format csv > calls.csv")]
    Audit(AuditArgs),
    /// Answer questions about verdicts, policies and the audit log: an MCP server on stdin and stdout.
    ///
    /// Clients start this themselves: give them the command `bouncer` with the argument `serve`.
    #[command(after_help = "Examples:
  bouncer serve --policy policy.yaml")]
    Serve(ServeArgs),
    /// Write a review pack in Markdown: servers, tools and their controls, findings, calls, limits.
    ///
    /// Starts every server once, and writes to standard output.
    #[command(after_help = "Examples:
  bouncer report --config bouncer.yaml > review.md")]
    Report(ReportArgs),
    /// See it work: a hijacked agent in front of the real proxy, in a minute, with nothing prepared.
    #[command(after_help = "Examples:
  bouncer demo")]
    Demo,
    /// One of the small servers of the demo, on stdin and stdout.
    #[command(hide = true)]
    DemoServer {
        /// Which: web, mail, contacts or files.
        name: String,
        /// The demo's folder, where calls that arrive are noted.
        folder: PathBuf,
    },
    /// Say what tools do and which of their arguments carry authority, without starting a server.
    ///
    /// Reads `tools/list` results from files and prints a line of JSON for each tool.
    #[command(after_help = "Examples:
  bouncer classify tools.json")]
    Classify {
        /// Files with `{"server": …, "tools": […]}`, `{"tools": […]}` or a whole `tools/list` response.
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
    },
    /// Put Bouncer in front of the servers of a client: shows the change, asks, keeps a backup.
    #[command(after_help = "Examples:
  bouncer init --dry-run
  bouncer init --config ~/.cursor/mcp.json --server mail")]
    Init(InitArgs),
    /// Take Bouncer out of a client's config again, byte for byte where nobody changed it since.
    ///
    /// Asks on a terminal; without one it does nothing.
    #[command(after_help = "Examples:
  bouncer restore --config ~/.cursor/mcp.json")]
    Restore(RestoreArgs),
    /// Answer about calls that were refused because the client could not ask you.
    ///
    /// Shows each call that the running Bouncers hold, for ten minutes, with its question. Answers are
    /// taken on a terminal only.
    #[command(after_help = "Examples:
  bouncer approve
  bouncer approve --watch
  bouncer approve --format json
  bouncer approve ID --to-policy policy.yaml")]
    Approve(ApproveArgs),
    /// Show and end what you have allowed for more than a session.
    ///
    /// `revoke` and `expire` change the file of grants, so they need a terminal.
    #[command(after_help = "Examples:
  bouncer grants list
  bouncer grants revoke ID")]
    Grants(GrantsArgs),
    /// Show what runs: Bouncers, their clients and servers, and what waits for you.
    ///
    /// Ends with exit code 5 when a Bouncer runs none of whose servers is up.
    #[command(after_help = "Examples:
  bouncer status
  bouncer status --format json")]
    Status(StatusArgs),
    /// Show what a server wrote to its stderr.
    #[command(after_help = "Examples:
  bouncer logs mail")]
    Logs(LogsArgs),
    /// Check policy files, show what they make of a tool, print their schema. Starts no server.
    #[command(after_help = "Examples:
  bouncer policy verify policy.yaml
  bouncer policy show mail.send_email --config bouncer.yaml
  bouncer policy schema config")]
    #[command(subcommand)]
    Policy(PolicyCommand),
    /// Hand the user's prompt to Bouncer: what the hook of a client runs.
    ///
    /// CLIENT is claude-code, cursor, codex, gemini, copilot, windsurf or user-prompt. Reads the hook's
    /// JSON on standard input and always ends with exit code 0, within 30 ms.
    #[command(after_help = "Examples:
  bouncer hook claude-code")]
    #[command(override_usage = "bouncer hook CLIENT [EVENT] [--state DIR]")]
    Hook {
        /// The client, the event where the client's JSON does not name it, and `--state DIR`.
        #[arg(value_name = "CLIENT", trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
}

/// The arguments of `run`.
#[derive(Debug, clap::Args)]
pub(super) struct RunArgs {
    /// The servers: a bouncer.yaml, or a client's file with `mcpServers` or `servers`.
    #[arg(long, value_name = "FILE")]
    pub(super) config: PathBuf,
    /// A policy file, after those that the config names; may be given several times.
    #[arg(long, value_name = "FILE")]
    pub(super) policy: Vec<PathBuf>,
    /// The folder of pins, grants and the audit log [default: `$BOUNCER_HOME` or `~/.bouncer`].
    #[arg(long, value_name = "DIR")]
    pub(super) state: Option<PathBuf>,
    /// The audit log [default: audit.jsonl in the state folder].
    #[arg(long, value_name = "FILE")]
    pub(super) audit: Option<PathBuf>,
    /// Read config and policy again when a file changes, as SIGHUP does: what tightens counts at once.
    #[arg(long)]
    pub(super) watch: bool,
}

/// The commands on policies.
#[derive(Debug, Subcommand)]
pub(super) enum PolicyCommand {
    /// Check policy files, or configs with the policies they name, and show every problem with its line
    /// and column.
    ///
    /// Starts no server. Ends with exit code 3 when one does not load.
    #[command(after_help = "Examples:
  bouncer policy verify policy.yaml more.yaml
  bouncer policy verify bouncer.yaml
  bouncer policy verify policy.yaml --format json")]
    Verify {
        /// Policy files, or configs.
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        /// How to print.
        #[arg(long, value_enum, default_value = "text")]
        format: Format,
    },
    /// Show what all layers together make of a tool, and who said which part.
    #[command(after_help = "Examples:
  bouncer policy show mail.send_email --config bouncer.yaml
  bouncer policy show send_email --policy policy.yaml --tools tools.json --format json")]
    Show(ShowArgs),
    /// Print the JSON Schema of a kind of file, for editors.
    #[command(after_help = "Examples:
  bouncer policy schema > policy.schema.json
  bouncer policy schema config")]
    Schema {
        /// Which kind of file.
        #[arg(value_enum, default_value = "policy")]
        of: SchemaOf,
    },
}

/// The arguments of `policy show`.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct ShowArgs {
    /// The tool, as `upstream.tool` or `tool`.
    pub(super) tool: String,
    /// A policy file, after those that the config names; may be given several times.
    #[arg(long, value_name = "FILE")]
    pub(super) policy: Vec<PathBuf>,
    /// The config that names the upstream and policies.
    #[arg(long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// A file with a `tools/list` result that describes the tool; without it only its name is known.
    #[arg(long, value_name = "FILE")]
    pub(super) tools: Option<PathBuf>,
    /// How to print.
    #[arg(long, value_enum, default_value = "text")]
    pub(super) format: Format,
}

/// How to print.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Format {
    /// For people.
    Text,
    /// For programs.
    Json,
}

/// The kinds of file that have a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum SchemaOf {
    /// A policy.
    Policy,
    /// A bouncer.yaml.
    Config,
    /// A pack.
    Pack,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    /// Every command that people type, with its subcommands.
    fn commands(command: &clap::Command) -> Vec<clap::Command> {
        let visible = command.get_subcommands().filter(|command| !command.is_hide_set());
        visible.flat_map(|command| std::iter::once(command.clone()).chain(commands(command))).collect()
    }

    #[test]
    fn every_command_shows_examples_that_are_valid() {
        let root = Args::command();
        let help = root.get_after_help().map(ToString::to_string).unwrap_or_default();
        for (exit, meaning) in Exit::MEANINGS {
            assert!(help.contains(&format!("\n  {}  {meaning}", exit as u8)), "{help}");
        }
        for example in help.lines().filter(|line| line.starts_with("  bouncer ")) {
            let typed = example.trim().split("  ").next().unwrap_or_default();
            assert!(Args::try_parse_from(typed.split(' ')).is_ok(), "{typed}");
        }
        let all = commands(&root);
        assert!(all.len() > 20, "{}", all.len());
        for command in all {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let examples =
                help.strip_prefix("Examples:\n").unwrap_or_else(|| panic!("{} has none", command.get_name()));
            for example in examples.lines() {
                let typed = example.split(" > ").next().unwrap_or_default();
                let words = shell_words::split(typed).unwrap();
                assert!(words.iter().any(|word| word == command.get_name()), "{example}");
                if let Err(error) = Args::try_parse_from(words) {
                    panic!("{example}: {error}");
                }
            }
        }
    }
}
