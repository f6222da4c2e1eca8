//! The approval actor with a scripted human.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

use actix::prelude::*;
use serde_json::json;

use super::approval::{ApprovalActor, CountHolds, Hold, HoldAnswer, Lookup, UserIsThere};
use super::grants_file::GrantsFile;
use super::late::{AnswerHeld, ListHeld};
use super::messages::{Answer, CallNumber, Elicit, LateAnswer, Patience};
use super::rows::Wish;
use crate::policy::{Effect, GrantKey, LastingGrant, Offer, Question, revoke_line};
use crate::transport::{Answered, Choice};

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
        client: "stage".into(),
        upstream: "mail".into(),
        tool: "send_email".into(),
        digest: digest.to_owned(),
        effect: Effect::Send,
        keys: vec![to(address), GrantKey::Call(digest.to_owned())],
        offer: Offer::Session,
        group: None,
        question: Question { head: format!("Send to {address}?"), items: vec![], list: vec![], tail: vec![] },
        exact: None,
        listed: BTreeSet::new(),
        asker: Some(Arc::new(asker.clone())),
        patience: Patience::Short,
        wish: Wish::Agent,
        over: None,
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

/// A call about the `n`th thing of a list of `of`.
fn of_list(asker: &Recipient<Elicit>, n: u32, of: u32) -> Hold {
    let exact = |n: u32| format!("exact {n}");
    Hold {
        effect: Effect::Destroy,
        offer: Offer::Listed,
        group: Some("delete/13".to_owned()),
        exact: Some(exact(n)),
        listed: (0..of).map(exact).collect(),
        ..hold(asker, &format!("id {n}"), &n.to_string())
    }
}

#[actix::test]
async fn a_yes_to_a_list_covers_each_of_it_once_and_nothing_else() {
    let actor = ApprovalActor::default().start();
    let (asker, asked) = human(vec![decision("allow_listed"), Answer::Decline, Answer::Decline]);
    let is_allowed = |answer: &HoldAnswer| matches!(answer, HoldAnswer::Allowed(_));
    for n in 0..3 {
        assert!(is_allowed(&actor.send(of_list(&asker, n, 3)).await.unwrap()), "{n}");
    }
    assert_eq!(asked.borrow().len(), 1);
    assert_eq!(
        asked.borrow()[0].schema["properties"]["decision"]["enumNames"],
        json!(["Allow once", "Allow all 3 of this list, once each", "Deny"])
    );
    assert_eq!(actor.send(of_list(&asker, 1, 3)).await.unwrap(), HoldAnswer::Refused, "once each");
    let other_session = Hold { session: 2, ..of_list(&asker, 2, 3) };
    assert_eq!(actor.send(other_session).await.unwrap(), HoldAnswer::Refused);
    assert_eq!(asked.borrow().len(), 3);
}

#[actix::test]
async fn a_list_is_offered_only_where_all_that_share_the_question_stand_in_it() {
    let actor = ApprovalActor::default().start();
    let (asker, asked) = human(vec![decision("deny"), decision("allow_listed")]);
    let blocker = actor.send(hold(&asker, "x", "0"));
    drop(tokio::join!(blocker, actor.send(of_list(&asker, 1, 3)), actor.send(of_list(&asker, 2, 4))));
    // Both wait behind another question, and look again.
    let first = actor.send(of_list(&asker, 1, 3));
    let (one, _) = tokio::join!(first, actor.send(of_list(&asker, 2, 4)));
    assert!(matches!(one.unwrap(), HoldAnswer::Allowed(_)), "alone its list is offered");
    assert_eq!(asked.borrow().len(), 2);
    let unlisted = Hold { offer: Offer::Once, listed: BTreeSet::new(), ..of_list(&asker, 9, 3) };
    let (asker, _) = human(vec![decision("allow_listed")]);
    let unlisted = Hold { asker: Some(Arc::new(asker)), ..unlisted };
    assert_eq!(actor.send(unlisted).await.unwrap(), HoldAnswer::Refused, "a choice that was not offered");
}

