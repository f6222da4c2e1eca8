//! What a verb does to its object: one method a sense, each a short list of cases from the most to
//! the least dangerous, ending in what the verb means when nothing else is known.
//!
//! Each case names its rule. `verbs` finds the phrase, the word rows stand in `lexicon`, and the verbs
//! that lose, pay, run or change access stand in `judge_sinks`.

use super::lexicon::{Sense, Strength, Thing, among, is};
use super::signals::Signal;
use super::verbs::{Light, Phrase, Reading};
use crate::policy::Effect;

/// Things that are only looked at, even behind a word that may be a verb.
const LOOKED_AT: &str = "status progress history quota count statistic stats info information detail summary overview usage \
    generation classification embedding recognition detection inference limit balance";
/// Words before `code` that make it a mark and no program.
const MARKS: &str = "qr bar barcode promo discount coupon invite verification access error status postal zip country color \
    product area";

/// A judgement on its way to a [`Reading`].
pub(super) struct Verdict {
    /// The main effect.
    pub(super) effect: Effect,
    /// What it does besides.
    pub(super) also: Vec<Effect>,
    /// The rule.
    pub(super) rule: &'static str,
}

/// Whether something stands behind the verb.
fn names_after(phrase: &Phrase<'_>) -> bool {
    phrase.all.last().is_some_and(|it| it.text != phrase.word)
}

/// A judgement without other effects.
pub(super) fn verdict(effect: Effect, rule: &'static str) -> Verdict {
    Verdict { effect, also: Vec::new(), rule }
}

impl Verdict {
    /// Adds another effect.
    pub(super) fn also(mut self, effect: Effect) -> Self {
        self.also.push(effect);
        self
    }
}

/// Judges a phrase in its light.
pub(super) fn judge(phrase: &Phrase<'_>, light: Light<'_>) -> Reading {
    let seen = Seen { phrase, light };
    let made = seen.effect();
    Reading {
        effect: made.effect,
        also: made.also.into_iter().filter(|it| *it != made.effect).collect(),
        sense: Some(phrase.sense),
        sure: phrase.strength == Strength::Verb,
        object: phrase.object.iter().map(|it| (*it).to_owned()).collect(),
        rules: vec![format!("verb:{}", phrase.word), made.rule.to_owned()],
    }
}

/// A phrase in its light.
pub(super) struct Seen<'p, 'a> {
    pub(super) phrase: &'p Phrase<'a>,
    pub(super) light: Light<'p>,
}

impl Seen<'_, '_> {
    pub(super) fn head(&self) -> &str {
        self.phrase.object.last().copied().unwrap_or("")
    }

    pub(super) fn head_is(&self, thing: Thing) -> bool {
        is(self.head(), thing)
    }

    pub(super) fn any(&self, row: &str) -> bool {
        self.phrase.object.iter().any(|it| among(it, row))
    }

    pub(super) fn named(&self, row: &str) -> bool {
        self.phrase.all.iter().any(|it| among(&it.text, row))
    }

    pub(super) fn signal(&self, signal: Signal) -> bool {
        self.light.signals.has(signal)
    }

    /// Whether the object decides who gets in: access words as the thing itself, or certain ones anywhere.
    pub(super) fn touches_access(&self) -> bool {
        let group_of_people = self.head() == "group" && self.named("org user iam member security permission")
            || self.head() == "group" && self.light.description.contains("iam ");
        self.head_is(Thing::Access)
            || self.any("oauth acl iam sso mfa firewall apikey permission admin privacy")
            || group_of_people
    }

    pub(super) fn touches_money(&self) -> bool {
        self.head_is(Thing::Money) || self.any("nft erc crypto")
    }

