//! Which servers of a project's file its client has approved.
//!
//! Whoever writes a repository writes its file of servers, and the settings beside it too. So clients
//! ask their user before they start one, and `init` must not be the way around that question: what
//! was not approved stays, unless the user names it. FAIL CLOSED: settings that cannot be read approve
//! nothing, and settings inside a project approve only where the user trusts its folder.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::edit;
use super::known::{self, Form};
use super::lists::spelled;
use super::locate::Homes;
use super::plan::project_of;

/// A file's text; `None` when there is no such file.
pub type TextOf<'a> = &'a dyn Fn(&Path) -> Result<Option<String>, String>;

/// What a client's settings say of the servers of a project's file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Approvals {
    /// Whether the client asks, and keeps the answers where they can be read.
    asked: bool,
    /// Whether all are approved.
    all: bool,
    enabled: BTreeSet<String>,
    refused: BTreeSet<String>,
    /// What approves servers and does not count: the names (`None` for all) and the file.
    doubtful: Vec<(Option<String>, PathBuf)>,
    /// Why no approval counts.
    fault: Option<String>,
}

impl Approvals {
    /// Reads what the client that `file` belongs to has been told.
    pub fn read(file: &Path, homes: &Homes, text_of: TextOf<'_>) -> Self {
        let Some(known) = known::by_path(file) else { return Self::default() };
        let Some(folder) = project_of(file, known, homes.home.as_deref()) else { return Self::default() };
        match known.client {
            "claude-code-project" => Self::of_claude_code(&folder, homes, text_of),
            "codex" => Self::of_codex(file, &folder, homes, text_of),
            _ => Self::default(),
        }
    }

    fn of_claude_code(folder: &Path, homes: &Homes, text_of: TextOf<'_>) -> Self {
        let mut said = Self { asked: true, ..Self::default() };
        let mut trusted = homes.home.as_deref() == Some(folder);
        if let Some(state) = homes.claude_state() {
            let state = said.root(&state, Form::Json, text_of);
            if let Some(project) = state.get("projects").and_then(|all| all.get(&*folder.to_string_lossy())) {
                trusted |= project.get("hasTrustDialogAccepted") == Some(&Value::Bool(true));
                said.take(project, None);
            }
        }
        if let Some(settings) = homes.claude_settings() {
            let settings = said.root(&settings, Form::Jsonc, text_of);
            said.take(&settings, None);
        }
        for name in [".claude/settings.json", ".claude/settings.local.json"] {
            let file = folder.join(name);
            let settings = said.root(&file, Form::Jsonc, text_of);
            said.take(&settings, (!trusted).then_some(&file));
        }
        said
    }

    /// Codex reads a project's file only where its user said that the project is trusted.
    fn of_codex(file: &Path, folder: &Path, homes: &Homes, text_of: TextOf<'_>) -> Self {
        let own = homes.codex().map(|own| own.join("config.toml"));
        if own.as_deref() == Some(file) {
            return Self::default();
        }
        let mut said = Self { asked: true, ..Self::default() };
        if let Some(own) = own {
            let root = said.root(&own, Form::Toml, text_of);
            let project = root.get("projects").and_then(|all| all.get(&*folder.to_string_lossy()));
            let level = project.and_then(|project| project.get("trust_level")).and_then(Value::as_str);
            said.all = level == Some("trusted");
        }
        said
    }

    fn root(&mut self, file: &Path, form: Form, text_of: TextOf<'_>) -> Value {
        let read = text_of(file).and_then(|text| text.map(|text| edit::read(&text, form)).transpose());
        read.unwrap_or_else(|why| {
            self.fault = Some(format!("`{}` cannot be read: {why}", file.display()));
            None
        })
        .unwrap_or_default()
    }

    /// Takes what one place says. A place inside a folder that is not trusted is `doubtful`: it can
    /// refuse and cannot approve.
    fn take(&mut self, root: &Value, doubtful: Option<&PathBuf>) {
        let all = root.get("enableAllProjectMcpServers") == Some(&Value::Bool(true));
        self.refused.extend(names(root, "disabledMcpjsonServers").map(spelled));
        if let Some(file) = doubtful {
            self.doubtful.extend(all.then(|| (None, file.clone())));
            let enabled = names(root, "enabledMcpjsonServers");
            self.doubtful.extend(enabled.map(|name| (Some(name.to_owned()), file.clone())));
        } else {
            self.all |= all;
            self.enabled.extend(names(root, "enabledMcpjsonServers").map(str::to_owned));
        }
    }

    /// Whether the client keeps what it was told where it can be read.
    pub fn are_known(&self) -> bool {
        self.asked
    }

