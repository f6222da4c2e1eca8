//! What the arguments of a tool say together: that it has recipients, that it takes a url, that it
//! commits to a repository. The effect of a name is judged in this light.
//!
//! Looks at the words of the arguments only; which role each argument has is the business of
//! `roles`, which comes later because roles depend on the effect.

use std::collections::BTreeSet;

use super::lexicon::{Thing, among, is};
use super::schema::{Arg, Args};

/// One thing that the arguments say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Signal {
    /// An argument names who receives: to, cc, attendees, webhook.
    Recipient,
    /// An argument is a mail address or a telephone number, and not of an entry about a person.
    Address,
    /// An argument is a url that may point anywhere.
    FreeUrl,
    /// An argument says how much money.
    Amount,
    /// Arguments are the terms of a trade or an advertising budget.
    Terms,
    /// An argument is a statement, a command or code.
    Command,
    /// An argument is an HTTP method or the body of a request.
    HttpMethod,
    /// An argument is a path of an API.
    ApiPath,
    /// An argument is text or data that travels.
    Body,
    /// An argument is a path of the local disk.
    LocalPath,
    /// A file is committed to a repository that is not a local folder.
    RemoteCommit,
    /// An argument names a ticket, an issue or another thing that a team watches.
    Tracker,
    /// An argument names a bucket or a site.
    PublicPlace,
    /// An argument names the thing a file is attached to.
    Parent,
    /// A branch or revision is named.
    Revision,
    /// An argument says where results are delivered later.
    Webhook,
    /// An argument says who has to do it.
    Assignee,
    /// An argument is a key that signs.
    Signs,
    /// An argument says what others may do.
    Permissions,
    /// The schema declares arguments at all.
    Declared,
    /// An argument may hold the wording of a query under another name.
    Wording,
    /// An argument names several people.
    People,
    /// An argument names a part of a page or a screen.
    Widget,
}

/// The signals of a tool.
#[derive(Debug, Clone, Default)]
pub(super) struct Signals(BTreeSet<Signal>);

impl Signals {
    /// Whether the arguments say it.
    pub(super) fn has(&self, signal: Signal) -> bool {
        self.0.contains(&signal)
    }

    /// Reads them off the arguments. `about_person`: the tool's object is an entry about a person.
    /// `speaks_sql`: name or description name a language in which a `query` is a statement.
    pub(super) fn of(args: &Args, object_is: Object, language: Language) -> Self {
        let mut out = BTreeSet::new();
        let anywhere = |row: &str| args.list.iter().any(|arg| arg.has(row));
        // `from` and `to` without anything that travels are the ends of a range or a move.
        let between = goes_between(args);
        if !args.list.is_empty() {
            out.insert(Signal::Declared);
        }
        for arg in &args.list {
            if arg.types.only_boolean() && !arg.has("only permission") {
                continue;
            }
            let end_of_range = between && arg.first() == "to";
            if is_recipient(arg) && !end_of_range || described_recipient(arg) {
                out.insert(Signal::Recipient);
            }
            if is_address(arg) && object_is == Object::Other && !arg.of_a_person() {
                out.insert(Signal::Address);
            }
            if is_free_url(arg) {
                out.insert(Signal::FreeUrl);
            }
            if arg.head_in("amount price fee notional sum total funds") {
                out.insert(Signal::Amount);
            }
            if is_terms(arg) {
                out.insert(Signal::Terms);
            }
            if is_webhook(arg) {
                out.insert(Signal::Webhook);
            }
            if arg.head_in("permission acl")
                || arg.head() == "level" && arg.has("access")
                || arg.inside("group user member team") && arg.has("only") && arg.has("read")
            {
                out.insert(Signal::Permissions);
            }
            if arg.has("user member participant contact") && arg.words.last().is_some_and(|it| it.plural) {
                out.insert(Signal::People);
            }
            if arg.head_in("selector ref element xpath") {
                out.insert(Signal::Widget);
            }
            if arg.head_in(
                "q query text input string expression body content request payload code filter pipeline",
            ) {
                out.insert(Signal::Wording);
            }
            if arg.has("assignee") {
                out.insert(Signal::Assignee);
            }
            if arg.head_in("privatekey mnemonic keypair") {
                out.insert(Signal::Signs);
            }
            if is_command(arg, language) {
                out.insert(Signal::Command);
            }
            if arg.head_in("method verb")
                || (arg.head_in("body payload data headers header") && arg.words.len() == 1)
            {
                out.insert(Signal::HttpMethod);
            }
            if arg.head_in("path endpoint route") {
                out.insert(Signal::ApiPath);
            }
            if arg.head_in("body text content message html markdown data payload comment caption") {
                out.insert(Signal::Body);
            }
            if arg.head_in("path filepath filename file directory folder") && !arg.has("url") {
                out.insert(Signal::LocalPath);
            }
            if arg.has("issue incident ticket mr pr noteable discussion alert") {
                out.insert(Signal::Tracker);
            }
            if arg.has("bucket site blob space") {
                out.insert(Signal::PublicPlace);
            }
            if arg.head_in("id key name number")
                && arg.words.len() > 1
                && !arg.has("model voice file request")
            {
                out.insert(Signal::Parent);
            }
            if arg.head_in("branch ref sha revision commit") || arg.first_in("branch ref") {
                out.insert(Signal::Revision);
            }
        }
        let ordered = |arg: &Arg| arg.head() == "type" && arg.first() == "order";
        if anywhere("quantity") && args.list.iter().any(ordered) {
            out.insert(Signal::Terms);
        }
        let hosted =
            anywhere("owner project org") || anywhere("repo") && !args.list.iter().any(is_local_repo);
        let committed =
            anywhere("branch commit sha") && args.list.iter().any(|it| it.head_in("message content file"));
        if hosted && committed {
            out.insert(Signal::RemoteCommit);
        }
        Self(out)
    }
}

