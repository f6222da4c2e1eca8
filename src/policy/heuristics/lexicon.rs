//! The words of the heuristics, in tables: one row an idea, the words that carry it in a line.
//!
//! To teach Bouncer a word, add it to the row that means it. Words stand as `words` leaves them:
//! lower case, singular, written out. A word may stand in several noun rows, but in one verb row.
//! No row names a server or a product; names of languages and protocols are common property.

use std::collections::BTreeMap;
use std::sync::LazyLock;

/// What a verb does to its object. How it comes to an effect is the business of `verbs`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Sense {
    /// Looks at something.
    Read,
    /// Looks at a place; with a url that an argument chooses, a fetch.
    Fetch,
    /// Asks a database or an index; with a statement, whatever the statement does.
    Query,
    /// Brings something new into being; what, decides.
    Create,
    /// Alters something that is there; what, decides.
    Change,
    /// Alters the user's own things and nothing else.
    Write,
    /// Copies to the local disk.
    Download,
    /// Puts a file somewhere.
    Upload,
    /// Makes data reach others.
    Send,
    /// Sends, or is how an API calls to create.
    Post,
    /// Sends something to a remote place and may mean the queue or stack next door.
    Submit,
    /// Opens something that exists to others.
    Share,
    /// Takes one thing away from another, or removes it altogether.
    Remove,
    /// Loses something for good.
    Destroy,
    /// Empties something; whether that loses anything depends on what.
    Clear,
    /// Calls off.
    Cancel,
    /// Moves money.
    Spend,
    /// Hands over; money, ownership or a mere position.
    Transfer,
    /// Pays for a basket, or switches a branch.
    Checkout,
    /// Runs what it is given.
    Execute,
    /// Runs; some things that are run are only looked at.
    Run,
    /// Sets going.
    Start,
    /// Brings software into place.
    Install,
    /// Calls a person, a service or a function.
    Call,
    /// Puts code into service.
    Deploy,
    /// Makes an artefact by running a build.
    Build,
    /// Changes who gets in.
    Grant,
    /// Says yes to something.
    Approve,
    /// Asks someone in.
    Invite,
    /// Finds what a name stands for, or declares a matter settled.
    Resolve,
    /// Touches a page or a screen.
    Touch,
    /// Says little: manage, handle, process.
    Generic,
}

/// How sure a word is to be the verb of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Strength {
    /// Hardly ever anything but a verb.
    Verb,
    /// As often a noun: it is the verb only when the name has no better one.
    Noun,
}

use Sense::{
    Approve, Build, Call, Cancel, Change, Checkout, Clear, Create, Deploy, Destroy, Download, Execute, Fetch,
    Generic, Grant, Install, Invite, Post, Query, Read, Remove, Resolve, Run, Send, Share, Spend, Start,
    Submit, Touch, Transfer, Upload, Write,
};
use Strength::{Noun, Verb};

