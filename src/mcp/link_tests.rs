//! Transcripts of the link: events in, commands out.

use super::*;
use crate::mcp::method::Address;
use crate::mcp::offered::{Reverse, Sampling};

const NOW: Duration = Duration::ZERO;

struct Upstream {
    link: Link,
    now: Duration,
}

impl Upstream {
    fn new() -> Self {
        let terms = Terms {
            name: "up".into(),
            prefix: "up".into(),
            start_limit: Duration::from_secs(60),
            starts_per_minute: 10,
        };
        let mut new = Self { link: Link::new(terms), now: NOW };
        new.event(Event::Meet(Offered::default()));
        new
    }

    /// One whose client has everything.
    fn of_a_rich_client() -> Self {
        let mut new = Self::new();
        let all =
            Bytes::from_static(b"{\"roots\":{\"listChanged\":true},\"sampling\":{},\"elicitation\":{}}");
        new.event(Event::Meet(Offered::of(&all, Sampling::On)));
        new.greet(ONE);
        new
    }

    fn ready(tools: &str) -> Self {
        let mut new = Self::new();
        new.greet(tools);
        new
    }

    fn greet(&mut self, tools: &str) {
        self.event(Event::Opened);
        self.line(r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"x"}}}"#);
        self.line(&format!(r#"{{"jsonrpc":"2.0","id":2,"result":{{"tools":{tools}}}}}"#));
    }

    fn event(&mut self, event: Event) -> Vec<String> {
        let mut out = Vec::new();
        self.link.step(self.now, event, &mut out);
        out.iter().map(show).collect()
    }

    fn line(&mut self, line: &str) -> Vec<String> {
        self.event(Event::Frame(Frame::Line(Bytes::copy_from_slice(line.as_bytes()))))
    }

    fn call(&mut self, params: &str) -> Vec<String> {
        let id = self.link.mint();
        let params = Bytes::copy_from_slice(params.as_bytes());
        let tool = self.link.tools.get("t").cloned().unwrap();
        let token = scan::member(&params, "_meta").and_then(|meta| {
            let inner = scan::member(&params[meta.clone()], "progressToken")?;
            Some(meta.start + inner.start..meta.start + inner.end)
        });
        let edits = vec![(scan::member(&params, "name").unwrap(), Bytes::from_static(b"\"t\""))];
        let call = Forward { method: Method::CallTool, tool, edits, token, params, wanted: Wanted::Result };
        self.event(Event::Call(id, call))
    }
}

fn show(command: &Command) -> String {
    match command {
        Command::Write(line) => format!("> {}", String::from_utf8_lossy(line).trim_end()),
        Command::Done(id, Outcome::Result(raw)) => format!("done {id} {}", String::from_utf8_lossy(raw)),
        Command::Done(id, Outcome::Error(raw)) => format!("error {id} {}", String::from_utf8_lossy(raw)),
        Command::Done(id, other) => format!("{id} {other:?}"),
        Command::Progress(id, params, token) => {
            format!("progress {id} {} {token:?}", String::from_utf8_lossy(params))
        }
        Command::Listed(listed) => {
            format!("listed {:?}", listed.tools.iter().map(|tool| &*tool.exported).collect::<Vec<_>>())
        }
        other => format!("{other:?}"),
    }
}

const ONE: &str = r#"[{"name":"t","inputSchema":{"type":"object"}}]"#;