    fn effect(&self) -> Verdict {
        let noun_like = matches!(
            self.phrase.sense,
            Sense::Download
                | Sense::Upload
                | Sense::Deploy
                | Sense::Build
                | Sense::Call
                | Sense::Spend
                | Sense::Checkout
                | Sense::Transfer
        );
        // `download_status` and `transfer_history` are looked at, and so are `message_count` and
        // `text_generation`, whose verb is a noun as often.
        let noun = self.phrase.strength == Strength::Noun
            && matches!(
                self.phrase.sense,
                Sense::Send | Sense::Spend | Sense::Call | Sense::Run | Sense::Build
            );
        let looked_at = noun_like && among(self.head(), "status progress history quota")
            || noun && among(self.head(), LOOKED_AT);
        let tells =
            self.signal(Signal::Body) || self.signal(Signal::Recipient) || self.signal(Signal::Command);
        if looked_at && !tells {
            return verdict(Effect::Read, "glance");
        }
        match self.phrase.sense {
            Sense::Read | Sense::Fetch => self.read(),
            Sense::Query => self.query(),
            Sense::Create => self.create(),
            Sense::Change => self.change(),
            Sense::Write => self.write(),
            Sense::Download => self.download(),
            Sense::Upload => self.upload(),
            Sense::Send => self.send(),
            Sense::Post => self.post(),
            Sense::Submit => self.submit(),
            Sense::Share => verdict(Effect::Send, "share").also(Effect::Account),
            Sense::Remove => self.remove(),
            Sense::Destroy => self.destroy(),
            Sense::Clear => self.clear(),
            Sense::Cancel => self.cancel(),
            Sense::Spend => self.spend(),
            Sense::Transfer => self.transfer(),
            Sense::Checkout => self.checkout(),
            Sense::Execute | Sense::Run => self.run(),
            Sense::Start => self.start(),
            Sense::Install => self.install(),
            Sense::Call => self.call(),
            Sense::Deploy => verdict(Effect::Execute, "deploy"),
            Sense::Build => self.build(),
            Sense::Grant => verdict(Effect::Account, "access-verb"),
            Sense::Approve => self.approve(),
            Sense::Invite => verdict(Effect::Account, "invite").also(Effect::Send),
            Sense::Resolve => self.resolve(),
            Sense::Touch => verdict(Effect::Write, "touch").also(Effect::Send),
            Sense::Generic => self.generic(),
        }
    }

    /// Whether the server says that its statements only read.
    pub(super) fn confined(&self) -> bool {
        let text = self.light.description;
        let says = ["read-only", "read only", "readonly", "select quer", "select statement", "only select"]
            .iter()
            .any(|it| text.contains(it))
            || self.named("readonly select")
            || self.named("read") && self.named("query only");
        // A default is no confinement.
        says && !["by default", "unless", "read-write", "insert, ", "can be disabled"]
            .iter()
            .any(|it| text.contains(it))
    }

    fn read(&self) -> Verdict {
        let to_people = |row: &str| self.any(row) || self.named("to") && self.named(row);
        if among(self.phrase.word, "ping ask")
            && to_people("team user channel person people everyone group human oncall")
        {
            return verdict(Effect::Send, "pings-people");
        }
        // Trying out what runs runs it, and loading code brings it in.
        if self.phrase.word == "test"
            && self.any("workflow function webhook lambda pipeline")
            && names_after(self.phrase)
        {
            return verdict(Effect::Execute, "runs");
        }
        if self.phrase.word == "load" && self.any("plugin module extension addon") {
            return verdict(Effect::Write, "brings-software").also(Effect::Execute);
        }
        if self.phrase.word == "format" && self.any("disk drive volume partition") {
            return verdict(Effect::Destroy, "empties-a-store");
        }
        if self.any("login oauth signin") && self.named("link url start begin flow") {
            return verdict(Effect::Account, "opens-login");
        }
        let names_after = names_after(self.phrase);
        if self.phrase.word == "log" && names_after && !is(self.head(), Thing::Glance) {
            return verdict(Effect::Write, "logs-an-entry");
        }
        if self.phrase.word == "report"
            && names_after
            && self.any("bug issue problem abuse incident spam violation error")
        {
            return verdict(Effect::Send, "reports-to-people");
        }
        if self.phrase.word == "convert" && self.any("lead prospect trial deal quote") {
            return verdict(Effect::Write, "write-verb");
        }
        if self.signal(Signal::Command)
            && self.phrase.strength == Strength::Noun
            && !self.confined()
            && !self.any("code")
        {
            return verdict(Effect::Execute, "runs-command");
        }
        if self.phrase.sense == Sense::Fetch
            && self.signal(Signal::FreeUrl)
            && self.signal(Signal::HttpMethod)
        {
            return verdict(Effect::Send, "http-request").also(Effect::Fetch);
        }
        if self.any("secret credential password privatekey accesskey apikey")
            && !self.any("scanning leak alert")
        {
            return verdict(Effect::Read, "read-verb").also(Effect::Account);
        }
        verdict(Effect::Read, "read-verb")
    }

    fn query(&self) -> Verdict {
        if self.any("option dropdown checkbox radio")
            || self.phrase.word == "select" && self.signal(Signal::Widget)
        {
            return verdict(Effect::Write, "touch").also(Effect::Send);
        }
        if self.signal(Signal::Command) && !self.confined() {
            return verdict(Effect::Execute, "runs-command");
        }
        verdict(Effect::Read, "query-verb")
    }