/// What kind of thing the tool acts on, as far as addresses among its arguments are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Object {
    /// An entry about a person or a company: addresses are its data.
    Person,
    /// Anything else.
    Other,
}

/// Which of the words that may mean a language do so for this tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Language {
    /// An argument called `query` is a statement of a language that may write, not words to look for.
    pub(super) query: bool,
    /// An argument called `code` is a program, not the number of an article.
    pub(super) code: bool,
}

impl Arg {
    /// The last word of the key.
    pub(super) fn head(&self) -> &str {
        self.words.last().map_or("", |it| it.text.as_str())
    }

    /// Whether the last word stands in the row.
    pub(super) fn head_in(&self, row: &str) -> bool {
        among(self.head(), row)
    }

    /// The first word of the key.
    pub(super) fn first(&self) -> &str {
        self.words.first().map_or("", |it| it.text.as_str())
    }

    /// Whether the first word stands in the row.
    pub(super) fn first_in(&self, row: &str) -> bool {
        among(self.first(), row)
    }

    /// Whether any word of the key stands in the row.
    pub(super) fn has(&self, row: &str) -> bool {
        self.words.iter().any(|it| among(&it.text, row))
    }

    /// Whether any word of the object around it stands in the row.
    pub(super) fn inside(&self, row: &str) -> bool {
        self.parent.iter().any(|it| among(&it.text, row))
    }

    /// Whether the key or the object around it says that this belongs to an entry about a person.
    fn of_a_person(&self) -> bool {
        let modifiers = self.words.iter().rev().skip(1);
        modifiers.chain(&self.parent).any(|it| {
            is(&it.text, Thing::Person)
                && !among(&it.text, "attendee guest recipient subscriber people person user")
        })
    }

    /// Whether the description of the argument contains one of the phrases.
    pub(super) fn said(&self, phrases: &[&str]) -> bool {
        phrases.iter().any(|it| self.description.contains(it))
    }
}

/// What a description says of code.
const CODE: &[&str] =
    &["javascript", "python", "script", "snippet", "source code", "code to", "execute", "program"];

const RECIPIENTS: &str = "recipient addressee receiver attendee invitee participant guest grantee payee cc bcc \
    webhook callback responder spender follower signer registrant destinatario empfaenger destinataire beneficiario \
    beneficiary beneficiaire";
const ADDRESS_PARTS: &str = "email address account phone phonenumber number user username recipient id channel name wallet contact \
    chat jid list group handle iban person people team";

/// Whether the arguments have the two ends of a range or a move, and nothing that travels.
pub(super) fn goes_between(args: &Args) -> bool {
    let is = |word: &str| args.list.iter().any(|it| it.words.len() == 1 && it.head() == word);
    is("from")
        && is("to")
        && !args.list.iter().any(|it| {
            it.head_in("body text message subject content amount value quantity data payload html cc bcc")
                || it.has("email")
        })
}

/// Whether the argument says who receives.
pub(super) fn is_recipient(arg: &Arg) -> bool {
    if arg.types.only_boolean() || arg.format.starts_with("date") || arg.format == "time" {
        return false;
    }
    // A webhook's secret, a participant's note or the kind of an attendee is none.
    let names_one = |row: &str| {
        arg.head_in(row)
            || arg.head_in("email address id phone phonenumber url list number endpoint user username")
    };
    let number = arg.types.only_number() && !arg.head_in("id phone phonenumber number");
    let names_a_hook = arg.has("webhook callback") && arg.head() == "id";
    if number || names_a_hook || !arg.choices.is_empty() {
        return false;
    }
    let opaque = !arg.holds_others
        && arg.has("webhook recipient attendee")
        && arg.head_in("data config subscription request object");
    if arg.has(RECIPIENTS) && (names_one(RECIPIENTS) || opaque) && !arg.has("max min count type") {
        return true;
    }
    if arg.inside(RECIPIENTS) && arg.head_in("email address id phone phonenumber number url username jid") {
        return true;
    }
    let time = arg.said(&["date", "timestamp", "time ", "iso 8601", "epoch", "currency", "unit "])
        || arg.types.only_number() && arg.words.len() == 1;
    match arg.first() {
        "to" => !time && (arg.words.len() == 1 || arg.words.len() <= 3 && arg.head_in(ADDRESS_PARTS)),
        "reply" => arg.words.len() == 2 && arg.head() == "to",
        "send" | "forward" | "deliver" | "email" | "ship" | "pay" | "transfer" | "message" | "notify"
        | "share" => arg.head_in("to with") || arg.first() == "notify" && arg.words.len() <= 2,
        _ => false,
    }
}

