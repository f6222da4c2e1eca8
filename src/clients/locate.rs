//! Where the clients on a machine keep their files: the places that `init` looks at when it is not
//! told one, and what a place is called that it is told.

use std::io;
use std::path::{Path, PathBuf};

use super::known;

/// Places below the home folder.
const HOME: &[&str] = &[
    ".claude.json",
    "Library/Application Support/Claude/claude_desktop_config.json",
    ".cursor/mcp.json",
    "Library/Application Support/Code/User/mcp.json",
    ".gemini/settings.json",
    ".codeium/windsurf/mcp_config.json",
    "Library/Application Support/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
    "Library/Application Support/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json",
    ".kiro/settings/mcp.json",
    ".lmstudio/mcp.json",
    ".junie/mcp/mcp.json",
    ".factory/mcp.json",
    ".kimi-code/mcp.json",
    ".copilot/mcp-config.json",
    ".codex/config.toml",
    ".agents/mcp.json",
    ".continue/config.yaml",
];

/// Places below the folder for settings.
const CONFIG: &[&str] = &[
    "Claude/claude_desktop_config.json",
    "Code/User/mcp.json",
    "Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
    "Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json",
    "zed/settings.json",
    "Zed/settings.json",
    "opencode/opencode.json",
    "opencode/opencode.jsonc",
    "goose/config.yaml",
];

/// Places below a project's folder.
const PROJECT: &[&str] = &[
    ".mcp.json",
    ".cursor/mcp.json",
    ".vscode/mcp.json",
    ".gemini/settings.json",
    ".roo/mcp.json",
    ".kiro/settings/mcp.json",
    ".junie/mcp/mcp.json",
    ".zed/settings.json",
    ".codex/config.toml",
    ".agents/mcp.json",
    "opencode.json",
    "opencode.jsonc",
];

/// The folders in which a user's clients keep what is theirs, links resolved.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Homes {
    /// The home folder.
    pub home: Option<PathBuf>,
    /// Claude Code's, where `CLAUDE_CONFIG_DIR` moves it out of the home folder.
    pub claude: Option<PathBuf>,
    /// Codex's, where `CODEX_HOME` does.
    pub codex: Option<PathBuf>,
}

impl Homes {
    /// The folders that the environment names.
    pub fn of(env: &dyn Fn(&str) -> Option<String>) -> Self {
        let folder = |name: &str| folder(env, name).map(|path| std::fs::canonicalize(&path).unwrap_or(path));
        Self { home: folder("HOME"), claude: folder("CLAUDE_CONFIG_DIR"), codex: folder("CODEX_HOME") }
    }

    /// Nothing but a home folder.
    #[cfg(test)]
    pub(super) fn in_home(home: &str) -> Self {
        Self { home: Some(home.into()), ..Self::default() }
    }

    /// The user's settings of Claude Code.
    pub(super) fn claude_settings(&self) -> Option<PathBuf> {
        let moved = self.claude.as_ref().map(|claude| claude.join("settings.json"));
        moved.or_else(|| Some(self.home.as_ref()?.join(".claude/settings.json")))
    }

    /// The file in which Claude Code keeps the user's servers and what it knows of projects.
    pub(super) fn claude_state(&self) -> Option<PathBuf> {
        Some(self.claude.as_ref().or(self.home.as_ref())?.join(".claude.json"))
    }

    /// Codex's folder.
    pub(super) fn codex(&self) -> Option<PathBuf> {
        self.codex.clone().or_else(|| Some(self.home.as_ref()?.join(".codex")))
    }
}

