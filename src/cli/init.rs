//! `bouncer init`: puts Bouncer in front of the servers of a client's config.
//!
//! Shows what would change, asks, and only then writes. Nothing is touched when a file does not
//! parse, when nobody can be asked, or when there is nothing to do. `bouncer restore` undoes it.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use crate::clients::approved::Approvals;
use crate::clients::install::{find_record, install, read_text};
use crate::clients::known::{self, Form};
use crate::clients::lists::Lists;
use crate::clients::locate::{Homes, locate, place_of};
use crate::clients::pins::{self, PinOffer};
use crate::clients::plan::{Plan, Request, StateOption, plan};
use crate::clients::{HookEdit, edit};
use crate::config::state_folder;

use super::Exit;
use super::person::agrees;
use super::show;

/// What was asked for.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(super) struct InitArgs {
    /// A client's config; without it, the configs of the clients on this machine.
    #[arg(long, value_name = "FILE")]
    config: Vec<PathBuf>,
    /// Only this server, also one that its client has not approved; may be repeated.
    #[arg(long, value_name = "NAME")]
    server: Vec<String>,
    /// Show what would change, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Change it without asking.
    #[arg(long, short)]
    yes: bool,
    /// Pin packages that have no version to the one that this machine has run, without asking.
    #[arg(long)]
    pin: bool,
    /// Leave out the client's prompt hook, which tells Bouncer what the user typed.
    #[arg(long)]
    no_hook: bool,
    /// The state folder [default: `$BOUNCER_HOME` or `~/.bouncer`].
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
}

/// Runs the command.
pub(super) fn init(args: &InitArgs, out: &mut dyn Write, err: &mut dyn Write) -> Exit {
    let env = |name: &str| std::env::var(name).ok();
    let Some(stage) = Stage::new(args, &env) else {
        return show::failed(
            err,
            "there is no home folder to keep state in",
            "give one with `--state DIR`",
            Exit::Usage,
        );
    };
    let files = if args.config.is_empty() {
        let project = std::env::current_dir().unwrap_or_default();
        locate(&env, &project)
    } else {
        args.config.clone()
    };
    if files.is_empty() {
        let help = "give the client's file with `--config FILE`";
        return show::failed(err, "no client's config was found on this machine", help, Exit::Config);
    }
    let mut worst = Exit::Done;
    for file in files {
        let exit = stage.one(args, &file, out, err);
        if exit != Exit::Done {
            worst = exit;
        }
    }
    if let Some(name) = args.server.iter().find(|name| !stage.met.borrow().contains(*name))
        && args.config.is_empty()
    {
        let problem = format!("no client's config on this machine has a server `{name}`");
        worst = show::failed(err, &problem, "`bouncer init --dry-run` shows what there is", Exit::Config);
    }
    let _ = out.flush();
    worst
}

/// What is the same for all files.
struct Stage {
    program: String,
    state: PathBuf,
    state_option: StateOption,
    homes: Homes,
    /// The servers that were named and are in a file that was looked at.
    met: RefCell<BTreeSet<String>>,
    /// Whether a file was spoken of.
    spoke: Cell<bool>,
}

impl Stage {
    fn new(args: &InitArgs, env: &dyn Fn(&str) -> Option<String>) -> Option<Self> {
        let absolute = |path: PathBuf| std::path::absolute(&path).unwrap_or(path);
        let state = absolute(state_folder(args.state.clone(), env)?);
        // What a client starts has its environment, not this one.
        let home_only = |name: &str| if name == "BOUNCER_HOME" { None } else { env(name) };
        let default = state_folder(None, &home_only).map(absolute);
        let state_option =
            if default.as_ref() == Some(&state) { StateOption::Default } else { StateOption::Named };
        let program = std::env::current_exe()
            .ok()
            .map_or_else(|| "bouncer".to_owned(), |path| path.display().to_string());
        Some(Self {
            program,
            state,
            state_option,
            homes: Homes::of(env),
            met: RefCell::default(),
            spoke: Cell::new(false),
        })
    }

