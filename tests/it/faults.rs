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
