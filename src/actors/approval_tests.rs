//! The approval actor with a scripted human.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use actix::prelude::*;
use serde_json::json;

use super::approval::{ApprovalActor, Hold, HoldAnswer, Lookup, UserIsThere};
use super::messages::{Answer, CallNumber, Elicit, LateAnswer, Patience};
use crate::policy::{Effect, GrantKey, Offer, Question};

/// Answers questions from a list, and keeps them.
struct Human {
    answers: VecDeque<Answer>,
    asked: Rc<RefCell<Vec<Elicit>>>,
}

impl Actor for Human {
    type Context = Context<Self>;
}

impl Handler<Elicit> for Human {
    type Result = ResponseFuture<Answer>;

    fn handle(&mut self, msg: Elicit, _: &mut Self::Context) -> Self::Result {
        self.asked.borrow_mut().push(msg);
        let answer = self.answers.pop_front().unwrap_or(Answer::TimedOut);
        Box::pin(async move {
            // Others get their turn before the answer comes.
            for _ in 0..20 {
                tokio::task::yield_now().await;
            }
            answer
        })
    }
}

type Asked = Rc<RefCell<Vec<Elicit>>>;

fn human(answers: Vec<Answer>) -> (Recipient<Elicit>, Asked) {
    let asked = Asked::default();
    let human = Human { answers: answers.into(), asked: Rc::clone(&asked) };
    (human.start().recipient(), asked)
}

fn decision(choice: &str) -> Answer {
    Answer::Accept(json!({ "decision": choice }))
}

fn to(address: &str) -> GrantKey {
    GrantKey::Destination { upstream: None, strict: address.to_owned() }
}

fn hold(asker: &Recipient<Elicit>, address: &str, digest: &str) -> Hold {
    Hold {
        session: 1,
        call: CallNumber(1),
        digest: digest.to_owned(),
        effect: Effect::Send,
        keys: vec![to(address), GrantKey::Call(digest.to_owned())],
        offer: Offer::Session,
        group: None,
        question: Question { head: format!("Send to {address}?"), items: vec![], tail: vec![] },
        asker: Some(asker.clone()),
        patience: Patience::Short,
    }
}

async fn granted(actor: &Addr<ApprovalActor>, address: &str) -> bool {
    let keys = vec![vec![to(address)]];
    let lookup = Lookup { session: 1, effect: Effect::Send, keys, digest: "other".to_owned() };
    actor.send(lookup).await.unwrap().entries[0].0.is_some()
}

#[actix::test]
async fn a_session_yes_covers_the_destination_and_a_plain_yes_the_call() {
    let actor = ApprovalActor::default().start();
    let (asker, asked) = human(vec![decision("allow_once"), decision("allow_session")]);
    assert_eq!(actor.send(hold(&asker, "a", "1")).await.unwrap(), HoldAnswer::Allowed("once".into()));
    assert!(!granted(&actor, "a").await);
    assert!(matches!(actor.send(hold(&asker, "a", "1")).await.unwrap(), HoldAnswer::Allowed(_)));
    assert!(granted(&actor, "a").await);
    assert_eq!(asked.borrow().len(), 2);
    let choices = &asked.borrow()[0].schema["properties"]["decision"]["enum"];
    assert_eq!(choices, &json!(["allow_once", "allow_session", "deny"]));
}

#[actix::test]
async fn anything_but_an_offered_yes_refuses() {
    for answer in [
        Answer::Decline,
        Answer::Cancel,
        Answer::Accept(serde_json::Value::Null),
        Answer::Accept(json!({})),
        decision("deny"),
        decision("yes"),
        Answer::Accept(json!({"decision": true})),
    ] {
        let actor = ApprovalActor::default().start();
        let (asker, _) = human(vec![answer]);
        assert_eq!(actor.send(hold(&asker, "a", "1")).await.unwrap(), HoldAnswer::Refused);
        assert!(!granted(&actor, "a").await);
    }
    let actor = ApprovalActor::default().start();
    let (asker, asked) = human(vec![decision("allow_session")]);
    let grave = Hold { offer: Offer::Once, ..hold(&asker, "a", "1") };
    assert_eq!(actor.send(grave).await.unwrap(), HoldAnswer::Refused, "a choice that was not offered");
    assert_eq!(asked.borrow()[0].schema["properties"]["decision"]["enum"], json!(["allow_once", "deny"]));
}

