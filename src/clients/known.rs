//! The clients we know: which file is whose, where its servers stand in it, and how an entry of it
//! is written. Clients that differ in nothing but the place are rows.
//!
//! A file is recognised by the tail of its path, and where that says nothing by its own keys.

use std::path::{Component, Path};

use serde_json::Value;

/// How a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// JSON that its client reads strictly: no comments, no trailing commas.
    Json,
    /// JSON with comments and trailing commas.
    Jsonc,
    /// TOML.
    Toml,
    /// YAML: not edited yet.
    Yaml,
}

/// How a client writes an entry, ours too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryForm {
    /// `command`, `args`, `env`.
    Plain,
    /// The same with `type: "stdio"`.
    Stdio,
    /// The same with `type: "local"` and `tools: ["*"]`.
    Local,
    /// The same with `source: "custom"`.
    Zed,
    /// `type: "local"`, `command` as a list, `environment`.
    Opencode,
    /// A TOML table.
    Table,
}

/// Which variables a client fills in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// None: `${X}` is four characters.
    None,
    /// `${X}` and `${X:-default}`.
    Shell,
    /// `${env:X}`, `${userHome}`, `${workspaceFolder}`, `${/}`, `${input:x}`.
    Code,
    /// `$X`, `${X}`, `${X:-default}`, `%X%`; empty when not set.
    Gemini,
    /// `{env:X}` and `{file:p}`.
    Opencode,
}

/// Whose file it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The user's own.
    User,
    /// A project's: whoever can write the repository can change it.
    Project,
}

/// What a client counts its time limits in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// Milliseconds.
    Milliseconds,
}

/// One kind of file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// The client's name in file names: `claude-code`.
    pub client: &'static str,
    /// Its name for people.
    pub label: &'static str,
    /// How the file is written.
    pub form: Form,
    /// How an entry is.
    pub entry: EntryForm,
    /// Its variables.
    pub dialect: Dialect,
    /// Whose it is.
    pub scope: Scope,
    /// The unit of `timeout`.
    pub timeout: Unit,
    /// Ends of paths that are this kind, with `/`.
    pub tails: &'static [&'static str],
    /// Where the servers stand: keys from the root, `*` for every member. The first is the one that
    /// our entry goes to when there is none.
    pub maps: &'static [&'static [&'static str]],
    /// Keys that the client does not read, but people write.
    pub unread: &'static [&'static str],
}

pub(super) const PLAIN: Known = Known {
    client: "client",
    label: "an MCP client",
    form: Form::Jsonc,
    entry: EntryForm::Plain,
    dialect: Dialect::None,
    scope: Scope::User,
    timeout: Unit::Seconds,
    tails: &[],
    maps: &[&["mcpServers"]],
    unread: &["servers"],
};

/// All kinds; the first whose tail fits counts, so longer tails stand first.
pub const KNOWN: &[Known] = &[
    Known {
        client: "claude-desktop",
        label: "Claude Desktop",
        form: Form::Json,
        tails: &["claude_desktop_config.json"],
        ..PLAIN
    },
    Known {
        client: "claude-code",
        label: "Claude Code",
        form: Form::Json,
        dialect: Dialect::Shell,
        tails: &[".claude.json"],
        maps: &[&["mcpServers"], &["projects", "*", "mcpServers"]],
        ..PLAIN
    },
    Known {
        client: "claude-code-project",
        label: "Claude Code (project)",
        form: Form::Json,
        dialect: Dialect::Shell,
        scope: Scope::Project,
        tails: &[".mcp.json"],
        ..PLAIN
    },
    Known {
        client: "cursor",
        label: "Cursor",
        dialect: Dialect::Code,
        tails: &[".cursor/mcp.json"],
        ..PLAIN
    },
    Known {
        client: "vscode-project",
        label: "VS Code (workspace)",
        entry: EntryForm::Stdio,
        dialect: Dialect::Code,
        scope: Scope::Project,
        tails: &[".vscode/mcp.json"],
        maps: &[&["servers"]],
        unread: &["mcpServers"],
        ..PLAIN
    },
    Known {
        client: "vscode",
        label: "VS Code",
        entry: EntryForm::Stdio,
        dialect: Dialect::Code,
        tails: &["User/mcp.json"],
        maps: &[&["servers"]],
        unread: &["mcpServers"],
        ..PLAIN
    },
    Known {
        client: "gemini",
        label: "Gemini CLI",
        dialect: Dialect::Gemini,
        timeout: Unit::Milliseconds,
        tails: &[".gemini/settings.json"],
        ..PLAIN
    },
    Known {
        client: "windsurf",
        label: "Windsurf",
        dialect: Dialect::Code,
        tails: &[".codeium/windsurf/mcp_config.json", "mcp_config.json"],
        ..PLAIN
    },
    Known { client: "cline", label: "Cline", tails: &["cline_mcp_settings.json"], ..PLAIN },
    Known {
        client: "roo",
        label: "Roo Code",
        dialect: Dialect::Code,
        tails: &["settings/mcp_settings.json", ".roo/mcp.json"],
        ..PLAIN
    },
    Known { client: "kiro", label: "Kiro", tails: &[".kiro/settings/mcp.json"], ..PLAIN },
    Known { client: "lmstudio", label: "LM Studio", tails: &[".lmstudio/mcp.json"], ..PLAIN },
    Known { client: "junie", label: "Junie", tails: &[".junie/mcp/mcp.json"], ..PLAIN },
    Known { client: "droid", label: "Factory droid", tails: &[".factory/mcp.json"], ..PLAIN },
    Known { client: "kimi", label: "Kimi", tails: &[".kimi-code/mcp.json"], ..PLAIN },
    Known {
        client: "copilot",
        label: "Copilot CLI",
        form: Form::Json,
        entry: EntryForm::Local,
        dialect: Dialect::Shell,
        tails: &[".copilot/mcp-config.json", "mcp-config.json"],
        ..PLAIN
    },
    Known {
        client: "zed",
        label: "Zed",
        entry: EntryForm::Zed,
        tails: &["zed/settings.json", "Zed/settings.json", ".zed/settings.json"],
        maps: &[&["context_servers"]],
        unread: &["mcpServers"],
        ..PLAIN
    },
    Known {
        client: "opencode",
        label: "opencode",
        entry: EntryForm::Opencode,
        dialect: Dialect::Opencode,
        timeout: Unit::Milliseconds,
        tails: &["opencode.json", "opencode.jsonc"],
        maps: &[&["mcp"]],
        unread: &["mcpServers"],
        ..PLAIN
    },
    Known {
        client: "opencode-agents",
        label: "opencode (.agents)",
        entry: EntryForm::Opencode,
        dialect: Dialect::Opencode,
        timeout: Unit::Milliseconds,
        tails: &[".agents/mcp.json"],
        maps: &[&[]],
        unread: &[],
        ..PLAIN
    },
    Known {
        client: "codex",
        label: "Codex",
        form: Form::Toml,
        entry: EntryForm::Table,
        tails: &[".codex/config.toml"],
        maps: &[&["mcp_servers"]],
        unread: &["mcpServers"],
        ..PLAIN
    },
    Known {
        client: "goose",
        label: "Goose",
        form: Form::Yaml,
        tails: &["goose/config.yaml"],
        maps: &[&["extensions"]],
        ..PLAIN
    },
    Known {
        client: "continue",
        label: "Continue",
        form: Form::Yaml,
        tails: &[".continue/config.yaml", ".continue/config.yml"],
        ..PLAIN
    },
];