#[test]
fn handshake_lists_and_survives_a_banner() {
    let mut up = Upstream::new();
    let opened = up.event(Event::Opened);
    assert!(opened[0].starts_with(
        r#"> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","#
    ));
    assert!(up.line("Example MCP Server version : 1.0.0")[0].contains("skipped: Example"));
    let greeted = up.line(
        r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}}}}"#,
    );
    assert_eq!(
        greeted,
        [
            r#"> {"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            r#"> {"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}"#,
        ]
    );
    let paged = up.line(r#"{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"a","inputSchema":{"type":"object"}}],"nextCursor":"n"}}"#);
    assert_eq!(paged, [r#"> {"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"cursor":"n"}}"#]);
    let listed = up.line(&format!(r#"{{"jsonrpc":"2.0","id":3,"result":{{"tools":{ONE}}}}}"#));
    assert_eq!(listed, [r#"listed ["up__a", "up__t"]"#]);
}

#[test]
fn an_upstream_without_tools_is_ready_and_not_asked() {
    let mut up = Upstream::new();
    up.event(Event::Opened);
    let greeted =
        up.line(r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{}}}"#);
    assert_eq!(greeted, [r#"> {"jsonrpc":"2.0","method":"notifications/initialized"}"#, "listed []"]);
}

#[test]
fn a_call_changes_name_and_token_and_nothing_else() {
    let mut up = Upstream::ready(ONE);
    let sent = up
        .call(r#"{ "name":"up__t","arguments":{"n":1.0,"big":1e400}, "_meta":{"progressToken":"p","k":1}}"#);
    assert_eq!(
        sent,
        [
            r#"> {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{ "name":"t","arguments":{"n":1.0,"big":1e400}, "_meta":{"progressToken":3,"k":1}}}"#
        ]
    );
    let progress = up.line(
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1,"progressToken":3}}"#,
    );
    assert_eq!(progress, [r#"progress 3 {"progress":1,"progressToken":3} 30..31"#]);
    assert_eq!(
        up.line(r#"{"jsonrpc":"2.0","id":3,"result":{"content" : []}}"#),
        [r#"done 3 {"content" : []}"#]
    );
    assert_eq!(up.line(r#"{"jsonrpc":"2.0","id":3,"result":{}}"#), [""; 0]);
}

#[test]
fn a_cancelled_call_ends_once_and_its_late_answer_is_dropped() {
    let mut up = Upstream::ready(ONE);
    up.call(r#"{"name":"up__t"}"#);
    assert_eq!(
        up.event(Event::Cancel(3, Some(Bytes::from_static(b"\"user\"")))),
        [
            r#"> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3,"reason":"user"}}"#,
            "3 Cancelled",
        ]
    );
    assert_eq!(up.event(Event::Cancel(3, None)), [""; 0]);
    assert_eq!(up.line(r#"{"jsonrpc":"2.0","id":3,"result":{}}"#), [""; 0]);
}

#[test]
fn faults_name_the_upstream_and_keep_the_connection() {
    let mut up = Upstream::ready(ONE);
    up.call(r#"{"name":"up__t"}"#);
    let both =
        up.line(r#"{"jsonrpc":"2.0","id":3,"result":{"content":[]},"error":{"code":-1,"message":"x"}}"#);
    assert!(both[0].contains("3 Broken(\"server `up` answered with both result and error"), "{both:?}");
    assert!(
        up.line(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}"#)[0]
            .contains("usable id")
    );
    assert_eq!(
        up.line(r#"{"jsonrpc":"2.0","id":"p1","method":"ping"}"#),
        [r#"> {"jsonrpc":"2.0","id":"p1","result":{}}"#]
    );
    assert!(up.line(r#"{"jsonrpc":"2.0","id":9,"method":"roots/list"}"#)[0].contains("-32601"));
    up.call(r#"{"name":"up__t"}"#);
    let url = r#"{"code":-32042,"message":"auth","data":{"elicitations":[{"mode":"url"}]}}"#;
    assert_eq!(up.line(&format!(r#"{{"jsonrpc":"2.0","id":4,"error":{url}}}"#)), [format!("error 4 {url}")]);
    up.call(r#"{"name":"up__t"}"#);
    let mut lines = crate::mcp::Lines::new(30);
    let mut frames = Vec::new();
    lines.push(br#"{"result":{"text":"xxxxxxxxxxxxxxxxxxxxxxxxxxx"},"id":5}"#, |frame| frames.push(frame));
    frames.extend(lines.finish());
    let long = up.event(Event::Frame(frames.remove(0)));
    assert!(long[0].contains("5 Broken") && long[0].contains("message_bytes"), "{long:?}");
}

#[test]
fn content_length_framing_is_named() {
    let mut up = Upstream::new();
    up.event(Event::Opened);
    assert_eq!(up.line("Content-Length: 38\r"), ["Kill"]);
    let closed = up.event(Event::Closed("it was ended".to_owned()));
    assert!(closed[0].contains("Content-Length"), "{closed:?}");
}

#[test]
fn a_crash_ends_its_calls_and_the_next_ones_wait_for_the_restart() {
    let mut up = Upstream::ready(ONE);
    up.call(r#"{"name":"up__t"}"#);
    let closed = up.event(Event::Closed("killed by signal 9".to_owned()));
    assert!(closed[0].contains("3 Lost") && closed[0].contains("killed by signal 9"), "{closed:?}");
    assert_eq!(closed[1..], ["Down(\"killed by signal 9\")", "Timer(Restart, 100ms)"]);
    assert_eq!(up.call(r#"{"name":"up__t"}"#), ["Timer(Queue, 30s)"]);
    assert_eq!(up.event(Event::Timer(Timer::Restart)), ["Open"]);
    up.event(Event::Opened);
    up.line(
        r#"{"jsonrpc":"2.0","id":5,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}}}}"#,
    );
    let back = up.line(&format!(r#"{{"jsonrpc":"2.0","id":6,"result":{{"tools":{ONE}}}}}"#));
    assert_eq!(
        back,
        [r#"listed ["up__t"]"#, r#"> {"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"t"}}"#,]
    );
}

#[test]
fn a_tool_that_changed_since_it_was_judged_is_not_called() {
    let mut up = Upstream::ready(ONE);
    up.event(Event::Closed("gone".to_owned()));
    up.call(r#"{"name":"up__t"}"#);
    up.event(Event::Opened);
    up.line(
        r#"{"jsonrpc":"2.0","id":4,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}}}}"#,
    );
    let back = up.line(r#"{"jsonrpc":"2.0","id":5,"result":{"tools":[{"name":"t","description":"new","inputSchema":{"type":"object"}}]}}"#);
    assert!(back[1].contains("3 Lost(\"The server changed this tool"), "{back:?}");
}

#[test]
fn restarts_back_off_and_a_steady_process_resets_them() {
    let mut up = Upstream::new();
    let mut pauses = Vec::new();
    for _ in 0..10 {
        pauses.extend(
            up.event(Event::Closed("no such program".to_owned()))
                .into_iter()
                .filter(|line| line.contains("Restart")),
        );
    }
    assert_eq!(pauses[..3], ["Timer(Restart, 100ms)", "Timer(Restart, 200ms)", "Timer(Restart, 400ms)"]);
    assert_eq!(pauses[9], "Timer(Restart, 30s)");
    let mut up = Upstream::ready(ONE);
    up.link.failures = 8;
    up.now = Duration::from_secs(25);
    assert!(up.event(Event::Closed("gone".to_owned())).contains(&"Timer(Restart, 100ms)".to_owned()));
}

#[test]
fn starts_within_a_minute_are_limited_and_the_operator_is_told_by_what() {
    let mut up = Upstream::new();
    let end = |up: &mut Upstream, at: u64| {
        up.event(Event::Opened);
        up.now = Duration::from_secs(at);
        // Each ran long enough to count as steady.
        (up.link.phase, up.link.ready_since) = (Phase::Ready, NOW);
        up.link.failures = 0;
        up.event(Event::Closed("gone".to_owned()))
    };
    for start in 0..9 {
        assert_eq!(end(&mut up, start), [r#"Down("gone")"#, "Timer(Restart, 100ms)"]);
    }
    let limited = end(&mut up, 20);
    assert!(limited.iter().any(|line| line.contains("`limits.restarts_per_minute`")), "{limited:?}");
    assert_eq!(limited.last().unwrap(), "Timer(Restart, 40s)", "until the first is a minute old");
    up.now = Duration::from_secs(60);
    assert_eq!(end(&mut up, 61), [r#"Down("gone")"#, "Timer(Restart, 100ms)"]);
}

#[test]
fn list_changed_is_quiet_when_nothing_changed() {
    let mut up = Upstream::ready(ONE);
    let changed = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    assert_eq!(up.line(changed), ["Timer(List(Tools), 1s)"]);
    for _ in 0..200 {
        assert_eq!(up.line(changed), [""; 0]);
    }
    up.now = Duration::from_secs(1);
    assert_eq!(
        up.event(Event::Timer(Timer::List(List::Tools))),
        [r#"> {"jsonrpc":"2.0","id":3,"method":"tools/list","params":{}}"#]
    );
    assert_eq!(
        up.line(&format!(r#"{{"jsonrpc":"2.0","id":3,"result":{{"tools":{ONE}}}}}"#)),
        ["Timer(List(Tools), 1s)"]
    );
    up.now = Duration::from_secs(2);
    up.event(Event::Timer(Timer::List(List::Tools)));
    let listed = up.line(
        r#"{"jsonrpc":"2.0","id":4,"result":{"tools":[{"name":"n","inputSchema":{"type":"object"}}]}}"#,
    );
    assert_eq!(listed, [r#"listed ["up__n"]"#]);
}

#[test]
fn a_change_announced_during_the_first_listing_is_looked_at() {
    let mut up = Upstream::new();
    up.event(Event::Opened);
    up.line(
        r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}}}}"#,
    );
    assert_eq!(up.line(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#), [""; 0]);
    let listed = up.line(&format!(r#"{{"jsonrpc":"2.0","id":2,"result":{{"tools":{ONE}}}}}"#));
    assert_eq!(listed, [r#"listed ["up__t"]"#, "Timer(List(Tools), 1s)"]);
}

#[test]
fn a_process_that_is_not_ready_in_time_is_ended() {
    let mut up = Upstream::new();
    assert_eq!(up.event(Event::Opened)[1], "Timer(Start, 60s)");
    assert_eq!(up.event(Event::Timer(Timer::Start)), ["Kill"]);
    assert_eq!(
        up.event(Event::Closed("it was ended".to_owned()))[0],
        "Down(\"it was not ready within 60 s\")"
    );
    let mut up = Upstream::ready(ONE);
    assert_eq!(up.event(Event::Timer(Timer::Start)), [""; 0]);
}

#[test]
fn the_other_lists_come_beside_the_tools_and_a_failed_one_hinders_nothing() {
    let mut up = Upstream::new();
    up.event(Event::Opened);
    let greeted = up.line(
        r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"resources":{"subscribe":true},"prompts":{},"logging":{}}}}"#,
    );
    let methods: Vec<_> = greeted.iter().map(|line| line.split(r#""method":"#).nth(1).unwrap()).collect();
    assert_eq!(
        methods,
        [
            r#""notifications/initialized"}"#,
            r#""tools/list","params":{}}"#,
            r#""resources/list","params":{}}"#,
            r#""resources/templates/list","params":{}}"#,
            r#""prompts/list","params":{}}"#,
        ]
    );
    let early = up.line(r#"{"jsonrpc":"2.0","id":5,"result":{"prompts":[{"name":"p"}]}}"#);
    assert!(early.len() == 1 && early[0].starts_with("Entries(Prompts"), "{early:?}");
    let listed = up.line(&format!(r#"{{"jsonrpc":"2.0","id":2,"result":{{"tools":{ONE}}}}}"#));
    assert_eq!(listed, [r#"listed ["up__t"]"#]);
    assert_eq!(
        up.line(r#"{"jsonrpc":"2.0","id":4,"error":{"code":-32601,"message":"no"}}"#),
        ["Entries(Templates, [])"]
    );
    let next = up.line(
        r#"{"jsonrpc":"2.0","id":3,"result":{"resources":[{"uri":"a:1","name":"n"}],"nextCursor":"2"}}"#,
    );
    assert_eq!(next, [r#"> {"jsonrpc":"2.0","id":6,"method":"resources/list","params":{"cursor":"2"}}"#]);
    let failed = up.line(r#"{"jsonrpc":"2.0","id":6,"result":{"resources":7}}"#);
    assert!(failed[0].contains("cannot be read") && failed[1] == "Entries(Resources, [])", "{failed:?}");
    let changed = up.line(r#"{"jsonrpc":"2.0","method":"notifications/resources/list_changed"}"#);
    assert_eq!(changed, ["Timer(List(Resources), 1s)", "Timer(List(Templates), 1s)"]);
}

#[test]
fn a_capability_that_a_new_process_lacks_empties_its_lists() {
    let mut up = Upstream::new();
    up.event(Event::Opened);
    up.line(r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"resources":{},"prompts":{}}}}"#);
    up.line(&format!(r#"{{"jsonrpc":"2.0","id":2,"result":{{"tools":{ONE}}}}}"#));
    up.line(r#"{"jsonrpc":"2.0","id":3,"result":{"resources":[{"uri":"a:1","name":"n"}]}}"#);
    up.line(r#"{"jsonrpc":"2.0","id":5,"result":{"prompts":[{"name":"p"}]}}"#);
    up.event(Event::Closed("gone".to_owned()));
    up.event(Event::Opened);
    let id = up.link.next_id;
    let greeted = up.line(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"protocolVersion":"2025-11-25","capabilities":{{"tools":{{}},"resources":{{}}}}}}}}"#));
    assert!(greeted.contains(&"Entries(Prompts, [])".to_owned()), "{greeted:?}");
    assert!(!greeted.iter().any(|line| line.contains("Entries(Resources")), "{greeted:?}");
    up.event(Event::Closed("gone".to_owned()));
    up.event(Event::Opened);
    let id = up.link.next_id;
    let greeted = up.line(&format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"protocolVersion":"2025-11-25","capabilities":{{}}}}}}"#
    ));
    assert_eq!(
        greeted[1..],
        ["Entries(Resources, [])".to_owned(), "listed []".to_owned()],
        "each is emptied once, the tools with their listing"
    );
}

#[test]
fn a_new_process_is_told_the_level_and_the_subscriptions() {
    let mut up = Upstream::new();
    assert_eq!(up.event(Event::Level(Level::Info)), [""; 0]);
    up.event(Event::Opened);
    let greeting = r#""result":{"protocolVersion":"2025-11-25","capabilities":{"resources":{"subscribe":true},"logging":{}}}}"#;
    let greeted = up.line(&format!(r#"{{"jsonrpc":"2.0","id":1,{greeting}"#));
    assert_eq!(
        greeted[1],
        r#"> {"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"info"}}"#
    );
    let subscribe = |up: &mut Upstream, method: Method, uri: &'static str| {
        let id = up.link.mint();
        let tool = Arc::new(Tool::standing_for(method, "up".into()));
        let params = Bytes::from(format!("{{\"uri\":{uri}}}"));
        up.event(Event::Call(
            id,
            Forward { method, tool, params, edits: Vec::new(), token: None, wanted: Wanted::Result },
        ));
        up.line(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#));
    };
    subscribe(&mut up, Method::Subscribe(Address::Listed), r#""a:1""#);
    subscribe(&mut up, Method::Subscribe(Address::Listed), r#""a:2""#);
    subscribe(&mut up, Method::Subscribe(Address::Made), r#""a:3""#);
    subscribe(&mut up, Method::Unsubscribe, r#""a:\u0031""#);
    let long: &'static str = Box::leak(format!("\"a:{}\"", "x".repeat(SUBSCRIBED)).into_boxed_str());
    subscribe(&mut up, Method::Subscribe(Address::Listed), long);
    let method = Method::Subscribe(Address::Listed);
    let tool = Arc::new(Tool::standing_for(method, "up".into()));
    let params = Bytes::from_static(br#"{"uri":"a:4"}"#);
    let id = up.link.mint();
    up.event(Event::Call(
        id,
        Forward { method, tool, params, edits: Vec::new(), token: None, wanted: Wanted::Result },
    ));
    up.event(Event::Cancel(id, None));
    assert!(up.link.subscribing.is_empty(), "what was given up leaves nothing behind");
    up.event(Event::Closed("gone".to_owned()));
    up.event(Event::Opened);
    let id = up.link.next_id;
    let again = up.line(&format!(r#"{{"jsonrpc":"2.0","id":{id},{greeting}"#));
    assert!(again[1].contains("logging/setLevel"), "{again:?}");
    let subscribed: Vec<_> = again.iter().filter(|line| line.contains("resources/subscribe")).collect();
    assert!(subscribed.len() == 1 && subscribed[0].ends_with(r#""params":{"uri":"a:2"}}"#), "{again:?}");
    assert_eq!(
        up.line(
            r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1e400}}"#
        ),
        [r#"Heard(b"notifications/message", Some(b"{\"level\":\"info\",\"data\":1e400}"))"#]
    );
}

#[test]
fn a_process_is_greeted_once_the_client_is_known() {
    let terms = Terms {
        name: "up".into(),
        prefix: "up".into(),
        start_limit: Duration::from_secs(60),
        starts_per_minute: 10,
    };
    let mut up = Upstream { link: Link::new(terms), now: NOW };
    assert_eq!(up.event(Event::Opened), [""; 0]);
    let declared = Bytes::from_static(br#"{"elicitation":{"form":{}},"sampling":{}}"#);
    let greeted = up.event(Event::Meet(Offered::of(&declared, Sampling::Off)));
    assert!(greeted[0].contains(r#""capabilities":{"elicitation":{"form":{}}},"clientInfo""#), "{greeted:?}");
    assert!(greeted[1].contains("Start"), "{greeted:?}");
    // What a running process was told stays; its successor is told anew.
    assert_eq!(up.event(Event::Meet(Offered::default())), [""; 0]);
    up.event(Event::Closed("it left".to_owned()));
    assert!(up.event(Event::Opened)[0].contains(r#""capabilities":{},"#));
}

fn request(commands: &[String]) -> u64 {
    let number =
        commands.first().and_then(|it| it.strip_prefix("Ask(Request { number: ")).expect("a request");
    number.split(',').next().unwrap().parse().unwrap()
}

const ASK: &str = r#"{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"?","_meta":{"progressToken":"p"}}}"#;

#[test]
fn a_request_goes_out_and_its_answer_back_under_the_upstreams_id() {
    let mut up = Upstream::of_a_rich_client();
    up.call(r#"{"name":"up__t"}"#);
    let asked = up.line(ASK);
    assert!(asked[0].contains("reverse: Elicit") && asked[0].contains("calls: {3}"), "{asked:?}");
    let number = request(&asked);
    let params = br#"{"message":"a secret","progress":1,"progressToken":4,"total":1e400,"_meta":{"x":"y"}}"#;
    assert_eq!(
        up.event(Event::AskProgress(number, Bytes::from_static(params))),
        [
            r#"> {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":1,"total":1e400}}"#
        ]
    );
    let answer = Answer::Result(Bytes::from_static(br#"{"action":"accept","n":1.0}"#));
    assert_eq!(
        up.event(Event::Answer(number, answer.clone())),
        [r#"> {"jsonrpc":"2.0","id":"q","result":{"action":"accept","n":1.0}}"#]
    );
    assert_eq!(up.event(Event::Answer(number, answer)), [""; 0], "an id is answered once");
}

#[test]
fn a_request_ends_with_its_call_its_sender_or_the_process() {
    let mut up = Upstream::of_a_rich_client();
    up.call(r#"{"name":"up__t"}"#);
    let number = request(&up.line(ASK));
    let done = up.line(r#"{"jsonrpc":"2.0","id":3,"result":{}}"#);
    assert!(done[0].starts_with(r#"> {"jsonrpc":"2.0","id":"q","error":{"code":-32600,"#), "{done:?}");
    assert_eq!(done[1..], [format!("Unask({number}, None)"), "done 3 {}".to_owned()]);

    up.call(r#"{"name":"up__t"}"#);
    let number = request(&up.line(ASK));
    let cancelled = up.line(
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"q","reason":"r"}}"#,
    );
    assert_eq!(cancelled, [format!("Unask({number}, Some(b\"\\\"r\\\"\"))")]);
    let late = Answer::Refused(-32603, "late".to_owned());
    assert_eq!(up.event(Event::Answer(number, late)), [""; 0]);

    let number = request(&up.line(ASK));
    let cancelled = up.event(Event::Cancel(number - 2, None));
    assert!(cancelled.contains(&format!("Unask({number}, None)")), "{cancelled:?}");

    let roots = up.line(r#"{"jsonrpc":"2.0","id":9,"method":"roots/list"}"#);
    assert!(roots[0].contains("reverse: ListRoots") && roots[0].contains("calls: {}"), "{roots:?}");
    let closed = up.event(Event::Closed("it left".to_owned()));
    assert!(closed.contains(&format!("Unask({}, None)", request(&roots))), "{closed:?}");
}

#[test]
fn what_is_not_offered_is_no_method() {
    let mut up = Upstream::ready(ONE);
    for method in ["sampling/createMessage", "elicitation/create", "roots/list", "tasks/get", "x"] {
        let answer = up.line(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}"}}"#));
        assert!(answer.len() == 1 && answer[0].contains("-32601"), "{method}: {answer:?}");
    }
    assert_eq!(up.event(Event::RootsChanged), [""; 0]);
    let mut rich = Upstream::of_a_rich_client();
    assert!(rich.event(Event::RootsChanged)[0].contains("roots/list_changed"));
    assert_eq!(Reverse::of(b"roots/list"), Some(Reverse::ListRoots));
}
