//! Containers: the repository, project, mailbox or folder that a call works in.
//!
//! One upstream often holds several that do not belong together: a private repository and a public
//! one. What was read in one that the user did not name does not go into a sink of another unasked.

use std::collections::BTreeMap;

use serde_json::Value;

use super::argument::scalars;

/// Names of arguments that say where at an upstream a call works.
const WORDS: [&str; 16] = [
    "repo",
    "repository",
    "project",
    "space",
    "workspace",
    "folder",
    "mailbox",
    "database",
    "vault",
    "drive",
    "bucket",
    "notebook",
    "board",
    "base",
    "team",
    "organization",
];
/// Containers told of one call, and bytes of a name.
const MOST: usize = 8;
const LONGEST: usize = 256;

/// Bytes of an entry beside its texts, about.
const ENTRY: usize = 64;

/// The containers that one call works in.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Within {
    /// Their names.
    pub(super) names: Vec<String>,
    /// Whether it works in others that are not told.
    pub(super) cut: bool,
}

/// The containers that calls worked in, by the number of the call.
#[derive(Debug)]
pub(super) struct Containers {
    known: BTreeMap<u64, Within>,
    bytes: usize,
    most: usize,
    /// Of calls up to this one some are given up.
    gone: u64,
}

impl Containers {
    /// None yet; at most `most` bytes are kept.
    pub(super) fn new(most: usize) -> Self {
        Self { known: BTreeMap::new(), bytes: 0, most, gone: 0 }
    }

    /// Notes where a call worked.
    pub(super) fn note(&mut self, call: u64, within: Within) {
        if call == 0 || within == Within::default() {
            return;
        }
        self.bytes += bytes(&within);
        if let Some(before) = self.known.insert(call, within) {
            self.bytes -= bytes(&before);
        }
        while self.bytes > self.most
            && let Some((oldest, before)) = self.known.pop_first()
        {
            self.bytes -= bytes(&before);
            self.gone = self.gone.max(oldest);
        }
    }

    /// Where a call worked, if it is known.
    pub(super) fn of(&self, call: u64) -> Option<&Within> {
        self.known.get(&call)
    }

    /// Whether it may have been given up where a call worked.
    pub(super) fn is_gone(&self, call: u64) -> bool {
        call != 0 && call <= self.gone
    }

    /// Bytes in memory, about.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}

fn bytes(within: &Within) -> usize {
    ENTRY + within.names.iter().map(|name| name.len() + 24).sum::<usize>()
}

/// The containers that a call names. An owner and a repository are one: `owner/repo`.
pub(super) fn containers(arguments: &Value) -> Within {
    let mut found = Vec::new();
    let mut owner = None;
    let mut cut = false;
    for (argument, text) in scalars(arguments) {
        let mut steps = argument.rsplit('.').map(|step| step.trim_end_matches("[]").to_lowercase());
        let mut name = steps.next().unwrap_or_default();
        if matches!(name.as_str(), "id" | "key" | "name" | "slug") {
            // `board.id`: the id of a board.
            name = steps.next().unwrap_or_default();
        }
        let text = text.trim();
        let is_name = text.len() <= LONGEST && !text.contains('\n');
        if text.is_empty() {
            continue;
        }
        if matches!(name.as_str(), "owner" | "org") && is_name {
            owner = Some(text.to_owned());
        }
        let plain = ["_id", "_key", "_name", "_slug", "id", "key", "name"]
            .iter()
            .find_map(|end| name.strip_suffix(end))
            .unwrap_or(&name);
        if !WORDS.contains(&plain.trim_end_matches(['_', '-'])) {
            continue;
        }
        if is_name && found.len() < MOST {
            found.push(text.to_owned());
        } else {
            cut = true;
        }
    }
    if let Some(owner) = owner {
        for repo in found.iter_mut().filter(|repo| !repo.contains('/')) {
            *repo = format!("{owner}/{repo}");
        }
    }
    Within { names: found, cut }
}

#[cfg(test)]
mod tests {
    use super::{Containers, MOST, Within, containers};
    use serde_json::json;

    #[test]
    fn what_is_given_up_is_known_to_be() {
        let mut known = Containers::new(1_000);
        for call in 1..=100 {
            known.note(call, Within { names: vec![format!("mara/repo-{call}")], cut: false });
        }
        assert!(known.bytes() <= 1_000);
        assert!(known.of(1).is_none() && known.is_gone(1));
        assert!(known.of(100).is_some() && !known.is_gone(100) && !known.is_gone(0));
    }

    #[test]
    fn a_call_says_where_it_works() {
        for (arguments, expected) in [
            (json!({"repo": "mara/site", "number": 4}), vec!["mara/site"]),
            (json!({"owner": "mara", "repo": "payroll", "path": "README.md"}), vec!["mara/payroll"]),
            (json!({"project_key": "PROJ", "folderId": "f1"}), vec!["PROJ", "f1"]),
            (json!({"project_id": 42, "board": {"id": 7}}), vec!["42", "7"]),
            (json!({"path": "/home/mara/x", "query": "base"}), vec![]),
            (json!({"repo": ""}), vec![]),
        ] {
            assert_eq!(containers(&arguments).names, expected, "{arguments}");
            assert!(!containers(&arguments).cut);
        }
    }

    #[test]
    fn what_is_not_told_is_known_to_be_there() {
        let many: Vec<String> = (0..=MOST).map(|n| format!("r{n}")).collect();
        for (arguments, told) in [
            (json!({"repo": many}), MOST),
            (json!({"repo": "r".repeat(300)}), 0),
            (json!({"folder": "a\nb"}), 0),
        ] {
            let within = containers(&arguments);
            assert_eq!((within.names.len(), within.cut), (told, true), "{arguments}");
        }
    }
}