/// The verbs.
#[rustfmt::skip]
const VERBS: &[(Sense, Strength, &str)] = &[
    (Read, Verb, "get list read search view find lookup describe show retrieve count inspect explain analyze analyse compare \
        summarize summarise diff estimate calculate compute convert validate verify detect diagnose rerank discover \
        explore observe extract parse translate ask answer wait browse measure examine peek tail grep glob suggest \
        recommend identify recognize decode encode lint simulate ping introspect enumerate visualize whoami load \
        transcribe classify traceroute await geocode"),
    (Read, Noun, "check is has can preview help trace scan status log test rank format filter report \
        export watch monitor stat head aggregate recall poll echo look screenshot snapshot access think plan evaluate render"),
    (Fetch, Verb, "fetch navigate goto visit scrape crawl curl wget"),
    (Query, Noun, "query select"),
    (Create, Verb, "create add make insert generate append compose"),
    (Create, Noun, "new register open draft note record"),
    (Change, Verb, "update edit modify set patch put change upsert rotate reset configure replace rename alter enable \
        disable suspend assign unassign provision attach detach restore adjust"),
    (Change, Noun, "write save store block unblock mute promote demote activate deactivate regenerate reassign subscribe"),
    (Write, Verb, "move copy duplicate clone archive unarchive mark reorder sort merge commit stage sync import \
        upgrade pause unpause resume stop restart reboot untag tag close reopen dismiss link unlink pin unpin complete \
        finish snooze acknowledge toggle mkdir init initialize scale undo redo trash stash join leave unfollow transition optin optout flag silence upvote downvote end extend release print turn skip downgrade \
        unsubscribe unpublish split lock wrap unwrap settle"),
    (Write, Noun, "fork star label increment vote like follow cherrypick rollback react bookmark favorite \
        rebase track play queue schedule backup refresh pull remember migrate connect disconnect wake"),
    (Download, Verb, "download"),
    (Upload, Verb, "upload"),
    (Send, Verb, "nudge remind relay syndicate blast crosspost telephone retweet rsvp escalate send forward notify broadcast announce publish reply respond dispatch deliver emit"),
    (Send, Noun, "email message sms fax comment mention push text dm alert tweet contact"),
    (Post, Noun, "post"),
    (Submit, Verb, "submit"),
    (Share, Verb, "share"),
    (Remove, Verb, "remove"),
    (Destroy, Verb, "delete drop purge truncate erase wipe destroy kill terminate uninstall prune expunge shred nuke forget \
        obliterate empty discard burn flush overwrite evict deprovision decommission teardown deregister unregister delist \
        expel"),
    (Destroy, Noun, "del trim"),
    (Clear, Verb, "clear clean cleanup"),
    (Cancel, Verb, "cancel abort revert"),
    (Spend, Verb, "renew hire lend repay borrow airdrop pay buy purchase refund withdraw deposit donate sell redeem reimburse mint unstake liquidate disburse \
        remit"),
    (Spend, Noun, "place bet charge bid book order trade tip stake swap invoice bill reserve payout topup exercise"),
    (Transfer, Verb, "transfer wire"),
    (Checkout, Noun, "checkout"),
    (Execute, Verb, "execute exec eval invoke spawn"),
    (Run, Verb, "rerun replay retry"),
    (Run, Noun, "run shell bash terminal"),
    (Start, Verb, "start trigger launch"),
    (Install, Verb, "install apply"),
    (Call, Noun, "call dial request phone"),
    (Deploy, Verb, "deploy redeploy"),
    (Build, Noun, "build compile"),
    (Grant, Verb, "grant revoke authorize authenticate login logout signup unshare protect unprotect unlock ban unban kick \
        impersonate deauthorize elevate enroll whitelist disarm"),
    (Approve, Verb, "approve confirm accept decline reject propose finalize capture"),
    (Invite, Verb, "invite"),
    (Resolve, Verb, "resolve"),
    (Touch, Verb, "click type fill press hover scroll tap swipe drag"),
    (Touch, Noun, "input"),
    (Generic, Verb, "manage handle perform do use take sign initiate fulfill control act operate process prepare"),
    (Generic, Noun, "action interact manager"),
    // Spanish, German and French, as names write them: what leaves, loses, pays and runs, and what looks.
    (Read, Verb, "listar buscar obtener consultar auflisten suchen abfragen lister chercher"),
    (Create, Verb, "crear agregar anadir anlegen erstellen hinzufuegen creer ajouter"),
    (Change, Verb, "actualizar modificar cambiar aktualisieren aendern bearbeiten"),
    (Change, Noun, "modifier"),
    (Send, Verb, "enviar mandar publicar notificar responder senden verschicken versenden weiterleiten antworten \
        veroeffentlichen benachrichtigen envoyer publier repondre"),
    (Share, Verb, "compartir freigeben teilen partager"),
    (Destroy, Verb, "eliminar borrar suprimir vaciar loeschen leeren supprimer effacer vider"),
    (Remove, Verb, "quitar entfernen enlever"),
    (Spend, Verb, "pagar comprar bezahlen ueberweisen kaufen bestellen acheter"),
    (Spend, Noun, "payer"),
    (Transfer, Verb, "transferir transferer"),
    (Execute, Verb, "ejecutar ausfuehren executer"),
    (Generic, Verb, "realizar hacer gestionar durchfuehren verwalten effectuer gerer"),
];

/// What a thing is, for the verbs that act on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Thing {
    /// Creating one tells others something.
    Spoken,
    /// Changing one tells others something too.
    Published,
    /// It decides who gets in or what they may do.
    Access,
    /// Making one moves money or commits to it.
    Money,
    /// Where money for advertising goes.
    Advert,
    /// It runs when it is set going.
    Runnable,
    /// It brings running software with it.
    Software,
    /// It is an entry about a person or company: its addresses are data, not recipients.
    Person,
    /// It is attached to another thing and nothing is lost with it.
    Attached,
    /// Emptying it loses something.
    Stock,
    /// It is only looked at, whatever the verb.
    Report,
    /// A name without a verb that ends in it reads.
    Glance,
    /// A name for something else: `resolve` reads it.
    Alias,
    /// A language or protocol in which a caller can write what runs.
    Language,
}

