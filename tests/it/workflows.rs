//! The three days of work that a reviewer would try first, end to end: nothing of them is refused, and the
//! human is asked as few questions as the promise says.
//!
//! The agent's calls are written out; the human says yes to everything, for the session where that is
//! offered. What is counted is how often they were asked.

use std::collections::VecDeque;
use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::{Map, Value, json};

use crate::stage::{Client, Options, Stage};

/// A tool whose arguments are all strings.
pub(crate) fn tool(name: &str, arguments: &[&str]) -> Value {
    let properties: Map<String, Value> = arguments
        .iter()
        .map(|name| (name.trim_end_matches('!').to_owned(), json!({"type": "string"})))
        .collect();
    let required: Vec<&str> = arguments.iter().filter_map(|name| name.strip_suffix('!')).collect();
    json!({"name": name, "description": name.replace('_', " "),
        "inputSchema": {"type": "object", "properties": properties, "required": required}})
}

/// Work in progress.
pub(crate) struct Work {
    stage: Stage,
    client: Client,
    /// The texts of the questions.
    pub(crate) asked: Vec<String>,
    /// Whether the human says yes to single calls only.
    pub(crate) once: bool,
}

impl Work {
    pub(crate) fn start(upstreams: &[(&str, Value)], policy: &str, ready: &[&str]) -> Option<Self> {
        let stage =
            Stage::with(upstreams, Options { policy: Some(policy.to_owned()), ..Options::default() })?;
        let mut client = stage.client();
        client.tools(ready);
        Some(Self { stage, client, asked: Vec::new(), once: false })
    }

    /// The user types, and the client's hook says so.
    pub(crate) fn types(&self, prompt: &str) {
        let mut hook = Command::new(env!("CARGO_BIN_EXE_bouncer"))
            .args(["hook", "claude-code", "--state"])
            .arg(self.stage.state())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("the hook starts");
        let event =
            json!({"hook_event_name": "UserPromptSubmit", "session_id": "s", "cwd": "/", "prompt": prompt});
        let mut input = hook.stdin.take().expect("piped");
        input.write_all(event.to_string().as_bytes()).expect("the hook reads");
        drop(input);
        assert!(hook.wait().expect("a child of ours").success());
    }

    /// One call.
    pub(crate) fn call(&mut self, tool: &str, arguments: Value) {
        self.calls(vec![(tool, arguments)]);
    }

    /// Calls that the agent makes at once. All of them must pass.
    pub(crate) fn calls(&mut self, calls: Vec<(&str, Value)>) {
        let mut open: VecDeque<(Value, String)> = calls
            .into_iter()
            .map(|(tool, arguments)| {
                let what = format!("{tool} {arguments}");
                (self.client.ask("tools/call", &json!({"name": tool, "arguments": arguments})), what)
            })
            .collect();
        while !open.is_empty() {
            let message = self.client.wait("an answer or a question", |reply| Some(reply.clone()));
            if message.message["method"] == "elicitation/create" {
                let params = &message.message["params"];
                self.asked.push(params["message"].as_str().unwrap_or_default().to_owned());
                let choices = params["requestedSchema"]["properties"]["decision"]["enum"].to_string();
                let most = ["allow_session", "allow_listed"].into_iter().find(|most| choices.contains(most));
                let choice = most.filter(|_| !self.once).unwrap_or("allow_once");
                let result = json!({"action": "accept", "content": {"decision": choice}});
                self.client.send(&json!({"id": message.message["id"], "result": result}));
            } else if let Some(at) = open.iter().position(|(id, _)| *id == message.message["id"]) {
                let what = open.remove(at).map(|(_, what)| what).unwrap_or_default();
                assert!(!message.failed(), "{what}: {}\nasked: {:#?}", message.line, self.asked);
            }
        }
    }

    pub(crate) fn was_asked_at_most(&self, most: usize) {
        assert!(self.asked.len() <= most, "{} questions: {:#?}", self.asked.len(), self.asked);
    }
}

