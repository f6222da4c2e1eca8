//! Faults in a loop under load: nothing is lost but calls in flight, nothing denied goes out, nothing leaks.
//!
//! `BOUNCER_FAULT_SECONDS` says how long the loop runs; a few seconds otherwise.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::stage::{Options, Stage};

/// Refuses `never` with a number, whatever happens.
const POLICY: &str = "never: {arg_patterns: {x: '[a-z]+'}}\n";

fn seconds() -> Duration {
    let said = std::env::var("BOUNCER_FAULT_SECONDS").ok().and_then(|text| text.parse().ok());
    Duration::from_secs(said.unwrap_or(3))
}

/// The open files and the resident memory in KiB of a process, where the system tells them.
fn held(pid: u32) -> Option<(usize, u64)> {
    let files = std::fs::read_dir(format!("/proc/{pid}/fd")).ok()?.count();
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let memory = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some((files, memory.trim().trim_end_matches(" kB").parse().ok()?))
}

#[test]
fn servers_killed_in_a_loop_under_load_cost_only_calls_in_flight() {
    let script = json!({"tools": ["t", "never"]});
    // The last one is never killed: what the others go through is none of its business.
    let names = ["a", "b", "c", "d", "calm"];
    let scripts: Vec<_> = names.iter().map(|name| (*name, script.clone())).collect();
    let options = Options { policy: Some(POLICY.to_owned()), ..Options::default() };
    let Some(mut stage) = Stage::with(&scripts, options) else { return };
    let mut client = stage.client();
    client.tools(&["a__t", "b__t", "c__t", "d__t", "calm__t"]);
    let end = Instant::now() + seconds();
    let mut calm: BTreeSet<u64> = BTreeSet::new();
    let (mut kills, mut round, mut asked, mut early) = (0_usize, 0, Vec::new(), None);
    let mut running: Vec<Option<Value>> = names.iter().map(|_| None).collect();
    while Instant::now() < end {
        let first = asked.len();
        round += 1;
        for (index, name) in names.iter().enumerate() {
            let upstream = &mut stage.upstreams[index];
            for report in upstream.starts() {
                running[index] = Some(report["pid"].clone());
            }
            for n in 0..5 {
                let id =
                    client.ask("tools/call", &json!({"name": format!("{name}__t"), "arguments": {"n": n}}));
                calm.extend(id.as_u64().filter(|_| *name == "calm"));
                asked.push(id);
            }
            asked.push(
                client.ask("tools/call", &json!({"name": format!("{name}__never"), "arguments": {"x": "1"}})),
            );
            // In turn, so that each serves some rounds between two ends.
            let doomed = if round % 8 == index { running[index].take() } else { None };
            let pid = doomed.filter(|_| *name != "calm").and_then(|pid| i32::try_from(pid.as_i64()?).ok());
            if let Some(pid) = pid.and_then(Pid::from_raw) {
                kill_process(pid, Signal::KILL).expect("it runs until it is killed");
                kills += 1;
            }
        }
        // In one pass over what comes: there are too many lines to begin from the first for each.
        let mut open: BTreeSet<u64> = asked[first..].iter().filter_map(Value::as_u64).collect();
        while !open.is_empty() {
            let id = client.wait("an answer to each call", |reply| reply.message["id"].as_u64());
            open.remove(&id);
        }
        if early.is_none() {
            early = held(client.pid());
        }
    }
    let heard = client.heard();
    let mut answers: BTreeMap<u64, usize> = BTreeMap::new();
    for id in heard.iter().filter_map(|reply| reply.message["id"].as_u64()) {
        *answers.entry(id).or_default() += 1;
    }
    for id in asked.iter().filter_map(Value::as_u64) {
        assert_eq!(answers.get(&id), Some(&1), "{id} is answered once");
    }
    let (served, failed) = heard.iter().partition::<Vec<_>, _>(|reply| !reply.failed());
    assert!(kills >= names.len() - 1, "{kills} kills");
    let served_calm =
        served.iter().filter_map(|reply| reply.message["id"].as_u64()).filter(|id| calm.contains(id));
    assert_eq!(served_calm.count(), calm.len(), "a call of a server that nobody killed was lost");
    if let (Some((files, memory)), Some((files_now, memory_now))) = (early, held(client.pid())) {
        println!(
            "{kills} kills, {} calls, {} served, {} failed or refused; files {files} to {files_now}, \
             memory {memory} to {memory_now} KiB",
            asked.len(),
            served.len(),
            failed.len()
        );
        // A process that is up holds a few more pipes than one that is away.
        assert!(files_now <= files + 8 * names.len(), "{files} files, then {files_now}");
        // The history and the index of what was said grow up to their own limit.
        assert!(memory_now <= memory + 32 * 1024, "{memory} KiB, then {memory_now}");
    }
    for upstream in &mut stage.upstreams {
        let messages = upstream.messages();
        let denied = messages.iter().filter(|message| message["params"]["name"] == "never").count();
        assert_eq!(denied, 0, "a denied call reached the server");
    }
    client.close();
    assert!(client.end().success());
    // Whoever is still there is left over: all sockets close with their processes.
    for upstream in &mut stage.upstreams {
        upstream.all_gone();
    }
}

