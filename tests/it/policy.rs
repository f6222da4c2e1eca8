//! `bouncer policy verify` from the command line: every problem with its line and column, all of them at
//! once, and what loads but deserves a look.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

/// A policy that was verified: the exit code, and what was said in both forms.
struct Verified {
    code: Option<i32>,
    text: String,
    json: Value,
}

/// Runs `bouncer policy verify` over a file with this text, once for people and once for programs.
fn verify(folder: &Path, text: &str) -> Verified {
    std::fs::write(folder.join("policy.yaml"), text).expect("a writable folder");
    let run = |format: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bouncer"));
        command.args(["policy", "verify", "policy.yaml", "--format", format]).current_dir(folder);
        command.stdin(Stdio::null()).output().expect("it ends")
    };
    let (people, programs) = (run("text"), run("json"));
    assert_eq!(people.status.code(), programs.status.code());
    let json: Value = serde_json::from_slice(&programs.stdout).expect("JSON");
    Verified {
        code: people.status.code(),
        text: String::from_utf8_lossy(&people.stdout).into_owned(),
        json: json["files"][0].clone(),
    }
}

/// Where each problem stands, and its words.
fn problems(verified: &Verified) -> Vec<(u64, u64, String)> {
    let problems = verified.json["problems"].as_array().expect("a list");
    let place = |problem: &Value, key: &str| problem[key].as_u64().unwrap_or_else(|| panic!("{problem}"));
    let words = |problem: &Value| problem["message"].as_str().unwrap_or_default().to_owned();
    problems
        .iter()
        .map(|problem| (place(problem, "line"), place(problem, "column"), words(problem)))
        .collect()
}

#[test]
fn every_policy_error_of_the_vectors_has_its_line_and_column() {
    let rows: Value = serde_json::from_str(include_str!("../vectors/contracts.json")).expect("JSON");
    let accepted =
        |row: &&Value| row["accept"].as_array().is_some_and(|all| all.contains(&"policy error".into()));
    let rows: Vec<&Value> = rows.as_array().expect("a list").iter().filter(accepted).collect();
    assert!(rows.len() >= 19, "{} rows", rows.len());
    let folder = tempfile::tempdir().expect("a folder");
    for row in rows {
        let verified = verify(folder.path(), row["policy"].as_str().expect("a text"));
        assert_eq!(verified.code, Some(3), "{}: {}", row["id"], verified.text);
        let problems = problems(&verified);
        assert!(!problems.is_empty(), "{}", row["id"]);
        for (line, column, message) in problems {
            let shown = format!("error: {message}\n  --> policy.yaml:{line}:{column}\n  help: ");
            assert!(verified.text.contains(&shown), "{}: {shown:?} is not in\n{}", row["id"], verified.text);
        }
    }
}

#[test]
fn a_file_with_ten_mistakes_shows_ten() {
    let text = "\
send_email:
  exfiltrating: 'no'
  sink_param: [to]
  max_calls: -1
  trusted_destinations: ana@corp.example
write_file:
  allowed_path_prefixes: /srv
  arg_patterns: {mode: '('}
  effect: writes
delete_file:
  max_calls: '0'
send_email:
  max_calls: 3
post: deny
";
    let folder = tempfile::tempdir().expect("a folder");
    let verified = verify(folder.path(), text);
    assert_eq!(verified.code, Some(3));
    let expected = [
        (2, 17, "`exfiltrating`"),
        (3, 3, "unknown key `sink_param`"),
        (4, 14, "`max_calls`"),
        (5, 25, "`trusted_destinations`"),
        (7, 26, "`allowed_path_prefixes`"),
        (8, 24, "`mode` in `arg_patterns`"),
        (9, 11, "`effect`"),
        (11, 14, "`max_calls`"),
        (12, 1, "key `send_email` stands twice"),
        (14, 7, "tool `post`"),
    ];
    let found = problems(&verified);
    assert_eq!(found.len(), expected.len(), "{}", verified.text);
    for ((line, column, message), (at, from, begins)) in found.iter().zip(expected) {
        assert!((*line, *column) == (at, from) && message.starts_with(begins), "{line}:{column} {message}");
    }
    assert!(verified.text.contains("does not load, 10 errors"), "{}", verified.text);
}

#[test]
fn what_loads_and_deserves_a_look_is_told() {
    let text = "\
send_email: {exfiltrating: false}
post: {arg_patterns: {mode: 'a^b'}}
write_file: {allowed_path_prefixes: [notes/today]}
read_file: {allowed_path_prefixes: []}
";
    let folder = tempfile::tempdir().expect("a folder");
    let verified = verify(folder.path(), text);
    assert_eq!(verified.code, Some(0), "{}", verified.text);
    let expected = [
        (1, 28, "tool `send_email` turns its sink gate off"),
        (2, 29, "`mode` in `arg_patterns` of tool `post` never matches"),
        (3, 38, "`notes/today` of tool `write_file` is relative"),
        (4, 36, "`allowed_path_prefixes` of tool `read_file` allows no path at all"),
    ];
    let found = problems(&verified);
    assert_eq!(found.len(), expected.len(), "{}", verified.text);
    for ((line, column, message), (at, from, begins)) in found.iter().zip(expected) {
        assert!((*line, *column) == (at, from) && message.starts_with(begins), "{line}:{column} {message}");
        assert!(verified.text.contains(&format!("warning: {message}")), "{}", verified.text);
    }
    assert!(
        verified.json["problems"]
            .as_array()
            .is_some_and(|all| all.iter().all(|p| p["severity"] == "warning"))
    );
    assert!(verified.text.contains("loads, 4 entries and 4 warnings"), "{}", verified.text);
}
