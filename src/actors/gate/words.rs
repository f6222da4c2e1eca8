//! Asks a person, once, about a tool whose description alone changed since it was pinned.
//!
//! Runs before a call of that tool is judged. A yes pins the new words, so that the call and all later
//! ones are judged as usual; with anything else the tool stays what it was: drifted, withheld, refused.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

use crate::actors::approval::{Hold, HoldAnswer};
use crate::actors::rows::Wish;
use crate::policy::Offer;

use super::actor::Core;
use super::call::Call;
use super::tools::NewWords;

/// How often a call looks again after somebody else's question was answered.
const LOOKS: u32 = 64;

/// Asks where that is to be done, and takes the answer over.
pub(super) async fn ask_about_words(core: &Rc<Core>, call: &Call) {
    let tool = &call.msg.tool;
    for _ in 0..LOOKS {
        let Some(words) = core.tools.borrow().new_words(tool) else { return };
        if call.msg.asker.is_none() {
            return;
        }
        // FAIL CLOSED: an approval actor that does not answer has nobody behind it.
        match core.shared.hold.send(hold(call, &words)).await.unwrap_or(HoldAnswer::NoHuman(None)) {
            HoldAnswer::Allowed(_) => return accept(core, call, &words).await,
            HoldAnswer::Refused | HoldAnswer::Unanswered(_) => {
                return core.tools.borrow_mut().declined(tool, &words);
            }
            HoldAnswer::Again => {}
            // Nobody was asked about it, so that the next call may ask.
            HoldAnswer::NoHuman(_) | HoldAnswer::Tired(_) | HoldAnswer::Gone => return,
        }
    }
}

fn hold(call: &Call, words: &NewWords) -> Hold {
    let tool = &call.msg.tool;
    Hold {
        session: call.msg.session.0,
        call: call.msg.call,
        client: Arc::clone(&call.msg.client),
        upstream: Arc::clone(&tool.upstream),
        tool: Arc::clone(&tool.name),
        digest: format!("words\u{0}{}\u{0}{}", tool.upstream, tool.name),
        effect: words.effect,
        keys: Vec::new(),
        offer: Offer::Words,
        group: None,
        exact: None,
        listed: BTreeSet::new(),
        question: words.rewording.question.clone(),
        asker: call.msg.asker.clone(),
        patience: call.msg.patience,
        wish: Wish::Agent,
        over: None,
    }
}

async fn accept(core: &Rc<Core>, call: &Call, words: &NewWords) {
    let tool = &call.msg.tool;
    match core.pins.accept(&words.state_key, &words.listed, &tool.name).await {
        Ok(()) => {
            tracing::info!(upstream = %tool.upstream, "a person accepted the new words of a tool");
            core.tools.borrow_mut().accepted(tool, words);
        }
        // FAIL CLOSED: what cannot be kept was not accepted.
        Err(fault) => tracing::error!("what a person accepted cannot be pinned: {fault}"),
    }
}
