//! Finds guarded files in the arguments of a call.
//!
//! Paths are compared by words and, where the caller resolved them, by what they lead to. In command
//! lines every word is a path; quotes and backslashes inside a word do not hide it. That is no
//! shell: what is assembled while it runs is not seen, and commands are asked about anyway.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::policy::argument::{Leaf, each_leaf};
use crate::policy::constraint::ConstraintFailure;
use crate::policy::{ArgPath, Effect, Glob, Outcome, Role};

use super::files::{Ward, all_tails, ward};

/// What belongs to Bouncer, and where the call's upstream stands.
#[derive(Clone, Copy)]
pub struct Protected<'p> {
    /// Folders and files of Bouncer's own: its state folder, the configs, policies and packs it loaded.
    /// Absolute, with `/`.
    pub own: &'p [String],
    /// The user's home folder.
    pub home: Option<&'p str>,
    /// The upstream's working folder, where it is known.
    pub cwd: Option<&'p str>,
    /// Where a path of [`guarded_paths`] leads once symbolic links are followed.
    pub resolved: &'p dyn Fn(&str) -> Option<String>,
}

/// Paths of one call whose symbolic links are followed.
const PATHS: usize = 256;

/// The local paths in a call whose symbolic links matter to the guard.
pub fn guarded_paths(
    arguments: &Value,
    role: &dyn Fn(&str) -> Option<Role>,
    home: Option<&str>,
    cwd: Option<&str>,
) -> BTreeSet<String> {
    let mut paths = Vec::new();
    each_leaf(arguments, |leaf| {
        let known = role(leaf.argument);
        if paths.len() < PATHS && may_name(known) && known != Some(Role::Command) {
            let path = absolute(leaf.text, home, cwd);
            if path.starts_with('/') && path.len() <= 4096 && !path.contains('\0') {
                paths.push(path);
            }
        }
    });
    paths.into_iter().collect()
}

/// Checks a call against the guard.
///
/// `effects` are all the call may have. A call that plainly reads passes.
pub fn watch(
    effects: &[Effect],
    arguments: &Value,
    role: &dyn Fn(&str) -> Option<Role>,
    protected: Protected<'_>,
) -> Vec<ConstraintFailure> {
    if plainly_reads(effects) {
        return Vec::new();
    }
    let mut failures = Vec::new();
    each_leaf(arguments, |leaf| {
        let found = match role(leaf.argument) {
            known if !may_name(known) => None,
            Some(Role::Command) => in_command(leaf.text, protected),
            known => in_path(leaf.text, known, protected),
        };
        failures.extend(found.map(|ward| failure(&leaf, ward)));
    });
    failures
}

/// Whether a call changes nothing, so that the guard has nothing to say.
pub fn plainly_reads(effects: &[Effect]) -> bool {
    effects.iter().all(|effect| matches!(effect, Effect::Read | Effect::Fetch))
}

/// Text that travels and harmless options name no file that the call touches.
fn may_name(role: Option<Role>) -> bool {
    !matches!(role, Some(Role::Content | Role::Selector | Role::Credential | Role::Amount))
}

fn failure(leaf: &Leaf<'_, '_>, ward: Ward) -> ConstraintFailure {
    let argument = ArgPath(leaf.argument.to_owned());
    let (outcome, rule) = match ward {
        Ward::Guarded => (Outcome::Deny, "names a file that configures Bouncer, a client or its hooks"),
        Ward::RunsLater => (Outcome::Ask, "names a file that runs code later"),
    };
    ConstraintFailure::new(&argument, leaf.pointer, outcome, rule)
}

fn in_path(text: &str, role: Option<Role>, protected: Protected<'_>) -> Option<Ward> {
    // A destination or an unknown argument counts only if it can be a path at all.
    let path_like = matches!(role, Some(Role::Path | Role::Target)) || text.contains(['/', '\\', '.']);
    if !path_like || text.len() > 16 * 1024 {
        return None;
    }
    let text = text.strip_prefix("file://").unwrap_or(text);
    let whole = absolute(text, protected.home, protected.cwd);
    let decoded = percent_encoding::percent_decode_str(&whole).decode_utf8_lossy().into_owned();
    let led = (protected.resolved)(&whole);
    [Some(whole), Some(decoded), led]
        .into_iter()
        .flatten()
        .filter_map(|path| judge(&path, protected.own))
        .max()
}

