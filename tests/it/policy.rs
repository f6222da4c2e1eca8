//! `bouncer policy verify` from the command line: every problem with its line and column, all of them at
//! once, and what loads but deserves a look.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::real::output;
use crate::stage::{Runtime, deps};

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

/// Runs a command of ours in a folder, and gives its exit code and all that it printed.
fn bouncer(folder: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bouncer"));
    command.env_remove("DATABASE_URL").env_remove("X");
    let output = command.args(arguments).current_dir(folder).stdin(Stdio::null()).output().expect("it ends");
    let [out, errors] =
        [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    (output.status.code(), out + &errors)
}

fn vectors(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors").join(name)
}

/// The policies of the vectors in the reference format: whatever is no policy error loads as it is.
#[test]
fn policies_of_the_reference_format_load_unchanged() {
    let rows: Value = serde_json::from_str(include_str!("../vectors/contracts.json")).expect("JSON");
    let folder = tempfile::tempdir().expect("a folder");
    let mut files = Vec::new();
    for row in rows.as_array().expect("a list") {
        let refused = row["accept"].as_array().is_some_and(|all| all.contains(&"policy error".into()));
        if let (Some(text), false) = (row["policy"].as_str(), refused) {
            let name = format!("{}.yaml", row["id"].as_str().expect("a name"));
            std::fs::write(folder.path().join(&name), text).expect("a writable folder");
            files.push(name);
        }
    }
    assert!(files.len() > 50, "{}", files.len());
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let (code, text) = bouncer(folder.path(), &[&["policy", "verify"], files.as_slice()].concat());
    assert_eq!(code, Some(0), "{text}");
    assert_eq!(text.matches(": loads, ").count(), files.len());
}

/// Whole policies of that format, with calls that show that they mean what they say.
#[test]
fn examples_of_the_reference_format_work_unchanged() {
    for (name, entries, warnings) in [("email", 2, 1), ("files", 2, 0), ("database", 2, 0), ("chat", 3, 0)] {
        let policy = format!("{name}.yaml");
        let (code, text) = bouncer(&vectors("reference"), &["policy", "verify", &policy]);
        let warnings = if warnings == 1 { "1 warning" } else { "0 warnings" };
        assert_eq!(code, Some(0), "{text}");
        assert!(text.contains(&format!("{policy}: loads, {entries} entries and {warnings}")), "{text}");
        let cases = format!("{name}.cases.yaml");
        let (code, text) = bouncer(&vectors("reference"), &["check", "--policy", &policy, "--cases", &cases]);
        assert_eq!(code, Some(0), "{text}");
        assert!(
            text.contains("cases, 0 not as they should be") && text.matches("ok  ").count() >= 4,
            "{text}"
        );
    }
    let (code, text) = bouncer(
        Path::new(env!("CARGO_MANIFEST_DIR")),
        &["policy", "verify", "examples/demo/policy.yaml", "examples/agentdojo/policy.yaml"],
    );
    assert_eq!((code, text.matches(" and 0 warnings").count()), (Some(0), 2), "{text}");
}

/// Every client's file of the vectors is a config as it is, or says where and why it is none.
#[test]
fn configs_work_unchanged_or_say_where_they_do_not() {
    let refused = [
        (
            "11-cursor/.cursor/mcp.json",
            "7:63",
            "variable `DATABASE_URL` of `args` of upstream `postgres` is not set",
        ),
        ("21-kiro/.kiro/settings/mcp.json", "6:56", "variable `X` of variable `LITERAL` in `env`"),
        ("24-zed/zed/settings.json", "4:1", "no upstreams in the config"),
        ("25-opencode/opencode.json", "1:1", "no upstreams in the config"),
        ("26-opencode-agents/.agents/mcp.json", "1:1", "no upstreams in the config"),
        ("27-opencode-jsonc/opencode.jsonc", "1:1", "no upstreams in the config"),
        ("28-codex/.codex/config.toml", "1:1", "TOML configs are not read here"),
        ("29-codex-dotted/.codex/config.toml", "1:1", "TOML configs are not read here"),
        ("30-codex-inline/.codex/config.toml", "1:1", "TOML configs are not read here"),
        ("31-codex-crlf/.codex/config.toml", "1:1", "TOML configs are not read here"),
        ("37-transport-nested/.claude.json", "1:17", "upstream `bad` has no `command`"),
    ];
    let root = vectors("configs");
    let mut met = 0;
    for path in files(&root) {
        let name = path.strip_prefix(&root).expect("below it").to_str().expect("a name");
        let (code, text) = bouncer(&root, &["policy", "show", "any.tool", "--config", name]);
        match refused.iter().find(|(file, ..)| *file == name) {
            None => assert_eq!(code, Some(0), "{name}: {text}"),
            Some((_, place, why)) => {
                met += 1;
                assert_eq!(code, Some(3), "{name}: {text}");
                let problem = text
                    .split("\n\n")
                    .find(|problem| problem.contains(why))
                    .unwrap_or_else(|| panic!("{text}"));
                assert!(
                    problem.contains(&format!("--> {name}:{place}\n")) && problem.contains("help: "),
                    "{text}"
                );
            }
        }
    }
    assert_eq!(met, refused.len(), "each of them is there");
}

/// All files below a folder that are configs.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|kind| kind != "md") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// What the schemas say, as an editor reads them: all that loads fits, and plain mistakes do not.
#[test]
fn the_printed_schemas_take_what_loads_and_no_mistakes() {
    if !Runtime::PythonPackages.or_not_run() {
        return;
    }
    let rows: Value = serde_json::from_str(include_str!("../vectors/contracts.json")).expect("JSON");
    let rows = rows.as_array().expect("a list").iter();
    let fine =
        rows.filter(|row| !row["accept"].as_array().is_some_and(|all| all.contains(&"policy error".into())));
    let mut policies: Vec<String> =
        fine.filter_map(|row| row["policy"].as_str().map(str::to_owned)).collect();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let reference =
        ["email", "files", "database", "chat"].map(|name| format!("tests/vectors/reference/{name}.yaml"));
    for file in reference
        .iter()
        .map(String::as_str)
        .chain(["examples/demo/policy.yaml", "examples/agentdojo/policy.yaml"])
    {
        policies.push(std::fs::read_to_string(root.join(file)).expect("it is there"));
    }
    let mistakes = [
        "send_email: {sink_param: [to]}",
        "send_email: {max_calls: '0'}",
        "send_email: {max_calls: -1}",
        "send_email: {sink_params: to}",
        "send_email: {effect: sends}",
        "send_email: {exfiltrating: 'no'}",
        "send_email: {on: {unproven: allow}}",
        "tools: {send_email: deny}",
        "[send_email]",
    ];
    let configs = [
        "upstreams: {mail: {command: npx, args: [-y, mail@1], env: {A: b}, cwd: srv, tools: {allow: [send_*]}, start_timeout: 30s}}\n\
         policy: [policy.yaml, {send_email: {max_calls: 3}}]\nlist_wait: 500ms\npins: warn\nlimits: {message_bytes: 8M}",
    ];
    let no_configs = [
        "upstreams: {mail: {comand: npx}}",
        "upstreams: {mail: {command: npx, args: -y}}",
        "upstreams: {mail: {command: npx}}\npins: maybe",
        "upstream: {}",
    ];
    let valid = |kind: &str, texts: &[String]| -> Vec<bool> {
        let (code, schema) = bouncer(root, &["policy", "schema", kind]);
        assert_eq!(code, Some(0), "{schema}");
        let values: Vec<Value> = texts.iter().map(|text| serde_yaml::from_str(text).expect("YAML")).collect();
        let schema: Value = serde_json::from_str(&schema).expect("JSON");
        let program = "import json, sys\nfrom jsonschema import Draft202012Validator as V\n\
                       schema, values = json.load(open(sys.argv[1]))\nV.check_schema(schema)\n\
                       print(json.dumps([V(schema).is_valid(value) for value in values]))";
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("values.json");
        std::fs::write(&path, json!([schema, values]).to_string()).expect("a writable folder");
        let printed = output(Command::new(deps("venv/bin/python")).args(["-c", program]).arg(path));
        serde_json::from_str(&printed).expect("a list")
    };
    let texts = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
    for (text, valid) in policies.iter().zip(valid("policy", &policies)) {
        assert!(valid, "it loads: {text}");
    }
    for (text, valid) in mistakes.iter().zip(valid("policy", &texts(&mistakes))) {
        assert!(!valid, "it does not load: {text}");
    }
    assert_eq!(valid("config", &texts(&configs)), [true]);
    assert_eq!(valid("config", &texts(&no_configs)), [false; 4]);
}

/// `policy verify` over a config: it, and the policies that it names, without a server.
#[test]
fn a_config_is_verified_with_the_policies_that_it_names() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("a folder");
    let check = |config: &str, code: i32, piece: &str| {
        write("bouncer.yaml", config);
        let (ended, text) = bouncer(folder.path(), &["policy", "verify", "bouncer.yaml"]);
        assert_eq!(ended, Some(code), "{text}");
        assert!(text.contains(piece), "{piece} is not in\n{text}");
    };
    let named =
        "upstreams: {mail: {command: no-such-program}}\npolicy: [rules.yaml, {send_email: {max_calls: 1}}]\n";
    write("rules.yaml", "send_email: {exfiltrating: false}\nread: {max_calls: 2}\n");
    check(named, 0, "bouncer.yaml: loads, 1 server, 3 entries and 1 warning\n");
    write("rules.yaml", "send_email: {max_cals: 1}\n");
    check(named, 3, "rules.yaml:1:14\n");
    check("upstreams: {mail: {command: x, comand: y}}\n", 3, "--> bouncer.yaml:1:32\n");
    // A tool may be called as the key of a config is.
    check("servers: {max_calls: 1}\n", 0, "bouncer.yaml: loads, 1 entry and 0 warnings\n");
}