#[actix::test]
async fn a_yes_to_a_list_ends_when_the_user_types_and_at_a_refusal_in_it() {
    let is_allowed = |answer: &HoldAnswer| matches!(answer, HoldAnswer::Allowed(_));
    let yes = || vec![decision("allow_listed"), Answer::Decline, Answer::Decline];
    let actor = ApprovalActor::default().start();
    let (asker, asked) = human(yes());
    assert!(is_allowed(&actor.send(of_list(&asker, 0, 3)).await.unwrap()));
    assert!(is_allowed(&actor.send(of_list(&asker, 1, 3)).await.unwrap()));
    actor.send(UserIsThere).await.unwrap();
    assert_eq!(actor.send(of_list(&asker, 2, 3)).await.unwrap(), HoldAnswer::Refused);
    assert_eq!(asked.borrow().len(), 2);

    // Asked about for another reason, a call of the same record is no less of the list.
    for refused in [|hold: Hold| hold, |hold: Hold| Hold { exact: None, listed: BTreeSet::new(), ..hold }] {
        let actor = ApprovalActor::default().start();
        let (asker, asked) = human(yes());
        assert!(is_allowed(&actor.send(of_list(&asker, 0, 3)).await.unwrap()));
        assert_eq!(actor.send(refused(of_list(&asker, 0, 3))).await.unwrap(), HoldAnswer::Refused);
        assert_eq!(actor.send(of_list(&asker, 1, 3)).await.unwrap(), HoldAnswer::Refused);
        assert_eq!(asked.borrow().len(), 3);
    }
}

#[actix::test]
async fn a_late_answer_is_read_with_what_its_question_offered() {
    let state = tempfile::tempdir().unwrap();
    let file = GrantsFile::of(state.path());
    // This one waits for calls that may share a question.
    let actor = ApprovalActor::new(file, std::collections::BTreeMap::new(), None).start();
    let (asker, asked) = human(vec![Answer::TimedOut; 3]);
    // The two are of different lists, so neither list is offered.
    let both = (actor.send(of_list(&asker, 1, 3)), actor.send(of_list(&asker, 2, 4)));
    let (one, two) = tokio::join!(both.0, both.1);
    assert!(matches!((one.unwrap(), two.unwrap()), (HoldAnswer::Unanswered(_), HoldAnswer::Unanswered(_))));
    assert_eq!(asked.borrow().len(), 1);
    let question = asked.borrow()[0].question;
    let offered = asked.borrow()[0].schema["properties"]["decision"]["enum"].clone();
    assert_eq!(offered, json!(["allow_once", "deny"]));
    actor.send(LateAnswer { question, answer: decision("allow_listed") }).await.unwrap();
    for n in [1, 3] {
        let next = actor.send(of_list(&asker, n, 4)).await.unwrap();
        assert!(!matches!(next, HoldAnswer::Allowed(_)), "{n}: a choice that was not offered");
    }
}

#[actix::test]
async fn a_late_yes_to_a_list_covers_the_next_tries() {
    let actor = ApprovalActor::default().start();
    let (asker, asked) = human(vec![Answer::TimedOut]);
    assert!(matches!(actor.send(of_list(&asker, 1, 3)).await.unwrap(), HoldAnswer::Unanswered(Some(_))));
    let question = asked.borrow()[0].question;
    actor.send(LateAnswer { question, answer: decision("allow_listed") }).await.unwrap();
    for n in 0..3 {
        assert!(matches!(actor.send(of_list(&asker, n, 3)).await.unwrap(), HoldAnswer::Allowed(_)), "{n}");
    }
    assert_eq!(asked.borrow().len(), 1);
}

#[actix::test]
async fn what_a_server_is_refused_does_not_end_the_agents_questions() {
    let refusals = (0..5).map(|_| Answer::Decline).chain([decision("allow_once")]).collect();
    let (asker, asked) = human(refusals);
    let actor = ApprovalActor::default().start();
    let theirs = |digest: &str| Hold { wish: Wish::Server, keys: vec![], ..hold(&asker, "a", digest) };
    for n in 0..5 {
        assert_eq!(actor.send(theirs(&n.to_string())).await.unwrap(), HoldAnswer::Refused);
    }
    assert!(matches!(actor.send(theirs("6")).await.unwrap(), HoldAnswer::Tired(_)));
    assert!(matches!(actor.send(hold(&asker, "b", "7")).await.unwrap(), HoldAnswer::Allowed(_)));
    assert_eq!(asked.borrow().len(), 6);
    assert!(matches!(actor.send(theirs("8")).await.unwrap(), HoldAnswer::Tired(_)), "it rests still");
}