fn judge(path: &str, own: &[String]) -> Option<Ward> {
    let path = plain(path);
    let inside = |folder: &String| {
        let folder = plain(folder);
        let (path, folder) = (path.to_lowercase(), folder.to_lowercase());
        let below =
            |a: &str, b: &str| a.strip_prefix(b).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        // The folder that holds it counts too, but not the root or a home folder with all else in it.
        !folder.is_empty()
            && folder != "/"
            && (below(&path, &folder) || parent(&folder) == Some(path.as_str()))
    };
    if own.iter().any(inside) { Some(Ward::Guarded) } else { ward(&path) }
}

/// The folder of a path, if it is a dotted one: `~/.bouncer`, not `~`.
fn parent(path: &str) -> Option<&str> {
    let (folder, _) = path.rsplit_once('/')?;
    folder.rsplit('/').next()?.starts_with('.').then_some(folder)
}

/// `.` and `..` worked out, `\` as `/`, drive letters dropped.
fn plain(path: &str) -> String {
    let path = path.replace('\\', "/");
    let rest = match path.get(1..2) {
        Some(":") => path.get(2..).unwrap_or_default(),
        _ => path.as_str(),
    };
    let mut parts: Vec<&str> = Vec::new();
    for part in rest.split('/') {
        match part.trim_end_matches([' ']) {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

/// The path as it would be opened, home folder written out, relative ones joined to the upstream's.
fn absolute(text: &str, home: Option<&str>, cwd: Option<&str>) -> String {
    let text = text.trim();
    let from_home = ["~/", "$HOME/", "${HOME}/", "%USERPROFILE%\\", "$env:USERPROFILE\\"]
        .iter()
        .find_map(|start| text.strip_prefix(start))
        .or_else(|| matches!(text, "~" | "$HOME" | "${HOME}").then_some(""));
    if let Some(rest) = from_home {
        return format!("{}/{rest}", home.unwrap_or_default().trim_end_matches('/'));
    }
    match cwd {
        Some(cwd) if !text.starts_with(['/', '\\']) && text.get(1..2) != Some(":") => {
            format!("{}/{text}", cwd.trim_end_matches('/'))
        }
        _ => text.to_owned(),
    }
}

/// The worst that a word of a command names.
fn in_command(text: &str, protected: Protected<'_>) -> Option<Ward> {
    if text.len() > COMMAND_BYTES {
        return in_long_command(text, protected);
    }
    // What a shell drops inside a word: quotes, backslashes, line continuations.
    let joined: String = text.chars().filter(|c| !matches!(c, '\'' | '"' | '\\')).collect();
    let spaced: String = text.chars().map(|c| if matches!(c, '\'' | '"' | '`') { ' ' } else { c }).collect();
    let windows = text.replace('\\', "/");
    [joined, spaced, windows]
        .iter()
        .flat_map(|text| words(text))
        .filter_map(|word| in_word(word, protected))
        .max()
}

/// Commands above this many bytes are searched for names only.
const COMMAND_BYTES: usize = 64 * 1024;

/// FAIL CLOSED: a command too long to be read word by word counts as naming whatever it mentions.
fn in_long_command(text: &str, protected: Protected<'_>) -> Option<Ward> {
    let text = text.to_lowercase();
    let own = protected.own.iter().any(|path| text.contains(&path.to_lowercase()));
    let tails = all_tails().filter(|tail| text.contains(tail)).filter_map(ward);
    tails.chain(own.then_some(Ward::Guarded)).max()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| {
        c.is_whitespace()
            || matches!(c, ';' | '|' | '&' | '<' | '>' | '(' | ')' | ',' | '=' | '`' | '[' | ']' | '\'' | '"')
    })
    .filter(|word| !word.is_empty() && word.len() <= 4096)
}

fn in_word(word: &str, protected: Protected<'_>) -> Option<Ward> {
    let whole = absolute(word.trim_start_matches('@'), protected.home, protected.cwd);
    let named = judge(&whole, protected.own);
    if named.is_some() || !word.contains(['*', '?', '{']) {
        return named;
    }
    // A shell pattern that could stand for a guarded file does.
    let last =
        |path: &str| path.trim_end_matches('/').rsplit('/').take(2).map(str::to_owned).collect::<Vec<_>>();
    let pattern: Vec<Glob> =
        last(&word.replace('?', "*").to_lowercase()).iter().map(|p| Glob::new(p)).collect();
    all_tails().find_map(|tail| {
        let parts = last(tail);
        let both =
            pattern.len() >= parts.len() && pattern.iter().zip(&parts).all(|(glob, part)| glob.matches(part));
        // `*` alone, and patterns of one part for files of two, stand for too much.
        let specific = pattern.iter().all(|glob| glob.as_str().chars().any(char::is_alphanumeric));
        (both && specific).then(|| ward(tail)).flatten()
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn outcome(effect: Effect, role: Option<Role>, text: &str) -> Option<Outcome> {
        let own = ["/home/u/.bouncer".to_owned(), "/w/bouncer.yaml".to_owned()];
        let resolved = |path: &str| (path == "/w/link").then(|| "/home/u/.claude/settings.json".to_owned());
        let protected = Protected { own: &own, home: Some("/home/u"), cwd: Some("/w"), resolved: &resolved };
        let failures = watch(&[effect], &json!({"x": [text]}), &|_| role, protected);
        failures.into_iter().map(|f| f.outcome).max()
    }

    #[test]
    fn guarded_files_are_refused_unless_read() {
        let deny = Some(Outcome::Deny);
        let check = |effect: Effect, role: Option<Role>, text: &str, expected: Option<Outcome>| {
            assert_eq!(outcome(effect, role, text), expected, "{effect} {role:?} {text}");
        };
        check(Effect::Write, Some(Role::Path), "/home/u/.bouncer/grants.jsonl", deny);
        check(Effect::Destroy, Some(Role::Path), "/home/u/.bouncer", deny);
        check(Effect::Write, Some(Role::Path), "~/.bouncer/pins.json", deny);
        check(Effect::Write, Some(Role::Path), "bouncer.yaml", deny);
        check(Effect::Write, Some(Role::Path), "sub/../bouncer.yaml", deny);
        check(Effect::Write, None, "/w/BOUNCER.yaml", deny);
        check(Effect::Write, Some(Role::Path), "/p/.claude/settings.json", deny);
        check(Effect::Write, Some(Role::Path), "/p/%2eclaude/settings.json", deny);
        check(Effect::Write, Some(Role::Path), "C:\\p\\.claude\\settings.json", deny);
        check(Effect::Write, Some(Role::Path), "file:///p/.mcp.json", deny);
        check(Effect::Write, Some(Role::Path), "link", deny);
        check(Effect::Write, Some(Role::Target), ".cursor/mcp.json", deny);
        check(Effect::Read, Some(Role::Path), "/p/.claude/settings.json", None);
        check(Effect::Write, Some(Role::Content), "/p/.claude/settings.json", None);
        check(Effect::Write, Some(Role::Path), "/w/a.txt", None);
        check(Effect::Write, Some(Role::Path), "/home/u", None);
        check(Effect::Write, Some(Role::Path), "/p/.git/hooks/pre-commit", Some(Outcome::Ask));
        check(Effect::Write, Some(Role::Path), "~/.bashrc", Some(Outcome::Ask));
        check(Effect::Send, Some(Role::Destination), "ana@corp.test", None);
    }

    #[test]
    fn commands_that_name_them_too() {
        let check = |text: &str, expected: Option<Outcome>| {
            assert_eq!(outcome(Effect::Execute, Some(Role::Command), text), expected, "{text}");
        };
        let deny = Some(Outcome::Deny);
        check("rm -rf ~/.bouncer", deny);
        check("echo {} > .claude/settings.json", deny);
        check("echo {}>.claude/settings.json", deny);
        check("tee \"$HOME/.claude/settings.json\"", deny);
        check("tee ~/.cl''aude/sett\\ings.json", deny);
        check("python -c \"open('.mcp.json','w')\"", deny);
        check("cp x.json --target=.cursor/mcp.json", deny);
        check("rm .claude/settings*", deny);
        check("sed -i s/a/b/ bouncer.yaml", deny);
        check("echo x >> ~/.bashrc", Some(Outcome::Ask));
        check("ls *.rs", None);
        check("cargo test", None);
        check(&format!("echo {} > .mcp.json", "x ".repeat(40_000)), deny);
        check(&format!("echo {}", "x ".repeat(40_000)), None);
        check("rm -rf target/*", None);
    }

    #[test]
    fn paths_worth_resolving() {
        let args = json!({"path": "a", "content": "/etc/x", "home": "~/b"});
        let role = |argument: &str| (argument == "content").then_some(Role::Content);
        let paths = guarded_paths(&args, &role, Some("/home/u"), Some("/w"));
        assert_eq!(paths.into_iter().collect::<Vec<_>>(), ["/home/u/b", "/w/a"]);
    }
}