fn folder(env: &dyn Fn(&str) -> Option<String>, name: &str) -> Option<PathBuf> {
    env(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// The files that exist, the user's own first, each once.
pub fn locate(env: &dyn Fn(&str) -> Option<String>, project: &Path) -> Vec<PathBuf> {
    let folder = |name: &str| folder(env, name);
    let home = folder("HOME").or_else(|| folder("USERPROFILE"));
    let config = folder("XDG_CONFIG_HOME").or_else(|| home.as_ref().map(|home| home.join(".config")));
    let mut found: Vec<PathBuf> = Vec::new();
    let mut look = |base: Option<&Path>, places: &[&str]| {
        for path in base.into_iter().flat_map(|base| places.iter().map(|place| base.join(place))) {
            if path.is_file() && !found.contains(&path) {
                found.push(path);
            }
        }
    };
    look(home.as_deref(), HOME);
    look(config.as_deref(), CONFIG);
    look(folder("APPDATA").as_deref(), CONFIG);
    look(folder("CLAUDE_CONFIG_DIR").as_deref(), &[".claude.json"]);
    look(folder("CODEX_HOME").as_deref(), &["config.toml"]);
    look(folder("COPILOT_HOME").as_deref(), &["mcp-config.json"]);
    if home.as_deref() != Some(project) {
        look(Some(project), PROJECT);
    }
    found
}

/// Where a client looks for a file: absolute, with links resolved above the part that its client knows
/// it by. Links in that part stay: a repository can make its `.mcp.json` a link to a file of any name,
/// and that file's own place would say nothing of whose it is.
///
/// # Errors
/// There is no such file.
pub fn place_of(file: &Path) -> io::Result<PathBuf> {
    let given = std::path::absolute(file)?;
    let real = std::fs::canonicalize(&given)?;
    let Some((_, tail)) = known::by_tail(&given) else { return Ok(real) };
    let base = given.ancestors().nth(tail.split('/').count()).unwrap_or(Path::new("/"));
    Ok(std::fs::canonicalize(base)?.join(tail))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clients::known::by_path;

    #[cfg(unix)]
    #[test]
    fn a_place_keeps_its_name_behind_links() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().expect("a folder");
        let base = std::fs::canonicalize(folder.path()).expect("its real path");
        for (path, text) in [("p/other/plain.json", "{}"), ("p/own/mcp.json", "{}")] {
            std::fs::create_dir_all(base.join(path).parent().expect("a folder")).expect("folders");
            std::fs::write(base.join(path), text).expect("a file");
        }
        symlink("other/plain.json", base.join("p/.mcp.json")).expect("a link");
        symlink("own", base.join("p/.cursor")).expect("a link");
        symlink("p", base.join("way")).expect("a link");
        for (given, place) in [
            ("p/.mcp.json", "p/.mcp.json"),
            ("way/.mcp.json", "p/.mcp.json"),
            ("p/own/../.mcp.json", "p/.mcp.json"),
            ("way/.cursor/mcp.json", "p/.cursor/mcp.json"),
            ("way/other/plain.json", "p/other/plain.json"),
        ] {
            assert_eq!(place_of(&base.join(given)).expect(given), base.join(place), "{given}");
        }
        assert!(place_of(&base.join("p/none.json")).is_err());
    }

    #[test]
    fn every_place_is_a_known_kind_of_file() {
        for place in HOME.iter().chain(CONFIG).chain(PROJECT) {
            assert!(by_path(&Path::new("/base").join(place)).is_some(), "{place}");
        }
    }

    #[test]
    fn only_what_exists_is_found() {
        let home = tempfile::tempdir().expect("a folder");
        for place in [".claude.json", ".config/zed/settings.json", "p/.mcp.json", "claude/.claude.json"] {
            let path = home.path().join(place);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
            std::fs::write(path, "{}").expect("a file");
        }
        let moved = std::cell::Cell::new(false);
        let env = |name: &str| match name {
            "HOME" => Some(home.path().display().to_string()),
            "CLAUDE_CONFIG_DIR" if moved.get() => Some(home.path().join("claude").display().to_string()),
            _ => None,
        };
        let found = locate(&env, &home.path().join("p"));
        assert_eq!(found.len(), 3, "{found:?}");
        moved.set(true);
        let found = locate(&env, &home.path().join("p"));
        assert!(found.len() == 4 && found.contains(&home.path().join("claude/.claude.json")), "{found:?}");
    }
}