/// Whether the argument says where results are delivered later.
fn is_webhook(arg: &Arg) -> bool {
    let named = arg.has("webhook callback") && arg.head_in("webhook callback url endpoint");
    named || arg.inside("webhook callback") && arg.head() == "url"
}

/// Whether the argument is a mail address or a telephone number.
pub(super) fn is_address(arg: &Arg) -> bool {
    let own = arg.head_in("email phone phonenumber")
        || arg.head() == "address" && arg.has("email")
        || arg.head() == "number" && (arg.has("phone mobile") || arg.inside("phone customer callee"));
    (own || arg.format == "email" || arg.format == "idn-email")
        && !arg.first_in("from sender reply my source")
        && !arg.inside("invoicer sender merchant seller from biller")
        && !arg.types.object
        && arg.choices.is_empty()
        && !arg.inside("answer")
}

/// Whether the address may say for whom the server acts: `user_google_email`. It is judged like any other, and
/// says nothing of where a message goes.
pub(super) fn may_be_own(arg: &Arg) -> bool {
    arg.first_in("user account") && arg.words.len() > 2
}

/// Words before `url` of something that is shown to people and not called.
const SHOWN: &str =
    "icon thumbnail avatar logo developer homepage profile cover support privacy term link documentation";

/// Words before `url` that make it the address of a thing of the server's own.
const OWN_THINGS: &str = "queue project workflow issue board job build run pipeline card ticket pr mr commit dashboard \
    document notebook event thread message channel database git remote sheet spreadsheet workspace folder deployment \
    sso slug repo doc table task";

/// Whether the argument is a url that may point anywhere.
pub(super) fn is_free_url(arg: &Arg) -> bool {
    if arg.types.only_boolean() || arg.types.only_number() || !arg.choices.is_empty() {
        return false;
    }
    let modifier = arg.words.iter().rev().nth(1).map_or("", |it| it.text.as_str());
    match arg.head() {
        "url" => {
            !among(modifier, OWN_THINGS)
                && !among(modifier, SHOWN)
                && !arg.inside("source citation reference answer")
        }
        "link" | "webpage" | "website" => arg.words.len() == 1 && !arg.inside("answer"),
        "endpoint" | "webhook" | "callback" => true,
        _ => (arg.format == "uri" || arg.format == "url") && !arg.head_in("id key"),
    }
}

/// Whether the argument is one of the terms of a trade or an advertising budget.
fn is_terms(arg: &Arg) -> bool {
    let trade =
        arg.has("notional leverage") || arg.has("limit stop bid trigger") && arg.head_in("price amount cap");
    trade || arg.head_in("budget bid") || arg.has("budget") && arg.head_in("amount value")
}

/// Whether the argument decides what runs.
pub(super) fn is_command(arg: &Arg, language: Language) -> bool {
    if arg.types.only_boolean() || arg.types.only_number() {
        return false;
    }
    let one = arg.words.len() == 1;
    match arg.head() {
        "sql" | "cypher" | "javascript" | "shell" | "bash" | "stdin" | "sparql" | "dockerfile"
        | "entrypoint" | "js" | "python" | "graphql" | "apex" | "comando" | "befehl" => true,
        "command" | "script" | "statement" => !arg.first_in("sub sort max num include"),
        "code" | "expression" | "program" | "function" if one => language.code || arg.said(CODE),
        "code" => arg.first_in("source js python apex script cell java sql program"),
        "snippet" => arg.has("code script"),
        "cmdline" => one,
        "query" | "mutation" => language.query && (one || arg.first_in("sql graphql cypher")),
        _ => false,
    }
}

fn is_local_repo(arg: &Arg) -> bool {
    arg.has("repo") && arg.head() == "path"
}

/// Whether the name says nothing and the description says that the argument is who receives.
pub(super) fn described_recipient(arg: &Arg) -> bool {
    let telling = "id key name body text content message title subject description url path query sql command code data file \
        template from sender html note comment value type status attachment email phone label tag format";
    !arg.types.only_boolean()
        && !arg.types.only_number()
        && !arg.types.object
        && arg.choices.is_empty()
        && !arg.head_in(telling)
        && arg.said(&[
            "recipient",
            "email address to",
            "email addresses to",
            "email address of the person",
            "phone number to",
            "address to send",
            "who to send",
            "who will receive",
            "where to send",
            "webhook url",
        ])
        && !arg.said(&["sender", "search", "filter"])
}
