//! What upstreams ask of a client, and what it answers them.
//!
//! A request is refused, asked about first, or let through; its text is recorded before the client can
//! see it. An answer is content that flows to the upstream and is judged as the arguments of a call are.
//! Nothing of another server stands in the words that an upstream gets.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;

use crate::actors::approval::{Hold, HoldAnswer, Lookup};
use crate::actors::audit::{AnswerRecord, AppendVerdict, Flush, RequestRecord, Sealing};
use crate::actors::messages::{AnswerJudgement, AskJudgement, JudgeAnswer, JudgeAsk};
use crate::actors::reverse::RelayedAnswer;
use crate::actors::rows::Wish;
use crate::actors::taint::{NoteSent, NoteShown};
use crate::clock;
use crate::mcp::{Body, Elicitation, Reverse, Tool, Way, sampling_shown};
use crate::policy::{
    BLOCKED, Effect, GrantKey, Offer, Outcome, Question, ToolPolicy, asks_for_secrets, imitates,
    page_question, secret_question,
};
use crate::provenance::{Source, Vouched};

use super::actor::Core;
use super::call::{Call, digest_of};
use super::judge::{Settled, settle};
use super::tools::Known;

/// JSON-RPC: the params do not fit. Also what an upstream gets whose request is not shown.
const INVALID_PARAMS: i32 = -32602;
/// Of ours: refused by policy or by the user.
const REFUSED: i32 = -32010;
/// How often a request looks again after somebody else's question was answered.
const LOOKS: u32 = 64;

/// What is done with a request.
enum Course {
    /// It goes to the client with these params.
    Pass(Bytes),
    /// The same, once the human has said yes to this.
    AskFirst(Bytes, Question),
    /// It goes nowhere.
    Refuse(Refused),
}

/// What the upstream gets instead.
struct Refused {
    code: i32,
    why: String,
}

impl Refused {
    /// It cannot be shown.
    fn unfit(why: String) -> Self {
        Self { code: INVALID_PARAMS, why }
    }

    /// The policy or the user refuses it.
    fn by_us(why: &str) -> Self {
        Self { code: REFUSED, why: format!("{BLOCKED} {why}") }
    }
}

/// Judges a request of an upstream, and records it.
pub(super) async fn judge_ask(core: Rc<Core>, msg: JudgeAsk) -> AskJudgement {
    let mut answer = None;
    let (mut verdict, course) = match course(&core, &msg) {
        Course::Refuse(refused) => (Outcome::Deny, Err(refused)),
        Course::Pass(params) => (Outcome::Allow, Ok(params)),
        Course::AskFirst(params, question) => {
            let asked = ask_first(&core, &msg, question).await;
            answer = Some(asked.map_or_else(|(word, _)| word, |()| "allowed"));
            (Outcome::Ask, asked.map(|()| params).map_err(|(_, why)| Refused::by_us(why)))
        }
    };
    // ORDER: recorded before seen.
    let course = match course {
        Ok(_) if !shown(&core, &msg).await => {
            verdict = Outcome::Deny;
            Err(Refused::by_us("what is asked could not be recorded"))
        }
        course => course,
    };
    let session = core.session_name(msg.session);
    let record = RequestRecord::new(
        (clock::unix_millis(), &session, msg.call.0, &msg.client),
        (&msg.upstream, msg.reverse.name()),
        &msg.params,
        (verdict.as_str(), course.as_ref().err().map(|refused| refused.why.as_str()), answer),
    );
    let written = core.shared.verdict.send(AppendVerdict { open: record.open(), flush: Flush::Later }).await;
    let course = match course {
        // FAIL CLOSED: what is shown without a record must not exist.
        Ok(_) if !matches!(written, Ok(Ok(()))) => Err(Refused::by_us("the audit log cannot be written")),
        course => course,
    };
    match course {
        Ok(params) => AskJudgement::Pass { params },
        Err(Refused { code, why }) => AskJudgement::Refuse { code, why },
    }
}

fn course(core: &Rc<Core>, msg: &JudgeAsk) -> Course {
    if core.rules.borrow().refusal().is_some() {
        return Course::Refuse(Refused::by_us("the policy could not be loaded"));
    }
    match msg.reverse {
        Reverse::Sample if !core.rules.borrow().admits_sampling(&msg.upstream) => {
            Course::Refuse(Refused::by_us("the policy does not let this server use the model"))
        }
        Reverse::Sample => match sampling_shown(&msg.params) {
            Ok(params) => Course::Pass(params),
            Err(why) => Course::Refuse(Refused::unfit(why)),
        },
        Reverse::Elicit => match Elicitation::read(&msg.params, &msg.upstream, msg.modes) {
            Ok(elicitation) => elicit(&msg.upstream, elicitation),
            Err(why) => Course::Refuse(Refused::unfit(why)),
        },
        Reverse::ListRoots => Course::Pass(msg.params.clone()),
    }
}