#[test]
fn a_fix_in_the_own_repository_asks_at_most_once() {
    let at = ["owner!", "repo!"];
    let with = |name: &str, more: &[&str]| tool(name, &[&at[..], more].concat());
    let issue = json!({"number": 212, "id": 900_212, "title": "Crash on an empty file", "state": "open", "user": {"login": "rosa-k"},
        "html_url": "https://hub.example/acme/app/issues/212", "body": "Opening an empty file crashes. See src/open.rs."});
    let pull = json!({"number": 219, "id": 90219, "html_url": "https://hub.example/acme/app/pull/219"});
    let hub = json!({
        "tools": [
            with("get_issue", &["issue_number!"]),
            with("get_file_contents", &["path!"]),
            with("create_branch", &["branch!", "from_branch"]),
            with("create_or_update_file", &["path!", "content!", "message!", "branch!"]),
            with("create_pull_request", &["title!", "body", "head!", "base!"]),
            with("add_issue_comment", &["issue_number!", "body!"]),
            with("update_issue", &["issue_number!", "state"]),
        ],
        "calls": {
            "get_issue": [{"text": issue.to_string()}],
            "get_file_contents": [{"text": "fn open() { read()[0]; }"}],
            "create_branch": [{"text": "{\"ref\": \"refs/heads/fix-212\"}"}],
            "create_or_update_file": [{"text": "{\"commit\": {\"sha\": \"6dcb09b5b57875f334f61aebed695e2e4193db5e\"}}"}],
            "create_pull_request": [{"text": pull.to_string()}],
            "add_issue_comment": [{"text": "{\"id\": 4711}"}],
            "update_issue": [{"text": "{\"number\": 212, \"state\": \"closed\"}"}],
        },
    });
    let Some(mut work) = Work::start(&[("hub", hub)], "{}\n", &["hub__update_issue"]) else { return };
    work.types(
        "Fix issue 212 of acme/app: make a branch, commit the fix, open a pull request, comment on the issue and close issue 212.",
    );
    let on = |more: Value| {
        let mut whole = json!({"owner": "acme", "repo": "app"});
        let both = whole.as_object_mut().zip(more.as_object());
        if let Some((whole, more)) = both {
            whole.extend(more.clone());
        }
        whole
    };
    work.call("hub__get_issue", on(json!({"issue_number": "212"})));
    work.call("hub__get_file_contents", on(json!({"path": "src/open.rs"})));
    work.call("hub__create_branch", on(json!({"branch": "fix-212", "from_branch": "main"})));
    let commit = json!({"path": "src/open.rs", "content": "fn open() { read().first(); }", "message": "Open empty files", "branch": "fix-212"});
    work.call("hub__create_or_update_file", on(commit));
    let request =
        json!({"title": "Open empty files", "body": "Fixes #212.", "head": "fix-212", "base": "main"});
    work.call("hub__create_pull_request", on(request));
    work.call("hub__add_issue_comment", on(json!({"issue_number": "212", "body": "Fixed in #219."})));
    work.call("hub__update_issue", on(json!({"issue_number": "212", "state": "closed"})));
    work.was_asked_at_most(1);
}

#[test]
fn research_in_fifteen_pages_refuses_nothing_and_asks_at_most_twice() {
    let site = "https://docs.kiln.example/guide";
    let page = |n: usize| if n == 1 { site.to_owned() } else { format!("{site}?page={n}") };
    let mut pages = Map::new();
    for n in 1..=5 {
        let deeper = format!("[one]({site}/part{n}/setup) and [two]({site}/part{n}/usage)");
        let next = if n < 5 { format!("[next]({})", page(n + 1)) } else { "The end.".to_owned() };
        pages.insert(page(n), json!(format!("Contents of page {n}: {deeper}. {next}")));
        for part in ["setup", "usage"] {
            let text = format!("How to do part {n}. Back to [the guide]({site}).");
            pages.insert(format!("{site}/part{n}/{part}"), json!(text));
        }
    }
    assert_eq!(pages.len(), 15);
    let order: Vec<String> = pages.keys().cloned().collect();
    let web =
        json!({"tools": [tool("fetch", &["url!"])], "calls": {"fetch": [{"pick": "url", "from": pages}]}});
    let Some(mut work) = Work::start(&[("web", web)], "{}\n", &["web__fetch"]) else { return };
    work.types(&format!("Read {site} with all its pages and tell me how to set kiln up."));
    for n in 1..=5 {
        work.call("web__fetch", json!({"url": page(n)}));
        for url in order.iter().filter(|url| url.contains(&format!("/part{n}/"))) {
            work.call("web__fetch", json!({"url": url}));
        }
    }
    work.was_asked_at_most(2);
}

/// A mail server with a list of letters.
pub(crate) fn letters(ids: std::ops::Range<usize>) -> Value {
    let letters: Vec<Value> = ids
        .map(|n| json!({"id": format!("msg-7{n}c"), "from": format!("news{n}@letters.example"), "subject": format!("Newsletter {n}")}))
        .collect();
    json!({
        "tools": [tool("search_mail", &["query!"]), tool("delete_email", &["id!", "folder"])],
        "calls": {"search_mail": [{"text": json!(letters).to_string()}], "delete_email": [{"text": "deleted"}]},
    })
}