    fn one(&self, args: &InitArgs, file: &Path, out: &mut dyn Write, err: &mut dyn Write) -> Exit {
        let shown = file.display().to_string();
        let Some((place, file)) = place_of(file).ok().zip(std::fs::canonicalize(file).ok()) else {
            return show::failed(
                err,
                &format!("`{shown}` is not there"),
                "give the client's own config file",
                Exit::Config,
            );
        };
        let text = match read_text(&file) {
            Ok(Some(text)) => text,
            Ok(None) => {
                return show::failed(err, &format!("`{shown}` is not there"), "give a file", Exit::Config);
            }
            Err(error) => return show::failed(err, &error, "nothing was changed", Exit::Config),
        };
        let overridden = overridden(&place);
        let request = Request {
            file: &file,
            place: &place,
            text: &text,
            only: &args.server,
            program: &self.program,
            state: &self.state,
            state_option: self.state_option,
            homes: &self.homes,
            overridden: &overridden,
            approvals: &Approvals::read(&place, &self.homes, &read_text),
            lists: &Lists::read(&place, &self.homes, &read_text),
        };
        let plan = match plan(&request) {
            Ok(plan) => plan,
            Err(why)
                if args.config.is_empty() && known::by_path(&place).is_some_and(|k| k.form == Form::Yaml) =>
            {
                let _ = writeln!(out, "{}\n  {why}", show::line(&shown));
                return Exit::Done;
            }
            Err(why) => {
                return show::failed(err, &format!("`{shown}`: {why}"), "nothing was changed", Exit::Config);
            }
        };
        let record = find_record(&self.state, &file).ok();
        let moved = |name: &str| {
            let mut maps = record.iter().flat_map(|(_, record)| &record.maps);
            maps.any(|map| map.servers.iter().any(|(moved, _)| moved == name))
        };
        let stays = |name: &String| plan.stays.iter().any(|(stays, _)| stays == name);
        let here = |name: &&String| plan.moves().contains(&name.as_str()) || stays(name) || moved(name);
        let met: Vec<String> = args.server.iter().filter(here).cloned().collect();
        if args.config.is_empty() && !args.server.is_empty() && met.is_empty() {
            return Exit::Done;
        }
        for name in args.server.iter().filter(|name| !plan.moves().contains(&name.as_str())) {
            if args.config.is_empty() && !met.contains(name) {
                continue;
            }
            let why = plan.stays.iter().find(|(stays, _)| stays == name).map(|(_, why)| why.as_str());
            if why.is_some() || !moved(name) {
                let why = why.unwrap_or("there is no such server");
                let problem = format!("`{shown}`: server `{name}` is not moved: {why}");
                return show::failed(err, &problem, "nothing was changed", Exit::Config);
            }
        }
        self.met.borrow_mut().extend(met);
        if self.spoke.replace(true) {
            let _ = writeln!(out);
        }
        self.carry_out(args, &file, &text, &plan, out, err)
    }

    fn carry_out(
        &self,
        args: &InitArgs,
        file: &Path,
        text: &str,
        plan: &Plan,
        out: &mut dyn Write,
        err: &mut dyn Write,
    ) -> Exit {
        let _ = writeln!(out, "{} ({})", plan.known.label, show::line(&file.display().to_string()));
        describe(plan, out);
        for note in unread_beside(file, plan) {
            let _ = writeln!(out, "  note: {}", show::line(&note));
        }
        let hook = plan.hook.as_ref().filter(|_| !args.no_hook);
        let hook = match hook.map(|hook| hook_change(hook, file, plan)).transpose() {
            Ok(change) => change.filter(|(_, before, after)| before != after),
            Err(why) => {
                let _ = writeln!(err, "warning: the prompt hook cannot be added: {why}");
                None
            }
        };
        let changes = plan.changes(text);
        if !changes && hook.is_none() {
            let state =
                if plan.maps.is_empty() { "nothing to move" } else { "already set up: nothing to do" };
            let _ = writeln!(out, "  {state}");
            return Exit::Done;
        }
        if changes {
            show::diff(out, &file.display().to_string(), text, &plan.text);
        }
        if plan.unvouched && args.yes && args.config.is_empty() && !args.dry_run {
            // FAIL CLOSED: a yes to whatever is found is no yes to what a repository brought along.
            let _ = writeln!(
                out,
                "  nothing was changed: these servers are a project's, and {} does not say which of them it has approved; \
                 name the file with `--config` to have them moved",
                plan.known.label
            );
            return Exit::Done;
        }
        let pins = self.homes.home.as_deref().map(|home| pins::offers(plan, home)).unwrap_or_default();
        for pin in &pins {
            let (from, to) = (show::line(&pin.written), show::line(&pin.pinned));
            let _ = writeln!(
                out,
                "  offers to pin: {}: `{from}` was last run as `{to}`",
                show::line(&pin.server)
            );
        }
        if args.dry_run {
            offer(hook.as_ref(), out);
            let _ = writeln!(out, "  dry run: nothing was changed");
            return Exit::Done;
        }
        if !args.yes && !io::stdin().is_terminal() {
            let help = "`--yes` changes it without asking, `--dry-run` only shows it";
            return show::failed(err, "there is no terminal to ask on", help, Exit::Usage);
        }
        let agreed = changes && (args.yes || agrees(out, "Change this file?"));
        offer(hook.as_ref(), out);
        let question = "Add the prompt hook, so that what you type yourself is not asked about?";
        let hook = hook.filter(|_| (agreed || !changes) && (args.yes || agrees(out, question)));
        if !agreed && hook.is_none() {
            let _ = writeln!(out, "  nothing was changed");
            return Exit::Done;
        }
        let plan = &if agreed { pinned(args, plan, &pins, out) } else { plan.clone() };
        match install(plan, file, text, hook.as_ref().map(|(hook, ..)| *hook), &self.state) {
            Ok(done) => {
                for path in &done.written {
                    let _ = writeln!(out, "  wrote {}", show::line(&path.display().to_string()));
                }
                let file = show::line(&file.display().to_string());
                let _ = writeln!(
                    out,
                    "  restart {}; `bouncer restore --config {file}` undoes this",
                    plan.known.label
                );
                Exit::Done
            }
            Err(why) => show::failed(err, &why, "the client's file was not changed", Exit::Config),
        }
    }
}