#[actix::test]
async fn equal_holds_are_asked_once_and_others_look_again() {
    let actor = ApprovalActor::default().start();
    let (asker, asked) = human(vec![decision("allow_once"), decision("allow_session")]);
    let (first, same, other, last) = tokio::join!(
        actor.send(hold(&asker, "a", "1")),
        actor.send(hold(&asker, "b", "2")),
        actor.send(hold(&asker, "b", "2")),
        actor.send(hold(&asker, "c", "3")),
    );
    assert_eq!(first.unwrap(), HoldAnswer::Allowed("once".into()));
    for waiting in [same, other, last] {
        assert_eq!(waiting.unwrap(), HoldAnswer::Again);
    }
    let (same, other) = tokio::join!(actor.send(hold(&asker, "b", "2")), actor.send(hold(&asker, "c", "3")));
    assert!(matches!(same.unwrap(), HoldAnswer::Allowed(_)));
    assert_eq!(other.unwrap(), HoldAnswer::Again);
    assert_eq!(asked.borrow().len(), 2, "one question is open at a time");
}

#[actix::test]
async fn holds_of_one_record_share_a_question() {
    let actor = ApprovalActor::default().start();
    let (asker, asked) = human(vec![decision("deny"), decision("allow_once")]);
    let grouped = |n: u32| Hold {
        group: Some("delete/13".to_owned()),
        ..hold(&asker, &format!("id {n}"), &n.to_string())
    };
    let blocker = actor.send(hold(&asker, "x", "0"));
    let (blocked, ..) = tokio::join!(blocker, actor.send(grouped(1)), actor.send(grouped(2)));
    assert_eq!(blocked.unwrap(), HoldAnswer::Refused);
    let (open, one, two) =
        tokio::join!(actor.send(grouped(1)), actor.send(grouped(2)), actor.send(grouped(3)));
    assert!(matches!(open.unwrap(), HoldAnswer::Allowed(_)));
    // The first was asked alone; those that came while it was open look again and share the next.
    assert_eq!((one.unwrap(), two.unwrap()), (HoldAnswer::Again, HoldAnswer::Again));
    assert_eq!(asked.borrow().len(), 2);
}

#[actix::test]
async fn five_refusals_in_a_row_end_the_questions_until_the_user_types() {
    let actor = ApprovalActor::default().start();
    let (asker, asked) = human(vec![Answer::Decline; 5]);
    for n in 0..5 {
        let answer = actor.send(hold(&asker, "a", &n.to_string())).await.unwrap();
        assert_eq!(answer, HoldAnswer::Refused);
    }
    assert_eq!(actor.send(hold(&asker, "b", "9")).await.unwrap(), HoldAnswer::Tired);
    assert_eq!(asked.borrow().len(), 5);
    actor.send(UserIsThere).await.unwrap();
    assert_eq!(actor.send(hold(&asker, "b", "9")).await.unwrap(), HoldAnswer::Unanswered);
}

#[actix::test]
async fn a_late_yes_lets_the_next_try_pass_once() {
    let actor = ApprovalActor::default().start();
    let (asker, asked) = human(vec![Answer::TimedOut]);
    assert_eq!(actor.send(hold(&asker, "a", "1")).await.unwrap(), HoldAnswer::Unanswered);
    let question = asked.borrow()[0].question;
    actor.send(LateAnswer { question, answer: decision("allow_once") }).await.unwrap();
    assert!(matches!(actor.send(hold(&asker, "a", "1")).await.unwrap(), HoldAnswer::Allowed(_)));
    assert_eq!(actor.send(hold(&asker, "a", "1")).await.unwrap(), HoldAnswer::Unanswered);
    assert_eq!(asked.borrow().len(), 2);
}

#[actix::test]
async fn nobody_to_ask_and_a_session_that_is_gone() {
    let actor = ApprovalActor::default().start();
    let (asker, _) = human(vec![Answer::Gone]);
    let nobody = Hold { asker: None, ..hold(&asker, "a", "1") };
    assert_eq!(actor.send(nobody).await.unwrap(), HoldAnswer::NoHuman);
    assert_eq!(actor.send(hold(&asker, "a", "1")).await.unwrap(), HoldAnswer::Gone);
}

#[actix::test]
async fn a_refusal_is_remembered_with_what_had_been_typed() {
    let actor = ApprovalActor::default().start();
    let (asker, _) = human(vec![Answer::Decline]);
    actor.send(UserIsThere).await.unwrap();
    actor.send(hold(&asker, "a", "1")).await.unwrap();
    let keys = vec![vec![to("a")]];
    let lookup = Lookup { session: 1, effect: Effect::Send, keys, digest: "1".to_owned() };
    let found = actor.send(lookup).await.unwrap();
    assert_eq!((found.entries[0].1, found.call_refused), (Some(1), Some(1)));
}
