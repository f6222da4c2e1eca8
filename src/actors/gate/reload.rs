//! A policy that was read again while Bouncer runs: what tightens of it is taken into force at once, what
//! does not is named and waits for a restart.
//!
//! Which is which is `policy::Rules`; here it is put in the place of what the gate goes by, in one
//! synchronous step. A call that is being judged ends under the rule that it began with, unless a person
//! has to be waited for (`judge.rs`).

use std::rc::Rc;
use std::sync::Arc;

use actix::prelude::*;

use crate::policy::{Guard, Policy, TooMany};

use super::actor::{Core, GateActor};
use super::requests;

/// Take what tightens of this policy; answered with what of it waits for a restart.
pub struct TakePolicy {
    /// The policy.
    pub policy: Policy,
    /// The files it was read from, absolute: no call may change them from now on.
    pub files: Vec<String>,
}

impl Message for TakePolicy {
    type Result = Result<Vec<Waiting>, TooMany>;
}

/// What of the newest policy is not in force?
#[derive(Debug, Clone, Copy, Message)]
#[rtype(result = "Vec<Waiting>")]
pub struct ListWaiting;

/// A tool, or a request by its method's name, whose rule in the newest policy is laxer than the one in force, or not shown to be as tight.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// The upstream's configured name.
    pub upstream: Arc<str>,
    /// The tool's own name: hostile text.
    pub tool: Arc<str>,
    /// In what it is laxer, in our own words.
    pub parts: Vec<&'static str>,
}

impl Core {
    /// Takes what tightens of a policy that was read again, and protects the files it was read from.
    fn reload(&self, policy: Policy, files: Vec<String>) -> Result<Vec<Waiting>, TooMany> {
        self.rules.borrow_mut().take(policy)?;
        let mut guard = Guard::clone(&self.guard());
        // What was protected stays protected: a file that is no longer read may be read again.
        guard.own.extend(files.into_iter().filter(|file| !self.guard().own.contains(file)));
        *self.guard.borrow_mut() = Rc::new(guard);
        self.requests.borrow_mut().clear();
        self.tools.borrow_mut().rule_again(&self.rules.borrow(), &self.upstreams);
        Ok(self.waiting())
    }

    fn waiting(&self) -> Vec<Waiting> {
        let tools = self.tools.borrow().waiting().into_iter();
        let requests = requests::waiting(self).into_iter();
        let requests = requests.map(|(upstream, method, parts)| (upstream, Arc::from(method), parts));
        tools.chain(requests).map(|(upstream, tool, parts)| Waiting { upstream, tool, parts }).collect()
    }
}

impl Handler<TakePolicy> for GateActor {
    type Result = Result<Vec<Waiting>, TooMany>;

    fn handle(&mut self, msg: TakePolicy, _: &mut Self::Context) -> Self::Result {
        self.core.reload(msg.policy, msg.files)
    }
}

impl Handler<ListWaiting> for GateActor {
    type Result = Vec<Waiting>;

    fn handle(&mut self, _: ListWaiting, _: &mut Self::Context) -> Self::Result {
        self.core.waiting()
    }
}