#[rustfmt::skip]
const THINGS: &[(Thing, &str)] = &[
    (Thing::Spoken, "comment reply message issue ticket pr mr review post tweet toot thread discussion gist announcement \
        invitation webhook hook submission feedback incident email sms call story update notification newsletter paste status poll \
        send dm response request mail fax answer"),
    (Thing::Published, "gist comment message post tweet webhook hook reply dispute claim"),
    (Thing::Access, "role permission policy acl member membership collaborator user credential password secret token \
        apikey accesskey sshkey deploykey oauth auth authentication authorization sso saml mfa totp login firewall \
        restriction grant ownership owner access identity security admin administrator protection allowlist whitelist \
        blocklist usergroup dsn guest contrasena permiso passwort berechtigung zugriff visibility privacy sharing iam scope keypair passkey account invite apitoken certificate public private right admin delegate"),
    (Thing::Money, "payment refund transfer purchase charge payout checkout order subscription trade bid donation booking \
        reservation fund money paymentlink withdrawal deposit nft erc coin crypto cryptocurrency spending tip invoice bet liquidity \
        transaction domainname phonenumber token settlement escrow autopay transferencia pago pedido zahlung ueberweisung bestellung virement paiement"),
    (Thing::Advert, "ad adset campaign budget"),
    (Thing::Runnable, "workflow pipeline job build deployment function lambda script process command code sql migration \
        macro service playbook notebook cell terminal shell program task automation action container actor query \
        statement test snippet dag run scenario zap"),
    (Thing::Software, "container manifest app application package plugin extension helm deployment pod \
        worker addon module"),
    (Thing::Person, "contact customer lead person people profile vendor supplier employee client patient deal company \
        organization candidate subscriber prospect record entity item row order booking reservation"),
    (Thing::Attached, "label tag reaction assignee reviewer watcher star favorite favourite bookmark filter highlight \
        subissue dependency dependent link relation relationship follower emoji pin"),
    (Thing::Stock, "trash data table database queue all index log record history memory bin recycle storage folder \
        message email conversation file everything cart branch range cell sheet content value"),
    (Thing::Report, "report search audit diagnostic check analysis healthcheck health benchmark lookup simulation preview \
        scan forecast estimate comparison"),
    (Thing::Glance, "status info information detail summary overview statistic stats history log version reader help doc \
        documentation rule list metric profile health schema usage top tree direction distance matrix elevation progress generation classification embedding recognition \
        detection inference quota balance capability config configuration issue \
        current self today weather forecast price diff show time date listing count inventory"),
    (Thing::Alias, "id identifier name address host hostname dns domain url library reference path handle uri symbol \
        ip module"),
    (Thing::Language, "sql cypher graphql javascript js typescript python bash shell powershell apex lua groovy sparql \
        gremlin mongo command code script plsql soql"),
];

/// Words that say how many or which, never what.
const FILLERS: &str = "all many multiple bulk batch single one by id the a an of my v tool mcp new existing current \
    latest recent async sync now anonymous";

/// Words after which the object of a verb ends.
const PREPOSITIONS: &str =
    "from to in into for with on onto at as via using by through of against within after before";

