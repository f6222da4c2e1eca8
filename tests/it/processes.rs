//! Child processes: late, slow, crashing, stubborn, missing, and none of them left over.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::stage::{Client, Event, Launch, Options, Stage};

/// Waits for the start of the upstream's process.
fn started(stage: &mut Stage, index: usize) {
    stage.upstreams[index].wait("its start", |event| matches!(event, Event::Started(_)).then_some(()));
}

/// Closes the program's input and checks that it, and all that the first upstream left running, are
/// gone within a time.
fn leaves(stage: &mut Stage, client: &mut Client, least: Duration, most: Duration) {
    let before = Instant::now();
    client.close();
    let status = client.end();
    let took = before.elapsed();
    stage.upstreams[0].gone();
    assert!(status.success(), "{status}");
    assert!(took >= least && took <= most, "took {took:?}");
}

/// A bound that only a machine under heavy load comes near.
const SOON: Duration = Duration::from_secs(2);

#[test]
fn a64_a_slow_start_takes_nobody_down() {
    let handshake = json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "slow", "version": "1"}});
    let slow = json!({"tools": ["t"], "on": {"initialize": [{"wait": "go"}, {"reply": handshake}]}});
    let Some(mut stage) = Stage::new(&[("slow", slow), ("b", json!({"tools": ["t"]}))]) else { return };
    let mut client = stage.client();
    started(&mut stage, 0);
    assert_eq!(client.tools(&["b__t"]), ["b__t"]);
    let reply = client.call("slow__t", &json!({}));
    assert!(reply.failed(), "{}", reply.line);
    assert_eq!(client.call("b__t", &json!({})).text(), "{}");
    stage.upstreams[0].release("go");
    client.tools(&["b__t", "slow__t"]);
    assert_eq!(client.call("slow__t", &json!({})).text(), "{}");
}

