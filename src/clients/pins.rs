//! Packages that `npx`, `uvx` and their kin take in whatever version there is, and the version of each
//! that this machine has run before.
//!
//! The version is looked up in the runners' own caches, never over the network: what is offered is
//! what the user has been running. Only the config that Bouncer runs is pinned; the client's own entry
//! comes back as it was.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde_json::{Value, json};

use super::plan::Plan;

/// Most entries of a cache that are looked at.
const ENTRIES: usize = 4_096;

/// An argument that names a package without a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Loose {
    /// The argument as it is written.
    pub(super) written: String,
    /// Where it stands among the arguments.
    at: usize,
    /// The package's name.
    name: String,
    runner: Runner,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Runner {
    Node,
    Python,
}

/// A package of a server that moves, and the version that it could be pinned to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PinOffer {
    /// The server's name.
    pub server: String,
    /// The argument as it is written.
    pub written: String,
    /// The argument with the version found.
    pub pinned: String,
    at: usize,
}

/// The package that a command line runs, if nothing says in which version.
pub(super) fn loose(command: &str, args: &[String]) -> Option<Loose> {
    let program =
        |word: &str| word.rsplit(['/', '\\']).next().unwrap_or_default().trim_end_matches(".cmd").to_owned();
    let runner = |word: &str| match program(word).as_str() {
        "npx" | "bunx" | "pnpx" => Some(Runner::Node),
        "uvx" => Some(Runner::Python),
        _ => None,
    };
    // The runner is the command, or stands behind a shell that starts it (`cmd /c npx`).
    let (first, runner) = match runner(command) {
        Some(found) => (0, found),
        None => args.iter().take(2).enumerate().find_map(|(at, word)| Some((at + 1, runner(word)?)))?,
    };
    let (at, written) = args.iter().enumerate().skip(first).find(|(_, word)| !word.starts_with('-'))?;
    let (name, version) = match written.strip_prefix('@') {
        Some(scoped) => match scoped.split_once('@') {
            Some((name, version)) => (format!("@{name}"), Some(version)),
            None => (written.clone(), None),
        },
        None => match written.split_once('@').or_else(|| written.split_once("==")) {
            Some((name, version)) => (name.to_owned(), Some(version)),
            None => (written.clone(), None),
        },
    };
    let fixed = version.is_some_and(|version| version.starts_with(|c: char| c.is_ascii_digit()));
    if fixed || written.starts_with(['.', '/']) || written.contains("://") {
        return None;
    }
    Some(Loose { written: written.clone(), at, name, runner })
}

/// The packages of the servers that move, with the versions found in the caches of this home folder.
pub fn offers(plan: &Plan, home: &Path) -> Vec<PinOffer> {
    let moves = plan.moves();
    let upstreams = plan.maps.iter().flat_map(|map| &map.upstreams);
    upstreams
        .filter(|(name, _)| moves.contains(&name.as_str()))
        .filter_map(|(name, upstream)| {
            let args: Vec<String> = serde_json::from_value(upstream.get("args")?.clone()).ok()?;
            let loose = loose(upstream.get("command")?.as_str()?, &args)?;
            let version = version(&loose, home)?;
            let pinned = format!("{}@{version}", loose.name);
            Some(PinOffer { server: name.clone(), written: loose.written, pinned, at: loose.at })
        })
        .collect()
}

/// Pins what was offered.
pub fn pin(plan: &mut Plan, offers: &[PinOffer]) {
    for (name, upstream) in plan.maps.iter_mut().flat_map(|map| &mut map.upstreams) {
        for offer in offers.iter().filter(|offer| offer.server == *name) {
            let argument = upstream.get_mut("args").and_then(|args| args.get_mut(offer.at));
            if let Some(argument) = argument.filter(|argument| **argument == json!(offer.written)) {
                *argument = json!(offer.pinned);
            }
        }
    }
}

/// The version of a package that was run last.
fn version(loose: &Loose, home: &Path) -> Option<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.@/".contains(c);
    if !loose.name.chars().all(plain) || loose.name.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return None;
    }
    let found = match loose.runner {
        Runner::Node => newest(&home.join(".npm/_npx"), &|folder| {
            let file = folder.join("node_modules").join(&loose.name).join("package.json");
            let package: Value = serde_json::from_slice(&fs::read(&file).ok()?).ok()?;
            Some((modified(&file)?, package.get("version")?.as_str()?.to_owned()))
        }),
        Runner::Python => newest(&home.join(".cache/uv/archive-v0"), &|folder| {
            let file = entries(folder).find(|path| dist_version(path, &loose.name).is_some())?;
            Some((modified(&file)?, dist_version(&file, &loose.name)?))
        }),
    }?;
    let is_version = found.len() <= 64
        && found.starts_with(|c: char| c.is_ascii_digit())
        && found.chars().all(|c| c.is_ascii_alphanumeric() || ".-+".contains(c));
    is_version.then_some(found)
}

/// The version in the name of a `NAME-VERSION.dist-info` folder of this package.
fn dist_version(path: &Path, name: &str) -> Option<String> {
    // Names are equal but for case and separators (PEP 503), and hold no `-` here.
    let fold = |name: &str| name.to_lowercase().replace(['-', '.'], "_");
    let folder = path.file_name()?.to_str()?.strip_suffix(".dist-info")?;
    let (found, version) = folder.rsplit_once('-')?;
    (fold(found) == fold(name)).then(|| version.to_owned())
}

fn newest(cache: &Path, look: &dyn Fn(&Path) -> Option<(SystemTime, String)>) -> Option<String> {
    entries(cache).filter_map(|folder| look(&folder)).max().map(|(_, version)| version)
}

fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).take(ENTRIES)
}

fn modified(path: &Path) -> Option<SystemTime> {
    fs::metadata(path).ok()?.modified().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_that_was_run_is_found() {
        let home = tempfile::tempdir().expect("a folder");
        let write = |path: &str, text: &str| {
            let path = home.path().join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("room");
            fs::write(path, text).expect("room");
        };
        write(".npm/_npx/1a/node_modules/@s/a/package.json", r#"{"version": "1.2.3"}"#);
        write(".npm/_npx/2b/node_modules/b/package.json", r#"{"version": "1 && rm"}"#);
        write(".cache/uv/archive-v0/x1/mcp_server_git-2025.1.14.dist-info/METADATA", "");
        let check = |words: &[&str], expected: Option<(&str, &str)>| {
            let args: Vec<String> = words.iter().skip(1).map(|word| (*word).to_owned()).collect();
            let loose = loose(words.first().expect("a word"), &args);
            let found = loose.and_then(|loose| Some((loose.name.clone(), version(&loose, home.path())?)));
            let expected = expected.map(|(name, version)| (name.to_owned(), version.to_owned()));
            assert_eq!(found, expected, "{words:?}");
        };
        check(&["npx", "-y", "@s/a"], Some(("@s/a", "1.2.3")));
        check(&["cmd", "/c", "npx", "@s/a@latest", "/home"], Some(("@s/a", "1.2.3")));
        check(&["uvx", "mcp-server-git", "--repository", "x"], Some(("mcp-server-git", "2025.1.14")));
        check(&["npx", "b"], None);
        check(&["npx", "@s/a@1.0.0"], None);
        check(&["npx", "@s/../../x"], None);
        check(&["node", "a", "b", "npx"], None);
    }
}