/// Abbreviations and spellings, written out.
#[rustfmt::skip]
const WRITTEN_OUT: &[(&str, &str)] = &[
    ("msg", "message"), ("addr", "address"), ("dest", "destination"), ("dst", "destination"), ("src", "source"),
    ("rcpt", "recipient"), ("rcv", "receive"), ("rm", "remove"), ("cmd", "command"), ("repository", "repo"),
    ("organisation", "org"), ("organization", "org"), ("db", "database"), ("dir", "directory"), ("img", "image"),
    ("pic", "picture"), ("pwd", "password"), ("passwd", "password"), ("passphrase", "password"), ("pass", "password"),
    ("cred", "credential"), ("cfg", "config"), ("conf", "config"), ("desc", "description"), ("num", "number"),
    ("qty", "quantity"), ("amt", "amount"), ("acct", "account"), ("usr", "user"), ("tel", "phone"),
    ("telephone", "phone"), ("cellphone", "phone"), ("msisdn", "phone"), ("fn", "function"), ("func", "function"),
    ("upd", "update"), ("mv", "move"), ("cp", "copy"), ("ls", "list"), ("txn", "transaction"), ("tx", "transaction"),
    ("evt", "event"), ("notif", "notification"), ("subj", "subject"), ("mail", "email"), ("uri", "url"),
    ("href", "url"), ("chan", "channel"), ("perm", "permission"), ("param", "parameter"), ("arg", "argument"),
    ("attr", "attribute"), ("val", "value"), ("doc", "document"), ("spec", "specification"), ("rmdir", "remove"),
    ("prs", "pr"), ("mrs", "mr"), ("sched", "schedule"), ("calc", "calculate"), ("gen", "generate"),
    ("recv", "receive"), ("attch", "attachment"), ("favourite", "favorite"), ("cal", "calendar"), ("inv", "invoice"),
    ("svc", "service"), ("proj", "project"), ("mgmt", "management"), ("mgr", "manager"), ("kb", "knowledge"),
    ("init", "initialize"), ("authz", "authorization"), ("authn", "authentication"), ("creds", "credential"),
    ("cancelled", "cancel"), ("uid", "id"), ("guid", "id"), ("uuid", "id"), ("gid", "id"), ("iid", "id"), ("oid", "id"),
];

/// Words that mean one thing together.
#[rustfmt::skip]
const JOINED: &[(&str, &str, &str)] = &[
    ("pull", "request", "pr"), ("merge", "request", "mr"), ("look", "up", "lookup"), ("log", "in", "login"),
    ("sign", "in", "login"), ("log", "out", "logout"), ("sign", "out", "logout"), ("sign", "up", "signup"),
    ("set", "up", "configure"), ("check", "out", "checkout"), ("roll", "back", "rollback"), ("api", "key", "apikey"),
    ("access", "key", "accesskey"), ("ssh", "key", "sshkey"), ("gpg", "key", "sshkey"), ("deploy", "key", "deploykey"),
    ("public", "key", "sshkey"), ("signing", "key", "accesskey"), ("private", "key", "privatekey"),
    ("secret", "key", "secret"), ("access", "token", "accesstoken"), ("api", "token", "apitoken"),
    ("auth", "token", "accesstoken"), ("sub", "issue", "subissue"),
    ("time", "zone", "timezone"), ("file", "name", "filename"), ("file", "path", "filepath"), ("e", "email", "email"),
    ("web", "hook", "webhook"), ("phone", "number", "phonenumber"), ("ad", "set", "adset"), ("o", "auth", "oauth"),
    ("user", "name", "username"), ("host", "name", "hostname"), ("data", "base", "database"),
    ("call", "back", "callback"), ("end", "point", "endpoint"), ("time", "stamp", "timestamp"), ("go", "to", "goto"),
    ("clean", "up", "cleanup"), ("payment", "link", "paymentlink"), ("domain", "name", "domainname"),
    ("web", "page", "webpage"), ("web", "site", "website"), ("cherry", "pick", "cherrypick"), ("top", "up", "topup"),
    ("un", "subscribe", "unsubscribe"), ("direct", "message", "dm"), ("work", "flow", "workflow"),
    ("re", "run", "rerun"), ("tear", "down", "teardown"), ("hand", "off", "escalate"), ("cross", "post", "crosspost"), ("user", "group", "usergroup"), ("time", "out", "timeout"), ("make", "dir", "mkdir"),
    ("sharing", "link", "sharelink"), ("share", "link", "sharelink"), ("access", "list", "allowlist"), ("allow", "list", "allowlist"), ("white", "list", "allowlist"),
    ("block", "list", "blocklist"), ("access", "control", "acl"), ("opt", "in", "optin"), ("opt", "out", "optout"),
];

/// Words that end in `s` and are no plural.
const NO_PLURAL: &str = "news sms dns https aws css js ls its this has does cc bcc alias always gas canvas ios kms sas \
    saas class pass stats sales atlas as was sos tls rss sns sqs iops series species lens";

static VERB_MAP: LazyLock<BTreeMap<&str, (Sense, Strength)>> = LazyLock::new(|| {
    let rows = VERBS.iter().flat_map(|(sense, strength, row)| {
        row.split_whitespace().map(move |word| (word, (*sense, *strength)))
    });
    rows.collect()
});