#[test]
fn a_server_that_says_half_a_message_and_then_nothing_costs_that_call_only() {
    let half =
        json!([{"raw": "{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{\"content\":["}, {"wait": "never"}]);
    let options = Options {
        settings: Some(json!({})),
        entry: [("call_timeout".to_owned(), json!("1s"))].into_iter().collect(),
        ..Options::default()
    };
    let script = json!({"tools": ["half", "t"], "calls": {"half": half}});
    let Some(stage) = Stage::with(&[("a", script), ("b", json!({"tools": ["t"]}))], options) else { return };
    let mut client = stage.client();
    client.tools(&["a__half", "b__t"]);
    let reply = client.call("a__half", &json!({}));
    assert!(reply.failed() && reply.line.contains("call_timeout"), "{}", reply.line);
    assert_eq!(client.call("b__t", &json!({})).text(), "{}");
}

#[test]
fn a_server_that_never_answers_or_answers_for_another_costs_that_call_only() {
    let other = "{\"jsonrpc\":\"2.0\",\"id\":123456789,\"result\":{\"content\":[]}}\n";
    let script =
        json!({"tools": ["other", "silent", "t"], "calls": {"other": [{"raw": other}], "silent": []}});
    let options = Options {
        settings: Some(json!({})),
        entry: [("call_timeout".to_owned(), json!("1s"))].into_iter().collect(),
        ..Options::default()
    };
    let Some(stage) = Stage::with(&[("a", script)], options) else { return };
    let mut client = stage.client();
    client.tools(&["a__t"]);
    for tool in ["a__other", "a__silent"] {
        let id = client.ask("tools/call", &json!({"name": tool, "arguments": {}}));
        assert_eq!(client.call("a__t", &json!({"beside": 1})).text(), r#"{"beside": 1}"#);
        let reply = client.answer(&id);
        assert!(reply.failed() && reply.line.contains("call_timeout"), "{}", reply.line);
    }
}

#[test]
fn a_client_that_does_not_read_is_waited_for_and_gets_everything_once() {
    const CALLS: usize = 200;
    let script = json!({"tools": ["big"], "calls": {"big": [{"big": 100_000}]}});
    let Some(stage) = Stage::new(&[("a", script)]) else { return };
    let mut child = Command::new(env!("CARGO_BIN_EXE_bouncer"))
        .args(stage.arguments(&["run"]))
        .current_dir(stage.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    let mut input = child.stdin.take().expect("piped");
    let mut output = BufReader::new(child.stdout.take().expect("piped")).lines();
    let mut send = |message: Value| writeln!(input, "{message}").expect("it reads");
    send(
        json!({"jsonrpc": "2.0", "id": "i", "method": "initialize", "params": {"protocolVersion": "2025-06-18",
        "capabilities": {}, "clientInfo": {"name": "s", "version": "1"}}}),
    );
    send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    let mut line = || output.next().expect("a line").expect("text");
    while !line().contains("\"id\":\"i\"") {}
    send(json!({"jsonrpc": "2.0", "id": "l", "method": "tools/list"}));
    while !line().contains("a__big") {}
    // 20 MB wait for a reader: more than any pipe holds. Bouncer goes on to read and to answer.
    for n in 0..CALLS {
        send(
            json!({"jsonrpc": "2.0", "id": n, "method": "tools/call", "params": {"name": "a__big", "arguments": {}}}),
        );
    }
    let mut answers = vec![0; CALLS];
    while answers.contains(&0) {
        let message: Value = serde_json::from_str(&line()).expect("JSON");
        let id = message["id"].as_u64().and_then(|id| usize::try_from(id).ok()).filter(|id| *id < CALLS);
        if let Some(id) = id {
            assert_eq!(message["result"]["content"][0]["text"].as_str().map(str::len), Some(100_000));
            answers[id] += 1;
        }
    }
    send(json!({"jsonrpc": "2.0", "id": "p", "method": "ping"}));
    while !line().contains("\"id\":\"p\"") {}
    assert!(answers.iter().all(|count| *count == 1), "each is answered once");
    drop(input);
    assert!(child.wait().expect("a child of ours").success());
}

#[test]
fn with_a_full_disk_under_the_audit_log_no_call_goes_out() {
    if !std::path::Path::new("/dev/full").exists() {
        println!("not run: this system has no /dev/full");
        return;
    }
    let run = vec!["--audit".to_owned(), "/dev/full".to_owned()];
    let options = Options { run, ..Options::default() };
    let Some(mut stage) = Stage::with(&[("a", json!({"tools": ["t"]}))], options) else { return };
    let mut client = stage.client();
    client.tools(&["a__t"]);
    for _ in 0..3 {
        let reply = client.call("a__t", &json!({}));
        assert!(reply.blocked(), "{}", reply.line);
    }
    client.says(&["the audit log cannot be written"]);
    assert_eq!(stage.upstreams[0].count("tools/call"), 0);
}

/// A server in a few lines of Python: it lists one tool `t`, then does `and_then` with each call.
fn bare(and_then: &str) -> Value {
    let program = format!(
        r#"
import json, sys, time
def say(id, result):
    print(json.dumps({{"jsonrpc": "2.0", "id": id, "result": result}}), flush=True)
for line in sys.stdin:
    m = json.loads(line)
    if m.get("method") == "initialize":
        say(m["id"], {{"protocolVersion": "2025-06-18", "capabilities": {{"tools": {{}}}}, "serverInfo": {{"name": "b", "version": "1"}}}})
    elif m.get("method") == "tools/list":
        say(m["id"], {{"tools": [{{"name": "t", "inputSchema": {{"type": "object"}}}}]}})
    elif m.get("method") == "tools/call":
        {and_then}
"#
    );
    json!({"command": "python3", "args": ["-c", program]})
}

/// Servers in a config whose messages have at most 64 KiB.
fn with_small_messages(servers: &[(&str, Value)]) -> Option<Stage> {
    let options = Options {
        settings: Some(json!({"limits": {"message_bytes": 65_536}})),
        servers: servers.iter().map(|(name, entry)| ((*name).to_owned(), entry.clone())).collect(),
        ..Options::default()
    };
    Stage::with(&[("b", json!({"tools": ["t"]}))], options)
}

#[test]
fn a_server_that_does_not_read_is_ended_and_hinders_nobody() {
    // It reads the first call, and nothing more.
    let mut stuck = bare("time.sleep(3600)");
    // For the calls that its successor gets.
    stuck["call_timeout"] = json!("10s");
    let Some(stage) = with_small_messages(&[("stuck", stuck)]) else { return };
    let mut client = stage.client();
    client.tools(&["stuck__t", "b__t"]);
    let text = "x".repeat(60_000);
    let mut asked = Vec::new();
    // More than any pipe holds, and than what waits for four of the longest messages.
    for n in 0..30 {
        let call = json!({"name": "stuck__t", "arguments": {"text": text, "n": n}});
        asked.push(client.ask("tools/call", &call));
        if n % 10 == 0 {
            assert_eq!(client.call("b__t", &json!({"n": n})).text(), format!("{{\"n\": {n}}}"));
        }
    }
    client.says(&["it does not read what it is sent and is ended"]);
    for id in &asked {
        let reply = client.answer(id);
        assert!(reply.failed() && reply.line.len() < 2_000, "{}", reply.line);
    }
    assert!(!client.call("b__t", &json!({})).failed());
}

/// The most resident memory that a process had, in MiB, where the system tells it.
fn peak(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib / 1024)
}

#[test]
fn a_line_of_many_megabytes_costs_that_call_and_no_memory() {
    let megabytes = std::env::var("BOUNCER_FAULT_MEGABYTES").ok().and_then(|text| text.parse().ok());
    let megabytes: u64 = megabytes.unwrap_or(192);
    let and_then = format!(
        r#"
        sys.stdout.write('{{"jsonrpc":"2.0","id":%d,"result":{{"content":[{{"type":"text","text":"' % m["id"])
        for n in range({megabytes}):
            sys.stdout.write("x" * (1 << 20))
        print('"}}]}}}}', flush=True)"#
    );
    let Some(stage) = with_small_messages(&[("long", bare(and_then.trim_start()))]) else { return };
    let mut client = stage.client();
    client.tools(&["long__t", "b__t"]);
    let before = peak(client.pid());
    let reply = client.call("long__t", &json!({}));
    assert!(reply.failed() && reply.line.contains("limits.message_bytes"), "{}", reply.line);
    assert!(!client.call("b__t", &json!({})).failed());
    if let Some((before, after)) = before.zip(peak(client.pid())) {
        assert!(after < before + 32, "{before} MiB became {after} MiB");
    }
}

#[test]
fn one_open_request_too_many_is_refused_by_its_own_limit() {
    let script = json!({"tools": ["t"], "calls": {"t": [{"wait": "go"}, {"echo": true}]}});
    let options = Options { settings: Some(json!({"limits": {"open_requests": 2}})), ..Options::default() };
    let Some(stage) = Stage::with(&[("a", script)], options) else { return };
    let mut client = stage.client();
    client.tools(&["a__t"]);
    let call = json!({"name": "a__t", "arguments": {}});
    let open = [client.ask("tools/call", &call), client.ask("tools/call", &call)];
    let refused = client.request("tools/call", &call);
    assert!(refused.code() == -32600 && refused.line.contains("`limits.open_requests`"), "{}", refused.line);
    assert_eq!(client.request("ping", &json!({})).message["result"], json!({}));
    // Which of the two waits first is the server's affair.
    for _ in &open {
        stage.upstreams[0].release("go");
    }
    for id in &open {
        assert!(!client.answer(id).failed());
    }
    let again = client.ask("tools/call", &call);
    stage.upstreams[0].release("go");
    assert!(!client.answer(&again).failed(), "what was answered makes room");
}

#[test]
fn what_is_said_of_one_server_in_the_log_has_its_own_limit() {
    let junk: Vec<_> = (0..20).map(|n| json!({"raw": format!("junk {n}\n")})).collect();
    let mut steps = junk;
    steps.push(json!({"echo": true}));
    let options = Options { settings: Some(json!({"limits": {"log_lines": 3}})), ..Options::default() };
    let script = json!({"tools": ["t"], "calls": {"t": steps}});
    let Some(stage) = Stage::with(&[("a", script)], options) else { return };
    let mut client = stage.client();
    client.tools(&["a__t"]);
    assert!(!client.call("a__t", &json!({})).failed());
    client.says(&["nothing more is said of it (`limits.log_lines` in the configuration)"]);
    client.close();
    client.end();
    assert_eq!(client.stderr().matches("upstream `a`: ").count(), 3, "{}", client.stderr());
}

#[test]
fn one_session_too_many_over_one_state_folder_does_not_start() {
    let options = Options { settings: Some(json!({"limits": {"sessions": 1}})), ..Options::default() };
    let Some(stage) = Stage::with(&[("a", json!({"tools": ["t"]}))], options) else { return };
    let mut first = stage.client();
    first.tools(&["a__t"]);
    let mut second = stage.run();
    assert_eq!(second.end().code(), Some(3), "{}", second.stderr());
    for piece in ["as many Bouncers run as may: 1", "`limits.sessions`", "help: `bouncer status` shows them"]
    {
        assert!(second.stderr().contains(piece), "{piece} in {}", second.stderr());
    }
    assert!(!second.stderr().contains("panicked"), "{}", second.stderr());
    assert!(!first.call("a__t", &json!({})).failed(), "who was there first goes on");
    // One that was killed leaves its socket, but is none of them.
    first.kill();
    first.end();
    stage.client().tools(&["a__t"]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_wall_clock_that_jumps_loses_no_call_no_answer_and_no_record() {
    const DAY: i64 = 24 * 60 * 60;
    let tools = tempfile::tempdir().expect("a folder");
    let (library, clock) = (tools.path().join("jumping_clock.so"), tools.path().join("offset"));
    if !crate::stage::Runtime::Preload.or_not_run() {
        return;
    }
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/fixtures/jumping_clock.c");
    let built = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(source).status();
    assert!(built.expect("cc starts").success());
    let jump = |seconds: i64| std::fs::write(&clock, seconds.to_string()).expect("a writable folder");
    jump(0);
    let path = |path: &std::path::Path| path.to_str().expect("an ordinary path").to_owned();
    let options = Options {
        env: vec![("LD_PRELOAD".to_owned(), path(&library)), ("JUMPING_CLOCK".to_owned(), path(&clock))],
        ..Options::default()
    };
    let text = json!({"type": "string"});
    let send = json!({"name": "send_email", "description": "Sends an email.", "inputSchema": {"type": "object",
        "properties": {"to": text}, "required": ["to"]}});
    let script = json!({"tools": ["t", send]});
    let Some(mut stage) = Stage::with(&[("a", script)], options) else { return };
    let mut client = stage.client();
    client.tools(&["a__t", "a__send_email"]);
    let mail = json!({"name": "a__send_email", "arguments": {"to": "new@partner.example"}});
    // Forward by more than any grant lasts, to before this program was written, and back.
    for (round, seconds) in [400 * DAY, -9_000 * DAY, 0].into_iter().enumerate() {
        assert!(!client.call("a__t", &json!({"round": round})).failed());
        let asked = client.ask("tools/call", &mail);
        if round == 0 {
            let question = client.question();
            jump(seconds);
            client.decide(&question, "allow_session");
        } else {
            jump(seconds);
        }
        assert!(!client.answer(&asked).failed(), "a question's answer, and its grant, outlive a jump");
        let server = stage.upstreams[0].starts().pop().expect("it runs")["pid"].as_i64().expect("a number");
        let server = Pid::from_raw(i32::try_from(server).expect("a process")).expect("a process");
        kill_process(server, Signal::KILL).expect("it was there");
        let until = Instant::now() + Duration::from_secs(10);
        while client.call("a__t", &json!({"again": round})).failed() {
            assert!(Instant::now() < until, "a server is started again after a jump");
        }
    }
    client.close();
    client.end();
    let records = stage.audit();
    let days: BTreeSet<i64> =
        records.iter().map(|line| line["ts"].as_i64().unwrap_or(0) / DAY / 1000).collect();
    assert!(days.len() >= 3, "the clock did jump: {days:?}");
    let waited = records.iter().filter_map(|line| line["latency_ms"].as_u64()).max();
    assert!(waited.is_some_and(|waited| waited < 60_000), "{waited:?} ms are no jump");
    let forwarded =
        records.iter().filter(|line| line["kind"] == "verdict" && line["verdict"] != "deny").count();
    assert_eq!(forwarded, records.iter().filter(|line| line["kind"] == "outcome").count());
    for command in [["audit", "verify"], ["audit", "summary"]] {
        let said = Command::new(env!("CARGO_BIN_EXE_bouncer"))
            .args(command)
            .arg("--state")
            .arg(stage.state())
            .output()
            .expect("the program starts");
        assert!(said.status.success(), "{said:?}");
    }
}
