//! What may be typed: the commands and their arguments, and nothing of what they mean.
//!
//! The text of each doc comment is what `--help` shows. Read each command's own file for the rest.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Parser, Subcommand};

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
#[command(name = "bouncer", version, disable_help_subcommand = true)]
pub(super) struct Args {
    /// The command.
    #[command(subcommand)]
    pub(super) command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Stand between one client and its servers: an MCP server on stdin and stdout.
    ///
    /// Clients start this themselves. Example: `bouncer run --config bouncer.yaml`.
    Run(RunArgs),
    /// Start every server once, and show what Bouncer would do with each of its tools.
    ///
    /// Examples: `bouncer check --config bouncer.yaml`; `bouncer check --config bouncer.yaml --call
    /// mail.send_email --args '{"to": "ana@corp.example"}' --context page.txt`; `bouncer check --config
    /// bouncer.yaml --accept mail`. Ends with exit code 4 when something needs a decision.
    Check(CheckArgs),
    /// Read the audit log: follow it, count it, show a record, check its chain, export it.
    ///
    /// Examples: `bouncer audit tail -f`; `bouncer audit summary`; `bouncer audit show 12`; `bouncer audit
    /// verify`; `bouncer audit export --format csv > calls.csv`. `verify` ends with exit code 6 when the
    /// chain is broken or its tail was cut off.
    Audit(AuditArgs),
    /// Answer questions about verdicts, policies and the audit log: an MCP server on stdin and stdout.
    ///
    /// Clients start this themselves. Example: `bouncer serve --policy policy.yaml`.
    Serve(ServeArgs),
    /// Write a review pack in Markdown: servers, tools and their controls, findings, calls, limits.
    ///
    /// Starts every server once. Example: `bouncer report --config bouncer.yaml > review.md`.
    Report(ReportArgs),
    /// See it work: a hijacked agent in front of the real proxy, in a minute, with nothing prepared.
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
    Classify {
        /// Files with `{"server": …, "tools": […]}`, `{"tools": […]}` or a whole `tools/list` response.
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
    },
    /// Put Bouncer in front of the servers of a client: shows the change, asks, keeps a backup.
    Init(InitArgs),
    /// Take Bouncer out of a client's config again, byte for byte where nobody changed it since.
    Restore(RestoreArgs),
    /// Answer about calls that were refused because the client could not ask you.
    ///
    /// Shows each call that the running Bouncers hold, for ten minutes, with its question. Answers are
    /// taken on a terminal only.
    Approve(ApproveArgs),
    /// Show and end what you have allowed for more than a session.
    Grants(GrantsArgs),
    /// Show what runs: Bouncers, their clients and servers, and what waits for you.
    Status(StatusArgs),
    /// Show what a server wrote to its stderr.
    Logs(LogsArgs),
    /// Check policy files, show what they make of a tool, print their schema. Starts no server.
    #[command(subcommand)]
    Policy(PolicyCommand),
    /// Hand the user's prompt to Bouncer: what the hook of a client runs.
    ///
    /// CLIENT is claude-code, cursor, codex, gemini, copilot, windsurf or user-prompt. Reads the hook's
    /// JSON on standard input and always ends with exit code 0, within 30 ms.
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
    /// Check policy files and show every problem with its line and column.
    ///
    /// Ends with exit code 3 when one does not load. Example: `bouncer policy verify policy.yaml`.
    Verify {
        /// Policy files.
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
    },
    /// Show what all layers together make of a tool, and who said which part.
    ///
    /// Example: `bouncer policy show mail.send_email --config bouncer.yaml`.
    Show(ShowArgs),
    /// Print the JSON Schema of a kind of file, for editors.
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
    /// Print JSON.
    #[arg(long)]
    pub(super) json: bool,
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
