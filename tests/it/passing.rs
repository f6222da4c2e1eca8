//! Everything else that a client may send or an upstream may answer: passed on, or answered honestly.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::stage::Stage;

#[test]
fn initialize_is_answered_whatever_the_upstreams_do() {
    let Some(stage) = Stage::new(&[("slow", json!({"on": {"initialize": [{"wait": "never"}]}}))]) else {
        return;
    };
    let mut client = stage.run();
    let before = Instant::now();
    let reply = client.initialize("2025-06-18", &json!({}));
    let took = before.elapsed();
    // 20 ms is the aim; this bound only shows that nothing was waited for, on a loaded machine too.
    assert!(took < Duration::from_secs(2), "{took:?}");
    assert_eq!(reply.message["result"]["protocolVersion"], "2025-06-18");
    assert!(reply.message["result"]["capabilities"].get("tools").is_some(), "{}", reply.line);
}

#[test]
fn a_known_version_is_taken_and_an_unknown_one_gets_the_newest() {
    let Some(stage) = Stage::new(&[]) else { return };
    for (asked, answered) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2023-01-01", "2025-11-25"),
    ] {
        let mut client = stage.run();
        let reply = client.initialize(asked, &json!({}));
        assert_eq!(reply.message["result"]["protocolVersion"], answered, "{asked}");
    }
}

#[test]
fn a80_an_error_passes_with_code_message_and_data() {
    let error = json!({"code": -32042, "message": "auth", "data": {"elicitations": [{"mode": "url",
        "url": "https://login.example.test/x", "elicitationId": "e1", "message": "Sign in"}]}});
    let Some(stage) = Stage::new(&[("a", json!({"tools": ["t"], "calls": {"t": [{"error": error}]}}))])
    else {
        return;
    };
    let mut client = stage.client();
    client.tools(&["a__t"]);
    assert_eq!(client.call("a__t", &json!({})).message["error"], error);
}

#[test]
fn a81_a_modern_probe_is_answered() {
    let Some(stage) = Stage::new(&[("a", json!({"tools": ["t"]}))]) else { return };
    let mut client = stage.run();
    let meta = json!({"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}});
    let reply = client.request("server/discover", &meta);
    assert!(
        reply.code() == -32601 || reply.message["result"].get("supportedVersions").is_some(),
        "{}",
        reply.line
    );
    client.initialize("2025-06-18", &json!({}));
    client.tools(&["a__t"]);
}

#[test]
fn a82_an_interim_result_passes_unchanged() {
    let result = json!({"resultType": "input_required", "inputRequests": {"k": {"method": "elicitation/create",
        "params": {"message": "?", "requestedSchema": {"type": "object", "properties": {}}}}}, "requestState": "opaque"});
    let Some(stage) = Stage::new(&[("a", json!({"tools": ["t"], "calls": {"t": [{"reply": result}]}}))])
    else {
        return;
    };
    let mut client = stage.client();
    client.tools(&["a__t"]);
    assert_eq!(client.call("a__t", &json!({})).message["result"], result);
}

#[test]
fn a83_methods_that_nobody_offers_are_answered_as_advertised() {
    let Some(stage) = Stage::new(&[("a", json!({"tools": ["t"]}))]) else { return };
    let mut client = stage.run();
    let offered = client.initialize("2025-06-18", &json!({})).message["result"]["capabilities"].clone();
    client.tools(&["a__t"]);
    for (method, capability, key) in [
        ("resources/list", "resources", "resources"),
        ("resources/templates/list", "resources", "resourceTemplates"),
        ("prompts/list", "prompts", "prompts"),
    ] {
        let reply = client.request(method, &json!({}));
        if offered.get(capability).is_some() {
            assert_eq!(reply.message["result"][key], json!([]), "{method}: {}", reply.line);
        } else {
            assert_eq!(reply.code(), -32601, "{method}: {}", reply.line);
        }
    }
    assert_eq!(client.request("no/such/method", &json!({})).code(), -32601);
    client.close();
    client.end();
    assert!(stage.audit().iter().all(|record| record["verdict"] != "deny"), "probing is not refused");
}

#[test]
fn calls_run_beside_each_other() {
    let slow = json!({"tools": ["slow", "t"], "calls": {"slow": [{"wait": "go"}, {"echo": true}]}});
    let Some(mut stage) = Stage::new(&[("a", slow), ("b", json!({"tools": ["t"]}))]) else { return };
    let mut client = stage.client();
    client.tools(&["a__slow", "b__t"]);
    let held: Vec<Value> = (0..20)
        .map(|n| client.ask("tools/call", &json!({"name": "a__slow", "arguments": {"n": n}})))
        .collect();
    for _ in 0..20 {
        stage.upstreams[0].got("tools/call");
    }
    assert_eq!(client.call("b__t", &json!({})).text(), "{}");
    assert_eq!(client.call("a__t", &json!({})).text(), "{}");
    for _ in 0..20 {
        stage.upstreams[0].release("go");
    }
    for (n, id) in held.iter().enumerate() {
        assert_eq!(client.answer(id).text(), format!("{{\"n\": {n}}}"));
    }
}

#[test]
fn two_sessions_share_a_state_folder_and_one_chain() {
    let Some(stage) = Stage::new(&[("a", json!({"tools": ["t"]}))]) else { return };
    for round in 0..2 {
        let mut first = stage.client();
        first.tools(&["a__t"]);
        assert_eq!(first.call("a__t", &json!({"round": round})).text(), format!("{{\"round\": {round}}}"));
        first.close();
        first.end();
    }
    let records = stage.audit();
    let verdicts: Vec<_> = records.iter().filter(|record| record.get("verdict").is_some()).collect();
    assert_eq!(verdicts.len(), 2, "{records:#?}");
    for pair in records.windows(2) {
        assert_eq!(pair[0]["hash"], pair[1]["prev"]);
    }
    for key in ["ts", "tool", "args", "verdict", "reason", "contract"] {
        assert!(verdicts[0].get(key).is_some(), "no {key} in {}", verdicts[0]);
    }
}