#[actix::test]
async fn what_a_server_takes_back_counts_as_refused() {
    let actor = ApprovalActor::default().start();
    let gone = || std::iter::repeat_n(Answer::Gone, 5);
    let (asker, asked) = human(gone().chain(gone()).chain([decision("allow_once")]).collect());
    for n in 0..5 {
        let agents = hold(&asker, "a", &format!("agent {n}"));
        assert_eq!(actor.send(agents).await.unwrap(), HoldAnswer::Gone, "{n}");
    }
    let theirs = |digest: &str| Hold { wish: Wish::Server, keys: vec![], ..hold(&asker, "a", digest) };
    for n in 0..5 {
        assert_eq!(actor.send(theirs(&format!("{n}"))).await.unwrap(), HoldAnswer::Gone, "{n}");
    }
    assert!(matches!(actor.send(theirs("5")).await.unwrap(), HoldAnswer::Tired(_)));
    let agents = actor.send(hold(&asker, "a", "6")).await.unwrap();
    assert!(matches!(agents, HoldAnswer::Allowed(_)), "cancelled calls are no row: {agents:?}");
    assert_eq!(asked.borrow().len(), 11);
}

#[actix::test]
async fn a_hold_that_nobody_waits_for_is_not_asked_about() {
    let (asker, asked) = human(vec![]);
    let actor = ApprovalActor::default().start();
    let (over, is_over) = tokio::sync::watch::channel(false);
    let gone = Hold { over: Some(is_over), ..hold(&asker, "b", "2") };
    let first = actor.send(hold(&asker, "a", "1"));
    let second = actor.send(gone);
    over.send(true).unwrap();
    let (first, second) = tokio::join!(first, second);
    assert!(matches!(first.unwrap(), HoldAnswer::Unanswered(Some(_))));
    assert!(!matches!(second.unwrap(), HoldAnswer::Allowed(_)));
    assert_eq!(asked.borrow().len(), 1, "only the first was asked about");
}

#[actix::test]
async fn five_refusals_in_a_row_end_the_questions_until_the_user_types() {
    let actor = ApprovalActor::default().start();
    let (asker, asked) = human(vec![Answer::Decline; 5]);
    for n in 0..5 {
        let answer = actor.send(hold(&asker, "a", &n.to_string())).await.unwrap();
        assert_eq!(answer, HoldAnswer::Refused);
    }
    assert!(matches!(actor.send(hold(&asker, "b", "9")).await.unwrap(), HoldAnswer::Tired(Some(_))));
    assert_eq!(asked.borrow().len(), 5);
    actor.send(UserIsThere).await.unwrap();
    assert!(matches!(actor.send(hold(&asker, "b", "9")).await.unwrap(), HoldAnswer::Unanswered(Some(_))));
}

#[actix::test]
async fn what_one_record_is_refused_does_not_end_the_questions_about_others() {
    let refusals = (0..5).map(|_| Answer::Decline).chain([decision("allow_once")]).collect();
    let (asker, asked) = human(refusals);
    let actor = ApprovalActor::default().start();
    let of =
        |record: &str, digest: &str| Hold { group: Some(record.to_owned()), ..hold(&asker, "a", digest) };
    for n in 0..5 {
        assert_eq!(actor.send(of("mail 3", &n.to_string())).await.unwrap(), HoldAnswer::Refused);
    }
    assert!(matches!(actor.send(of("mail 3", "6")).await.unwrap(), HoldAnswer::Tired(Some(_))));
    assert!(matches!(actor.send(of("contacts 4", "7")).await.unwrap(), HoldAnswer::Allowed(_)));
    assert_eq!(asked.borrow().len(), 6);
}

#[actix::test]
async fn a_late_yes_lets_the_next_try_pass_once() {
    let actor = ApprovalActor::default().start();
    let (asker, asked) = human(vec![Answer::TimedOut]);
    assert!(matches!(actor.send(hold(&asker, "a", "1")).await.unwrap(), HoldAnswer::Unanswered(Some(_))));
    let question = asked.borrow()[0].question;
    actor.send(LateAnswer { question, answer: decision("allow_once") }).await.unwrap();
    assert!(matches!(actor.send(hold(&asker, "a", "1")).await.unwrap(), HoldAnswer::Allowed(_)));
    assert!(matches!(actor.send(hold(&asker, "a", "1")).await.unwrap(), HoldAnswer::Unanswered(Some(_))));
    assert_eq!(asked.borrow().len(), 2);
}

