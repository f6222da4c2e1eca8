//! Seven real servers behind one proxy, driven by two real clients: every tool listed, one call to
//! each server, and what came back is what the server says when asked.
//!
//! `tests/setup` fetches servers and clients; the clients are small scripts in `clients/` that carry
//! out a plan and print what came of it.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use serde_json::{Value, json};

use crate::stage::{Runtime, deps};

/// Starting seven servers on a loaded machine takes its time.
const WHOLE: Duration = Duration::from_secs(240);

/// A page on a loopback port of its own, served until the test process ends.
pub(crate) fn page(text: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let lines = BufReader::new(stream.try_clone().expect("a second handle")).lines();
            let _head: Vec<_> = lines.map_while(Result::ok).take_while(|line| !line.is_empty()).collect();
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close";
            // A client that hangs up early is no failure of the page.
            let _ = write!(stream, "{head}\r\nContent-Length: {}\r\n\r\n{text}", text.len());
        }
    });
    format!("http://{address}/page")
}

/// Runs a program to its end and gives its stdout.
pub(crate) fn output(command: &mut Command) -> String {
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let child = child.unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let pid = rustix::process::Pid::from_child(&child);
    let (sender, ended) = channel();
    std::thread::spawn(move || sender.send(child.wait_with_output()));
    let Ok(output) = ended.recv_timeout(WHOLE) else {
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        panic!("{command:?} did not end in {WHOLE:?}");
    };
    let output = output.expect("a child of ours");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{stderr}", output.status);
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The folders that the servers are started over.
pub(crate) fn folders(folder: &Path) {
    std::fs::create_dir_all(folder.join("files")).expect("a writable folder");
    std::fs::write(folder.join("files/note.txt"), "the note says hello").expect("a writable folder");
    output(Command::new("git").args(["init", "--quiet"]).arg(folder.join("repo")));
}

/// One call to each of the seven servers, and what its answer holds. `url` is a page that says hello.
pub(crate) fn calls(folder: &Path, url: &str) -> Vec<(&'static str, Value, &'static str)> {
    vec![
        ("everything__echo", json!({"message": "hello"}), "hello"),
        ("files__read_text_file", json!({"path": folder.join("files/note.txt")}), "the note says hello"),
        (
            "memory__create_entities",
            json!({"entities": [{"name": "Ana", "entityType": "person", "observations": ["likes tea"]}]}),
            "likes tea",
        ),
        (
            "thinking__sequentialthinking",
            json!({"thought": "one", "nextThoughtNeeded": false, "thoughtNumber": 1, "totalThoughts": 1}),
            "thoughtNumber",
        ),
        ("git__git_status", json!({"repo_path": folder.join("repo")}), "No commits yet"),
        ("time__get_current_time", json!({"timezone": "UTC"}), "timezone"),
        ("fetch__fetch", json!({"url": url}), "the page says hello"),
    ]
}

/// Lets a client carry out a plan (`clients/drive.py` says what may stand in it) and gives its report.
pub(crate) fn carry_out(folder: &Path, client: &dyn Fn(&Path) -> Command, plan: &Value) -> Value {
    let plan_file = folder.join("plan.json");
    std::fs::write(&plan_file, plan.to_string()).expect("a writable folder");
    let printed = output(&mut client(&plan_file));
    serde_json::from_str(&printed).unwrap_or_else(|error| panic!("{error}: {printed}"))
}

/// Lets a client start a server, list its tools and make calls. Each call must come back with its text;
/// the rest of what the client reports is returned.
pub(crate) fn report(
    folder: &Path,
    client: &dyn Fn(&Path) -> Command,
    server: &Value,
    calls: &[(&str, Value, &str)],
) -> Value {
    let mut plan = server.clone();
    plan["wanted"] = calls.iter().map(|(tool, ..)| *tool).collect();
    plan["calls"] =
        calls.iter().map(|(tool, arguments, _)| json!({"tool": tool, "arguments": arguments})).collect();
    let report = carry_out(folder, client, &plan);
    let results = report["results"].as_array().expect("a list");
    assert_eq!(results.len(), calls.len());
    for (result, (tool, _, text)) in results.iter().zip(calls) {
        assert_eq!(result["tool"], *tool);
        assert!(
            result["isError"] == false && result["text"].as_str().unwrap_or_default().contains(text),
            "{result:#}"
        );
    }
    report
}

/// The PyPI client with a plan.
pub(crate) fn pypi_client(plan: &Path) -> Command {
    let mut command = Command::new(deps("venv/bin/python"));
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/clients/drive.py")).arg(plan);
    command
}

/// The npm client with a plan.
pub(crate) fn npm_client(plan: &Path) -> Command {
    let mut command = Command::new("node");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/clients/drive.mjs");
    command.arg(script).arg(plan).arg(deps("npm"));
    command
}

/// The configuration of the seven servers, over folders below `folder`.
pub(crate) fn servers(folder: &Path) -> Value {
    let npm =
        |name: &str| deps(&format!("npm/node_modules/@modelcontextprotocol/server-{name}/dist/index.js"));
    let python = |name: &str| deps(&format!("venv/bin/mcp-server-{name}"));
    json!({"mcpServers": {
        "everything": {"command": "node", "args": [npm("everything"), "stdio"]},
        "files": {"command": "node", "args": [npm("filesystem"), folder.join("files")]},
        "memory": {"command": "node", "args": [npm("memory")], "env": {"MEMORY_FILE_PATH": folder.join("memory.json")}},
        "thinking": {"command": "node", "args": [npm("sequential-thinking")]},
        "git": {"command": python("git"), "args": ["--repository", folder.join("repo")]},
        "time": {"command": python("time"), "args": ["--local-timezone", "UTC"]},
        "fetch": {"command": python("fetch"), "args": ["--ignore-robots-txt", "--allow-private-ips"]},
    }})
}

/// Runs one client over the proxy in front of all seven.
fn drive(client: &dyn Fn(&Path) -> Command) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    // The real path: a server that resolves its folder compares with that.
    let folder = folder.path().canonicalize().expect("it is there");
    folders(&folder);
    let url = page("the page says hello");
    let config = folder.join("servers.json");
    std::fs::write(&config, servers(&folder).to_string()).expect("a writable folder");
    let program = env!("CARGO_BIN_EXE_bouncer");
    let server = json!({"command": [program, "run", "--config", config, "--state", folder.join("state")]});
    let report = report(&folder, client, &server, &calls(&folder, &url));
    let tools: Vec<&str> =
        report["tools"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    for (server, count) in [
        ("everything", 10),
        ("files", 14),
        ("memory", 9),
        ("thinking", 1),
        ("git", 10),
        ("time", 2),
        ("fetch", 1),
    ] {
        let of = tools.iter().filter(|name| name.starts_with(&format!("{server}__"))).count();
        assert!(of >= count, "{of} of {count} tools of {server} among {tools:#?}");
    }
    // Only the loopback address is asked about.
    let questions = report["questions"].as_array().expect("a list");
    assert!(
        questions.len() == 1 && questions[0].as_str().unwrap_or_default().contains("127.0.0.1"),
        "{questions:#?}"
    );
}

/// Whether the servers and the clients are here.
pub(crate) fn all_here() -> bool {
    Runtime::PythonPackages.or_not_run() && Runtime::NodePackages.or_not_run()
}

#[test]
fn seven_servers_with_the_pypi_client() {
    if all_here() {
        drive(&pypi_client);
    }
}

#[test]
fn seven_servers_with_the_npm_client() {
    if all_here() {
        drive(&npm_client);
    }
}

#[test]
fn check_shows_seven_servers_in_eighty_columns() {
    if !all_here() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let folder = folder.path().canonicalize().expect("it is there");
    folders(&folder);
    let config = folder.join("servers.json");
    std::fs::write(&config, servers(&folder).to_string()).expect("a writable folder");
    let mut command = Command::new(env!("CARGO_BIN_EXE_bouncer"));
    command.arg("check").arg("--config").arg(&config).arg("--state").arg(folder.join("state"));
    let ended = command.stdin(Stdio::null()).output().expect("the program starts");
    let shown = String::from_utf8_lossy(&ended.stdout);
    let wide: Vec<&str> = shown.lines().filter(|line| line.chars().count() > 80).collect();
    assert!(wide.is_empty(), "{wide:#?}");
    assert_eq!(ended.status.code(), Some(0), "{shown}{}", String::from_utf8_lossy(&ended.stderr));
    insta::assert_snapshot!("check_of_seven_servers", shown);
}
