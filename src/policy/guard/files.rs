//! Files by the ends of their paths: those that configure clients and their hooks, and those that run
//! code later.
//!
//! Matched by tail under any folder and without regard to case, since a project's `.claude` counts
//! as much as the home folder's and many file systems fold case. A tail that ends in `/` is a folder
//! with all that is in it. The sources are the clients' own documents; `clients/` edits the same files.

/// What a file is to the guard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ward {
    /// Programs run what stands in it later: writing it is asked about.
    RunsLater,
    /// It configures a client, its hooks or Bouncer: writing it is refused.
    Guarded,
}

/// Client configs and hook files.
const GUARDED: [&str; 58] = [
    // Claude Desktop and Claude Code.
    "claude_desktop_config.json",
    ".mcp.json",
    ".claude.json",
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".claude/hooks/",
    ".claude/plugins/",
    "claude-code/managed-settings.json",
    "claudecode/managed-settings.json",
    "managed-mcp.json",
    // Cursor.
    ".cursor/mcp.json",
    ".cursor/hooks.json",
    ".cursor/hooks/",
    ".cursor/permissions.json",
    ".cursor/cli.json",
    ".cursor/cli-config.json",
    // VS Code and Copilot.
    ".vscode/mcp.json",
    "user/mcp.json",
    "mcp-config.json",
    ".copilot/config.json",
    ".copilot/settings.json",
    ".copilot/hooks/",
    ".github/hooks/",
    "github-copilot/policy.d/",
    "github-copilot/intellij/mcp.json",
    // Codex.
    ".codex/config.toml",
    ".codex/hooks.json",
    ".codex/hooks/",
    ".codex/requirements.toml",
    // Gemini CLI.
    ".gemini/settings.json",
    ".gemini/extensions/",
    "gemini-cli/settings.json",
    // Windsurf, Cline, Roo Code.
    "windsurf/mcp_config.json",
    "windsurf/hooks.json",
    ".windsurf/hooks.json",
    "cline_mcp_settings.json",
    "settings/mcp_settings.json",
    ".roo/mcp.json",
    // Zed, opencode, Goose, Continue.
    "zed/settings.json",
    ".zed/settings.json",
    "opencode.json",
    "opencode.jsonc",
    ".agents/mcp.json",
    "opencode/mcp-local.json",
    ".opencode/plugin/",
    ".opencode/plugins/",
    "opencode/plugin/",
    "opencode/plugins/",
    "goose/config.yaml",
    ".continue/config.yaml",
    ".continue/config.json",
    ".continue/mcpservers/",
    // Kiro, LM Studio, Junie, Factory, Kimi, Amazon Q.
    ".kiro/settings/mcp.json",
    ".lmstudio/mcp.json",
    ".junie/mcp/",
    ".factory/mcp.json",
    ".kimi-code/mcp.json",
    "amazonq/mcp.json",
];

/// What shells, tools, schedulers and build services run without being asked.
const RUNS_LATER: [&str; 62] = [
    ".git/",
    ".githooks/",
    ".husky/",
    ".gitconfig",
    "git/config",
    ".gitmodules",
    ".pre-commit-config.yaml",
    "lefthook.yml",
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zlogout",
    ".inputrc",
    ".kshrc",
    ".cshrc",
    ".tcshrc",
    ".login",
    ".xprofile",
    ".xinitrc",
    ".xsession",
    "fish/config.fish",
    "fish/conf.d/",
    "fish/functions/",
    "nushell/config.nu",
    "microsoft.powershell_profile.ps1",
    "powershell/profile.ps1",
    ".envrc",
    ".direnvrc",
    "mise.toml",
    ".github/workflows/",
    ".github/actions/",
    ".gitlab-ci.yml",
    ".circleci/",
    ".travis.yml",
    "azure-pipelines.yml",
    "bitbucket-pipelines.yml",
    "jenkinsfile",
    ".drone.yml",
    ".buildkite/",
    ".woodpecker/",
    ".vscode/tasks.json",
    ".vscode/launch.json",
    ".vscode/settings.json",
    ".devcontainer/",
    ".ssh/",
    "etc/cron.d/",
    "etc/crontab",
    "var/spool/cron/",
    "etc/profile.d/",
    "systemd/user/",
    "etc/systemd/system/",
    "library/launchagents/",
    "library/launchdaemons/",
    ".config/autostart/",
    "startup/",
];