fn elicit(upstream: &str, elicitation: Elicitation) -> Course {
    let Elicitation { message, way, shown } = elicitation;
    match way {
        Way::Page(url) => match page_question(upstream, &url) {
            Some(question) => Course::AskFirst(shown, question),
            None => Course::Refuse(Refused::unfit("`url` is no plain https or http url".to_owned())),
        },
        Way::Form(form) if imitates(&form) => {
            Course::Refuse(Refused::by_us("the form could be taken for one of Bouncer's own questions"))
        }
        Way::Form(form) => {
            let secrets = asks_for_secrets(&message, &form);
            if secrets.is_empty() {
                return Course::Pass(shown);
            }
            let question = secret_question(upstream, &secrets);
            Course::AskFirst(shown, question)
        }
    }
}

/// Puts our own question before the upstream's. The error names what came of it, and says it.
async fn ask_first(
    core: &Rc<Core>,
    msg: &JudgeAsk,
    question: Question,
) -> Result<(), (&'static str, &'static str)> {
    let name = msg.reverse.name();
    let digest = digest_of(&[b"ask", msg.upstream.as_bytes(), name.as_bytes(), &essence(&msg.params)]);
    let refused = ("refused", "the user refused this request");
    for _ in 0..LOOKS {
        let lookup = Lookup {
            session: msg.session.0,
            effect: Effect::Write,
            keys: Vec::new(),
            digest: digest.clone(),
        };
        // FAIL CLOSED: an approval actor that does not answer has nobody behind it.
        let Ok(found) = core.shared.lookup.send(lookup).await else { break };
        if found.call_refused.is_some() {
            return Err(refused);
        }
        let hold = Hold {
            session: msg.session.0,
            call: msg.call,
            client: Arc::clone(&msg.client),
            upstream: Arc::clone(&msg.upstream),
            tool: msg.reverse.name().into(),
            digest: digest.clone(),
            effect: Effect::Write,
            keys: vec![GrantKey::Call(digest.clone())],
            offer: Offer::Once,
            group: None,
            question: question.clone(),
            exact: None,
            listed: BTreeSet::new(),
            asker: msg.asker.clone(),
            patience: msg.patience,
            wish: Wish::Server,
            over: Some(msg.over.clone()),
        };
        return match core.shared.hold.send(hold).await.unwrap_or(HoldAnswer::NoHuman(None)) {
            HoldAnswer::Allowed(_) => Ok(()),
            HoldAnswer::Again => continue,
            HoldAnswer::Refused | HoldAnswer::Gone => Err(refused),
            HoldAnswer::Unanswered(_) => {
                Err(("unanswered", "the user has not answered whether this may be asked"))
            }
            HoldAnswer::NoHuman(_) | HoldAnswer::Tired(_) => {
                Err(("no_human", "the user cannot be asked whether this may be asked"))
            }
        };
    }
    Err(("no_human", "the part of Bouncer that asks the user does not answer"))
}

/// What a request asks, without what differs from one try to the next: its marks for the protocol, and how
/// it is written.
fn essence(params: &Bytes) -> Bytes {
    let Ok(Value::Object(mut members)) = serde_json::from_slice(params) else { return params.clone() };
    members.remove("_meta");
    members.remove("elicitationId");
    members.sort_keys();
    Value::Object(members).to_string().into()
}

/// Hands the text of a request to the history. Whether it was taken.
async fn shown(core: &Rc<Core>, msg: &JudgeAsk) -> bool {
    let shown = NoteShown {
        upstream: Arc::clone(&msg.upstream),
        tool: None,
        call: msg.call.0,
        source: Source::Request,
        message: msg.params.clone(),
        own_data: Arc::from(Vec::new()),
        arguments: None,
        making: Arc::default(),
        granted: Vouched::No,
    };
    core.shared.shown.send(shown).await.is_ok()
}

/// What an answer holds that flows to the upstream.
enum Content {
    /// An object with it.
    Some(Bytes),
    /// Nothing.
    None,
    /// It cannot be looked into.
    Unreadable,
}

