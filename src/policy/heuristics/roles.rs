//! The role of each argument, once the effect of the tool is known.
//!
//! The last word of a key says what the argument is (`message_id` is an id), the word before it of
//! what (`channel_id` is the id of a channel); types, formats and enumerations settle doubt. The
//! order of the tests is the rule: what carries authority is looked for first, what is harmless
//! last, so a key that could be both carries authority.

use std::collections::BTreeSet;

use super::lexicon::{Sense, among};
use super::schema::{Arg, Args};
use super::signals::{
    Language, Object, described_recipient, is_address, is_command, is_free_url, is_recipient, may_be_own,
};
use super::verbs::Reading;
use crate::policy::{Effect, Role};
use crate::provenance::Kind;

/// What an argument was found to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) role: Role,
    pub(super) kind: Option<Kind>,
    pub(super) audience: bool,
    pub(super) rule: &'static str,
}

fn found(role: Role, kind: Option<Kind>, by: &'static str) -> Found {
    Found { role, kind, audience: false, rule: by }
}

/// What the role of an argument depends on besides its own words.
pub(super) struct Surroundings<'a> {
    pub(super) effect: Effect,
    pub(super) reading: &'a Reading,
    pub(super) object_is: Object,
    /// Whether `from` and `to` are the ends of a range.
    pub(super) between: bool,
    pub(super) language: Language,
    /// Paths of the arguments that name where a send goes.
    pub(super) places: BTreeSet<String>,
}

const CREDENTIALS: &str = "password secret token credential privatekey apikey accesskey accesstoken apitoken otp mnemonic \
    bearer cookie authorization passcode keypair header sshkey";
const PATHS: &str = "path filepath filename directory cwd workdir root dirpath pathname dirname folderpath \
    ruta pfad datei chemin fichier archivo";
const AMOUNTS: &str =
    "amount price quantity fee cost budget notional bid total percentage percent sum salary tip";
const IDS: &str = "id key slug arn ref sha hash symbol handle ts jid pid name number identifier cid ticker address code \
    username iban asin sku isbn login token";
const PEOPLE: &str = "user assignee reviewer watcher member person author contact people lead employee mention subscriber \
    customer client recipient";
const THINGS: &str = "table index database collection bucket namespace branch owner repo project workspace team board channel \
    chat room thread parent user assignee reviewer watcher member group customer invoice product subscription org issue \
    ticket task page item card device cluster zone container node pod resource column sheet cell topic queue event \
    calendar document milestone epic sprint folder space site account revision commit base tag domain host hostname \
    service package library image volume network job workflow environment dashboard monitor model deployment server \
    charge payment_intent dispute role policy subreddit playlist song track album video record entity object target \
    source destination conversation list label template form view field context namespace instance agent voice file \
    article contract session tab element selector";
const SELECTORS: &str = "limit offset cursor format language locale timezone region country date time timeout duration size count \
    depth mode type sort order filter query search term keyword pattern status state color priority level kind \
    strategy direction interval frequency width height scale seed temperature start end since until before after by \
    page per max min from to operator operation action method sides side position pos range flag option setting q \
    currency encoding lang unit on layout structure protocol driver engine version schema suffix prefix boundary resolution quality timestamp datetime day week month year hour minute second period \
    clause where having like enabled include exclude field fields feed category subtype event intent scope tls ttl";
const SELECTOR_STARTS: &str = "max min include exclude is has enable disable sort order filter limit page per num should allow \
    skip only with use start end since until created updated wait show return no auto";
const CONTENTS: &str = "body text content message title subject description summary comment note html markdown data payload value \
    metadata attachment caption prompt instruction block bio headline answer reason property input document \
    attribute memo reply greeting detail label image icon cover";
/// What a send may be addressed to, when no one is named.
const PLACES: &str = "space owner repo project channel chat room conversation queue topic bucket jid stream feed site subreddit desk \
    guild server form inbox destination target forum board";