    fn create(&self) -> Verdict {
        let leads_out = self.any("webhook hook forwarder forwarding")
            || self.head() == "subscription" && self.signal(Signal::FreeUrl);
        if leads_out && !self.head_is(Thing::Access) {
            return verdict(Effect::Send, "opens-a-way-out");
        }
        if self.head() == "key" {
            return verdict(Effect::Account, "access-thing");
        }
        if self.head() == "request" && self.any("api http") {
            let out = verdict(Effect::Send, "http-request").also(Effect::Fetch);
            return if self.signal(Signal::FreeUrl) { out } else { verdict(Effect::Execute, "calls-code") };
        }
        if self.any("group chat channel conversation room") && self.signal(Signal::People) {
            return verdict(Effect::Send, "gathers-people").also(Effect::Account);
        }
        if self.any("draft") && !matches!(self.head(), "pr" | "mr" | "issue") {
            return verdict(Effect::Write, "draft");
        }
        if self.head_is(Thing::Spoken) {
            return verdict(Effect::Send, "spoken-thing");
        }
        if self.any("task subtask todo ticket") && self.signal(Signal::Assignee) {
            return verdict(Effect::Send, "task-for-others");
        }
        if self.head() == "note" && (self.signal(Signal::Tracker) || self.named("incident issue ticket case"))
        {
            return verdict(Effect::Send, "note-in-a-tracker");
        }
        if self.any("presigned signed public share shareable shared") && matches!(self.head(), "url" | "link")
            || self.head() == "sharelink"
        {
            return verdict(Effect::Send, "opens-a-link").also(Effect::Account);
        }
        if self.touches_access() {
            return verdict(Effect::Account, "access-thing");
        }
        if self.any("checkout") {
            return verdict(Effect::Spend, "money-thing");
        }
        if self.head() == "reaction" {
            return verdict(Effect::Write, "write-verb").also(Effect::Send);
        }
        self.change_of_value()
    }

    fn change(&self) -> Verdict {
        if self.any("webhook hook") && !self.head_is(Thing::Access)
            || is(self.head(), Thing::Published) && !self.any("draft template")
        {
            return verdict(Effect::Send, "published-thing");
        }
        if matches!(self.phrase.word, "assign" | "unassign" | "reassign")
            && !self.named("role permission policy group team org workspace project license")
        {
            return verdict(Effect::Write, "write-verb");
        }
        if self.phrase.word == "subscribe" && (self.signal(Signal::FreeUrl) || self.signal(Signal::Address)) {
            return verdict(Effect::Send, "opens-a-way-out").also(Effect::Account);
        }
        if self.any("contract") && self.signal(Signal::Signs) {
            return verdict(Effect::Execute, "calls-a-contract").also(Effect::Spend);
        }
        if self.phrase.word == "write" && self.head_is(Thing::Spoken) {
            return verdict(Effect::Send, "spoken-thing");
        }
        if self.touches_access() {
            return verdict(Effect::Account, "access-thing");
        }
        if self.touches_money() && self.head() == "subscription"
            || self.phrase.word == "subscribe" && self.any("plan")
        {
            return verdict(Effect::Spend, "money-thing");
        }
        self.change_of_value()
    }

    /// What creating and changing have in common.
    fn change_of_value(&self) -> Verdict {
        let creates = self.phrase.sense == Sense::Create;
        if self.head_is(Thing::Advert) && (self.head() != "campaign" || self.signal(Signal::Terms))
            || self.any("budget")
        {
            return verdict(Effect::Spend, "advertising");
        }
        if creates
            && self.touches_money()
            && !self.any("item draft")
            && self.head() != "invoice"
            && self.head() != "transaction"
        {
            return verdict(Effect::Spend, "money-thing");
        }
        if self.signal(Signal::Terms) {
            return verdict(Effect::Spend, "terms-of-trade");
        }
        // What is brought into being runs at once, or when its time comes.
        if creates && among(self.head(), "run execution cron cronjob crontab") {
            return verdict(Effect::Execute, "runs");
        }
        if self.phrase.word == "reset" && (self.head_is(Thing::Stock) || self.any("repo device project")) {
            return verdict(Effect::Destroy, "empties-a-store");
        }
        if self.signal(Signal::RemoteCommit) && self.any("file content readme document page")
            || self.head() == "file" && self.signals_nothing_local() && self.says_repository()
        {
            return verdict(Effect::Send, "commit-to-remote");
        }
        if (self.head_is(Thing::Software) || self.any("helm"))
            && !self.any("worker function")
            && self.phrase.word != "rename"
            || self.any("container")
            || self.named("apply")
        {
            return verdict(Effect::Write, "brings-software").also(Effect::Execute);
        }
        if self.signal(Signal::Command) || self.head_is(Thing::Language) && !self.any(MARKS) {
            return verdict(
                if self.any("table index view") { Effect::Write } else { Effect::Execute },
                "writes-code",
            );
        }
        if self.any("call") && self.signal(Signal::Recipient) {
            return verdict(Effect::Send, "call");
        }
        verdict(Effect::Write, "write-verb")
    }