/// Judges an answer of the client, and records it.
pub(super) async fn judge_answer(core: Rc<Core>, msg: JudgeAnswer) -> AnswerJudgement {
    let (action, content) = content(msg.reverse, &msg.answer);
    let mut kept = Value::Null;
    let mut digest = Bytes::new();
    let mut grant = None;
    let mut refused = None;
    let mut verdict = Outcome::Allow;
    match content {
        Content::None => {}
        Content::Unreadable => {
            verdict = Outcome::Deny;
            refused = Some("the answer cannot be read as JSON that could be checked");
        }
        Content::Some(raw) => {
            digest = raw.clone();
            let (settled, arguments) = judge_content(&core, &msg, raw).await;
            verdict = settled.verdict.outcome;
            grant.clone_from(&settled.grant);
            if !settled.is_allowed() {
                refused = Some("the answer carries what came from elsewhere, and was not allowed to go here");
            } else if !sent(&core, &msg, &arguments).await {
                refused = Some("the answer could not be recorded");
            }
            kept = (*arguments).clone();
        }
    }
    let session = core.session_name(msg.session);
    let record = AnswerRecord::new(
        (clock::unix_millis(), &session, msg.call.0, &msg.client),
        (&msg.upstream, msg.reverse.name()),
        (action, &kept, &digest),
        (verdict.as_str(), refused, grant),
    );
    let written = core.shared.verdict.send(AppendVerdict { open: record.open(), flush: Flush::Later }).await;
    if let Some(why) = refused {
        let Refused { code, why } = Refused::by_us(why);
        return AnswerJudgement::Refuse { code, why };
    }
    // FAIL CLOSED: content that leaves without a record must not exist.
    if !matches!(written, Ok(Ok(()))) {
        let Refused { code, why } = Refused::by_us("the audit log cannot be written");
        return AnswerJudgement::Refuse { code, why };
    }
    AnswerJudgement::Pass
}

/// What came, in a word, and what of it is content.
fn content(reverse: Reverse, answer: &RelayedAnswer) -> (&'static str, Content) {
    let raw = match answer {
        RelayedAnswer::TimedOut => return ("unanswered", Content::None),
        RelayedAnswer::Gone => return ("gone", Content::None),
        // What goes to the upstream of it is our own.
        RelayedAnswer::Answer(Body::Ambiguous) => return ("error", Content::None),
        RelayedAnswer::Answer(Body::Error(raw)) => {
            let is_readable = matches!(serde_json::from_slice(raw), Ok(Value::Object(_)));
            return ("error", if is_readable { Content::Some(raw.clone()) } else { Content::Unreadable });
        }
        RelayedAnswer::Answer(Body::Result(raw)) => raw,
    };
    let Ok(result @ Value::Object(_)) = serde_json::from_slice::<Value>(raw) else {
        return ("result", Content::Unreadable);
    };
    if reverse != Reverse::Elicit {
        return ("result", Content::Some(raw.clone()));
    }
    let action = match result.get("action").and_then(Value::as_str) {
        Some("accept") => "accept",
        Some("decline") => "decline",
        Some("cancel") => "cancel",
        _ => "unknown",
    };
    // Everything of an answer flows, whatever its action says.
    let bare = result.as_object().is_some_and(|members| members.keys().all(|key| key == "action"));
    if bare && action != "unknown" { (action, Content::None) } else { (action, Content::Some(raw.clone())) }
}

/// Judges content as the arguments of a call that only writes.
async fn judge_content(core: &Rc<Core>, msg: &JudgeAnswer, raw: Bytes) -> (Settled, Arc<Value>) {
    let tool = Tool {
        upstream: Arc::clone(&msg.upstream),
        name: msg.reverse.name().into(),
        exported: msg.reverse.name().into(),
        listed: Bytes::new(),
        shown: Bytes::new(),
    };
    let known = Known {
        policy: ToolPolicy::of_answer(core.locality(&msg.upstream)),
        waits: Vec::new(),
        own_data: Arc::from(Vec::new()),
        state_key: Arc::clone(&msg.upstream),
        cwd: None,
    };
    let call = Call::of_answer(msg, Arc::new(tool), raw);
    let what = match (msg.reverse, &msg.answer) {
        (_, RelayedAnswer::Answer(Body::Error(_))) => "the error that your client answered with",
        (Reverse::Sample, _) => "what your model wrote",
        (Reverse::Elicit, _) => "your answer",
        (Reverse::ListRoots, _) => "the folders that you work in",
    };
    let head = format!("Give {what} to server `{}`?", crate::provenance::escaped(&msg.upstream, 64));
    let settled = settle(core, &call, &Arc::new(known), Some(&head)).await;
    (settled, call.arguments)
}

/// Tells the history what goes to the upstream, so that an echo of it is known for one.
async fn sent(core: &Rc<Core>, msg: &JudgeAnswer, arguments: &Arc<Value>) -> bool {
    let sent = NoteSent {
        upstream: Arc::clone(&msg.upstream),
        tool: msg.reverse.name().into(),
        call: msg.call.0,
        arguments: Arc::clone(arguments),
        vouched: Vouched::No,
        spends: Vec::new(),
        making: Arc::default(),
    };
    core.shared.sent.send(sent).await.is_ok()
}
