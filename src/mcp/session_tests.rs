//! Transcripts of the session: events in, commands out.

use super::*;
use crate::mcp::capability::Capabilities;
use crate::mcp::catalog::{Listing, Tool};

struct Client {
    session: Session,
}

impl Client {
    fn new() -> Self {
        let catalog = Catalog::new([("a".into(), "a".into()), ("b".into(), "b".into())]);
        let advertised = Advertised { capabilities: Capabilities::all(), instructions: Vec::new() };
        Self { session: Session::new(catalog, Duration::from_secs(4), advertised, 4_096) }
    }

    fn ready(version: &str, capabilities: &str) -> Self {
        let mut new = Self::new();
        new.upstream("a", &["t"]);
        new.upstream("b", &["u"]);
        new.line(&format!(
            r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"{version}","capabilities":{capabilities},"clientInfo":{{"name":"c"}}}}}}"#
        ));
        new
    }

    fn event(&mut self, event: Event) -> Vec<String> {
        let mut out = Vec::new();
        self.session.step(event, &mut out);
        out.iter().map(show).collect()
    }

    fn line(&mut self, line: &str) -> Vec<String> {
        self.event(Event::Frame(Frame::Line(Bytes::copy_from_slice(line.as_bytes()))))
    }

    fn upstream(&mut self, name: &str, tools: &[&str]) -> Vec<String> {
        let tools = tools
            .iter()
            .map(|tool| {
                let exported = format!("{name}__{tool}");
                let shown = format!("{{\"name\":\"{exported}\"}}").into();
                Arc::new(Tool {
                    upstream: name.into(),
                    name: (*tool).into(),
                    exported: exported.into(),
                    listed: Bytes::new(),
                    shown,
                })
            })
            .collect();
        self.event(Event::Upstream(
            name.into(),
            Standing::Ready(Arc::new(Listing { tools, ..Listing::default() })),
        ))
    }

    fn call(&mut self, id: &str) -> Vec<String> {
        self.line(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"a__t","arguments":{{"x":1.0}},"_meta":{{"progressToken":"tok"}}}}}}"#))
    }
}

fn show(command: &Command) -> String {
    match command {
        Command::Send(line) => {
            assert!(
                line.ends_with(b"\n") && line.iter().position(|byte| *byte == b'\n') == Some(line.len() - 1)
            );
            format!("> {}", String::from_utf8_lossy(line).trim_end())
        }
        Command::Call { call, forward, arguments, .. } if forward.method != Method::CallTool => {
            let edits: Vec<_> =
                forward.edits.iter().map(|(_, name)| String::from_utf8_lossy(name).into_owned()).collect();
            let arguments = String::from_utf8_lossy(arguments.as_deref().unwrap());
            format!("{:?} {call} {} {edits:?} {arguments}", forward.method, forward.tool.upstream)
        }
        Command::Call { call, forward, arguments, offer } => format!(
            "call {call} {}.{} {} {offer:?}",
            forward.tool.upstream,
            forward.tool.name,
            arguments.as_deref().map_or("-".into(), String::from_utf8_lossy)
        ),
        Command::Refused(name, why) => format!("refused `{name}` {why}"),
        other => format!("{other:?}"),
    }
}

fn result(raw: &'static str) -> Reply {
    Reply::Result(Bytes::from_static(raw.as_bytes()))
}

