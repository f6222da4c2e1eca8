//! The same session with a server, direct and through the proxy: what each side says is compared byte for
//! byte, but for exported names and the handshake.
//!
//! The real server and the two real clients come from `tests/setup`; everything on the wire is written down
//! by `fixtures/tee.py`. `fixtures/still.cjs` stops the server's clock and its dice.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::stage::{Client, Options, Runtime, Stage, deps};

/// The members of a message that a proxy has no business with.
#[derive(Debug, serde::Deserialize)]
struct Message<'a> {
    #[serde(default)]
    id: Value,
    method: Option<String>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

/// What was said: requests and their answers by id, in the order of ids, and the notifications.
#[derive(Debug, Default, PartialEq, Eq)]
struct Said {
    requests: BTreeMap<u64, String>,
    answers: BTreeMap<u64, String>,
    notifications: Vec<String>,
    /// What the server asked, each with the client's answer, in no order.
    asked: Vec<(String, String)>,
}

/// Reads what `tee.py` wrote down. Names lose their prefix; the handshake and changes of lists, which the
/// proxy tells in its own time, are left out.
fn said(log: &Path, prefix: &str) -> Said {
    let text = std::fs::read_to_string(log).expect("a log");
    let mut said = Said::default();
    let (mut handshake, mut asked) = (Vec::new(), BTreeMap::new());
    // Each task by its number, whoever gave it an id.
    let mut tasks: Vec<String> = Vec::new();
    let of = |line: &str| Some(line.split_once("\"taskId\":\"")?.1.split_once('"')?.0.to_owned());
    for line in text.lines() {
        let (direction, line) = line.split_at(2);
        let mut line = line.replace(&format!("\"{prefix}"), "\"");
        tasks.extend(of(&line).filter(|id| !tasks.contains(id)));
        for (number, id) in tasks.iter().enumerate() {
            line = line.replace(id, &format!("task {number}"));
        }
        let line = line.replace("Server `every` asks this, not Bouncer:\\n> ", "");
        let message: Message<'_> =
            serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        let raw = |value: Option<&RawValue>| value.map_or("-", RawValue::get).to_owned();
        let id = message.id.as_u64();
        match (direction, &message.method, id) {
            ("> ", Some(method), Some(id)) if method == "initialize" => handshake.push(id),
            ("> ", Some(method), Some(id)) => {
                said.requests.insert(id, format!("{method} {}", raw(message.params)));
            }
            ("< ", None, Some(id)) if !handshake.contains(&id) => {
                let mut result = raw(message.result);
                if result.starts_with("{\"tasks\":") {
                    // This list is the proxy's own, of what it knows.
                    result = result.replace(",\"_meta\":{}", "");
                }
                said.answers.insert(id, format!("{result} {}", raw(message.error)));
            }
            (_, Some(method), None)
                if method.ends_with("list_changed") || method == "notifications/initialized" => {}
            (direction, Some(method), None) => {
                said.notifications.push(format!("{direction}{method} {}", raw(message.params)));
            }
            ("< ", Some(method), Some(id)) => {
                asked.insert(id, format!("{method} {}", raw(message.params)));
            }
            ("> ", None, Some(id)) => {
                let request = asked.remove(&id).expect("it was asked");
                // Bouncer's own questions are no part of the session.
                if !request.contains("Let server `every`") {
                    said.asked.push((request, format!("{} {}", raw(message.result), raw(message.error))));
                }
            }
            ("< ", None, Some(_)) => {}
            other => panic!("{other:?}: {line}"),
        }
    }
    assert!(asked.is_empty(), "the client answered all: {asked:?}");
    said.asked.sort();
    // Progress and log messages may pass each other on their way through the proxy.
    said.notifications.sort();
    said
}

