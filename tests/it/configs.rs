//! Config files, policies and the command line as a user meets them: what is wrong is said with its
//! place, and what is wrong in one entry breaks no other.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::stage::{Client, Options, Stage};

/// Runs the program in a folder until it ends by itself, with nothing on its input.
fn bouncer(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bouncer"));
    command.args(arguments).current_dir(folder).env("BOUNCER_HOME", folder.join("home")).stdin(Stdio::null());
    command.output().expect("the program starts")
}

/// Runs `run` over a config with this text and checks its exit code and what stands on stderr.
fn check(file: &str, text: &str, code: i32, pieces: &[&str]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join(file), text).expect("a writable folder");
    let output = bouncer(folder.path(), &["run", "--config", file]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{stderr}");
    assert!(output.stdout.is_empty(), "only messages belong on stdout");
    for piece in pieces {
        assert!(stderr.contains(piece), "no {piece:?} in:\n{stderr}");
    }
}

#[test]
fn a_config_that_does_not_load_says_every_problem_and_its_place() {
    check(
        "bouncer.yaml",
        "upstreams:\n  a:\n    comand: x\n  b: {command: [1]}\n",
        3,
        &["error: ", "comand", "--> bouncer.yaml:3", "--> bouncer.yaml:4", "help: "],
    );
    check("servers.json", "{\"mcpServers\": {\"a\": }}", 3, &["error: ", "servers.json:1"]);
    check(
        "bouncer.yaml",
        "upstreams: {a: {command: \"${NO_SUCH_VARIABLE_HERE}\"}}\n",
        3,
        &["NO_SUCH_VARIABLE_HERE"],
    );
    let folder = tempfile::tempdir().expect("a temporary folder");
    let output = bouncer(folder.path(), &["run", "--config", "absent.yaml"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&output.stderr).contains("absent.yaml"));
}

#[test]
fn a_wrong_command_line_is_usage() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for arguments in [&["run", "--no-such-option"][..], &["no-such-command"], &[]] {
        let output = bouncer(folder.path(), arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(output.stdout.is_empty() && !output.stderr.is_empty(), "{arguments:?}");
    }
    for arguments in [&["--help"][..], &["--version"], &["run", "--help"]] {
        let output = bouncer(folder.path(), arguments);
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        assert!(!output.stdout.is_empty(), "{arguments:?}");
    }
}

/// A running client over one scripted upstream `a` and these options.
fn running(options: Options) -> Option<(Stage, Client)> {
    let stage = Stage::with(&[("a", json!({"tools": ["t"]}))], options)?;
    let client = stage.client();
    Some((stage, client))
}

#[test]
fn an_entry_that_is_not_stdio_is_skipped_and_reported() {
    let remote = json!({"type": "http", "url": "https://mcp.example/mcp"});
    let options =
        Options { servers: [("far".to_owned(), remote)].into_iter().collect(), ..Options::default() };
    let Some((_stage, mut client)) = running(options) else { return };
    assert_eq!(client.tools(&["a__t"]), ["a__t"]);
    client.says(&["far"]);
}

#[test]
fn a_policy_that_does_not_load_refuses_everything() {
    for policy in [
        "t: {max_cals: 3}\n",
        "t:\n  max_calls: many\n",
        "{",
        "- a list\n",
        "t: {max_calls: 1}\nt: {max_calls: 9}\n",
    ] {
        let options = Options { policy: Some(policy.to_owned()), ..Options::default() };
        let Some((mut stage, mut client)) = running(options) else { return };
        client.tools(&["a__t"]);
        assert!(client.call("a__t", &json!({})).blocked(), "{policy}");
        client.says(&["error: ", "policy.yaml:"]);
        assert_eq!(stage.upstreams[0].count("tools/call"), 0);
    }
}

