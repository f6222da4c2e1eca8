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
fn page(text: &'static str) -> String {
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
fn output(command: &mut Command) -> String {
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

/// The configuration of the seven servers, over folders below `folder`.
fn servers(folder: &Path) -> Value {
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

/// Sets up the folders and runs one client over the proxy.
fn drive(client: impl FnOnce(&Path) -> Command) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    // The real path: a server that resolves its folder compares with that.
    let folder = folder.path().canonicalize().expect("it is there");
    std::fs::create_dir(folder.join("files")).expect("a writable folder");
    std::fs::write(folder.join("files/note.txt"), "the note says hello").expect("a writable folder");
    output(Command::new("git").args(["init", "--quiet"]).arg(folder.join("repo")));
    let url = page("the page says hello");
    let config = folder.join("servers.json");
    std::fs::write(&config, servers(&folder).to_string()).expect("a writable folder");
    let calls = [
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
    ];
    let plan = json!({
        "command": [env!("CARGO_BIN_EXE_bouncer"), "run", "--config", config, "--state", folder.join("state")],
        "wanted": calls.iter().map(|(tool, ..)| tool).collect::<Vec<_>>(),
        "calls": calls.iter().map(|(tool, arguments, _)| json!({"tool": tool, "arguments": arguments})).collect::<Vec<_>>(),
    });
    let plan_file = folder.join("plan.json");
    std::fs::write(&plan_file, plan.to_string()).expect("a writable folder");
    let printed = output(&mut client(&plan_file));
    let report: Value = serde_json::from_str(&printed).unwrap_or_else(|error| panic!("{error}: {printed}"));

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
    for (result, (tool, _, text)) in report["results"].as_array().expect("a list").iter().zip(&calls) {
        assert_eq!(result["tool"], *tool);
        assert!(
            result["isError"] == false && result["text"].as_str().unwrap_or_default().contains(text),
            "{result:#}"
        );
    }
    // Only the loopback address is asked about.
    let questions = report["questions"].as_array().expect("a list");
    assert!(
        questions.len() == 1 && questions[0].as_str().unwrap_or_default().contains("127.0.0.1"),
        "{questions:#?}"
    );
}

#[test]
fn seven_servers_with_the_pypi_client() {
    if Runtime::PythonPackages.or_not_run() && Runtime::NodePackages.or_not_run() {
        drive(|plan| {
            let mut command = Command::new(deps("venv/bin/python"));
            command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/clients/drive.py")).arg(plan);
            command
        });
    }
}

#[test]
fn seven_servers_with_the_npm_client() {
    if Runtime::PythonPackages.or_not_run() && Runtime::NodePackages.or_not_run() {
        drive(|plan| {
            let mut command = Command::new("node");
            let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/clients/drive.mjs");
            command.arg(script).arg(plan).arg(deps("npm"));
            command
        });
    }
}