/// Files in which people write servers although their client does not read them there, and where it
/// does.
const NOT_READ: &[(&str, &str)] = &[
    (
        ".claude/settings.json",
        "Claude Code reads servers from `~/.claude.json` and `.mcp.json`, not from its settings",
    ),
    (
        ".claude/settings.local.json",
        "Claude Code reads servers from `~/.claude.json` and `.mcp.json`, not from its settings",
    ),
];

/// The kind of a path by its tail.
pub fn by_path(path: &Path) -> Option<&'static Known> {
    by_tail(path).map(|(known, _)| known)
}

/// The kind of a path, and the tail that says so.
pub(super) fn by_tail(path: &Path) -> Option<(&'static Known, &'static str)> {
    let tails = KNOWN.iter().flat_map(|known| known.tails.iter().map(move |tail| (known, *tail)));
    tails.into_iter().find(|(_, tail)| ends_with(path, tail))
}

/// Why a file of this name holds no servers that a client would start.
pub fn not_read(path: &Path) -> Option<&'static str> {
    NOT_READ.iter().find(|(tail, _)| ends_with(path, tail)).map(|(_, why)| *why)
}

/// The kind of a JSON file by its own keys, for paths that say nothing.
pub fn by_keys(root: &Value) -> Option<&'static Known> {
    let has = |key: &str| root.get(key).is_some_and(Value::is_object);
    let client = if has("mcpServers") && has("projects") {
        "claude-code"
    } else if has("mcpServers") {
        return Some(&PLAIN);
    } else if has("servers") {
        "vscode"
    } else if has("context_servers") {
        "zed"
    } else if has("mcp") {
        "opencode"
    } else {
        return None;
    };
    KNOWN.iter().find(|known| known.client == client)
}

/// The kind of a TOML file, whatever its name.
pub fn codex() -> Option<&'static Known> {
    KNOWN.iter().find(|known| known.client == "codex")
}

/// Whether the path ends in these components.
pub(super) fn ends_with(path: &Path, tail: &str) -> bool {
    let parts: Vec<&str> = path
        .components()
        .filter_map(|part| match part {
            Component::Normal(name) => name.to_str(),
            _ => None,
        })
        .collect();
    let tail: Vec<&str> = tail.split('/').collect();
    parts.ends_with(&tail)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn files_are_recognised_by_their_place() {
        for (path, client) in [
            ("/home/u/.claude.json", Some("claude-code")),
            ("/p/.mcp.json", Some("claude-code-project")),
            ("/home/u/.cursor/mcp.json", Some("cursor")),
            ("/p/.vscode/mcp.json", Some("vscode-project")),
            ("/home/u/.config/Code/User/mcp.json", Some("vscode")),
            ("/home/u/.config/zed/settings.json", Some("zed")),
            ("/home/u/.codex/config.toml", Some("codex")),
            ("/p/opencode.jsonc", Some("opencode")),
            ("/home/u/.config/goose/config.yaml", Some("goose")),
            ("/p/x.json", None),
            ("/p/my.mcp.json", None),
        ] {
            assert_eq!(by_path(Path::new(path)).map(|known| known.client), client, "{path}");
        }
        assert!(not_read(Path::new("/home/u/.claude/settings.json")).is_some());
    }

    #[test]
    fn files_are_recognised_by_their_keys() {
        for (root, client) in [
            (json!({"mcpServers": {}}), Some("client")),
            (json!({"mcpServers": {}, "projects": {}}), Some("claude-code")),
            (json!({"servers": {}, "inputs": []}), Some("vscode")),
            (json!({"context_servers": {}}), Some("zed")),
            (json!({"mcp": {}}), Some("opencode")),
            (json!({"mcp": true}), None),
            (json!([]), None),
        ] {
            assert_eq!(by_keys(&root).map(|known| known.client), client, "{root}");
        }
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<&str> = KNOWN.iter().map(|known| known.client).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), KNOWN.len());
    }
}