static THING_MAP: LazyLock<BTreeMap<&str, Vec<Thing>>> = LazyLock::new(|| {
    let mut map: BTreeMap<&str, Vec<Thing>> = BTreeMap::new();
    for (thing, row) in THINGS {
        for word in row.split_whitespace() {
            map.entry(word).or_default().push(*thing);
        }
    }
    map
});

/// What the word does as a verb.
pub(super) fn verb(word: &str) -> Option<(Sense, Strength)> {
    known_verb(word).map(|(_, verb)| verb)
}

/// The table's own copy of the word, to name it in a rule; of a verb that does again what another does
/// (`resend`), that other.
pub(super) fn verb_word(word: &str) -> Option<&'static str> {
    known_verb(word).map(|(word, _)| word)
}

fn known_verb(word: &str) -> Option<(&'static str, (Sense, Strength))> {
    let known = |word: &str| VERB_MAP.get_key_value(word).map(|(word, verb)| (*word, *verb));
    // What is looked at again is a noun more often: `research`, `review`.
    let looks = |sense: Sense| matches!(sense, Read | Query | Fetch | Generic | Touch);
    known(word).or_else(|| {
        let again = word.strip_prefix("re").filter(|rest| rest.len() > 3 && !THING_MAP.contains_key(word))?;
        known(again).filter(|(_, (sense, _))| !looks(*sense)).map(|(word, (sense, _))| (word, (sense, Verb)))
    })
}

/// Whether the word names such a thing.
pub(super) fn is(word: &str, thing: Thing) -> bool {
    THING_MAP.get(word).is_some_and(|it| it.contains(&thing))
}

/// Whether the word stands in a row written as one line.
pub(super) fn among(word: &str, row: &str) -> bool {
    row.split_ascii_whitespace().any(|it| it == word)
}

/// Whether the word says how many or which, never what.
pub(super) fn is_filler(word: &str) -> bool {
    among(word, FILLERS)
}

/// Whether the object of a verb ends before the word.
pub(super) fn is_preposition(word: &str) -> bool {
    among(word, PREPOSITIONS)
}

/// The word that two words make together.
pub(super) fn joined(first: &str, second: &str) -> Option<&'static str> {
    JOINED.iter().find(|(a, b, _)| *a == first && *b == second).map(|(_, _, whole)| *whole)
}

/// The word that an abbreviation stands for.
pub(super) fn written_out(word: &str) -> Option<&'static str> {
    WRITTEN_OUT.iter().find(|(short, _)| *short == word).map(|(_, long)| *long)
}

/// Whether the word ends like a plural and is none.
pub(super) fn looks_plural_but_is_not(word: &str) -> bool {
    among(word, NO_PLURAL)
}

/// Nouns of the machine and of whoever sits at it.
const SURROUNDINGS: &str = "system user server my service session db memory disk cpu network git host";

/// Whether the word is a noun that the tables know.
pub(super) fn is_known_noun(word: &str) -> bool {
    THING_MAP.contains_key(word) || among(word, NOUNS) || among(word, SURROUNDINGS) || is_filler(word)
}

/// Splits a word such as `sendmail` into a sure verb and a known rest.
pub(super) fn run_together(word: &str) -> Option<(&'static str, &str)> {
    if !word.is_ascii() || word.len() < 5 || verb(word).is_some() || THING_MAP.contains_key(word) {
        return None;
    }
    (3..=word.len().saturating_sub(2)).find_map(|at| {
        let (head, rest) = (word.get(..at)?, word.get(at..)?);
        let (_, strength) = verb(head)?;
        let known = THING_MAP.contains_key(rest) || written_out(rest).is_some() || among(rest, NOUNS);
        (strength == Strength::Verb && known).then(|| Some((verb_word(head)?, rest))).flatten()
    })
}

/// Common things that matter to no rule but let a run such as `listfiles` be split.
const NOUNS: &str = "all file folder directory page event calendar note channel address record table row sheet board card \
    task project team group site url link document image photo video list";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_word_is_a_verb_twice() {
        let mut seen = std::collections::BTreeSet::new();
        for word in VERBS.iter().flat_map(|it| it.2.split_whitespace()) {
            assert!(seen.insert(word), "`{word}` stands in two rows");
        }
    }

    #[test]
    fn words_stand_as_the_splitter_leaves_them() {
        let rows = VERBS.iter().map(|it| it.2).chain(THINGS.iter().map(|it| it.1));
        for word in rows.flat_map(str::split_whitespace) {
            assert!(word.chars().all(|it| it.is_ascii_lowercase() || it == '_'), "{word}");
        }
    }
}
