//! The prompt hook in a client's own hook file: where it goes, how it is put in and taken out.
//!
//! The file may be the client's settings, a file for hooks only, or one of our own. Hooks of others
//! are left alone. The element that is ours is known by its command.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::edit::{self, MapEdit};
use super::hooks::HookClient;
use super::known::{Form, Known};
use super::plan::{Request, StateOption};

/// A hook that is not installed yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookEdit {
    /// The client.
    pub client: HookClient,
    /// The file that it goes to, which may be missing.
    pub file: PathBuf,
    /// The event.
    pub event: &'static str,
    /// The command line that the client will run.
    pub command: String,
}

/// The hook of this client, if it has one.
pub(super) fn offer(known: &Known, request: &Request<'_>, project: Option<&Path>) -> Option<HookEdit> {
    let folder = request.place.parent()?;
    let (client, file) = match known.client {
        "claude-code" if request.homes.claude.as_deref() == Some(folder) => {
            (HookClient::ClaudeCode, folder.join("settings.json"))
        }
        "claude-code" => (HookClient::ClaudeCode, folder.join(".claude/settings.json")),
        "claude-code-project" => {
            (HookClient::ClaudeCode, project.unwrap_or(folder).join(".claude/settings.local.json"))
        }
        "cursor" => (HookClient::Cursor, folder.join("hooks.json")),
        "codex" => (HookClient::Codex, folder.join("hooks.json")),
        "gemini" => (HookClient::Gemini, request.file.to_owned()),
        "copilot" => (HookClient::Copilot, folder.join("hooks/bouncer.json")),
        "windsurf" => (HookClient::Windsurf, folder.join("hooks.json")),
        _ => return None,
    };
    let mut words = vec![request.program.to_owned(), "hook".to_owned(), client.name().to_owned()];
    if request.state_option == StateOption::Named {
        words.extend(["--state".to_owned(), request.state.display().to_string()]);
    }
    let event = client.prompt_events().first()?;
    Some(HookEdit { client, file, event, command: shell_words::join(words) })
}

impl HookEdit {
    /// The text with the hook in it; the same text when it is there.
    ///
    /// # Errors
    /// The text does not parse, or holds something else where hooks belong.
    pub fn put_in(&self, text: &str) -> Result<String, String> {
        let root = edit::read(text, Form::Jsonc)?;
        let mut elements = self.elements(&root)?;
        if elements.iter().any(|element| runs(element, &self.command)) {
            return Ok(text.to_owned());
        }
        elements.push(self.element());
        let mut edits = Vec::new();
        let versioned = matches!(self.client, HookClient::Cursor | HookClient::Copilot);
        if versioned && root.get("version").is_none() {
            edits.push(MapEdit { put: vec![("version".to_owned(), json!(1))], ..MapEdit::default() });
        }
        edits.push(MapEdit {
            map: vec!["hooks".to_owned()],
            put: vec![(self.event.to_owned(), Value::Array(elements))],
            ..MapEdit::default()
        });
        let text = if text.trim().is_empty() { "{}\n" } else { text };
        edit::edit(text, Form::Jsonc, &edits)
    }

    fn elements(&self, root: &Value) -> Result<Vec<Value>, String> {
        match root.get("hooks").map(|hooks| hooks.get(self.event)) {
            None | Some(None) => Ok(Vec::new()),
            Some(Some(Value::Array(elements))) => Ok(elements.clone()),
            Some(Some(_)) => Err(format!("`hooks.{}` is not a list", self.event)),
        }
    }

    fn element(&self) -> Value {
        let command = self.command.as_str();
        match self.client {
            HookClient::ClaudeCode | HookClient::Codex => {
                json!({"hooks": [{"type": "command", "command": command, "timeout": 5}]})
            }
            HookClient::Gemini => {
                json!({"hooks": [{"type": "command", "name": "bouncer", "command": command, "timeout": 5000}]})
            }
            HookClient::Copilot => json!({"type": "command", "bash": command, "timeoutSec": 5}),
            HookClient::Windsurf => json!({"command": command, "show_output": false}),
            HookClient::Cursor | HookClient::Any => json!({"command": command}),
        }
    }
}

/// The text without the hook of this command.
///
/// # Errors
/// The text does not parse.
pub(super) fn take_out(text: &str, event: &str, command: &str) -> Result<String, String> {
    let root = edit::read(text, Form::Jsonc)?;
    let Some(elements) = root.get("hooks").and_then(|hooks| hooks.get(event)).and_then(Value::as_array)
    else {
        return Ok(text.to_owned());
    };
    let kept: Vec<Value> = elements.iter().filter(|element| !runs(element, command)).cloned().collect();
    if kept.len() == elements.len() {
        return Ok(text.to_owned());
    }
    let mut change = MapEdit { map: vec!["hooks".to_owned()], ..MapEdit::default() };
    if kept.is_empty() {
        change.remove.push(event.to_owned());
    } else {
        change.put.push((event.to_owned(), Value::Array(kept)));
    }
    edit::edit(text, Form::Jsonc, &[change])
}

/// Whether an element runs this command, at any depth.
fn runs(element: &Value, command: &str) -> bool {
    match element {
        Value::String(text) => text == command,
        Value::Array(items) => items.iter().any(|item| runs(item, command)),
        Value::Object(members) => members.values().any(|member| runs(member, command)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hook(client: HookClient) -> HookEdit {
        HookEdit {
            client,
            file: PathBuf::from("/h"),
            event: client.prompt_events().first().expect("an event"),
            command: "/usr/bin/bouncer hook x".to_owned(),
        }
    }

    #[test]
    fn hooks_come_and_go_and_others_stay() {
        let others = r#"{
  // mine
  "model": "m",
  "hooks": {
    "UserPromptSubmit": [{"hooks": [{"type": "command", "command": "mine"}]}],
    "Stop": []
  }
}"#;
        for client in HookClient::ALL {
            for text in ["", "{}\n", others] {
                let hook = hook(client);
                let with = hook.put_in(text).expect("an edit");
                assert!(with.contains(&hook.command), "{with}");
                assert_eq!(hook.put_in(&with).expect("an edit"), with, "twice is once");
                let without = take_out(&with, hook.event, &hook.command).expect("an edit");
                assert!(!without.contains(&hook.command));
                assert_eq!(without.contains("mine"), text.contains("mine"));
            }
        }
        assert!(hook(HookClient::Cursor).put_in("{\"hooks\": {\"beforeSubmitPrompt\": 1}}").is_err());
    }

    #[test]
    fn each_client_gets_its_own_shape() {
        let with = hook(HookClient::Cursor).put_in("").expect("an edit");
        let value = edit::read(&with, Form::Jsonc).expect("JSON");
        assert_eq!(
            value,
            json!({"version": 1, "hooks": {"beforeSubmitPrompt": [{"command": "/usr/bin/bouncer hook x"}]}})
        );
    }
}