/// Everything that `server-everything` offers a client without capabilities.
fn requests() -> Value {
    let tool = |name: &str, arguments: Value| json!(["tools/call", {"name": name, "arguments": arguments}]);
    let read = |uri: &str| json!(["resources/read", {"uri": uri}]);
    let prompt =
        |name: &str, arguments: Value| json!(["prompts/get", {"name": name, "arguments": arguments}]);
    let complete = |reference: Value, name: &str, value: &str, context: Value| json!(["completion/complete", {"ref": reference, "argument": {"name": name, "value": value}, "context": context}]);
    let of_prompt = |name: &str| json!({"type": "ref/prompt", "name": name});
    let of_template = json!({"type": "ref/resource", "uri": "demo://resource/dynamic/text/{resourceId}"});
    json!([
        ["ping", {}],
        ["logging/setLevel", {"level": "debug"}],
        ["tools/list", {}],
        ["resources/list", {}],
        ["resources/templates/list", {}],
        ["prompts/list", {}],
        tool("echo", json!({"message": "héllo \u{1f600} \\ \" \u{7f}"})),
        tool("echo", json!({"massage": 1})),
        tool("get-sum", json!({"a": 1, "b": 2.5})),
        tool("get-env", json!({})),
        tool("get-tiny-image", json!({})),
        tool("get-annotated-message", json!({"messageType": "error", "includeImage": true})),
        tool("get-resource-links", json!({"count": 4})),
        tool("get-resource-reference", json!({"resourceType": "Blob", "resourceId": 3})),
        tool("get-structured-content", json!({"location": "Chicago"})),
        tool("gzip-file-as-resource", json!({"name": "a.gz", "data": "data:text/plain,hello", "outputType": "resource"})),
        ["tools/call", {"name": "trigger-long-running-operation", "arguments": {"duration": 0.2, "steps": 4}, "progress": true}],
        tool("toggle-simulated-logging", json!({})),
        tool("toggle-simulated-logging", json!({})),
        read("demo://resource/static/document/features.md"),
        read("demo://resource/dynamic/text/7"),
        read("demo://resource/dynamic/blob/7"),
        read("demo://resource/dynamic/text/seven"),
        read("demo://resource/nowhere"),
        ["resources/subscribe", {"uri": "demo://resource/dynamic/text/7"}],
        ["resources/subscribe", {"uri": "demo://resource/static/document/features.md"}],
        tool("toggle-subscriber-updates", json!({})),
        tool("toggle-subscriber-updates", json!({})),
        ["resources/unsubscribe", {"uri": "demo://resource/dynamic/text/7"}],
        prompt("simple-prompt", json!({})),
        prompt("args-prompt", json!({"city": "Chicago", "state": "Illinois"})),
        prompt("completable-prompt", json!({"department": "Sales", "name": "Eve"})),
        prompt("resource-prompt", json!({"resourceType": "Text", "resourceId": "2"})),
        prompt("resource-prompt", json!({"resourceType": "None", "resourceId": "2"})),
        complete(of_prompt("completable-prompt"), "department", "S", Value::Null),
        complete(of_prompt("completable-prompt"), "name", "E", json!({"department": "Sales"})),
        complete(of_template, "resourceId", "12", Value::Null),
        ["ping", {}],
    ])
}

/// What a server does that asks something of its client: all of `server-everything` that is for a client
/// with roots, sampling and elicitation, and its tasks.
fn requests_of_a_rich_client() -> Value {
    let tool = |name: &str, arguments: Value| json!(["tools/call", {"name": name, "arguments": arguments}]);
    let task = |topic: &str, ambiguous: bool| json!(["task", {"name": "simulate-research-query", "arguments": {"topic": topic, "ambiguous": ambiguous}}]);
    let page = json!({"url": "https://login.example/x", "message": "Sign in", "elicitationId": "e-1"});
    json!([
        ["logging/setLevel", {"level": "debug"}],
        ["roots told", {"times": 1}],
        ["tools/list", {}],
        tool("get-roots-list", json!({})),
        ["roots changed", {}],
        ["roots told", {"times": 2}],
        tool("trigger-sampling-request", json!({"prompt": "h\u{e9}llo", "maxTokens": 10})),
        tool("trigger-elicitation-request", json!({})),
        tool("trigger-url-elicitation", page),
        task("birds", false),
        task("python", true),
        ["ping", {}],
    ])
}

