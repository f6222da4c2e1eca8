//! What `check` looks at: the config, the policy, what is pinned, and what each server lists now.

use std::collections::BTreeMap;
use std::env;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::super::{Exit, show};
use crate::actors::follow_links;
use crate::actors::pins::{PinFile, state_key};
use crate::app::{self, Settings, Surveyed};
use crate::config::{self, Config, UpstreamConfig};
use crate::pack::{Diagnostic, builtin_packs, load_policy};
use crate::policy::heuristics::ToolDescription;
use crate::policy::{Change, Disk, Pin, PinMode, Policy, ServerPin, Trial};

/// One tool as its server lists it now.
pub(in crate::cli) struct Listed {
    /// Its own name.
    pub(super) name: String,
    /// The name clients see.
    pub(super) exported: String,
    /// Its entry.
    pub(super) entry: Value,
    /// What the heuristics read of it; `None` for what is no tool.
    pub(super) description: Option<ToolDescription>,
    /// Whether the config's filter offers it to clients.
    pub(super) is_offered: bool,
}

/// One server.
pub(in crate::cli) struct Upstream {
    /// Its entry in the config.
    pub(super) config: UpstreamConfig,
    /// Its state key.
    pub(super) key: String,
    /// Why it could not be reached.
    pub(super) down: Option<String>,
    /// Its tools, by their own names.
    pub(super) tools: Vec<Listed>,
    /// Its instructions.
    pub(super) instructions: Option<String>,
    /// What it is now.
    pub(super) now: ServerPin,
    /// What it was when it was first seen, if it was.
    pub(super) pinned: Option<ServerPin>,
}

impl Upstream {
    /// In what each tool differs from what was pinned.
    pub(super) fn drift(&self) -> BTreeMap<String, Vec<Change>> {
        self.pinned.as_ref().map(|pinned| pinned.drift(&self.now)).unwrap_or_default()
    }
}

/// The files that are named on the command line.
pub(in crate::cli) struct Files<'a> {
    /// The config.
    pub(in crate::cli) config: &'a Path,
    /// Policies after those of the config.
    pub(in crate::cli) policy: &'a [PathBuf],
    /// The state folder, where one is named.
    pub(in crate::cli) state: Option<&'a Path>,
}

/// Everything.
pub(in crate::cli) struct World {
    /// How to run, for the guard.
    pub(super) settings: Settings,
    /// The policy.
    pub(super) policy: Policy,
    /// The pins.
    pub(super) pins: PinFile,
    /// What drift means.
    pub(super) mode: PinMode,
    /// The servers, by name.
    pub(super) upstreams: Vec<Upstream>,
}

impl World {
    /// Loads the files and looks at the servers. What does not load is reported.
    pub(in crate::cli) fn load(files: &Files<'_>, errors: &mut dyn Write) -> Result<Self, Exit> {
        let mut report = |problems: &[Diagnostic]| {
            for problem in problems {
                // Nothing is left to report to when even this cannot be written.
                let _ = writeln!(errors, "{problem}");
            }
        };
        let config = config::load(files.config, &|name| env::var(name).ok()).map_err(|problems| {
            report(&problems);
            Exit::Config
        })?;
        report(&config.warnings);
        let sources = config.policy_sources(files.policy);
        let loaded = builtin_packs().and_then(|packs| load_policy(&sources, packs));
        let policy = match loaded {
            Ok((policy, warnings)) => {
                report(&warnings);
                policy
            }
            Err(problems) => {
                report(&problems);
                return Err(Exit::Config);
            }
        };
        let Some(state) = config::state_folder(files.state.map(Path::to_owned), &|name| env::var(name).ok())
        else {
            let help = "give one with `--state DIR`, or set BOUNCER_HOME or HOME";
            return Err(show::failed(errors, "no folder for Bouncer's state", help, Exit::Config));
        };
        let policy_files: Vec<PathBuf> = sources.iter().map(|source| source.file().to_owned()).collect();
        for skipped in &config.skipped {
            let _ = writeln!(
                errors,
                "note: upstream `{}` is not checked: {}",
                show::line(&skipped.name),
                show::line(&skipped.why)
            );
        }
        let pins = PinFile::new(&state);
        let book = pins.read().map_err(|fault| {
            let help = "move the file away to pin every server anew";
            show::failed(errors, &format!("the pins cannot be read: {fault}"), help, Exit::Config)
        })?;
        let seen = app::survey(&config, &state)
            .map_err(|fault| show::failed(errors, &fault.to_string(), "see above", Exit::Config))?;
        let mode = config.pins;
        let mut upstreams: Vec<Upstream> =
            config.upstreams.iter().map(|entry| upstream(entry, &seen, &book.upstreams)).collect();
        upstreams.sort_by(|a, b| a.config.name.cmp(&b.config.name));
        let settings = Settings { config, state, audit: None, policy_files };
        Ok(Self { settings, policy, pins, mode, upstreams })
    }

    /// A trial in which all servers have listed their tools as they are now.
    pub(super) fn trial(&self) -> Trial {
        let mut trial = Trial::new(self.policy.clone(), app::guard(&self.settings));
        let folder = |upstream: &Upstream| {
            Some((upstream.config.name.clone(), app::working_folder(&upstream.config)?))
        };
        trial.on(Disk { folders: self.upstreams.iter().filter_map(folder).collect(), follow: follow_links });
        for upstream in &self.upstreams {
            let tools: Vec<ToolDescription> =
                upstream.tools.iter().filter_map(|tool| tool.description.clone()).collect();
            trial.list(&upstream.config.identity(), &tools);
            if self.mode == PinMode::Enforce {
                for (tool, changes) in upstream.drift() {
                    let words = changes.iter().map(Change::word).collect();
                    trial.withhold(&upstream.config.name, &tool, words);
                }
            }
        }
        trial
    }

    /// The audit log of the state folder.
    pub(in crate::cli) fn audit_log(&self) -> PathBuf {
        self.settings.state.join("audit.jsonl")
    }

    /// The policies, in order.
    pub(in crate::cli) fn policy_files(&self) -> &[PathBuf] {
        &self.settings.policy_files
    }

    /// What drift means.
    pub(in crate::cli) fn pin_mode(&self) -> PinMode {
        self.mode
    }

    /// The config.
    pub(super) fn config(&self) -> &Config {
        &self.settings.config
    }
}

fn upstream(
    config: &UpstreamConfig,
    seen: &BTreeMap<String, Surveyed>,
    book: &BTreeMap<String, ServerPin>,
) -> Upstream {
    let nothing = Surveyed::default();
    let seen = seen.get(&config.name).unwrap_or(&nothing);
    let key = state_key(&config.identity());
    let mut pins = BTreeMap::new();
    let mut tools = Vec::new();
    for tool in &seen.listed {
        let Ok(entry) = serde_json::from_slice::<Value>(&tool.listed) else { continue };
        pins.insert(tool.name.to_string(), Pin::of(&entry));
        tools.push(Listed {
            name: tool.name.to_string(),
            exported: tool.exported.to_string(),
            description: ToolDescription::from_entry(&entry).ok(),
            is_offered: config.tools.admits(&tool.name),
            entry,
        });
    }
    tools.sort_by(|a, b| a.name.cmp(&b.name));
    Upstream {
        config: config.clone(),
        down: seen.down.clone(),
        tools,
        now: ServerPin::new(seen.instructions.as_deref(), pins),
        instructions: seen.instructions.clone(),
        pinned: book.get(&key).cloned(),
        key,
    }
}
