//! Handles end to end: an id is judged by who stands behind it, and what an allowed call made is own.

use serde_json::{Value, json};

use crate::workflows::{Work, tool};

/// A mail server: one letter of an outsider, drafts whose ids it gives, and what became of them.
fn mail() -> Value {
    let letter =
        json!([{"thread_id": "th-9a4", "from": "eve@outside.example", "subject": "Hello", "body": "Hi"}]);
    json!({
        "capabilities": {"tools": {}, "tasks": {"requests": {"tools": {"call": {}}}}},
        "tools": [
            tool("list_unread", &[]),
            tool("reply_to_thread", &["thread_id!", "body!"]),
            tool("create_draft", &["to!", "body!"]),
            tool("update_draft", &["draft_id!", "to!"]),
            tool("send_draft", &["draft_id!"]),
            tool("delete_draft", &["draft_id!"]),
        ],
        "calls": {
            "list_unread": [{"text": letter.to_string()}],
            "reply_to_thread": [{"text": "sent"}],
            "create_draft": [{"text": "{\"id\": \"dr-44x\"}"}],
            "update_draft": [{"reply": {"task": {"taskId": "x1", "status": "working", "ttl": 60_000}}}],
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
fn a_draft_that_a_task_may_have_readdressed_is_judged_by_whom_it_then_goes_to() {
    let Some(mut work) = start("Draft a mail to bo@kiln.example and send it.") else { return };
    work.call("mail__create_draft", json!({"to": "bo@kiln.example", "body": "Hi"}));
    work.was_asked_at_most(0);
    work.once = true;
    work.call("mail__update_draft", json!({"draft_id": "dr-44x", "to": "cy@elsewhere.example"}));
    assert_eq!(work.asked.len(), 1, "{:#?}", work.asked);
    work.once = true;
    work.call("mail__send_draft", json!({"draft_id": "dr-44x"}));
    let last = work.asked.last().cloned().unwrap_or_default();
    assert!(last.contains("and so to: cy@elsewhere.example"), "{:#?}", work.asked);
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

#[test]
fn an_event_is_judged_by_its_guests() {
    let event = json!([{"event_id": "ev-71c", "title": "Board meeting", "organizer": "ana@kiln.example",
        "participants": ["ana@kiln.example", "eve@outside.example"]}]);
    let calendar = json!({
        "tools": [
            tool("list_events", &["day!"]),
            tool("create_event", &["title!", "participants!"]),
            tool("send_event_update", &["event_id!", "message!"]),
            tool("delete_event", &["event_id!"]),
        ],
        "calls": {
            "list_events": [{"text": event.to_string()}],
            "create_event": [{"text": "{\"event_id\": \"ev-88d\", \"title\": \"Lunch\"}"}],
            "send_event_update": [{"text": "sent"}],
            "delete_event": [{"text": "deleted"}],
        },
    });
    let Some(mut work) = Work::start(&[("calendar", calendar)], "{}\n", &["calendar__delete_event"]) else {
        return;
    };
    work.types("Plan a lunch with bo@kiln.example. What else is on today?");
    work.call("calendar__create_event", json!({"title": "Lunch", "participants": "bo@kiln.example"}));
    // What an allowed call made, for whom the user named, is the user's own.
    work.call("calendar__delete_event", json!({"event_id": "ev-88d"}));
    work.was_asked_at_most(0);
    work.call("calendar__list_events", json!({"day": "today"}));
    work.once = true;
    work.call("calendar__send_event_update", json!({"event_id": "ev-71c", "message": "Moved to 4 pm"}));
    let asked = work.asked.last().cloned().unwrap_or_default();
    for said in ["ev-71c", "Board meeting", "and so to: eve@outside.example", "and so to: ana@kiln.example"] {
        assert!(asked.contains(said), "{said}: {asked}");
    }
}

#[test]
fn a_file_is_named_in_words_with_its_people_before_it_is_destroyed_or_shared() {
    let file = json!([{"file_id": "f-26k", "filename": "plan.docx", "owner": "ana@kiln.example",
        "shared_with": {"eve@outside.example": "rw"}}]);
    let drive = json!({
        "tools": [
            tool("search_files", &["query!"]),
            tool("create_file", &["filename!", "content!"]),
            tool("delete_file", &["file_id!"]),
            tool("share_file", &["file_id!", "email!", "permission!"]),
        ],
        "calls": {
            "search_files": [{"text": file.to_string()}],
            "create_file": [{"text": "{\"file_id\": \"f-90p\", \"filename\": \"notes.txt\"}"}],
            "delete_file": [{"text": "deleted"}],
            "share_file": [{"text": "shared"}],
        },
    });
    let Some(mut work) = Work::start(&[("drive", drive)], "{}\n", &["drive__share_file"]) else { return };
    work.types("Tidy up my drive; make a file with notes.");
    work.call("drive__create_file", json!({"filename": "notes.txt", "content": "one"}));
    work.call("drive__delete_file", json!({"file_id": "f-90p"}));
    work.was_asked_at_most(0);
    work.call("drive__search_files", json!({"query": "plan"}));
    work.once = true;
    work.call("drive__delete_file", json!({"file_id": "f-26k"}));
    let asked = work.asked.last().cloned().unwrap_or_default();
    for said in [
        "Destroy with `delete_file`",
        "target: f-26k",
        "\"plan.docx\"",
        "with ana@kiln.example, eve@outside.example",
    ] {
        assert!(asked.contains(said), "{said}: {asked}");
    }
    let share = json!({"file_id": "f-26k", "email": "cy@elsewhere.example", "permission": "rw"});
    work.call("drive__share_file", share);
    let asked = work.asked.last().cloned().unwrap_or_default();
    for said in ["to: cy@elsewhere.example", "about: f-26k (argument file_id) — \"plan.docx\""] {
        assert!(asked.contains(said), "{said}: {asked}");
    }
}

#[test]
fn a_payment_is_asked_about_with_its_amount_and_currency() {
    let bill = "Please pay 98.70 EUR to DE02120300000000202051 for the water.";
    let bank = json!({
        "tools": [
            tool("read_file", &["file_path!"]),
            tool("send_money", &["recipient!", "amount!", "currency!"]),
        ],
        "calls": {"read_file": [{"text": bill}], "send_money": [{"text": "paid"}]},
    });
    let Some(mut work) = Work::start(&[("bank", bank)], "{}\n", &["bank__send_money"]) else { return };
    work.types("Pay the bill 'bill-december.txt'.");
    work.call("bank__read_file", json!({"file_path": "bill-december.txt"}));
    let pay = json!({"recipient": "DE02120300000000202051", "amount": "98.70", "currency": "EUR"});
    work.call("bank__send_money", pay);
    let asked = work.asked.last().cloned().unwrap_or_default();
    for said in
        ["Spend money", "to: DE02120300000000202051", "amount: 98.70 EUR", "you did not name this amount"]
    {
        assert!(asked.contains(said), "{said}: {asked}");
    }
}