#[test]
fn a66_many_cold_starts_all_get_there() {
    let handshake = json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "cold", "version": "1"}});
    let cold = json!({"tools": ["t"], "on": {"initialize": [{"wait": "go"}, {"reply": handshake}]}});
    let names: Vec<_> = (0..11).map(|n| format!("u{n:02}")).collect();
    let scripts: Vec<_> = names.iter().map(|name| (name.as_str(), cold.clone())).collect();
    let Some(mut stage) = Stage::new(&scripts) else { return };
    let mut client = stage.client();
    // They share one slot: each gets it when the one before has answered.
    for index in 0..names.len() {
        stage.upstreams[index].got("initialize");
        stage.upstreams[index].release("go");
    }
    let wanted: Vec<_> = names.iter().map(|name| format!("{name}__t")).collect();
    client.tools(&wanted.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn a67_an_ended_client_leaves_nothing_behind() {
    let stubborn = json!({"tools": ["t"], "grandchild": "stay"});
    let Some(mut stage) = Stage::new(&[("a", stubborn)]) else { return };
    let mut client = stage.client();
    client.tools(&["a__t"]);
    leaves(&mut stage, &mut client, Duration::ZERO, Duration::from_secs(5));
}

#[test]
fn a67_polite_children_are_not_waited_for() {
    let Some(mut stage) = Stage::new(&[("a", json!({"tools": ["t"]})), ("b", json!({"tools": ["t"]}))])
    else {
        return;
    };
    let mut client = stage.client();
    client.tools(&["a__t", "b__t"]);
    leaves(&mut stage, &mut client, Duration::ZERO, SOON);
}

#[test]
fn a67_a_killed_bouncer_takes_its_children_along() {
    let stubborn = json!({"tools": ["t"], "ignore_eof": true, "ignore_sigterm": true});
    let Some(mut stage) = Stage::new(&[("a", stubborn)]) else { return };
    let mut client = stage.client();
    client.tools(&["a__t"]);
    if !cfg!(target_os = "linux") {
        return; // Elsewhere there is no parent-death signal, and a polite server leaves at its EOF.
    }
    client.kill();
    stage.upstreams[0].gone();
}

#[test]
fn a67_sigterm_ends_it_as_eof_does() {
    let Some(mut stage) = Stage::new(&[("a", json!({"tools": ["t"]}))]) else { return };
    let mut client = stage.client();
    client.tools(&["a__t"]);
    let pid = rustix::process::Pid::from_raw(i32::try_from(client.pid()).expect("a pid")).expect("a pid");
    let before = Instant::now();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("it runs");
    client.end();
    assert!(before.elapsed() < SOON, "{:?}", before.elapsed());
    stage.upstreams[0].gone();
}

#[test]
fn a68_a_runner_and_its_server_both_end() {
    let options = Options { launch: Launch::Shell, ..Options::default() };
    let stubborn = json!({"tools": ["t"], "ignore_eof": true});
    let Some(mut stage) = Stage::with(&[("a", stubborn)], options) else { return };
    let mut client = stage.client();
    client.tools(&["a__t"]);
    leaves(&mut stage, &mut client, Duration::from_secs(1), Duration::from_secs(6));
}

#[test]
fn a69_a_child_that_ignores_all_is_killed() {
    let stubborn = json!({"tools": ["t"], "ignore_sigterm": true, "spin": true});
    let Some(mut stage) = Stage::new(&[("a", stubborn)]) else { return };
    let mut client = stage.client();
    client.tools(&["a__t"]);
    leaves(&mut stage, &mut client, Duration::from_millis(2500), Duration::from_secs(6));
}

#[test]
fn a71_a_missing_program_is_named_with_where_it_was_sought() {
    let missing = json!({"command": "no-such-runner", "args": ["-y", "pkg"]});
    let options =
        Options { servers: [("gone".to_owned(), missing)].into_iter().collect(), ..Options::default() };
    let Some(stage) = Stage::with(&[("b", json!({"tools": ["t"]}))], options) else { return };
    let mut client = stage.client();
    client.tools(&["b__t"]);
    client.says(&["gone", "no-such-runner", "PATH"]);
}

#[test]
fn d16_one_missing_server_is_not_the_end() {
    let missing = json!({"command": "no-such-runner"});
    let options =
        Options { servers: [("gone".to_owned(), missing)].into_iter().collect(), ..Options::default() };
    let Some(stage) = Stage::with(&[("b", json!({"tools": ["t"]}))], options) else { return };
    let mut client = stage.client();
    assert_eq!(client.tools(&["b__t"]), ["b__t"]);
    assert_eq!(client.call("b__t", &json!({})).text(), "{}");
    let reply = client.call("gone__t", &json!({}));
    assert!(reply.failed(), "{}", reply.line);
}

#[test]
fn a_crash_ends_the_calls_in_flight_and_the_next_call_works() {
    let script =
        json!({"tools": ["die", "slow", "t"], "calls": {"die": [{"exit": 9}], "slow": [{"wait": "never"}]}});
    let Some(mut stage) = Stage::new(&[("crashy", script), ("b", json!({"tools": ["t"]}))]) else { return };
    let mut client = stage.client();
    client.tools(&["crashy__die", "b__t"]);
    for _ in 0..3 {
        let slow = client.ask("tools/call", &json!({"name": "crashy__slow", "arguments": {}}));
        stage.upstreams[0].got("tools/call");
        for reply in [client.call("crashy__die", &json!({})), client.answer(&slow)] {
            assert!(reply.failed() && reply.line.contains("crashy"), "{}", reply.line);
        }
        assert_eq!(client.call("b__t", &json!({})).text(), "{}");
        // The first start has been seen before the first crash; the next one follows it.
        stage.upstreams[0].gone();
        stage.upstreams[0].got("notifications/initialized");
        client.tools(&["crashy__t"]);
        let back = loop {
            let reply = client.call("crashy__t", &json!({}));
            if reply.message.get("result").is_some() {
                break reply;
            }
        };
        assert_eq!(back.text(), "{}");
    }
}

#[test]
fn children_get_the_environment_they_need_and_no_more() {
    let env = json!({"FIXTURE_OWN": "yes"});
    let options = Options {
        env: vec![("SECRET_OF_THE_SHELL".into(), "s".into()), ("LC_TIME".into(), "C".into())],
        entry: [("env".to_owned(), env)].into_iter().collect(),
        ..Options::default()
    };
    let Some(mut stage) = Stage::with(&[("a", json!({"tools": ["t"]}))], options) else { return };
    let mut client = stage.client();
    client.tools(&["a__t"]);
    let report: Value = stage.upstreams[0].wait("its start", |event| {
        if let Event::Started(report) = event { Some(report.clone()) } else { None }
    });
    let env = report["env"].as_object().expect("an environment");
    for name in ["PATH", "FIXTURE_OWN", "LC_TIME"] {
        assert!(env.contains_key(name), "no {name} in {env:#?}");
    }
    assert!(!env.contains_key("SECRET_OF_THE_SHELL"));
}

#[test]
fn the_state_folder_is_the_users_alone() {
    use std::os::unix::fs::PermissionsExt;

    let Some(stage) = Stage::new(&[("a", json!({"tools": ["t"]}))]) else { return };
    let mut client = stage.client();
    client.tools(&["a__t"]);
    client.call("a__t", &json!({}));
    client.close();
    client.end();
    let mode = |path: &Path| std::fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    assert_eq!(mode(&stage.state()), 0o700);
    assert_eq!(mode(&stage.state().join("audit.jsonl")), 0o600);
}