#[test]
fn initialize_is_answered_before_any_upstream() {
    let mut client = Client::new();
    let answer = client.line(
        r#"{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-06-18"}}"#,
    );
    assert!(answer[0].starts_with(r#"> {"jsonrpc":"2.0","id":"i","result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true,"#), "{answer:?}");
    assert_eq!(answer[1..], ["Meet(b\"{}\")"]);
    assert_eq!(client.line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#), [""; 0]);
}

#[test]
fn lists_wait_for_starting_upstreams_but_not_for_ever() {
    let mut client = Client::new();
    // Servers wait for what the client declares: one that asks without a handshake has declared nothing.
    assert_eq!(
        client.line(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#),
        ["Meet(b\"{}\")", "Timer(Lists, 4s)"]
    );
    assert_eq!(client.upstream("a", &["t"]), [""; 0]);
    assert_eq!(
        client.event(Event::Timer(Timer::Lists)),
        [r#"> {"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a__t"}]}}"#]
    );
    assert_eq!(client.upstream("b", &["u"]), ["Timer(Changed, 100ms)"]);
    assert_eq!(
        client.event(Event::Timer(Timer::Changed)),
        [r#"> {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#]
    );
    assert_eq!(client.event(Event::Timer(Timer::Changed)), [""; 0]);
    assert_eq!(
        client.line(r#"{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}"#),
        [r#"> {"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"a__t"},{"name":"b__u"}]}}"#]
    );
    let mut client = Client::new();
    client.line(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
    client.upstream("b", &["u"]);
    let settled = client.event(Event::Upstream("a".into(), Standing::Down("gone".to_owned())));
    assert_eq!(settled, [r#"> {"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"b__u"}]}}"#]);
}

#[test]
fn ids_of_any_form_come_back_as_they_were() {
    let mut client = Client::ready("2025-06-18", "{}");
    for (number, id) in ["0", "\"u-77\"", "9007199254740993", "\"14f40ee1b859ee70\"", "-1.5e3", "\"\\u00e9\""]
        .iter()
        .enumerate()
    {
        let number = number as u64 + 1;
        assert_eq!(client.call(id), [format!("call {number} a.t {{\"x\":1.0}} Shown")]);
        let raw = "{\"content\":[],\"n\":1.0,\"structuredContent\":{\"ids\":[\"a\"]},\"_meta\":{\"k\":1}}";
        assert_eq!(
            client.event(Event::Finished(number, result(raw))),
            [format!("> {{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{raw}}}")]
        );
    }
}

#[test]
fn an_id_is_answered_once() {
    let mut client = Client::ready("2025-06-18", "{}");
    client.call("1");
    assert_eq!(client.call("1"), ["refused `` the id of a request in flight was used again"]);
    assert_eq!(client.event(Event::Finished(1, result("{}"))).len(), 1);
    assert_eq!(client.event(Event::Finished(1, result("{}"))), [""; 0]);
    assert_eq!(client.call("1"), ["call 2 a.t {\"x\":1.0} Shown"]);
}

#[test]
fn cancelling_ends_a_call_and_forgets_unknown_ids() {
    let mut client = Client::ready("2025-06-18", "{}");
    assert_eq!(
        client.line(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}"#),
        [""; 0]
    );
    client.call("9");
    assert_eq!(
        client.line(
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9,"reason":"user"}}"#
        ),
        ["Cancel(1, Some(b\"\\\"user\\\"\"))"]
    );
    assert_eq!(client.event(Event::Finished(1, result("{}"))), [""; 0]);
    assert_eq!(client.line(r#"{"jsonrpc":"2.0","method":"notifications/whatever","params":{}}"#), [""; 0]);
}

#[test]
fn what_may_not_run_is_refused_and_recorded() {
    let mut client = Client::ready("2025-06-18", "{}");
    let mut check = |line: &str, expected: &[&str]| {
        let found = client.line(line);
        assert_eq!(found.len(), expected.len(), "{line}: {found:?}");
        for (found, expected) in found.iter().zip(expected) {
            assert!(found.contains(expected), "{line}: {found}");
        }
    };
    check(r#"{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"a__t"}}"#, &["refused"]);
    check(r#"{"id":5,"method":"tools/list"}"#, &[r#""id":5,"error":{"code":-32600"#, "refused"]);
    check(
        r#"{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"a__t","arguments":{"to":"x","To":"y"}}}"#,
        &["-32600", "twice"],
    );
    check(
        r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"nobody__t"}}"#,
        &["-32602", "unknown tool"],
    );
    check(r#"{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":7}}"#, &["-32602", "refused"]);
    check(
        r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a__t"}}]"#,
        &["-32600", "refused", "-32600", "refused"],
    );
    check(r#"{"jsonrpc":"2.0","id":9,"method":"server/discover"}"#, &["-32601"]);
    check(r#"{"jsonrpc":"2.0","id":10,"method":"resources/read"}"#, &["-32602"]);
    check(
        r#"{"jsonrpc":"2.0","id":12,"method":"resources/read","params":{"uri":"a:\u0031"}}"#,
        &[
            r#"-32002,"message":"no server lists this resource, or a template for it","data":{"uri":"a:\u0031"}}"#,
            "refused `a:1` no server has this resource",
        ],
    );
    check(
        r#"{"jsonrpc":"2.0","id":13,"method":"prompts/get","params":{"name":"a__p"}}"#,
        &["unknown prompt", "refused `a__p` unknown prompt"],
    );
    check(r#"{"jsonrpc":"2.0","id":14,"method":"logging/setLevel","params":{"level":"loud"}}"#, &["-32602"]);
    check(r#"{"jsonrpc":"2.0","id":11,"method":"tools/list","params":{"cursor":"x"}}"#, &["-32602"]);
    check("not json", &["not JSON"]);
    check("Content-Length: 10", &["Content-Length"]);
    check(r#"{"jsonrpc":"2.0","id":12,"method":"ping"}"#, &[r#""id":12,"result":{}"#]);
}

#[test]
fn batches_run_entry_by_entry_where_they_were_negotiated() {
    let mut client = Client::ready("2025-03-26", "{}");
    let found = client.line(r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a__t"}},[]]"#);
    assert_eq!(
        found,
        [
            r#"> {"jsonrpc":"2.0","id":1,"result":{}}"#,
            "call 1 a.t - Shown",
            "refused `` a batch within a batch"
        ]
    );
}

#[test]
fn progress_carries_the_clients_token() {
    let mut client = Client::ready("2025-06-18", "{}");
    client.call("1");
    let params = Bytes::from_static(br#"{"progressToken":7,"progress":1.0}"#);
    assert_eq!(
        client.event(Event::Progress(1, params.clone(), 17..18)),
        [
            r#"> {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"tok","progress":1.0}}"#
        ]
    );
    client.event(Event::Finished(1, result("{}")));
    assert_eq!(client.event(Event::Progress(1, params, 17..18)), [""; 0]);
}

fn ask(client: &mut Client, call: u64) -> Vec<String> {
    let question = client.session.mint();
    client.event(Event::Ask {
        question,
        call,
        message: "may it?".to_owned(),
        schema: serde_json::json!({"type":"object"}),
    })
}

#[test]
fn questions_reach_the_human_with_progress_and_come_back() {
    let mut client = Client::ready("2025-11-25", r#"{"elicitation":{}}"#);
    client.call("1");
    assert_eq!(
        ask(&mut client, 1),
        [
            r#"> {"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"may it?","requestedSchema":{"type":"object"},"mode":"form"}}"#,
            r#"> {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"tok","progress":0.000001,"message":"waiting for the user's approval"}}"#,
            "Timer(Progress, 5s)",
        ]
    );
    assert!(client.event(Event::Timer(Timer::Progress))[0].contains("0.000002"));
    assert_eq!(
        client.line(r#"{"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"decision":"deny"}}}"#),
        [r#"Answered(1, Accept(Object {"decision": String("deny")}))"#]
    );
    assert_eq!(client.event(Event::Timer(Timer::Progress)), [""; 0]);
    assert_eq!(client.line(r#"{"jsonrpc":"2.0","id":1,"result":{"action":"accept"}}"#), [""; 0]);
}

#[test]
fn cancelling_a_call_closes_its_question() {
    let mut client = Client::ready("2025-06-18", r#"{"elicitation":{}}"#);
    client.call("\"x\"");
    assert!(!ask(&mut client, 1)[0].contains("mode"));
    assert_eq!(
        client.line(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"x"}}"#),
        [
            r#"> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
            "Answered(1, Gone)",
            "Cancel(1, None)",
        ]
    );
    assert_eq!(ask(&mut client, 1), ["Answered(2, Gone)"]);
}

#[test]
fn a_question_may_outlive_its_call_for_a_late_answer() {
    let mut client = Client::ready("2025-06-18", r#"{"elicitation":{}}"#);
    client.call("1");
    ask(&mut client, 1);
    assert_eq!(client.event(Event::Finished(1, Reply::Refused("no".to_owned()))).len(), 1);
    assert_eq!(
        client.line(r#"{"jsonrpc":"2.0","id":1,"result":{"action":"decline"}}"#),
        ["Answered(1, Decline)"]
    );
    client.call("2");
    ask(&mut client, 2);
    assert_eq!(
        client.event(Event::Withdraw(2)),
        [r#"> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#]
    );
}

#[test]
fn a_client_without_elicitation_is_never_asked() {
    let mut client = Client::ready("2025-06-18", "{}");
    client.call("1");
    assert_eq!(ask(&mut client, 1), ["Answered(1, Gone)"]);
}

#[test]
fn an_overlong_request_is_answered() {
    let mut lines = crate::mcp::Lines::new(20);
    let mut frames = Vec::new();
    lines.push(b"{\"jsonrpc\":\"2.0\",\"method\":\"tools/call\",\"id\":\"long\"}\n", |frame| {
        frames.push(frame);
    });
    let mut client = Client::ready("2025-06-18", "{}");
    let answer = client.event(Event::Frame(frames.remove(0)));
    assert!(
        answer[0].contains(r#""id":"long","error""#) && answer[0].contains("message_bytes"),
        "{answer:?}"
    );
}

/// A client of two upstreams with a resource, a template and a prompt each.
fn with_lists() -> Client {
    let mut client = Client::new();
    for name in ["a", "b"] {
        let mut listing = Listing { capabilities: Capabilities::all(), ..Listing::default() };
        for (list, raw) in [
            (List::Resources, format!(r#"{{"uri":"{name}:1","name":"n"}}"#)),
            (List::Templates, format!(r#"{{"uriTemplate":"{name}:{{id}}","name":"n"}}"#)),
            (List::Prompts, r#"{"name":"p"}"#.to_owned()),
        ] {
            listing.set(list, crate::mcp::entry::entries(list, name, &[raw.into()]).0.into());
        }
        client.event(Event::Upstream(name.into(), Standing::Ready(Arc::new(listing))));
    }
    client.line(r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}"#);
    client
}

#[test]
fn every_request_finds_its_upstream_and_says_what_is_judged() {
    let mut client = with_lists();
    let mut check = |method: &str, params: &str, expected: &str| {
        let line = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
        let found = client.line(&line);
        assert_eq!(found.len(), 1, "{line}: {found:?}");
        let number = client.session.next_call.to_string();
        assert_eq!(found[0].replacen(&number, "N", 1), expected, "{line}");
        client.event(Event::Finished(client.session.next_call, result("{}")));
    };
    check(
        "resources/read",
        r#"{"_meta":{"progressToken":1},"uri":"a:1","x":[1.0]}"#,
        r#"ReadResource(Listed) N a [] {"uri":"a:1","x":[1.0]}"#,
    );
    check("resources/read", r#"{"uri":"b:7"}"#, r#"ReadResource(Made) N b [] {"uri":"b:7"}"#);
    check("resources/subscribe", r#"{"uri":"b:1"}"#, r#"Subscribe(Listed) N b [] {"uri":"b:1"}"#);
    check("resources/unsubscribe", r#"{"uri":"b:1"}"#, r#"Unsubscribe N b [] {"uri":"b:1"}"#);
    check(
        "prompts/get",
        r#"{"name":"b__p","arguments":{"who":"me"}}"#,
        r#"GetPrompt N b ["\"p\""] {"name":"p","arguments":{"who":"me"}}"#,
    );
    check(
        "completion/complete",
        r#"{"argument":{"name":"who","value":"m"},"ref":{"type":"ref/prompt","name":"a__p"}}"#,
        r#"Complete N a ["\"p\""] {"argument":{"name":"who","value":"m"},"ref":{"type":"ref/prompt","name":"p"}}"#,
    );
    check(
        "completion/complete",
        r#"{"ref":{"type":"ref/resource","uri":"b:{id}"},"argument":{"name":"id","value":""}}"#,
        r#"Complete N b [] {"ref":{"type":"ref/resource","uri":"b:{id}"},"argument":{"name":"id","value":""}}"#,
    );
}

#[test]
fn a_refusal_of_what_is_no_tool_is_an_error() {
    let mut client = with_lists();
    client.line(r#"{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"a:1"}}"#);
    let refused = client.event(Event::Finished(1, Reply::Refused("[bouncer blocked] no".to_owned())));
    assert_eq!(
        refused,
        [r#"> {"jsonrpc":"2.0","id":1,"error":{"code":-32010,"message":"[bouncer blocked] no"}}"#]
    );
}

#[test]
fn lists_other_than_tools_are_told_to_be_stale_once() {
    let mut client = with_lists();
    for (id, method) in [(1, "resources/list"), (2, "resources/templates/list"), (3, "prompts/list")] {
        let listed = client.line(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}"}}"#));
        assert_eq!(listed.len(), 1, "{listed:?}");
    }
    let listing = Arc::new(Listing { capabilities: Capabilities::all(), ..Listing::default() });
    let changed = client.event(Event::Upstream("a".into(), Standing::Ready(listing)));
    assert_eq!(changed, ["Timer(Changed, 100ms)"]);
    assert_eq!(
        client.event(Event::Timer(Timer::Changed)),
        [
            r#"> {"jsonrpc":"2.0","method":"notifications/resources/list_changed"}"#,
            r#"> {"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}"#,
        ]
    );
    assert_eq!(client.event(Event::Timer(Timer::Changed)), [""; 0]);
}

#[test]
fn levels_are_handed_on_and_notifications_pass_but_those_of_anothers_uri() {
    let mut client = with_lists();
    let set =
        client.line(r#"{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"warning"}}"#);
    assert_eq!(set, [r#"> {"jsonrpc":"2.0","id":1,"result":{}}"#, "Level(Warning)"]);
    let mut heard = |upstream: &str, method: &'static str, params: &'static str| {
        let (method, params) = (Bytes::from_static(method.as_bytes()), Bytes::from_static(params.as_bytes()));
        client.event(Event::Heard(upstream.into(), method, Some(params)))
    };
    assert_eq!(
        heard("b", "notifications/message", r#"{"level":"info","data":1e400}"#),
        [r#"> {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1e400}}"#]
    );
    let updated = "notifications/resources/updated";
    assert_eq!(heard("a", updated, r#"{"uri":"a:1"}"#).len(), 1);
    assert_eq!(heard("b", updated, r#"{"uri":"a:1"}"#).len(), 0);
    assert_eq!(heard("b", updated, r#"{"uri":"b:1/part"}"#).len(), 1);
}

#[test]
fn what_an_upstream_asks_is_answered_once_and_told_apart_from_our_questions() {
    let mut client = Client::ready("2025-06-18", r#"{"elicitation":{},"roots":{"listChanged":true}}"#);
    let params = Bytes::from_static(br#"{"message":"m","_meta":{"progressToken":"theirs"}}"#);
    let id = client.session.mint();
    assert_eq!(
        client.event(Event::Relay(id, "a".into(), Reverse::Elicit, Some(params))),
        [
            r#"> {"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"m","_meta":{"progressToken":1}}}"#
        ]
    );
    assert_eq!(
        client.line(r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":0.5}}"#),
        [r#"RelayedProgress(1, b"{\"progressToken\":1,\"progress\":0.5}")"#]
    );
    let answer =
        r#"{"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"decision":"allow_once"}}}"#;
    let told = client.line(answer);
    assert!(told.len() == 1 && told[0].starts_with("Relayed(1, Result("), "{told:?}");
    assert_eq!(client.line(answer), [""; 0]);
    let id = client.session.mint();
    client.event(Event::Relay(id, "a".into(), Reverse::ListRoots, Some(Bytes::from_static(b"{}"))));
    assert_eq!(
        client.event(Event::Unrelay(id, None)),
        [r#"> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#]
    );
    assert_eq!(client.line(r#"{"jsonrpc":"2.0","id":2,"result":{"roots":[]}}"#), [""; 0]);
    assert_eq!(
        client.line(r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#),
        ["RootsChanged"]
    );
}
