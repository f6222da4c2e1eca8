//! Request ids, cancellation and the other things that tie an answer to its question.

use serde_json::{Value, json};

use crate::stage::{Event, Stage};

/// Calls `a__t` under a raw id and gives the raw answer.
fn call_under(id: &str) -> Option<String> {
    let mut stage = Stage::new(&[("a", json!({"tools": ["t"]}))])?;
    let mut client = stage.client();
    client.tools(&["a__t"]);
    client.send_line(&format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"a__t","arguments":{{}}}}}}"#
    ));
    let line = client.wait(id, |reply| {
        (reply.message.get("result").is_some() && reply.line.contains(&format!("\"id\":{id}")))
            .then(|| reply.line.clone())
    });
    let got = stage.upstreams[0].got("tools/call");
    assert!(got["id"].is_i64(), "ids of our own are integers, this is {}", got["id"]);
    Some(line)
}

#[test]
fn a04_upstreams_get_integer_ids() {
    call_under(r#""u-77""#);
}

#[test]
fn a05_opaque_ids_come_back_as_they_were() {
    for id in [r#""14f40ee1b859ee70""#, "0", "-3", "9007199254740993123", r#""""#, r#""ünï""#] {
        call_under(id);
    }
}

#[test]
fn a08_null_ids_are_refused_and_recorded() {
    let script = json!({"tools": [{"name": "send", "inputSchema": {"type": "object", "properties": {"to": {"type": "string"}}}}]});
    let Some(mut stage) = Stage::new(&[("mail", script)]) else { return };
    let mut client = stage.client();
    client.tools(&["mail__send"]);
    client.send(&json!({"id": null, "method": "tools/call",
        "params": {"name": "mail__send", "arguments": {"to": "a@example.test"}}}));
    for reply in client.heard() {
        assert!(
            reply.message.get("result").is_none() || reply.message["id"] != Value::Null,
            "{}",
            reply.line
        );
    }
    assert_eq!(stage.upstreams[0].count("tools/call"), 0);
    client.close();
    client.end();
    let refused: Vec<_> = stage.audit().into_iter().filter(|record| record["verdict"] == "deny").collect();
    assert_eq!(refused.len(), 1, "{refused:#?}");
}

#[test]
fn a09_an_upstreams_null_id_stays_there() {
    let junk = "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"Parse error\"}}\n";
    let Some(stage) =
        Stage::new(&[("a", json!({"tools": ["t"], "calls": {"t": [{"raw": junk}, {"echo": true}]}}))])
    else {
        return;
    };
    let mut client = stage.client();
    client.tools(&["a__t"]);
    assert_eq!(client.call("a__t", &json!({"x": 1})).text(), r#"{"x": 1}"#);
    assert!(client.heard().iter().all(|reply| reply.message.get("id") != Some(&Value::Null)));
}

#[test]
fn a10_both_result_and_error_is_neither() {
    let both = "{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{\"content\":[]},\"error\":{\"code\":-1,\"message\":\"x\"}}\n";
    let Some(stage) = Stage::new(&[("quake", json!({"tools": ["t"], "calls": {"t": [{"raw": both}]}}))])
    else {
        return;
    };
    let mut client = stage.client();
    client.tools(&["quake__t"]);
    let reply = client.call("quake__t", &json!({}));
    assert_eq!(reply.code(), -32603, "{}", reply.line);
    let said = reply.message["error"]["message"].as_str().unwrap_or_default();
    assert!(said.contains("quake") && said.contains("both result and error"), "{said}");
}

#[test]
fn a11_a_missing_jsonrpc_member_is_refused_under_its_id() {
    let Some(stage) = Stage::new(&[("a", json!({"tools": ["t"]}))]) else { return };
    let mut client = stage.client();
    for (line, id) in [
        (r#"{"id":5,"method":"tools/list"}"#, 5),
        (r#"{"jsonrpc":"1.0","id":6,"method":"tools/list"}"#, 6),
        (r#"{"jsonrpc":2,"id":7,"method":"tools/list"}"#, 7),
    ] {
        client.send_line(line);
        assert_eq!(client.answer(&json!(id)).code(), -32600, "{line}");
    }
    client.tools(&["a__t"]);
}

#[test]
fn a15_cancelling_reaches_the_upstream_under_its_own_id() {
    let slow = json!([{"wait": "go"}, {"echo": true}, {"report": "answered"}]);
    let Some(mut stage) = Stage::new(&[("a", json!({"tools": ["slow", "t"], "calls": {"slow": slow}}))])
    else {
        return;
    };
    let mut client = stage.client();
    client.tools(&["a__slow"]);
    let id = client.ask("tools/call", &json!({"name": "a__slow", "arguments": {}}));
    let upstream = &mut stage.upstreams[0];
    let minted = upstream.got("tools/call")["id"].clone();
    client.notify("notifications/cancelled", &json!({"requestId": id, "reason": "user"}));
    let cancelled = upstream.got("notifications/cancelled");
    assert_eq!(cancelled["params"], json!({"requestId": minted, "reason": "user"}));
    // The late answer is dropped.
    upstream.release("go");
    upstream.wait("the late answer", |event| matches!(event, Event::Step).then_some(()));
    client.call("a__t", &json!({}));
    assert!(client.heard().iter().all(|reply| reply.message.get("id") != Some(&id)));
}

#[test]
fn a16_cancelling_an_unknown_id_does_not_reach_a_later_request() {
    let Some(stage) = Stage::new(&[("a", json!({"tools": ["t"]}))]) else { return };
    let mut client = stage.client();
    client.tools(&["a__t"]);
    client.notify("notifications/cancelled", &json!({"requestId": 9}));
    client.send(&json!({"id": 9, "method": "tools/call", "params": {"name": "a__t", "arguments": {}}}));
    assert!(client.answer(&json!(9)).message.get("result").is_some());
}

#[test]
fn a18_notifications_are_never_answered() {
    let Some(stage) = Stage::new(&[("a", json!({"tools": ["t"]}))]) else { return };
    let mut client = stage.client();
    client.tools(&["a__t"]);
    let before = client.heard().len();
    client.notify("notifications/cancelled", &json!({"requestId": 1}));
    client.notify("notifications/whatever", &json!({}));
    client.send(&json!({"method": "tools/call", "params": {"name": "a__t", "arguments": {}}}));
    assert_eq!(client.heard().len(), before + 1, "only the ping is answered");
}

#[test]
fn a19_an_upstream_that_dies_of_a_cancellation_is_restarted() {
    let old = json!({"tools": ["slow", "t"], "calls": {"slow": [{"wait": "never"}]}, "on": {"notifications/cancelled": [{"exit": 1}]}});
    let Some(mut stage) = Stage::new(&[("old", old), ("b", json!({"tools": ["t"]}))]) else { return };
    let mut client = stage.client();
    client.tools(&["old__slow", "b__t"]);
    let slow = client.ask("tools/call", &json!({"name": "old__slow", "arguments": {}}));
    let fast = client.ask("tools/call", &json!({"name": "b__t", "arguments": {}}));
    assert!(client.answer(&fast).message.get("result").is_some());
    let upstream = &mut stage.upstreams[0];
    upstream.got("tools/call");
    client.notify("notifications/cancelled", &json!({"requestId": slow}));
    upstream.gone();
    upstream.wait("its restart", |event| matches!(event, Event::Started(_)).then_some(()));
    client.tools(&["old__t", "b__t"]);
    upstream.got("notifications/initialized");
    client.tools(&["old__t", "b__t"]);
    assert!(client.call("b__t", &json!({})).message.get("result").is_some());
    assert_eq!(client.call("old__t", &json!({"again": true})).text(), r#"{"again": true}"#);
}

#[test]
fn answers_that_nobody_asked_for_reach_nobody() {
    let twice =
        "{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"once\"}]}}\n"
            .repeat(2);
    let stray = "{\"jsonrpc\":\"2.0\",\"id\":987654,\"result\":{\"content\":[]}}\n{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"result\":{}}\n";
    let script = json!({"tools": ["t", "u"], "calls": {"t": [{"raw": stray}, {"raw": twice}]}});
    let Some(stage) = Stage::new(&[("a", script)]) else { return };
    let mut client = stage.client();
    client.tools(&["a__t"]);
    let before = client.heard().len();
    assert_eq!(client.call("a__t", &json!({})).text(), "once");
    client.call("a__u", &json!({}));
    assert_eq!(client.heard().len(), before + 3, "one answer each to two calls and a ping");
}

#[test]
fn progress_comes_back_under_the_clients_token() {
    let tick =
        json!({"method": "notifications/progress", "params": {"progressToken": "$TOKEN", "progress": 1}});
    let number = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":987,\"progress\":5}}\n";
    let script = json!({"tools": ["t"], "calls": {"t": [{"notify": tick}, {"raw": number}, {"echo": true}]}});
    let Some(mut stage) = Stage::new(&[("a", script)]) else { return };
    let mut client = stage.client();
    client.tools(&["a__t"]);
    for token in [json!("mine"), json!(7)] {
        client.request(
            "tools/call",
            &json!({"name": "a__t", "arguments": {}, "_meta": {"progressToken": token, "k": 1}}),
        );
        let got = stage.upstreams[0].got("tools/call");
        assert_eq!(got["params"]["_meta"]["k"], 1, "the rest of _meta is the client's");
        assert_ne!(got["params"]["_meta"]["progressToken"], token, "tokens towards upstreams are our own");
    }
    let foreign =
        client.heard().iter().filter(|reply| reply.message["params"]["progressToken"] == 987).count();
    assert_eq!(foreign, 0, "a token that nobody gave out reaches nobody");
}