#[test]
fn our_own_config_sets_limits() {
    let settings = json!({"limits": {"message_bytes": 1_048_576}, "list_wait": "2s"});
    let options = Options { settings: Some(settings), ..Options::default() };
    let script = json!({"tools": ["big", "t"], "calls": {"big": [{"big": 1_048_576}]}});
    let Some(stage) = Stage::with(&[("a", script)], options) else { return };
    let mut client = stage.client();
    client.tools(&["a__big"]);
    let said = client.call("a__big", &json!({})).message["error"]["message"].clone();
    assert!(said.as_str().is_some_and(|said| said.contains("limit")), "{said}");
    assert_eq!(client.call("a__t", &json!({})).text(), "{}");
}

#[test]
fn a_prefix_replaces_the_name_of_the_server() {
    let options = Options {
        settings: Some(json!({})),
        entry: [("prefix".to_owned(), json!("short"))].into_iter().collect(),
        ..Options::default()
    };
    let Some((_stage, mut client)) = running(options) else { return };
    assert_eq!(client.tools(&["short__t"]), ["short__t"]);
}

#[test]
fn c17_c19_a_path_is_confined_with_symlinks_and_every_element() {
    let text = json!({"type": "string"});
    let write = json!({"name": "write_file", "description": "Writes a file.", "inputSchema": {"type": "object", "properties": {"path": text, "content": text}}});
    let move_all = json!({"name": "write_many", "description": "Writes files.", "inputSchema": {"type": "object", "properties": {"paths": {"type": "array", "items": text}}}});
    let folder = tempfile::tempdir().expect("a temporary folder");
    let root = folder.path().canonicalize().expect("it is there");
    std::fs::create_dir(root.join("safe")).expect("a writable folder");
    std::fs::create_dir(root.join("safe_evil")).expect("a writable folder");
    std::os::unix::fs::symlink(&root, root.join("safe/out")).expect("a writable folder");
    let safe = root.join("safe").display().to_string();
    let policy = format!(
        "write_file: {{write_params: [path], allowed_path_prefixes: [\"{safe}\"]}}\nwrite_many: {{write_params: [paths], allowed_path_prefixes: [\"{safe}\"]}}\n"
    );
    let options = Options { policy: Some(policy), ..Options::default() };
    let Some(stage) = Stage::with(&[("a", json!({"tools": [write, move_all]}))], options) else { return };
    let mut client = stage.client();
    client.tools(&["a__write_file"]);
    let mut write =
        |path: String| client.call("a__write_file", &json!({"path": path, "content": "x"})).blocked();
    assert!(!write(format!("{safe}/a")));
    for outside in ["/../x", "_evil/a", "//../x", "/out/x", "/a/../../x"] {
        assert!(write(format!("{safe}{outside}")), "{outside}");
    }
    for outside in ["~/x", "/etc/passwd", "C:\\work\\safe\\..\\x"] {
        assert!(write(outside.to_owned()), "{outside}");
    }
    let many = |paths: &[String]| json!({ "paths": paths });
    assert!(!client.call("a__write_many", &many(&[format!("{safe}/a"), format!("{safe}/b")])).blocked());
    assert!(client.call("a__write_many", &many(&[format!("{safe}/a"), "/etc/passwd".to_owned()])).blocked());
    assert!(client.call("a__write_many", &json!({"paths": {"a": "/etc/passwd"}})).blocked());
}

#[test]
fn an_audit_line_tells_the_whole_call_and_masks_secrets() {
    let Some((stage, mut client)) = running(Options::default()) else { return };
    client.tools(&["a__t"]);
    client.call("a__t", &json!({"note": "plain", "token": "ghp_0123456789abcdefghijklmnopqrstuvwxyzAB"}));
    client.close();
    client.end();
    let text = std::fs::read_to_string(stage.state().join("audit.jsonl")).expect("a log");
    assert!(text.contains("plain") && !text.contains("ghp_0123456789"), "{text}");
    let of = |record: &Value, key: &str| record.get(key).cloned().unwrap_or_default();
    let records = stage.audit();
    assert!(records.len() >= 2, "{records:#?}");
    let verdict = records.iter().find(|record| record.get("verdict").is_some()).expect("a verdict");
    let outcome = records.iter().find(|record| of(record, "kind") == "outcome").expect("an outcome");
    assert_eq!((of(verdict, "session"), of(verdict, "call")), (of(outcome, "session"), of(outcome, "call")));
}