#[actix::test]
async fn nobody_to_ask_and_a_session_that_is_gone() {
    let actor = ApprovalActor::default().start();
    let (asker, _) = human(vec![Answer::Gone]);
    let nobody = Hold { asker: None, ..hold(&asker, "a", "1") };
    assert!(matches!(actor.send(nobody).await.unwrap(), HoldAnswer::NoHuman(Some(_))));
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

/// A hold that nobody can be asked about, and its id.
async fn held(actor: &Addr<ApprovalActor>, address: &str, digest: &str) -> String {
    let nobody = Hold { asker: None, ..hold(&human(vec![]).0, address, digest) };
    match actor.send(nobody).await.unwrap() {
        HoldAnswer::NoHuman(Some(id)) => id,
        other => panic!("{other:?}"),
    }
}

async fn answer(actor: &Addr<ApprovalActor>, id: &str, choice: Choice) -> Answered {
    actor.send(AnswerHeld { id: id.to_owned(), choice }).await.unwrap()
}

/// Whether the next try with this digest passes.
async fn passes(actor: &Addr<ApprovalActor>, digest: &str) -> bool {
    let nobody = Hold { asker: None, ..hold(&human(vec![]).0, "a", digest) };
    matches!(actor.send(nobody).await.unwrap(), HoldAnswer::Allowed(_))
}

#[actix::test]
async fn a_held_call_passes_once_after_a_yes_in_a_terminal() {
    let actor = ApprovalActor::default().start();
    let id = held(&actor, "a", "1").await;
    assert_eq!(held(&actor, "a", "1").await, id, "an equal call is the same hold");
    let other = held(&actor, "b", "2").await;
    let listed = actor.send(ListHeld).await.unwrap();
    let ids: Vec<_> = listed.iter().map(|held| held.id.as_str()).collect();
    assert_eq!(ids, [id.as_str(), other.as_str()]);
    assert!(listed[0].question.contains("Send to a?"));
    assert_eq!(answer(&actor, &id, Choice::Once).await, Answered::Taken);
    assert_eq!(answer(&actor, &id, Choice::Once).await, Answered::Ended, "the first answer counts");
    assert!(passes(&actor, "1").await);
    assert!(!passes(&actor, "1").await, "once");
    assert!(!granted(&actor, "a").await);
    assert_eq!(actor.send(CountHolds).await.unwrap().held, 2);
}

#[actix::test]
async fn answers_in_a_terminal_cover_what_was_offered_and_no_more() {
    let actor = ApprovalActor::default().start();
    let grave = Hold { asker: None, offer: Offer::Once, ..hold(&human(vec![]).0, "a", "1") };
    let HoldAnswer::NoHuman(Some(id)) = actor.send(grave).await.unwrap() else { panic!("not held") };
    for choice in [Choice::Session, Choice::Lasting("g".to_owned())] {
        assert_eq!(answer(&actor, &id, choice).await, Answered::NotOffered);
    }
    assert_eq!(answer(&actor, &id, Choice::No).await, Answered::Taken);
    let found =
        Lookup { session: 1, effect: Effect::Send, keys: vec![vec![to("a")]], digest: "1".to_owned() };
    let found = actor.send(found).await.unwrap();
    assert_eq!((found.entries[0].1, found.call_refused), (Some(0), Some(0)));
    let id = held(&actor, "a", "2").await;
    assert_eq!(answer(&actor, &id, Choice::Session).await, Answered::Taken);
    assert!(granted(&actor, "a").await);
}

#[actix::test]
async fn a_lasting_yes_counts_by_the_file_and_as_long_as_it_stands_there() {
    let state = tempfile::tempdir().unwrap();
    let file = GrantsFile::of(state.path());
    let actor = ApprovalActor::new(file.clone(), std::collections::BTreeMap::new(), None).start();
    let id = held(&actor, "a", "1").await;
    let lasting = || Choice::Lasting("g1".to_owned());
    assert_eq!(answer(&actor, &id, lasting()).await, Answered::NotOffered, "it is not in the file");
    let grant = LastingGrant {
        id: "g1".to_owned(),
        effect: Effect::Send,
        keys: vec![to("a")],
        launches: std::collections::BTreeMap::new(),
        about: String::new(),
        by: "ana".to_owned(),
        given: 0,
        ends: u64::MAX,
    };
    file.append(&grant.to_line()).unwrap();
    assert_eq!(answer(&actor, &id, lasting()).await, Answered::Taken);
    assert!(granted(&actor, "a").await && !granted(&actor, "b").await);
    file.append(&revoke_line("g1", "ana", 1)).unwrap();
    assert!(!granted(&actor, "a").await, "revoked at once");
}

#[actix::test]
async fn an_answer_in_a_terminal_ends_the_late_one_in_the_client() {
    let actor = ApprovalActor::default().start();
    let (asker, asked) = human(vec![Answer::TimedOut]);
    let HoldAnswer::Unanswered(Some(id)) = actor.send(hold(&asker, "a", "1")).await.unwrap() else {
        panic!("not held")
    };
    assert_eq!(answer(&actor, &id, Choice::No).await, Answered::Taken);
    let question = asked.borrow()[0].question;
    actor.send(LateAnswer { question, answer: decision("allow_once") }).await.unwrap();
    assert!(!passes(&actor, "1").await);
}
