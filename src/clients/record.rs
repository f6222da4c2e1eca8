//! What `init` did to a client's file, so that `restore` can undo it: `STATE/clients/CLIENT-HASH.json`.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::edit::{self, MapEdit};
use super::hook_file;
use super::known::{Form, KNOWN};

/// The record of one client file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// The form of this record.
    pub version: u32,
    /// The client.
    pub client: String,
    /// The client's file.
    pub file: PathBuf,
    /// The maps that were changed.
    pub maps: Vec<MapRecord>,
    /// The hook that was put in.
    pub hook: Option<HookRecord>,
    /// Every file that was changed.
    pub files: Vec<FileRecord>,
}

/// One map of servers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MapRecord {
    /// The keys to the map.
    pub map: Vec<String>,
    /// The name of our entry.
    pub entry: String,
    /// The config that it runs.
    pub config: PathBuf,
    /// The servers as they stood in the client's file.
    pub servers: Vec<(String, Value)>,
}

/// A hook.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HookRecord {
    /// The file that it was put into.
    pub file: PathBuf,
    /// The event.
    pub event: String,
    /// The command.
    pub command: String,
}

/// A file, before and after.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileRecord {
    /// The file.
    pub path: PathBuf,
    /// The name of its backup beside this record; `None` when there was no such file.
    pub backup: Option<String>,
    /// SHA-256 of what was written.
    pub after: String,
}

impl Record {
    /// The file of a path.
    pub fn file_of(&self, path: &Path) -> Option<&FileRecord> {
        self.files.iter().find(|file| file.path == path)
    }

    /// A file of this record as it would be without us, keeping what was changed since.
    ///
    /// # Errors
    /// The text does not parse any more.
    pub fn without_us(&self, path: &Path, text: &str) -> Result<String, String> {
        let mut text = text.to_owned();
        if path == self.file {
            let form = KNOWN
                .iter()
                .find(|known| known.client == self.client)
                .map_or(Form::Jsonc, |known| known.form);
            let root = edit::read(&text, form)?;
            let edits: Vec<MapEdit> = self.maps.iter().map(|map| map.back(&root)).collect();
            text = edit::edit(&text, form, &edits)?;
        }
        match &self.hook {
            Some(hook) if hook.file == path => hook_file::take_out(&text, &hook.event, &hook.command),
            _ => Ok(text),
        }
    }
}

impl MapRecord {
    /// The edit that takes our entry out and puts back what is not there by another hand.
    fn back(&self, root: &Value) -> MapEdit {
        let now = self.map.iter().try_fold(root, |at, key| at.get(key));
        let there = |name: &str| now.is_some_and(|map| map.get(name).is_some());
        let ours = there(&self.entry) && !self.servers.iter().any(|(name, _)| *name == self.entry);
        MapEdit {
            map: self.map.clone(),
            remove: if ours { vec![self.entry.clone()] } else { Vec::new() },
            put: self
                .servers
                .iter()
                .filter(|(name, _)| *name == self.entry || !there(name))
                .cloned()
                .collect(),
        }
    }
}

/// SHA-256 in hex.
pub(super) fn digest(bytes: &[u8]) -> String {
    data_encoding::HEXLOWER.encode(&Sha256::digest(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn servers_come_back_and_later_changes_stay() {
        let record = Record {
            version: 1,
            client: "cursor".to_owned(),
            file: PathBuf::from("/f"),
            maps: vec![MapRecord {
                map: vec!["mcpServers".to_owned()],
                entry: "bouncer".to_owned(),
                config: PathBuf::from("/c"),
                servers: vec![
                    ("a".to_owned(), json!({"command": "x"})),
                    ("b".to_owned(), json!({"command": "y"})),
                ],
            }],
            hook: None,
            files: Vec::new(),
        };
        let check = |text: &str, expected: &Value| {
            let back = record.without_us(Path::new("/f"), text).expect("an edit");
            assert_eq!(&edit::read(&back, Form::Jsonc).expect("JSON"), expected, "{text}");
        };
        check(
            r#"{"mcpServers": {"bouncer": {}, "new": {}}, "x": 1}"#,
            &json!({"mcpServers": {"a": {"command": "x"}, "b": {"command": "y"}, "new": {}}, "x": 1}),
        );
        check(
            r#"{"mcpServers": {"bouncer": {}, "a": {"command": "mine"}}}"#,
            &json!({"mcpServers": {"a": {"command": "mine"}, "b": {"command": "y"}}}),
        );
        check("{}", &json!({"mcpServers": {"a": {"command": "x"}, "b": {"command": "y"}}}));
    }
}