/// Plays a session with one client, direct and through the proxy: what was said in both.
fn play(client: impl Fn(&Path) -> Command, capabilities: &Value, requests: &Value) -> (Said, Said) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let folder = folder.path().canonicalize().expect("it is there");
    let fixture = |name: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/fixtures").join(name);
    let dist = deps("npm/node_modules/@modelcontextprotocol/server-everything/dist/index.js");
    let server = json!({"command": "node", "args": ["--require", fixture("still.cjs"), dist, "stdio"]});
    // The tools would ask about urls and the like; what is compared here is what passes.
    let config = json!({"list_wait": "120s", "upstreams": {"every": server}});
    let policy = json!({"tools": {"every.*": {"exfiltrating": false}}, "sampling": ["every"]});
    let path = |name: &str| folder.join(name);
    std::fs::write(path("bouncer.yaml"), config.to_string()).expect("a writable folder");
    std::fs::write(path("policy.yaml"), policy.to_string()).expect("a writable folder");
    let through = json!([
        env!("CARGO_BIN_EXE_bouncer"),
        "run",
        "--config",
        path("bouncer.yaml"),
        "--policy",
        path("policy.yaml"),
        "--state",
        path("state")
    ]);
    let mut direct = vec![server["command"].clone()];
    direct.extend(server["args"].as_array().expect("a list").clone());
    let mut heard = Vec::new();
    for (name, prefix, command) in [("direct", "", Value::Array(direct)), ("through", "every__", through)] {
        let log = path(&format!("{name}.log"));
        let mut words = vec![json!("python3"), json!(fixture("tee.py")), json!(log)];
        words.extend(command.as_array().expect("a list").clone());
        let plan =
            json!({"command": words, "prefix": prefix, "requests": requests, "capabilities": capabilities});
        let plan_file = path(&format!("{name}.json"));
        std::fs::write(&plan_file, plan.to_string()).expect("a writable folder");
        let output = client(&plan_file).stdin(Stdio::null()).output().expect("the client ends");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name}: {}\n{stderr}", output.status);
        heard.push(said(&log, if prefix.is_empty() { "\u{0}" } else { prefix }));
    }
    let through = heard.remove(1);
    (heard.remove(0), through)
}

/// Plays the session of a client without capabilities.
fn compare(client: impl Fn(&Path) -> Command) {
    let (direct, through) = play(client, &json!({}), &requests());
    let count = requests().as_array().map_or(0, Vec::len);
    assert_eq!((direct.requests.len(), direct.answers.len()), (count, count));
    assert!(direct.notifications.len() >= 8, "{:#?}", direct.notifications);
    same(&direct, &through);
}

fn same(direct: &Said, through: &Said) {
    for (id, request) in &direct.requests {
        assert_eq!(through.requests.get(id), Some(request));
        assert_eq!(through.answers.get(id), direct.answers.get(id), "the answer to {request}");
    }
    assert_eq!(through.asked, direct.asked);
    assert_eq!(through.notifications, direct.notifications);
    assert_eq!(through, direct);
}

fn pypi(plan: &Path) -> Command {
    let mut command = Command::new(deps("venv/bin/python"));
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/clients/session.py")).arg(plan);
    command
}

fn npm(plan: &Path) -> Command {
    let mut command = Command::new("node");
    let script: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/clients/session.mjs");
    command.arg(script).arg(plan).arg(deps("npm"));
    command
}

#[test]
fn a_session_through_the_proxy_is_the_direct_one_with_the_pypi_client() {
    if Runtime::PythonPackages.or_not_run() && Runtime::NodePackages.or_not_run() {
        compare(pypi);
    }
}

#[test]
fn a_session_through_the_proxy_is_the_direct_one_with_the_npm_client() {
    if Runtime::NodePackages.or_not_run() {
        compare(npm);
    }
}

#[test]
fn what_a_server_asks_through_the_proxy_is_what_it_asks_directly() {
    if !Runtime::NodePackages.or_not_run() {
        return;
    }
    let all = json!({"roots": {"listChanged": true}, "sampling": {}, "elicitation": {"form": {}, "url": {}}});
    let (direct, through) = play(npm, &all, &requests_of_a_rich_client());
    let of = |method: &str| direct.asked.iter().filter(|(asked, _)| asked.starts_with(method)).count();
    let counts = (of("roots/list"), of("sampling/createMessage"), of("elicitation/create"));
    assert_eq!(counts, (2, 1, 3), "{:#?}", direct.asked);
    let status = |said: &&String| said.contains("notifications/tasks/status");
    assert!(direct.notifications.iter().filter(status).count() >= 8, "{:#?}", direct.notifications);
    assert_eq!(direct.requests.len(), 17, "{:#?}", direct.requests);
    same(&direct, &through);
}

#[test]
fn what_a_server_asks_the_pypi_client_is_the_same_too() {
    if !(Runtime::PythonPackages.or_not_run() && Runtime::NodePackages.or_not_run()) {
        return;
    }
    // That client knows no tasks of this era.
    let mut requests = requests_of_a_rich_client();
    requests.as_array_mut().expect("a list").retain(|request| request[0] != "task");
    let (direct, through) = play(pypi, &json!({"all": true}), &requests);
    let of = |method: &str| direct.asked.iter().filter(|(asked, _)| asked.starts_with(method)).count();
    let counts = (of("roots/list"), of("sampling/createMessage"), of("elicitation/create"));
    assert_eq!(counts, (2, 1, 2), "{:#?}", direct.asked);
    same(&direct, &through);
}

