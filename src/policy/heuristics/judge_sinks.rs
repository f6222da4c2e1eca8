//! The verbs that lose something, pay, run something or change access, and those that say little.
//!
//! Goes on where `judge` leaves off: one method a sense, the most dangerous case first.

use super::judge::{Seen, Verdict, verdict};
use super::lexicon::{Strength, Thing, is};
use super::signals::Signal;
use crate::policy::Effect;

impl Seen<'_, '_> {
    pub(super) fn remove(&self) -> Verdict {
        if self.touches_access() {
            return verdict(Effect::Account, "access-thing").also(Effect::Destroy);
        }
        let from = self.named("from");
        if self.head_is(Thing::Attached)
            || from && !self.any("file record row message data email event database document")
        {
            return verdict(Effect::Write, "takes-apart");
        }
        verdict(Effect::Destroy, "destroy-verb")
    }

    pub(super) fn destroy(&self) -> Verdict {
        if self.touches_access() {
            return verdict(Effect::Account, "access-thing").also(Effect::Destroy);
        }
        verdict(Effect::Destroy, "destroy-verb")
    }

    pub(super) fn clear(&self) -> Verdict {
        if self.phrase.object.iter().any(|it| is(it, Thing::Stock))
            || self.phrase.all.iter().any(|it| it.text == "all")
        {
            return verdict(Effect::Destroy, "empties-a-store");
        }
        verdict(Effect::Write, "write-verb")
    }

    pub(super) fn cancel(&self) -> Verdict {
        if self.any("subscription account plan membership") {
            return verdict(Effect::Destroy, "ends-a-contract").also(Effect::Spend);
        }
        verdict(Effect::Write, "write-verb")
    }

    pub(super) fn spend(&self) -> Verdict {
        if self.phrase.strength == Strength::Noun && is(self.head(), Thing::Glance) {
            return verdict(Effect::Read, "glance");
        }
        if self.any("call") {
            return verdict(Effect::Send, "call");
        }
        if self.phrase.word == "renew" && self.touches_access() {
            return verdict(Effect::Account, "access-thing");
        }
        verdict(Effect::Spend, "spend-verb")
    }

    pub(super) fn transfer(&self) -> Verdict {
        if self.any("ownership owner admin repo project app domain workspace") {
            return verdict(Effect::Account, "access-thing");
        }
        let money = self.touches_money() || self.signal(Signal::Amount);
        if money
            || self.phrase.object.is_empty()
            || self.signal(Signal::Recipient) && !self.any("file call issue")
        {
            return verdict(Effect::Spend, "spend-verb");
        }
        verdict(Effect::Write, "write-verb")
    }

    pub(super) fn checkout(&self) -> Verdict {
        if self.signal(Signal::Revision) || self.named("git branch commit repo file") {
            return verdict(Effect::Write, "write-verb");
        }
        verdict(Effect::Spend, "spend-verb")
    }

    pub(super) fn run(&self) -> Verdict {
        if self.touches_money() && self.phrase.word != "run" {
            return verdict(Effect::Spend, "money-thing");
        }
        if self.any("operation request") && !self.signal(Signal::Command) {
            return verdict(Effect::Write, "vague-verb");
        }
        // A query that is only named, with every argument declared and no statement among them, was
        // written by somebody else before.
        let stored =
            self.signal(Signal::Declared) && !self.signal(Signal::Command) && !self.signal(Signal::Wording);
        let asks = self.any("query sql select search") && (self.confined() || stored);
        let looks = is(self.head(), Thing::Report) && !self.signal(Signal::Command);
        if asks || looks {
            return verdict(Effect::Read, "runs-a-look");
        }
        verdict(Effect::Execute, "runs")
    }

    pub(super) fn start(&self) -> Verdict {
        if self.any("call") {
            return verdict(Effect::Send, "call");
        }
        if self.any("oauth login auth") {
            return verdict(Effect::Account, "opens-login");
        }
        if self.any("campaign ad adset") {
            return verdict(Effect::Send, "starts-a-campaign").also(Effect::Spend);
        }
        if self.any("container pod service") && !self.signal(Signal::Command) {
            return verdict(Effect::Write, "brings-software").also(Effect::Execute);
        }
        if self.signal(Signal::Command) || self.phrase.object.iter().any(|it| is(it, Thing::Runnable)) {
            return verdict(Effect::Execute, "runs");
        }
        verdict(Effect::Write, "write-verb")
    }