/// The plan with packages pinned, as far as there are versions and the user wants it.
fn pinned(args: &InitArgs, plan: &Plan, offers: &[PinOffer], out: &mut dyn Write) -> Plan {
    let mut plan = plan.clone();
    let question = "Pin these packages, so that what runs does not change by itself?";
    if !offers.is_empty() && (args.pin || !args.yes && agrees(out, question)) {
        pins::pin(&mut plan, offers);
        let _ = writeln!(out, "  pinned in the config that Bouncer runs");
    } else if !offers.is_empty() && args.yes {
        let _ = writeln!(out, "  not pinned; `--pin` says so");
    }
    plan
}

/// Servers of an opencode config that `.agents/mcp.json` beside it overrides as a whole.
fn overridden(file: &Path) -> Vec<(String, PathBuf)> {
    let Some(folder) =
        file.parent().filter(|_| known::by_path(file).is_some_and(|known| known.client == "opencode"))
    else {
        return Vec::new();
    };
    let other = folder.join(".agents/mcp.json");
    let root = read_text(&other).ok().flatten().and_then(|text| edit::read(&text, Form::Jsonc).ok());
    let names =
        root.as_ref().and_then(|root| root.as_object()).into_iter().flat_map(|root| root.keys().cloned());
    names.map(|name| (name, other.clone())).collect()
}

/// Servers in files near by that the client does not read.
fn unread_beside(file: &Path, plan: &Plan) -> Vec<String> {
    let Some(folder) = file.parent().filter(|_| plan.known.client.starts_with("claude-code")) else {
        return Vec::new();
    };
    let mut notes = Vec::new();
    for name in [".claude/settings.json", ".claude/settings.local.json"] {
        let other = folder.join(name);
        let root = read_text(&other).ok().flatten().and_then(|text| edit::read(&text, Form::Jsonc).ok());
        for servers in root.iter().flat_map(|root| edit::servers(root, &[&["mcpServers"]])) {
            let names: Vec<String> = servers.entries.into_iter().map(|(name, _)| name).collect();
            if let Some(why) = known::not_read(&other).filter(|_| !names.is_empty()) {
                notes.push(format!("`{}` stand in `{}`: {why}", names.join("`, `"), other.display()));
            }
        }
    }
    notes
}

/// What stays, and what a person should know.
fn describe(plan: &Plan, out: &mut dyn Write) {
    for map in &plan.maps {
        if !map.originals.is_empty() {
            let names: Vec<String> = map.originals.iter().map(|(name, _)| show::line(name)).collect();
            let place = match map.map.as_slice() {
                [projects, folder, key] if projects == "projects" => {
                    format!("{} of project {}", show::line(key), show::line(folder))
                }
                place => place.iter().map(|key| show::line(key)).collect::<Vec<_>>().join("."),
            };
            let _ = writeln!(out, "  moves behind Bouncer: {} (from {place})", names.join(", "));
        }
    }
    for (name, why) in &plan.stays {
        let _ = writeln!(out, "  stays: {}: {}", show::line(name), show::line(why));
    }
    for note in &plan.notes {
        let _ = writeln!(out, "  note: {}", show::line(note));
    }
    if !plan.moves().is_empty() {
        let _ = writeln!(
            out,
            "  outside Bouncer remain the client's own tools (shell, files, web) and what stays"
        );
    }
}

type HookChange<'a> = (&'a HookEdit, String, String);

fn hook_change<'a>(hook: &'a HookEdit, file: &Path, plan: &Plan) -> Result<HookChange<'a>, String> {
    let before =
        if hook.file == file { plan.text.clone() } else { read_text(&hook.file)?.unwrap_or_default() };
    let after = hook.put_in(&before)?;
    Ok((hook, before, after))
}

fn offer(hook: Option<&HookChange<'_>>, out: &mut dyn Write) {
    if let Some((hook, before, after)) = hook {
        let _ = writeln!(out, "  prompt hook ({}):", show::line(&hook.file.display().to_string()));
        show::diff(out, &hook.file.display().to_string(), before, after);
    }
}