/// A value 10,000 arrays deep.
fn deep() -> String {
    format!("{}1{}", "[".repeat(10_000), "]".repeat(10_000))
}

/// What JSON allows and few parsers take: each as the value of an unknown member.
fn odd_values() -> Vec<String> {
    vec![
        "123456789012345678901234567890".to_owned(),
        "-0.10000000000000000555e-400".to_owned(),
        "1e400".to_owned(),
        r#""\ud800 \udc00 \u0000 \/""#.to_owned(),
        r#"{"type":"hologram","nested":{"" :[ ] , "\u0061":1.0}}"#.to_owned(),
        deep(),
    ]
}

#[test]
fn values_that_few_parsers_take_pass_as_they_are() {
    let values = odd_values();
    let member = |name: &str| {
        let members: Vec<_> =
            values.iter().enumerate().map(|(n, value)| format!("\"{name}{n}\":{value}")).collect();
        members.join(",")
    };
    let answer = |head: &str| format!("{{{head},{}}}", member("odd"));
    let uri = r#"{"uri":"x:1","name":"n","#;
    let raw = |text: String| json!([{"raw_result": text}]);
    let contents = answer(r#""contents":[{"uri":"x:1","type":"hologram","text":"t"}]"#);
    let content = answer(r#""content":[{"type":"hologram","data":1e400},{"type":"text","text":"\ud800"}]"#);
    let messages = answer(r#""messages":[{"role":"oracle","content":{"type":"hologram"}}]"#);
    let values_of = answer(r#""completion":{"values":["a"],"total":1e400}"#);
    let log = format!(
        "{{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{}}}\n",
        answer(r#""level":"info""#)
    );
    let script = json!({
        "capabilities": {"tools": {}, "resources": {}, "prompts": {}, "completions": {}, "logging": {}},
        "tools": ["t"],
        "calls": {"t": [{"raw": log}, {"raw_result": content}]},
        "on": {
            "resources/list": raw(format!("{{\"resources\":[{uri}{}}}]}}", member("odd"))),
            "resources/templates/list": raw("{\"resourceTemplates\":[]}".to_owned()),
            "prompts/list": raw(format!("{{\"prompts\":[{{\"name\":\"p\",{}}}]}}", member("odd"))),
            "resources/read": raw(contents.clone()),
            "prompts/get": raw(messages.clone()),
            "completion/complete": raw(values_of.clone()),
        },
    });
    let Some(mut stage) = Stage::with(&[("a", script)], Options::default()) else { return };
    let mut client = stage.client();
    client.tools(&["a__t"]);
    let check = |client: &mut Client, method: &str, params: &str, expected: &str| {
        let id = format!("\"{method}\"");
        client.send_line(&format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{params}}}"
        ));
        let line = client.wait_line(&format!("\"id\":{id}"));
        assert!(
            line.ends_with(&format!("\"result\":{expected}}}")),
            "{method}: {}…",
            &line[..200.min(line.len())]
        );
    };
    let odd = member("odd");
    check(&mut client, "resources/list", "{}", &format!("{{\"resources\":[{uri}{odd}}}]}}"));
    check(&mut client, "prompts/list", "{}", &format!("{{\"prompts\":[{{\"name\":\"a__p\",{odd}}}]}}"));
    check(&mut client, "resources/read", r#"{"uri":"x:1"}"#, &contents);
    check(&mut client, "prompts/get", r#"{"name":"a__p"}"#, &messages);
    check(
        &mut client,
        "completion/complete",
        r#"{"ref":{"type":"ref/prompt","name":"a__p"},"argument":{"name":"x","value":""}}"#,
        &values_of,
    );
    // Unknown members of a call pass to the server; what is judged of it must be readable.
    // The deepest is left out, since the scripted server would not survive it.
    let flat = odd.replace(&deep(), "[[1]]");
    let call = format!("{{\"name\":\"a__t\",\"arguments\":{{}},{flat}}}");
    check(&mut client, "tools/call", &call, &content);
    client.wait_line(&format!("\"params\":{}}}", answer(r#""level":"info""#)));
    let sent = stage.upstreams[0].lines();
    let expected = call.replace("a__t", "t");
    assert!(sent.iter().any(|line| line.ends_with(&format!("\"params\":{expected}}}"))));
}