/// What a path is to the guard, by its end alone.
///
/// `path` uses `/` and has `.` and `..` worked out; a folder that holds a guarded file directly
/// counts as one, since moving or removing it removes the file.
pub fn ward(path: &str) -> Option<Ward> {
    let path = format!("/{}", path.to_lowercase().trim_matches('/'));
    if GUARDED.iter().any(|tail| ends_with(&path, tail) || is_own_folder(&path, tail)) {
        return Some(Ward::Guarded);
    }
    RUNS_LATER.iter().any(|tail| ends_with(&path, tail)).then_some(Ward::RunsLater)
}

fn ends_with(path: &str, tail: &str) -> bool {
    match tail.strip_suffix('/') {
        Some(folder) => path.ends_with(&format!("/{folder}")) || path.contains(&format!("/{folder}/")),
        None => path.strip_suffix(tail).is_some_and(|head| head.ends_with('/')),
    }
}

/// Whether the path is the dotted folder of a guarded file: `.claude` of `.claude/settings.json`.
fn is_own_folder(path: &str, tail: &str) -> bool {
    let folder = tail.trim_end_matches('/').split('/').next().unwrap_or_default();
    // `.github` and `.vscode` hold far more than hooks.
    let own = folder.starts_with('.') && tail.contains('/') && !matches!(folder, ".github" | ".vscode");
    own && path.ends_with(&format!("/{folder}"))
}

/// The guarded files of the client whose folder is `dotted` (`.claude`), where its user keeps them in `folder`.
pub fn moved(dotted: &str, folder: &str) -> Vec<String> {
    let folder = folder.trim_end_matches(['/', '\\']);
    let inside = GUARDED.iter().filter_map(|tail| tail.strip_prefix(dotted)?.strip_prefix('/'));
    inside.map(|rest| format!("{folder}/{rest}")).collect()
}

/// Whether any tail begins with this name: a cheap way to see whether text can name one at all.
pub(super) fn all_tails() -> impl Iterator<Item = &'static str> {
    GUARDED.into_iter().chain(RUNS_LATER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_known_by_their_tails() {
        let check = |path: &str, expected: Option<Ward>| assert_eq!(ward(path), expected, "{path}");
        let (guarded, later) = (Some(Ward::Guarded), Some(Ward::RunsLater));
        check("/home/u/.claude/settings.json", guarded);
        check(".claude/settings.local.json", guarded);
        check("/w/p/.CLAUDE/Settings.json", guarded);
        check("/w/p/.claude", guarded);
        check("/w/p/.claude/hooks/x.sh", guarded);
        check("/w/p/.claude/commands/x.md", None);
        check("/w/p/.mcp.json", guarded);
        check("/w/p/x.mcp.json", None);
        check("/home/u/.config/Code/User/mcp.json", guarded);
        check("/home/u/.codex/config.toml", guarded);
        check("/w/.github/hooks/a.json", guarded);
        check("/w/.github", None);
        check("/w/p/.git/hooks/pre-commit", later);
        check("/w/p/.git", later);
        check("/w/p/.gitignore", None);
        check("/home/u/.bashrc", later);
        check("/home/u/.ssh/authorized_keys", later);
        check("/w/.github/workflows/ci.yml", later);
        check("/w/Jenkinsfile", later);
        check("/w/src/main.rs", None);
        check("/w/settings.json", None);
        check("", None);
    }

    #[test]
    fn a_folder_that_was_moved_has_the_files_of_its_client() {
        let files = moved(".claude", "/x/cfg/");
        let expected = ["settings.json", "settings.local.json", "hooks/", "plugins/"];
        assert_eq!(files, expected.map(|name| format!("/x/cfg/{name}")));
        assert!(moved(".codex", "/c").contains(&"/c/config.toml".to_owned()));
    }

    #[test]
    fn tails_are_written_in_lower_case() {
        assert!(all_tails().all(|tail| tail == tail.to_lowercase() && !tail.starts_with('/')));
    }
}
