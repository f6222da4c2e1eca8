//! Handles end to end: an id is judged by who stands behind it, and what an allowed call made is own.

use serde_json::{Value, json};

use crate::workflows::{Work, tool};

/// A mail server: one letter of an outsider, drafts whose ids it gives, and what became of them.
fn mail() -> Value {
    let letter =
        json!([{"thread_id": "th-9a4", "from": "eve@outside.example", "subject": "Hello", "body": "Hi"}]);
    json!({
        "tools": [
            tool("list_unread", &[]),
            tool("reply_to_thread", &["thread_id!", "body!"]),
            tool("create_draft", &["to!", "body!"]),
            tool("send_draft", &["draft_id!"]),
            tool("delete_draft", &["draft_id!"]),
        ],
        "calls": {
            "list_unread": [{"text": letter.to_string()}],
            "reply_to_thread": [{"text": "sent"}],
            "create_draft": [{"text": "{\"id\": \"dr-44x\"}"}],
            "send_draft": [{"text": "sent"}],
            "delete_draft": [{"text": "deleted"}],
        },
    })
}

fn start(prompt: &str) -> Option<Work> {
    let work = Work::start(&[("mail", mail())], "{}\n", &["mail__send_draft", "mail__delete_draft"])?;
    work.types(prompt);
    Some(work)
}

#[test]
fn a_reply_to_a_thread_is_judged_by_the_people_in_it() {
    let Some(mut work) = start("What is new in my mail?") else { return };
    work.call("mail__list_unread", json!({}));
    work.call("mail__reply_to_thread", json!({"thread_id": "th-9a4", "body": "Hi Eve"}));
    assert_eq!(work.asked.len(), 1, "{:#?}", work.asked);
    for said in ["th-9a4", "Hello", "and so to: eve@outside.example"] {
        assert!(work.asked.concat().contains(said), "{said}: {:#?}", work.asked);
    }
}

#[test]
fn a_draft_to_whom_the_user_named_is_sent_without_a_question() {
    let Some(mut work) = start("Draft a mail to bo@kiln.example and send it.") else { return };
    work.call("mail__create_draft", json!({"to": "bo@kiln.example", "body": "Hi"}));
    work.call("mail__send_draft", json!({"draft_id": "dr-44x"}));
    work.was_asked_at_most(0);
}

#[test]
fn a_draft_is_judged_by_whom_it_was_written_to() {
    let Some(mut work) = start("Draft a mail to Bo.") else { return };
    let ask = |work: &mut Work, tool: &str, arguments: Value| {
        work.once = true;
        work.call(tool, arguments);
        work.asked.len()
    };
    let draft = json!({"to": "bo@elsewhere.example", "body": "Hi"});
    assert_eq!(ask(&mut work, "mail__create_draft", draft), 1);
    // A yes to the draft is none to sending it.
    assert_eq!(ask(&mut work, "mail__send_draft", json!({"draft_id": "dr-44x"})), 2);
    let last = work.asked.last().cloned().unwrap_or_default();
    assert!(last.contains("and so to: bo@elsewhere.example"), "{last}");
    // It is the user's own all the same: deleting it reaches nobody.
    assert_eq!(ask(&mut work, "mail__delete_draft", json!({"draft_id": "dr-44x"})), 2);
}

#[test]
fn a_number_that_a_call_made_is_own_as_what_it_is() {
    let board = json!({
        "tools": [
            tool("create_task", &["title!"]),
            tool("delete_task", &["task_id!"]),
            tool("delete_project", &["project_id!"]),
        ],
        "calls": {
            "create_task": [{"text": "{\"id\": 7, \"title\": \"Crash\"}"}],
            "delete_task": [{"text": "deleted"}],
            "delete_project": [{"text": "deleted"}],
        },
    });
    let Some(mut work) = Work::start(&[("board", board)], "{}\n", &["board__delete_project"]) else { return };
    work.types("Try the board: make a task and delete it again.");
    work.call("board__create_task", json!({"title": "Crash"}));
    work.call("board__delete_task", json!({"task_id": "7"}));
    work.was_asked_at_most(0);
    work.call("board__delete_project", json!({"project_id": "7"}));
    assert_eq!(work.asked.len(), 1, "{:#?}", work.asked);
}