    pub(super) fn install(&self) -> Verdict {
        if self.phrase.word == "apply"
            && (self.head_is(Thing::Attached) || self.any("template filter style format theme"))
        {
            return verdict(Effect::Write, "write-verb");
        }
        if self.any("coupon discount") {
            return verdict(Effect::Write, "write-verb");
        }
        if self.named("to") && self.any("job position vacancy") || self.named("job position vacancy") {
            return verdict(Effect::Send, "asks-people");
        }
        if self.any("migration") {
            return verdict(Effect::Execute, "runs-migration");
        }
        verdict(Effect::Write, "brings-software").also(Effect::Execute)
    }

    pub(super) fn call(&self) -> Verdict {
        if self.phrase.word == "request" && !self.named("make http api send") && !self.signal(Signal::FreeUrl)
        {
            if self.any("payment refund payout ride taxi delivery") {
                return verdict(Effect::Spend, "money-thing");
            }
            if self.any("access permission role review approval signature feedback quote") {
                return verdict(Effect::Send, "asks-people");
            }
            return verdict(Effect::Write, "write-verb");
        }
        let calls_code =
            self.any("service function tool api method contract lambda endpoint action model workflow");
        if calls_code && !self.signal(Signal::FreeUrl)
            || self.signal(Signal::ApiPath) && self.signal(Signal::HttpMethod)
        {
            return verdict(Effect::Execute, "calls-code");
        }
        if self.signal(Signal::FreeUrl) {
            return verdict(Effect::Send, "http-request").also(Effect::Fetch);
        }
        if self.named("phone dial outbound") || self.signal(Signal::Address) || self.signal(Signal::Recipient)
        {
            return verdict(Effect::Send, "call");
        }
        verdict(Effect::Execute, "calls-code")
    }

    pub(super) fn build(&self) -> Verdict {
        if self.phrase.object.is_empty()
            || self.any("image project app application container pipeline package site job build")
            || self.signal(Signal::Command)
        {
            return verdict(Effect::Execute, "runs");
        }
        verdict(Effect::Write, "write-verb")
    }

    pub(super) fn approve(&self) -> Verdict {
        if self.phrase.word == "capture"
            && self.any("screenshot page image photo picture snapshot frame screen")
        {
            return verdict(Effect::Read, "takes-a-picture");
        }
        if self.touches_money() || self.any("dispute claim chargeback offer quote bid") {
            return verdict(Effect::Spend, "money-thing");
        }
        if self.any("invitation event meeting time appointment") && self.phrase.word != "confirm" {
            return verdict(Effect::Send, "answers-people");
        }
        if self.touches_access() || self.any("device") {
            return verdict(Effect::Account, "access-thing");
        }
        if self.head_is(Thing::Runnable) && self.any("deployment migration workflow job pipeline") {
            return verdict(Effect::Execute, "runs");
        }
        verdict(Effect::Write, "write-verb")
    }

    pub(super) fn resolve(&self) -> Verdict {
        if self.phrase.object.iter().any(|it| is(it, Thing::Alias)) {
            return verdict(Effect::Read, "read-verb");
        }
        verdict(Effect::Write, "write-verb")
    }

    pub(super) fn generic(&self) -> Verdict {
        if self.phrase.word == "sign" && self.any("url link") {
            return verdict(Effect::Send, "opens-a-link").also(Effect::Account);
        }
        if self.touches_access() {
            return verdict(Effect::Account, "access-thing");
        }
        if self.phrase.word != "manage" && self.touches_money() {
            return verdict(Effect::Spend, "money-thing");
        }
        if self.signal(Signal::Command)
            || self.any("migration")
            || self.named("process terminal shell console repl")
        {
            return verdict(Effect::Execute, "runs-command");
        }
        if self.phrase.word == "take" && self.any("screenshot photo picture") {
            return verdict(Effect::Read, "takes-a-picture");
        }
        verdict(Effect::Write, "vague-verb")
    }
}