    fn signals_nothing_local(&self) -> bool {
        !self.signal(Signal::LocalPath) || self.signal(Signal::RemoteCommit)
    }

    fn says_repository(&self) -> bool {
        let text = self.light.description;
        text.contains("repositor") || text.contains("commit") || text.contains(" project")
    }

    fn write(&self) -> Verdict {
        let made = verdict(Effect::Write, "write-verb");
        if self.named("trash") {
            return made.also(Effect::Destroy);
        }
        if self.phrase.word == "lock" && self.named("vault account user") || self.any("visibility") {
            return verdict(Effect::Account, "access-thing");
        }
        let told = self.head_is(Thing::Spoken) || self.any("campaign broadcast");
        if matches!(self.phrase.word, "schedule" | "queue") && told {
            return verdict(Effect::Send, "sends-later");
        }
        if matches!(self.phrase.word, "complete" | "finish" | "schedule" | "release" | "settle")
            && self.touches_money()
            || self.signal(Signal::Amount)
                && matches!(self.phrase.word, "wrap" | "unwrap" | "settle" | "move")
        {
            return verdict(Effect::Spend, "money-thing");
        }
        if matches!(self.phrase.word, "upgrade" | "downgrade") && self.any("plan subscription") {
            return verdict(Effect::Spend, "changes-a-contract");
        }
        if matches!(self.phrase.word, "link" | "connect") && self.any("account") {
            return verdict(Effect::Account, "access-thing");
        }
        if matches!(self.head(), "ad" | "adset") {
            return verdict(Effect::Spend, "advertising");
        }
        if self.phrase.word == "react" {
            return made.also(Effect::Send);
        }
        if self.phrase.word == "import" && self.any("user member role permission credential") {
            return verdict(Effect::Account, "access-thing");
        }
        if self.signal(Signal::Terms) || self.phrase.word == "close" && self.any("position trade") {
            return verdict(Effect::Spend, "terms-of-trade");
        }
        if self.head() == "migration" {
            return verdict(Effect::Execute, "runs-migration");
        }
        made
    }

    fn download(&self) -> Verdict {
        let made = verdict(Effect::Write, "download");
        if self.signal(Signal::FreeUrl) { made.also(Effect::Fetch) } else { made }
    }

    fn upload(&self) -> Verdict {
        if self.signal(Signal::PublicPlace) || !self.signal(Signal::Parent) {
            return verdict(Effect::Send, "upload");
        }
        verdict(Effect::Write, "attach")
    }

    fn send(&self) -> Verdict {
        if among(self.head(), "money fund payment tip coin token crypto transaction invoice")
            && self.phrase.strength == Strength::Verb
        {
            return verdict(Effect::Spend, "sends-money");
        }
        if self.any("command code query keystroke script stdin") && self.phrase.word == "send" {
            return verdict(Effect::Execute, "sends-command");
        }
        if self.any("key input click") && self.phrase.word == "send" {
            return verdict(Effect::Write, "touch").also(Effect::Send);
        }
        verdict(Effect::Send, "send-verb")
    }

    fn post(&self) -> Verdict {
        if is(self.head(), Thing::Report) || self.any("search query") {
            return verdict(Effect::Read, "api-read");
        }
        if self.phrase.api && !self.signal(Signal::FreeUrl) {
            return self.create();
        }
        verdict(Effect::Send, "send-verb")
    }

    fn submit(&self) -> Verdict {
        if self.head_is(Thing::Money) {
            return verdict(Effect::Spend, "money-thing");
        }
        if self.head_is(Thing::Runnable) && !self.any("action task") {
            return verdict(Effect::Execute, "runs");
        }
        verdict(Effect::Send, "send-verb")
    }
}