    /// Why a server is not approved; `None` where it is, or where its client does not say.
    pub fn missing(&self, name: &str) -> Option<String> {
        const NOT: &str = "not approved by the client";
        if !self.asked {
            return None;
        }
        if self.refused.contains(&spelled(name)) {
            return Some(format!("{NOT}: `disabledMcpjsonServers` names it"));
        }
        if let Some(fault) = &self.fault {
            return Some(format!("{NOT}: {fault}"));
        }
        if self.all || self.enabled.contains(name) {
            return None;
        }
        let doubtful = self.doubtful.iter().find(|(of, _)| of.as_deref().is_none_or(|of| of == name));
        Some(match doubtful {
            Some((_, file)) => format!(
                "{NOT}: `{}` approves it, but is the project's own, and the client does not trust this folder yet",
                file.display()
            ),
            None => NOT.to_owned(),
        })
    }
}

fn names<'v>(root: &'v Value, key: &str) -> impl Iterator<Item = &'v str> + use<'v> {
    root.get(key).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said of server `a` of a file, with these files around it.
    fn check(file: &str, around: &[(&str, &str)], expected: Option<&str>) {
        let text_of = |path: &Path| {
            let found = around.iter().find(|(name, _)| Path::new(name) == path);
            Ok(found.map(|(_, text)| (*text).to_owned()))
        };
        let homes = Homes::in_home("/home/u");
        let said = Approvals::read(Path::new(file), &homes, &text_of).missing("a");
        match expected {
            None => assert_eq!(said, None, "{around:?}"),
            Some(piece) => {
                let said = said.unwrap_or_else(|| panic!("approved: {around:?}"));
                assert!(said.starts_with("not approved by the client") && said.contains(piece), "{said}");
            }
        }
    }

    const USER: &str = "/home/u/.claude/settings.json";
    const STATE: &str = "/home/u/.claude.json";
    const SHARED: &str = "/p/.claude/settings.json";
    const LOCAL: &str = "/p/.claude/settings.local.json";
    const NAMED: &str = r#"{"enabledMcpjsonServers": ["a"]}"#;
    const ALL: &str = r#"{"enableAllProjectMcpServers": true}"#;
    const TRUSTED: &str = r#"{"projects": {"/p": {"hasTrustDialogAccepted": true}}}"#;

    #[test]
    fn claude_code_approves_in_its_settings() {
        let check = |around: &[(&str, &str)], expected| check("/p/.mcp.json", around, expected);
        check(&[], Some(""));
        check(&[(USER, NAMED)], None);
        check(&[(USER, ALL)], None);
        check(
            &[(USER, r#"{"enabledMcpjsonServers": ["b"], "enableAllProjectMcpServers": "yes"}"#)],
            Some(""),
        );
        check(&[(STATE, r#"{"projects": {"/p": {"enabledMcpjsonServers": ["a"]}}}"#)], None);
        check(&[(STATE, r#"{"projects": {"/q": {"enabledMcpjsonServers": ["a"]}}}"#)], Some(""));
        for file in [SHARED, LOCAL] {
            for text in [NAMED, ALL] {
                check(&[(STATE, TRUSTED), (file, text)], None);
                // Whoever writes the repository writes these files too.
                check(&[(file, text)], Some("does not trust this folder"));
            }
            let refused = r#"{"disabledMcpjsonServers": ["a"]}"#;
            check(&[(STATE, TRUSTED), (USER, ALL), (file, refused)], Some("`disabledMcpjsonServers`"));
            check(&[(USER, ALL), (file, "{")], Some("cannot be read"));
        }
    }

    #[test]
    fn codex_approves_by_trusting_the_project() {
        const OWN: &str = "/home/u/.codex/config.toml";
        let trusted = "[projects.\"/p\"]\ntrust_level = \"trusted\"\n";
        let check = |file: &str, text: &str, expected| check(file, &[(OWN, text)], expected);
        check("/p/.codex/config.toml", trusted, None);
        check("/p/.codex/config.toml", "", Some(""));
        check("/p/.codex/config.toml", "[projects.\"/p\"]\ntrust_level = \"untrusted\"\n", Some(""));
        check("/q/.codex/config.toml", trusted, Some(""));
        check(OWN, "", None);
    }

    #[test]
    fn clients_that_keep_their_answers_to_themselves_say_nothing() {
        for file in ["/p/.cursor/mcp.json", "/p/.vscode/mcp.json", "/p/opencode.json", "/home/u/.claude.json"]
        {
            check(file, &[], None);
        }
    }
}
