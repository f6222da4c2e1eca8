//! Containers: the repository, project, mailbox or folder that a call works in.
//!
//! One upstream often holds several that do not belong together: a private repository and a public
//! one. What was read in one that the user did not name does not go into a sink of another unasked.

use serde_json::Value;

use super::argument::leaves;

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
/// Containers told of one call.
const MOST: usize = 8;

/// The containers that a call names. An owner and a repository are one: `owner/repo`.
pub(super) fn containers(arguments: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let mut owner = None;
    for leaf in leaves(arguments) {
        let name = leaf.argument.rsplit('.').next().unwrap_or_default().trim_end_matches("[]").to_lowercase();
        let text = leaf.text.trim();
        if text.is_empty() || text.len() > 256 || text.contains('\n') {
            continue;
        }
        if matches!(name.as_str(), "owner" | "org") {
            owner = Some(text.to_owned());
        }
        let plain = ["_id", "_key", "_name", "_slug", "id", "key", "name"]
            .iter()
            .find_map(|end| name.strip_suffix(end))
            .unwrap_or(&name);
        if WORDS.contains(&plain.trim_end_matches(['_', '-'])) && found.len() < MOST {
            found.push(text.to_owned());
        }
    }
    if let Some(owner) = owner {
        for repo in found.iter_mut().filter(|repo| !repo.contains('/')) {
            *repo = format!("{owner}/{repo}");
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::containers;
    use serde_json::json;

    #[test]
    fn a_call_says_where_it_works() {
        for (arguments, expected) in [
            (json!({"repo": "mara/site", "number": 4}), vec!["mara/site"]),
            (json!({"owner": "mara", "repo": "payroll", "path": "README.md"}), vec!["mara/payroll"]),
            (json!({"project_key": "PROJ", "folderId": "f1"}), vec!["PROJ", "f1"]),
            (json!({"path": "/home/mara/x", "query": "base"}), vec![]),
            (json!({"repo": ""}), vec![]),
        ] {
            assert_eq!(containers(&arguments), expected, "{arguments}");
        }
    }
}