/// The role of one argument.
pub(super) fn role(arg: &Arg, around: &Surroundings<'_>) -> Found {
    let mutates = !matches!(around.effect, Effect::Read | Effect::Fetch);
    if mutates && is_audience(arg, around) {
        return Found { audience: true, ..found(Role::Selector, None, "audience") };
    }
    if arg.types.only_boolean() {
        return found(Role::Selector, None, "boolean");
    }
    if let Some(authority) = authority(arg, around, mutates) {
        return authority;
    }
    if around.places.iter().any(|it| {
        arg.path.strip_prefix(it.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }) {
        return found(Role::Destination, kind(arg), "place-of-a-send");
    }
    if is_credential(arg) {
        return found(Role::Credential, None, "credential-word");
    }
    let writes_code =
        around.reading.rules.iter().any(|it| it == "writes-code") && arg.head_in("body source content");
    let instructs = around.effect == Effect::Execute
        && arg.head_in("input prompt payload argument variable instruction data");
    if is_command(arg, around.language) || writes_code || instructs {
        return found(Role::Command, None, "command-word");
    }
    if let Some(place) = local_path(arg, around) {
        return place;
    }
    plain(arg, around, mutates)
}

/// Recipients, addresses, urls and hosts.
fn authority(arg: &Arg, around: &Surroundings<'_>, mutates: bool) -> Option<Found> {
    let moves =
        matches!(around.reading.sense, Some(Sense::Write)) && arg.first() == "to" && arg.words.len() == 1;
    let end_of_range = around.between && arg.words.len() == 1 && arg.first() == "to";
    if mutates && is_recipient(arg) && !moves && !end_of_range {
        return Some(found(Role::Destination, kind(arg), "recipient-word"));
    }
    if mutates && described_recipient(arg) {
        return Some(found(Role::Destination, kind(arg), "description-names-recipient"));
    }
    if is_free_url(arg) {
        return Some(found(Role::Destination, Some(Kind::Url), "url-word"));
    }
    if is_address(arg) {
        let outward =
            around.object_is == Object::Other && !arg.has("customer contact lead vendor") && mutates
                || matches!(around.reading.sense, Some(Sense::Invite | Sense::Share | Sense::Send));
        let role = if outward {
            Role::Destination
        } else if mutates && around.effect != Effect::Destroy {
            Role::Content
        } else {
            Role::Target
        };
        return Some(found(role, kind(arg), "address-word"));
    }
    let connects = around.reading.rules.iter().any(|it| {
        among(it.strip_prefix("verb:").unwrap_or(""), "ping traceroute scan connect curl browse wget dial fetch visit scrape crawl probe resolve lookup")
    });
    if arg.head_in("host hostname domain ip")
        && (connects || mutates && around.effect != Effect::Destroy && shares(around))
    {
        return Some(found(Role::Destination, Some(Kind::Host), "host-word"));
    }
    if around.reading.sense == Some(Sense::Install) && arg.head_in("repo registry") {
        return Some(found(Role::Destination, Some(Kind::Url), "source-of-software"));
    }
    let gathers = around.reading.sense == Some(Sense::Invite)
        || around.reading.rules.iter().any(|it| it == "gathers-people");
    if gathers
        && arg.has("user member participant contact")
        && arg.head_in("id user member participant contact")
    {
        return Some(found(Role::Destination, kind(arg), "grantee"));
    }
    if shares(around) && arg.head_in("username login") {
        return Some(found(Role::Destination, kind(arg), "grantee"));
    }
    let pays = matches!(around.reading.sense, Some(Sense::Spend | Sense::Transfer));
    let hands_money = around.effect == Effect::Spend
        && (pays
            || among(
                around.reading.head(),
                "transfer payout withdrawal payment remittance transferencia pago zahlung ueberweisung virement paiement",
            ));
    if hands_money && arg.words.len() == 1 && arg.head_in("destination vpa upi receiver validator") {
        return Some(found(Role::Destination, Some(Kind::Account), "payee-word"));
    }
    let names_an_account = hands_money && arg.has("iban");
    if (pays || hands_money)
        && (names_an_account
            || arg.head_in("account iban wallet address vendor merchant payee supplier beneficiary"))
        && !arg.first_in("from source my payment token contract debit")
    {
        return Some(found(Role::Destination, Some(Kind::Account), "payee-word"));
    }
    None
}

/// Whether the call gives others access.
fn shares(around: &Surroundings<'_>) -> bool {
    matches!(around.reading.sense, Some(Sense::Invite | Sense::Share))
        || around.effect == Effect::Account
            && around.reading.object.iter().any(|it| among(it, "permission grant access"))
}

/// Whether the argument says who may see the result.
fn is_audience(arg: &Arg, around: &Surroundings<'_>) -> bool {
    let names = arg.has("visibility audience privacy sharing anyone everyone")
        || arg.has("private public")
            && (arg.words.len() <= 2)
            && !arg.head_in("key id ip url net network note dns");
    let grants = matches!(around.effect, Effect::Account | Effect::Send)
        && arg.head_in("role permission")
        && !arg.types.object
        && shares(around);
    let anyone = arg.choices.iter().any(|it| among(it, "anyone public everyone world unlisted"));
    names || grants || anyone
}

fn is_credential(arg: &Arg) -> bool {
    if arg.types.only_number() {
        return false;
    }
    let pages =
        arg.has("page next cursor continuation max idempotency sync start confirm") && arg.head() == "token";
    let secret_value = arg.head() == "value" && arg.has("secret password token");
    (arg.head_in(CREDENTIALS) && !pages) || secret_value
}

fn local_path(arg: &Arg, around: &Surroundings<'_>) -> Option<Found> {
    let named = arg.head_in(PATHS) && !arg.first_in("include exclude filter sort order url")
        || arg.head() == "file" && arg.types.string && arg.words.last().is_some_and(|it| it.plural)
        || arg.head() == "folder" && arg.first_in("output target local dest destination source")
        || arg.head_in("file")
            && !arg.types.object
            && (arg.said(&["path"]) || arg.has("output config input dest destination source"));
    let names_the_file = arg.head() == "file"
        && arg.words.len() == 1
        && !arg.types.object
        && around.reading.head() == "file"
        && matches!(around.reading.sense, Some(Sense::Read | Sense::Change | Sense::Destroy | Sense::Remove));
    let between_places = matches!(around.reading.sense, Some(Sense::Write))
        && arg.words.len() == 1
        && arg.head_in("source destination from to")
        && !arg.types.object
        && !arg.types.number;
    (named || names_the_file || between_places).then(|| found(Role::Path, Some(Kind::Path), "path-word"))
}

/// What is left: amounts, things, settings and contents.
fn plain(arg: &Arg, around: &Surroundings<'_>, mutates: bool) -> Found {
    let part = arg.head_in("value cap off constraint") && arg.has("budget bid spend price amount percent");
    if (arg.head_in(AMOUNTS) || part) && mutates && !arg.types.object {
        return found(Role::Amount, None, "amount-word");
    }
    if arg.choices.len() > 1 && !arg.head_in("id key") {
        return found(Role::Selector, None, "enumeration");
    }
    if arg.types.only_number() && !names_a_thing(arg, around) {
        return found(Role::Selector, None, "number");
    }
    if names_a_thing(arg, around) && !arg.holds_others {
        return found(Role::Target, kind(arg), "thing-word");
    }
    if mutates && (arg.types.object && !arg.holds_others || arg.head() == "field") {
        return found(Role::Content, None, "fields");
    }
    if is_selector(arg) {
        return found(Role::Selector, None, "selector-word");
    }
    if mutates {
        let rule = if arg.head_in(CONTENTS) { "content-word" } else { "default" };
        return found(Role::Content, None, rule);
    }
    found(Role::Selector, None, "default")
}

fn is_selector(arg: &Arg) -> bool {
    arg.head_in(SELECTORS) || arg.first_in(SELECTOR_STARTS) || arg.format.starts_with("date")
}

/// Whether the argument names one thing that is there.
pub(super) fn names_a_thing(arg: &Arg, around: &Surroundings<'_>) -> bool {
    let head = arg.head();
    if arg.types.object && head != "parent" {
        return false;
    }
    let several = arg.path.ends_with("[]") || arg.words.last().is_some_and(|it| it.plural);
    let part_of_new =
        around.reading.sense == Some(Sense::Create) && several && !arg.head_in(IDS) && !arg.has(PEOPLE);
    if part_of_new || head == "page" && arg.types.only_number() {
        return false;
    }
    if head == "path" {
        return arg.first_in("url");
    }
    if head == "url" && arg.words.len() > 1 {
        return !is_free_url(arg) && !arg.has("image icon link");
    }
    if head == "name" {
        let creates = matches!(around.reading.sense, Some(Sense::Create));
        let about_object = arg.words.len() == 1 || arg.has(around.reading.head());
        let changes = around.effect == Effect::Write || around.reading.sense == Some(Sense::Change);
        let renames = arg.first_in("new display first last full file") || changes && about_object;
        return !(creates && about_object || renames);
    }
    if arg.first_in("include exclude max min has is sort order filter num") {
        return false;
    }
    if head == "number" && arg.words.len() == 1 {
        return true;
    }
    if head == "number" || head == "code" {
        return arg.words.len() > 1 && !arg.first_in("page max num language country currency postal zip");
    }
    arg.head_in(IDS) || arg.head_in(THINGS)
}

/// Whether the argument names one thing by its id rather than a person or a flag.
fn is_place_id(arg: &Arg, around: &Surroundings<'_>) -> bool {
    names_a_thing(arg, around)
        && !arg.has(PEOPLE)
        && !arg.types.only_boolean()
        && arg.choices.is_empty()
        && !arg.has("account index step label template file image attachment voice model commit sha branch milestone stage state type sort tag")
}

/// The arguments that say where a send goes when none names a recipient: the channel, the
/// repository, or else the first thing that every call names.
pub(super) fn places(args: &Args, around: &Surroundings<'_>) -> BTreeSet<String> {
    let mut out = BTreeSet::new();
    if around.effect != Effect::Send {
        return out;
    }
    let tells_a_person =
        around.reading.object.iter().any(|it| among(it, "message dm text notification sms push event"))
            || matches!(
                around.reading.rules.first().map(String::as_str),
                Some("verb:message" | "verb:dm" | "verb:notify")
            );
    let noun = |arg: &Arg| -> String {
        let mut words = arg.words.iter().rev();
        let head = words.next().map_or("", |it| it.text.as_str());
        if among(head, "id key slug url arn name number token") && arg.words.len() > 1 {
            words.next().map_or("", |it| it.text.as_str()).to_owned()
        } else {
            head.to_owned()
        }
    };
    let is_place = |arg: &Arg| {
        let noun = noun(arg);
        let person = tells_a_person && among(&noun, "user member contact person group");
        (among(&noun, PLACES) && !arg.head_in("path type") || person)
            && !arg.types.only_boolean()
            && !arg.holds_others
            && arg.choices.is_empty()
            && !arg.has("source assignee reviewer message from")
    };
    let names_required = args.list.iter().any(|it| it.required && is_place_id(it, around));
    let named = args.list.iter().any(is_recipient);
    for arg in args.list.iter().filter(|it| is_place(it)) {
        let led_to = arg.first_in("target destination to");
        let person = among(&noun(arg), "user member contact person");
        if arg.required || led_to || person || !args.says_required || !names_required && !named {
            out.insert(arg.path.clone());
        }
    }
    let addressed = args.list.iter().any(|it| {
        !it.types.only_boolean()
            && (is_recipient(it)
                || is_free_url(it)
                || is_address(it) && !may_be_own(it) && around.object_is == Object::Other)
    });
    let opens = around.reading.rules.iter().any(|it| it == "verb:publish" || it == "verb:respond");
    let reads = around.reading.sense == Some(Sense::Read);
    if out.is_empty() && !addressed && !opens && !reads {
        let mut ids = args
            .list
            .iter()
            .filter(|it| is_place_id(it, around) && (!it.holds_others || it.head() == "parent"));
        let first = ids.clone().find(|it| it.required).or_else(|| ids.next());
        out.extend(first.map(|it| it.path.clone()));
    }
    out
}

/// The kind of destination or handle that the words, the format and the role promise.
fn kind(arg: &Arg) -> Option<Kind> {
    let head = arg.head();
    if arg.format == "email" || arg.has("email") {
        return Some(Kind::Email);
    }
    if arg.format == "uri" || head == "url" || arg.has("webhook endpoint callback") {
        return Some(Kind::Url);
    }
    if arg.has("phone phonenumber sms") {
        return Some(Kind::Phone);
    }
    if arg.has("iban wallet") {
        return Some(Kind::Account);
    }
    if among(head, "id key arn number sha hash jid ts") {
        return Some(Kind::Id);
    }
    if arg.has("channel room chat") {
        return Some(Kind::Channel);
    }
    None
}
