//! Config and policy that change while Bouncer runs: what tightens counts, what loosens waits.

use serde_json::{Value, json};

use crate::stage::{Client, Options, Stage};

const READ: &str = "config and policy were read again\n";
const NOT_READ: &str = "config and policy were read again and do not load";

/// Lets only letters through.
const TIGHT: &str = "u: {arg_patterns: {x: '[a-z]+'}}\n";

fn stage(policy: &str, run: &[&str]) -> Option<Stage> {
    let options = Options {
        policy: Some(policy.to_owned()),
        run: run.iter().map(|&word| word.to_owned()).collect(),
        ..Options::default()
    };
    Stage::with(&[("a", json!({"tools": ["t", "u"]})), ("b", json!({"tools": ["t"]}))], options)
}

fn status(stage: &Stage) -> String {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_bouncer"))
        .args(["status", "--state"])
        .arg(stage.state())
        .output()
        .expect("it ends");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Whether the call that only letters pass is refused by the policy.
fn is_refused(client: &mut Client) -> bool {
    client.call("a__u", &json!({"x": "1"})).blocked()
}

#[test]
fn what_tightens_counts_at_once_and_what_loosens_waits() {
    let Some(mut stage) = stage("{}\n", &[]) else { return };
    let mut client = stage.client();
    client.tools(&["a__u", "b__t"]);
    assert!(!is_refused(&mut client));
    stage.rule(TIGHT);
    client.hang_up();
    client.says_times(READ, 1);
    assert!(is_refused(&mut client));
    assert!(status(&stage).contains("reload: in force since"), "{}", status(&stage));
    // One that does not load leaves all as it is.
    stage.rule("u: {arg_pattern: {x: '[a-z]+'}}\n");
    client.hang_up();
    client.says(&[NOT_READ, "unknown key `arg_pattern`"]);
    assert!(is_refused(&mut client));
    let shown = status(&stage);
    assert!(shown.contains("NOT LOADED") && shown.contains("arg_pattern"), "{shown}");
    // One that loosens waits.
    stage.rule("{}\n");
    client.hang_up();
    client.says(&["not in force before the client's session is restarted: tool `a.u` keeps its rule"]);
    assert!(is_refused(&mut client));
    let shown = status(&stage);
    assert!(shown.contains("waits: tool `a.u`") && shown.contains("constraints"), "{shown}");
    for upstream in &mut stage.upstreams {
        assert_eq!(upstream.count("initialize"), 1, "no server was restarted");
    }
    client.close();
    client.end();
    let mut client = stage.client();
    client.tools(&["a__u"]);
    assert!(!is_refused(&mut client), "a restart accepts it");
}

#[test]
fn a_budget_that_shrinks_while_a_person_is_asked_counts_for_that_call() {
    let send = json!({"tools": [{"name": "send_email", "description": "Sends an email.",
        "inputSchema": {"type": "object", "properties": {"to": {"type": "string"}}}}]});
    let options = Options { policy: Some("send_email: {max_calls: 5}\n".to_owned()), ..Options::default() };
    let Some(mut stage) = Stage::with(&[("mail", send)], options) else { return };
    let mut client = stage.client_with(&json!({"elicitation": {}}));
    client.tools(&["mail__send_email"]);
    for (to, policy) in [("ana@new.example", None), ("eva@new.example", Some("send_email: {max_calls: 1}\n"))]
    {
        let id = client.ask("tools/call", &json!({"name": "mail__send_email", "arguments": {"to": to}}));
        let question = client.question();
        if let Some(policy) = policy {
            stage.rule(policy);
            client.hang_up();
            client.says_times(READ, 1);
        }
        client.decide(&question, "allow_once");
        assert_eq!(client.answer(&id).blocked(), policy.is_some(), "{to}");
    }
    assert_eq!(stage.upstreams[0].count("tools/call"), 1);
}

#[test]
fn a_request_whose_rule_loosens_waits_too_and_is_named() {
    let Some(stage) = stage("resources/read: {max_calls: 2}\n", &[]) else { return };
    let mut client = stage.client();
    client.tools(&["a__u"]);
    stage.rule("resources/read: {max_calls: 3}\n");
    client.hang_up();
    client.says(&["`a.resources/read` keeps its rule"]);
    assert!(status(&stage).contains("waits: tool `a.resources/read`"), "{}", status(&stage));
}

#[test]
fn a_broken_policy_at_the_start_is_not_lifted_by_a_reload() {
    let Some(stage) = stage("u: {max_cals: 1}\n", &[]) else { return };
    let mut client = stage.client();
    client.tools(&["a__t"]);
    assert!(client.call("a__t", &json!({})).blocked());
    stage.rule("{}\n");
    client.hang_up();
    client.says(&["it no longer refuses every call"]);
    assert!(client.call("a__t", &json!({})).blocked());
}

#[test]
fn servers_that_are_gone_stop_and_servers_that_are_new_or_changed_wait() {
    let Some(mut stage) = stage("{}\n", &[]) else { return };
    let mut client = stage.client();
    client.tools(&["a__u", "b__t"]);
    stage.configure(|config| {
        let servers = config["mcpServers"].as_object_mut().expect("servers");
        let b = servers.remove("b").expect("it is there");
        servers.insert("c".to_owned(), b);
        servers["a"]["env"] = json!({"MORE": "1"});
    });
    client.hang_up();
    client.says(&["upstream `a` is changed", "upstream `c` is new", "`b` was taken out", READ]);
    stage.upstreams[1].gone();
    while client.list().iter().any(|tool| tool["name"] == "b__t") {
        client.changed("b is gone");
    }
    assert!(client.call("b__t", &json!({})).failed());
    assert_eq!(client.call("a__t", &json!({"n": 1})).text(), r#"{"n": 1}"#);
    assert_eq!(stage.upstreams[0].count("initialize"), 1);
    let shown = status(&stage);
    for piece in ["b: taken out of the config", "waits: upstream `a`", "waits: upstream `c`", "a: up"] {
        assert!(shown.contains(piece), "{piece} in {shown}");
    }
    // One that comes back is new.
    stage.configure(|config| {
        let servers = config["mcpServers"].as_object_mut().expect("servers");
        let b = servers.remove("c").expect("it is there");
        servers.insert("b".to_owned(), b);
    });
    client.hang_up();
    client.says(&["upstream `b` is new"]);
    assert!(client.call("b__t", &json!({})).failed());
}

#[test]
fn a_change_is_seen_without_a_signal() {
    let Some(stage) = stage("{}\n", &["--watch"]) else { return };
    let mut client = stage.client();
    client.tools(&["a__u"]);
    assert!(!is_refused(&mut client));
    // Another length, so that a clock of whole seconds hides nothing.
    stage.rule(TIGHT);
    client.says_times(READ, 1);
    assert!(is_refused(&mut client));
}

/// The edits under load: most say something new, one loosens all, one does not parse, some are of the
/// config. `u` was tight at the start and must stay so.
fn edit(stage: &Stage, number: usize) {
    match number {
        7 => stage.rule("{}\n"),
        12 => stage.rule("u: [\n"),
        3 | 9 | 15 => stage.configure(|config| {
            config["mcpServers"][format!("new{number}")] = json!({"command": "never-started"});
        }),
        _ => stage.rule(&format!("{TIGHT}t: {{max_calls: {}}}\n", 10_000 - number)),
    }
}

#[test]
fn twenty_edits_under_load_lose_nothing_and_let_nothing_through() {
    let Some(mut stage) = stage(TIGHT, &[]) else { return };
    let mut client = stage.client();
    client.tools(&["a__u", "b__t"]);
    let mut asked = Vec::new();
    for number in 0..20 {
        for n in 0..10 {
            for tool in ["a__t", "b__t"] {
                asked.push(client.ask("tools/call", &json!({"name": tool, "arguments": {"n": n}})));
            }
            let refused = client.ask("tools/call", &json!({"name": "a__u", "arguments": {"x": "1"}}));
            asked.push(refused);
            if n == 4 {
                edit(&stage, number);
                client.hang_up();
            }
        }
        // Signals that come together are one reload, so each edit is waited for.
        client.says_times("config and policy were read again", number + 1);
    }
    client.says(&[NOT_READ]);
    for id in &asked {
        client.answer(id);
    }
    let heard = client.heard();
    for id in &asked {
        let answers: Vec<_> = heard.iter().filter(|reply| reply.message["id"] == *id).collect();
        assert_eq!(answers.len(), 1, "{id} is answered once");
    }
    let failed = heard.iter().filter(|reply| reply.failed()).count();
    assert_eq!(failed, 20 * 10, "the refused ones fail, and no other");
    let calls = |message: &&Value| message["method"] == "tools/call";
    let upstream = &mut stage.upstreams[0];
    assert_eq!(upstream.count("initialize"), 1);
    let messages = upstream.messages();
    assert!(messages.iter().filter(calls).all(|call| call["params"]["name"] == "t"), "no deny reached it");
    assert_eq!(messages.iter().filter(calls).count(), 200);
}
