//! The stage tested by itself: the scripted upstream spoken to directly, without a proxy between, so
//! that a failure elsewhere is the proxy's.

use std::path::Path;

use serde_json::{Value, json};

use super::client::Client;
use super::scene::Stage;

/// The first upstream of a stage, started directly.
fn direct(stage: &Stage) -> Client {
    let entry = stage.upstreams[0].entry();
    let arguments: Vec<String> = serde_json::from_value(entry["args"].clone()).expect("a list");
    let mut client = Client::start(Path::new("python3"), &arguments, |_| {});
    client.initialize("2025-06-18", &json!({}));
    client
}

#[test]
fn the_scripted_upstream_does_what_its_script_says() {
    let script = json!({
        "banner": ["{\"jsonrpc\":\"2.0\",\"method\":\"notifications/hello\"}\n"],
        "tools": ["t", "held", "long", "raw"],
        "calls": {
            "held": [{"wait": "go"}, {"report": 1}, {"text": "late"}],
            "long": [{"split": ["é", 10, 70]}],
            "raw": [{"raw_result": "{\"n\":1.0}"}],
        },
        "grandchild": "stay",
    });
    let Some(mut stage) = Stage::new(&[("a", script)]) else { return };
    let mut client = direct(&stage);
    assert_eq!(client.list().len(), 4);
    let held = client.ask("tools/call", &json!({"name": "held", "arguments": {}}));
    assert_eq!(client.call("t", &json!({"é": 1})).text(), r#"{"é": 1}"#);
    assert_eq!(stage.upstreams[0].got("tools/call")["params"]["name"], "held");
    stage.upstreams[0].release("go");
    assert_eq!(client.answer(&held).text(), "late");
    let long = client.ask("tools/call", &json!({"name": "long", "arguments": {}}));
    stage.upstreams[0].release("split");
    stage.upstreams[0].release("split");
    assert_eq!(client.answer(&long).text(), "é");
    assert!(client.call("raw", &json!({})).line.ends_with(r#""result":{"n":1.0}}"#));
    assert_eq!(client.count("notifications/hello"), 1);
    let child: Value = stage.upstreams[0].child();
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.as_i64().expect("a pid")).expect("a pid"));
    rustix::process::kill_process(pid.expect("a pid"), rustix::process::Signal::KILL).expect("it runs");
    client.close();
    assert!(client.end().success());
    stage.upstreams[0].gone();
}
