//! From the files a user names to the policy of a run.
//!
//! What does not load must not turn into no policy: the caller that goes on after an error runs with
//! `Policy::refuse_all`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::policy::{Pack, Policy, RuleSet};

use super::compile::{compile_policy, compile_policy_node};
use super::diagnostic::Diagnostic;
use super::tree::{MAX_YAML_BYTES, Node};

/// Where a policy comes from.
#[derive(Debug, Clone, PartialEq)]
pub enum PolicySource {
    /// A file.
    File(PathBuf),
    /// A part of another file, whose name is given.
    Inline(Node, PathBuf),
}

impl PolicySource {
    /// The file that it stands in.
    pub fn file(&self) -> &Path {
        match self {
            Self::File(path) | Self::Inline(_, path) => path,
        }
    }
}

/// Reads one policy file.
///
/// # Errors
/// Every problem of the file; one when it cannot be read.
pub fn read_policy(path: &Path) -> Result<(RuleSet, Vec<Diagnostic>), Vec<Diagnostic>> {
    let shown = path.display().to_string();
    let unreadable = |cause: String| {
        vec![
            Diagnostic::whole(&shown, "policy cannot be read")
                .because(cause)
                .help("check the path and its permissions"),
        ]
    };
    let size = std::fs::metadata(path).map_err(|error| unreadable(error.to_string()))?.len();
    if size > MAX_YAML_BYTES as u64 {
        return Err(vec![
            Diagnostic::whole(&shown, format!("file of {size} bytes is too large"))
                .help(format!("at most {MAX_YAML_BYTES} bytes are read; split it")),
        ]);
    }
    let bytes = std::fs::read(path).map_err(|error| unreadable(error.to_string()))?;
    let text = String::from_utf8(bytes).map_err(|_| unreadable("it is not UTF-8".to_owned()))?;
    compile_policy(&text, &shown)
}

/// Puts a policy together from its sources, a later one over an earlier one, and the packs.
///
/// # Errors
/// Every problem of every source.
pub fn load_policy(
    sources: &[PolicySource],
    packs: Vec<Arc<Pack>>,
) -> Result<(Policy, Vec<Diagnostic>), Vec<Diagnostic>> {
    let mut sets = Vec::with_capacity(sources.len());
    let mut problems = Vec::new();
    for source in sources {
        let read = match source {
            PolicySource::File(path) => read_policy(path),
            PolicySource::Inline(node, file) => compile_policy_node(node, &file.display().to_string()),
        };
        match read {
            Ok((set, warnings)) => {
                sets.push(set);
                problems.extend(warnings);
            }
            Err(found) => problems.extend(found),
        }
    }
    if problems.iter().any(Diagnostic::is_error) {
        return Err(problems);
    }
    Ok((Policy::new(sets, packs), problems))
}

/// The policy that stands in for one that did not load: it refuses every call and names the first
/// problem.
pub fn refuse_all(problems: &[Diagnostic]) -> Policy {
    let first = problems.iter().find(|d| d.is_error()).or(problems.first());
    let place = first.map(|d| match d.at {
        Some(at) => format!("{}:{}:{}", d.file, at.line, at.column),
        None => d.file.clone(),
    });
    Policy::refuse_all(format!(
        "{} at {}",
        first.map_or("the policy does not load", |d| d.message.as_str()),
        place.unwrap_or_default()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_source_is_read_before_giving_up() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = dir.path().join(name);
            std::fs::write(&path, text).unwrap();
            PolicySource::File(path)
        };
        let good = write("good.yaml", "send: {max_calls: 1}");
        let bad = write("bad.yaml", "send: 1");
        let gone = PolicySource::File(dir.path().join("gone.yaml"));
        assert!(load_policy(std::slice::from_ref(&good), Vec::new()).is_ok());
        let problems = load_policy(&[good, bad, gone], Vec::new()).unwrap_err();
        assert_eq!(problems.len(), 2);
        let policy = refuse_all(&problems);
        assert!(policy.refusal().is_some_and(|why| why.contains("bad.yaml:1:7")), "{:?}", policy.refusal());
    }
}