#[test]
fn twenty_letters_of_one_list_are_one_question() {
    let policy = "tools:\n  mail.delete_email: {max_calls: 40}\n";
    let upstreams = [("mail", letters(10..30))];
    let Some(mut work) = Work::start(&upstreams, policy, &["mail__delete_email"]) else { return };
    work.types("Delete the newsletters.");
    work.call("mail__search_mail", json!({"query": "newsletter"}));
    for n in 10..30 {
        work.call("mail__delete_email", json!({"id": format!("msg-7{n}c")}));
    }
    work.was_asked_at_most(1);
    let asked = work.asked.concat();
    for said in ["one of 20", "  msg-710c \"Newsletter 10\"", "  msg-729c \"Newsletter 29\""] {
        assert!(asked.contains(said), "{said}: {asked}");
    }
    // What was answered for is used up, and other arguments are another call.
    work.call("mail__delete_email", json!({"id": "msg-710c"}));
    work.call("mail__delete_email", json!({"id": "msg-711c", "folder": "spam"}));
    assert_eq!(work.asked.len(), 3, "{:#?}", work.asked);
}

#[test]
fn a_list_too_long_to_be_shown_is_counted_and_asked_one_by_one() {
    let policy = "tools:\n  mail.delete_email: {max_calls: 900}\n";
    let upstreams = [("mail", letters(100..600))];
    let Some(mut work) = Work::start(&upstreams, policy, &["mail__delete_email"]) else { return };
    work.types("Delete the newsletters.");
    work.call("mail__search_mail", json!({"query": "newsletter"}));
    for n in 100..103 {
        work.call("mail__delete_email", json!({"id": format!("msg-7{n}c")}));
    }
    assert_eq!(work.asked.len(), 3, "{:#?}", work.asked);
    assert!(work.asked.iter().all(|asked| asked.contains("one of 500")), "{:#?}", work.asked);
}

#[test]
fn an_inbox_is_done_with_at_most_three_questions() {
    let senders = [
        "ana@kiln.example",
        "bo@kiln.example",
        "chi@orchard.example",
        "dov@harbor.example",
        "eli@meadow.example",
    ];
    let unread: Vec<Value> = senders
        .iter()
        .enumerate()
        .map(|(n, from)| json!({"id": format!("msg-5{n}a"), "from": from, "subject": "A question", "body": "When do you have time?"}))
        .collect();
    let letters: Vec<Value> = (10..30)
        .map(|n| json!({"id": format!("msg-7{n}c"), "from": format!("news{n}@letters.example"), "subject": format!("Newsletter {n}")}))
        .collect();
    let mail = json!({
        "tools": [
            tool("list_unread", &[]),
            tool("search_mail", &["query!"]),
            tool("send_email", &["to!", "subject", "body"]),
            tool("forward_email", &["id!", "to!"]),
            tool("delete_email", &["id!"]),
        ],
        "calls": {
            "list_unread": [{"text": json!(unread).to_string()}],
            "search_mail": [{"text": json!(letters).to_string()}],
            "send_email": [{"text": "{\"id\": \"msg-901z\"}"}],
            "forward_email": [{"text": "forwarded"}],
            "delete_email": [{"text": "deleted"}],
        },
    });
    let people = json!({"tools": [tool("search_contacts", &["query"])], "calls": {"search_contacts": [
        {"text": "[{\"name\": \"Ana\", \"email\": \"ana@kiln.example\"}, {\"name\": \"Bo\", \"email\": \"bo@kiln.example\"}]"}]}});
    let event = json!([{"id": "evt-31f", "title": "Offsite", "organizer": "fay@harbor.example"}]);
    let calendar = json!({
        "tools": [tool("list_events", &["day"]), tool("respond_to_invitation", &["event_id!", "response!"])],
        "calls": {"list_events": [{"text": event.to_string()}], "respond_to_invitation": [{"text": "declined"}]},
    });
    let policy =
        "own_data:\n  people.search_contacts: ['$[*].email']\ntools:\n  mail.delete_email: {max_calls: 40}\n";
    let upstreams = [("mail", mail), ("people", people), ("calendar", calendar)];
    let ready = ["mail__delete_email", "people__search_contacts", "calendar__respond_to_invitation"];
    let Some(mut work) = Work::start(&upstreams, policy, &ready) else { return };
    work.types(
        "Go through my inbox: answer the five unread mails, decline the invitation to the offsite, delete the newsletters, and forward the mail of Bo to Ana.",
    );
    work.call("people__search_contacts", json!({"query": ""}));
    work.call("mail__list_unread", json!({}));
    let answer = |to: &&str| {
        ("mail__send_email", json!({"to": to, "subject": "Re: A question", "body": "On Friday."}))
    };
    work.calls(senders.iter().map(answer).collect());
    work.call("calendar__list_events", json!({"day": "today"}));
    work.call("calendar__respond_to_invitation", json!({"event_id": "evt-31f", "response": "declined"}));
    work.call("mail__search_mail", json!({"query": "newsletter"}));
    let delete = |n: usize| ("mail__delete_email", json!({"id": format!("msg-7{n}c")}));
    work.calls((10..30).map(delete).collect());
    work.call("mail__forward_email", json!({"id": "msg-51a", "to": "ana@kiln.example"}));
    work.was_asked_at_most(3);
}
