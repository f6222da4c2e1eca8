//! From a description to facts: the one entry of the heuristics.
//!
//! Reads the name, then lets everything else only restrict: the actions an umbrella tool lists, the
//! arguments (a recipient makes a sink, whatever the verb), the description of a vague verb, the
//! annotations, and a schema that was too large to read. Linear in the size of the description.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::lexicon::{Sense, Thing, among, is};
use super::roles::{Surroundings, places, role};
use super::schema::{Args, arguments};
use super::signals::{Language, Object, Signal, Signals, goes_between};
use super::tool::ToolDescription;
use super::verbs::{Light, Reading, listed_actions, rank, read_action, read_name, said};
use super::words::{own_part, words};
use crate::policy::{ArgPath, Effect, Role};
use crate::provenance::Kind;

/// How many characters of a description are read.
const DESCRIPTION_CHARS: usize = 1_000;

/// What one argument is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ArgFact {
    /// Its role.
    pub role: Role,
    /// The kind of destination or handle it holds, where words or format tell. A target of kind
    /// [`Kind::Id`] is a handle: an id that was read from a record before.
    pub kind: Option<Kind>,
    /// Whether it says who may see or use the result (`visibility`, `private`, `type: anyone`):
    /// it carries authority like a recipient, though its values are no destinations. The gate asks
    /// when [`super::widens_audience`] says that its value lets more people in.
    pub audience: bool,
    /// The rule that gave the role.
    pub rule: &'static str,
}

/// What is derived of one tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Derived {
    /// The most dangerous effect that a normal call has.
    pub effect: Effect,
    /// Lesser effects, and those a call has at times.
    pub also: BTreeSet<Effect>,
    /// Every declared argument, nested ones at their own paths; an object that holds others stands
    /// for siblings that are not declared.
    pub args: BTreeMap<ArgPath, ArgFact>,
    /// What a call brings into being (`event`, `draft`), whose id is then the user's own; `None`
    /// when it creates nothing.
    pub creates: Option<String>,
    /// What its name says it acts on (`issue`); `None` where it says nothing.
    pub object: Option<String>,
    /// The rules that gave the effect, in the order they were applied.
    pub rules: Vec<String>,
}

impl Derived {
    /// The arguments with a role.
    pub fn with_role(&self, role: Role) -> impl Iterator<Item = &ArgPath> {
        self.args.iter().filter(move |(_, fact)| fact.role == role).map(|(path, _)| path)
    }
}

/// Derives what a tool does and what its arguments are.
pub fn derive(tool: &ToolDescription) -> Derived {
    let name = words(&tool.name);
    let name = if name.is_empty() { words(&tool.title) } else { name };
    let description: String =
        tool.description.chars().take(DESCRIPTION_CHARS).collect::<String>().to_lowercase();
    let args = arguments(&tool.input_schema);
    let language = language(&name.iter().map(|it| it.text.as_str()).collect::<Vec<_>>(), &description);
    let unlit = read_name(&name, Light { signals: &Signals::default(), description: &description });
    let sends =
        matches!(unlit.sense, Some(Sense::Send | Sense::Post | Sense::Call | Sense::Invite | Sense::Share));
    let is_data = |it: &String| {
        is(it, Thing::Person) || is(it, Thing::Advert) || matches!(it.as_str(), "phonenumber" | "address")
    };
    let object_is = if unlit.object.iter().any(is_data) && !sends { Object::Person } else { Object::Other };
    let signals = Signals::of(&args, object_is, language);
    let light = Light { signals: &signals, description: &description };
    let mut reading = read_name(&name, light);
    // The part behind a namespace speaks for itself.
    if let Some(own) = own_part(&tool.name).map(|part| read_name(&words(part), light))
        && own.sense.is_some()
        && rank(own.effect) > rank(reading.effect)
    {
        reading = own;
    }

    by_description(&mut reading, light, tool);
    by_actions(&mut reading, &args, light);
    by_arguments(&mut reading, light);
    by_limits(&mut reading, tool, &args, &signals);

    let mut around = Surroundings {
        effect: reading.effect,
        reading: &reading,
        object_is,
        between: goes_between(&args)
            && !hands_over(&reading)
            && !matches!(reading.effect, Effect::Send | Effect::Spend),
        language,
        places: BTreeSet::new(),
    };
    around.language.code |= around.effect == Effect::Execute;
    around.language.query |= around.effect == Effect::Execute;
    around.places = places(&args, &around);
    let facts: BTreeMap<ArgPath, ArgFact> = args
        .list
        .iter()
        .map(|arg| {
            let found = role(arg, &around);
            let fact =
                ArgFact { role: found.role, kind: found.kind, audience: found.audience, rule: found.rule };
            (ArgPath(arg.path.clone()), fact)
        })
        .collect();
    let creates = creates(&reading);
    let object = Some(reading.head().to_owned()).filter(|head| !head.is_empty());
    let is_open =
        reading.sense.is_none() || words(&tool.name).iter().all(|word| OPENS.contains(&word.text.as_str()));
    let Reading { mut effect, mut also, mut rules, .. } = reading;
    let takes_a_place = facts.values().any(|it| it.role == Role::Destination);
    // A verb that says nothing, `open` say, does what its one url lets it do: go there.
    let only_goes = effect == Effect::Write && is_open && takes_a_place;
    if (effect == Effect::Read && takes_a_place) || only_goes {
        effect = Effect::Fetch;
        rules.push("reads-where-an-argument-says".to_owned());
    }
    also.remove(&effect);
    Derived { effect, also, args: facts, creates, object, rules }
}

/// Names that are no more than a way to a page.
const OPENS: [&str; 8] = ["open", "url", "link", "page", "browser", "web", "tab", "website"];

/// The effect that a bare name tells, without arguments or description: of a function in a query,
/// say. `None` where no verb is known.
pub fn effect_of_words(name: &str) -> Option<Effect> {
    let reading = read_name(&words(name), Light { signals: &Signals::default(), description: "" });
    reading.sense.map(|_| reading.effect)
}

/// Which words mean a language.
fn language(name: &[&str], description: &str) -> Language {
    let languages = ["sql", "cypher", "graphql", "sparql", "insert", "kusto", "gremlin"];
    let named = name.iter().any(|it| languages.contains(it) || it.contains("sql") || *it == "database")
        || name.contains(&"query")
            && name.iter().any(|it| among(it, "write execute run update raw read select"));
    let said = description
        .split(|it: char| !it.is_alphanumeric())
        .any(|it| languages.contains(&it) || it.contains("sql") || it == "mutation");
    let runs = "run execute exec eval evaluate code script javascript python lambda function worker snippet sandbox console \
        terminal repl interpreter program notebook cell apex";
    Language { query: named || said, code: name.iter().any(|it| among(it, runs)) }
}

/// Whether the verb itself says that somebody receives.
fn hands_over(reading: &Reading) -> bool {
    matches!(
        reading.sense,
        Some(
            Sense::Send
                | Sense::Post
                | Sense::Call
                | Sense::Spend
                | Sense::Transfer
                | Sense::Share
                | Sense::Submit
        )
    )
}

/// Where the name is vague the description may make it worse.
fn by_description(reading: &mut Reading, light: Light<'_>, tool: &ToolDescription) {
    let vague = matches!(reading.sense, Some(Sense::Generic)) || !reading.sure && reading.sense.is_some();
    // A server that says that its "search" is no read is asked what it is then.
    let no_read = reading.effect == Effect::Read && tool.annotations.read_only == Some(false);
    let Some(told) = said(light).filter(|_| vague || no_read) else { return };
    let reads = reading.effect == Effect::Read;
    // A search that "executes a query" is still a search.
    let counts = told.effect.is_sink() && !(reads && told.effect == Effect::Execute);
    if counts && rank(told.effect) > rank(reading.effect) {
        raise(reading, told.effect, &told.also, told.rules.first().map_or("description", String::as_str));
    }
}

/// Umbrella tools take the effect of the strongest action they list.
fn by_actions(reading: &mut Reading, args: &Args, light: Light<'_>) {
    if reading.effect.is_sink() && !matches!(reading.sense, Some(Sense::Run | Sense::Start | Sense::Generic))
    {
        return;
    }
    let selectors = args.list.iter().filter(|it| {
        it.head_in("action method operation op subcommand command") && it.path.matches('.').count() <= 1
    });
    let lists = reading.sense == Some(Sense::Generic)
        && reading
            .rules
            .iter()
            .any(|it| among(it.strip_prefix("verb:").unwrap_or(""), "manage manager handle control operate"));
    let mut actions: Vec<Reading> = Vec::new();
    for arg in selectors {
        actions.extend(arg.choices.iter().map(|it| read_action(&words(it), &reading.object, light)));
        if arg.choices.is_empty() && lists {
            actions.extend(listed_actions(&arg.description, &reading.object, light));
        }
    }
    if actions.is_empty() && lists {
        let start: String = light.description.chars().take(200).collect();
        actions.extend(listed_actions(&start, &reading.object, light));
    }
    let is_reading = |it: &Reading| matches!(it.effect, Effect::Read | Effect::Fetch);
    // A read whose actions all change something filters by them.
    if reading.effect == Effect::Read
        && reading.sure
        && (!actions.iter().any(is_reading) || is_http(&actions))
    {
        return;
    }
    let strength = |effect: Effect| match effect {
        Effect::Destroy => 7,
        Effect::Spend => 6,
        Effect::Account => 5,
        Effect::Execute => 4,
        Effect::Send => 3,
        Effect::Write => 2,
        Effect::Fetch => 1,
        Effect::Read => 0,
    };
    for action in actions {
        let effect = action.effect;
        // What a look hands over for download is looked at.
        if action.sense == Some(Sense::Download) && reading.effect == Effect::Read {
            continue;
        }
        if strength(effect) > strength(reading.effect) {
            let rule = action.rules.first().map_or("action", String::as_str).to_owned();
            raise(reading, effect, &action.also, &rule);
        } else {
            reading.also.insert(effect);
        }
    }
    reading.also.remove(&Effect::Read);
}

/// Whether the actions are the methods of HTTP.
fn is_http(actions: &[Reading]) -> bool {
    let methods =
        ["action:verb:get", "action:verb:post", "action:verb:put", "action:verb:delete", "action:verb:patch"];
    let is =
        |it: &&Reading, methods: &[&str]| it.rules.first().is_some_and(|it| methods.contains(&it.as_str()));
    // `list` and `delete` are actions of a tool; `get` and `delete` with neither beside them are too.
    let known = actions.iter().filter(|it| is(it, &methods)).count();
    known > 1
        && known + 2 >= actions.len()
        && known * 2 > actions.len()
        && actions.iter().any(|it| is(&it, &["action:verb:post", "action:verb:put", "action:verb:patch"]))
}

/// Arguments that make a sink whatever the verb.
fn by_arguments(reading: &mut Reading, light: Light<'_>) {
    let has = |signal| light.signals.has(signal);
    if has(Signal::Webhook) && matches!(reading.effect, Effect::Read | Effect::Write) {
        raise(reading, Effect::Send, &BTreeSet::new(), "webhook-argument");
    }
    let plainly_reads = matches!(reading.effect, Effect::Read) && (reading.sure || !has(Signal::Body));
    if plainly_reads {
        return;
    }
    let none = BTreeSet::new();
    let vague = matches!(reading.sense, None | Some(Sense::Generic));
    if reading.effect == Effect::Write && vague && has(Signal::Command) {
        raise(reading, Effect::Execute, &none, "command-argument");
    }
    if vague && reading.effect == Effect::Write && has(Signal::FreeUrl) && has(Signal::HttpMethod) {
        raise(reading, Effect::Send, &BTreeSet::from([Effect::Fetch]), "http-request");
    }
    if matches!(reading.effect, Effect::Write | Effect::Read) && has(Signal::Recipient) {
        if has(Signal::Amount) && vague {
            raise(reading, Effect::Spend, &none, "pays-a-recipient");
        } else {
            raise(reading, Effect::Send, &none, "recipient-argument");
        }
    }
    if reading.effect == Effect::Write && has(Signal::Permissions) {
        raise(reading, Effect::Account, &none, "permission-argument");
    }
    let plain_change = matches!(reading.sense, Some(Sense::Change | Sense::Remove | Sense::Write));
    if reading.effect == Effect::Write && has(Signal::Address) && !plain_change {
        raise(reading, Effect::Send, &none, "address-argument");
    }
    if reading.effect == Effect::Write && has(Signal::FreeUrl) {
        reading.also.insert(Effect::Fetch);
    }
}

/// Annotations, and what could not be read.
fn by_limits(reading: &mut Reading, tool: &ToolDescription, args: &Args, signals: &Signals) {
    let none = BTreeSet::new();
    let hints = tool.annotations;
    if reading.effect == Effect::Read && hints.read_only == Some(false) && !signals.has(Signal::FreeUrl) {
        raise(reading, Effect::Write, &none, "annotation:not-read-only");
    }
    let vague = matches!(reading.sense, None | Some(Sense::Generic));
    if vague
        && reading.effect == Effect::Write
        && hints.destructive == Some(true)
        && hints.read_only != Some(true)
    {
        raise(reading, Effect::Destroy, &none, "annotation:destructive");
    }
    // FAIL CLOSED: what was not read may name a recipient.
    if args.truncated && !reading.effect.is_sink() {
        raise(reading, Effect::Send, &none, "schema-not-read-whole");
    }
}

/// Sets a worse effect, keeping the old one beside it.
fn raise(reading: &mut Reading, effect: Effect, also: &BTreeSet<Effect>, rule: &str) {
    if reading.effect != Effect::Read {
        reading.also.insert(reading.effect);
    }
    reading.effect = effect;
    reading.also.extend(also);
    reading.rules.push(rule.to_owned());
}

/// What the tool brings into being.
fn creates(reading: &Reading) -> Option<String> {
    let makes = matches!(
        reading.sense,
        Some(Sense::Create | Sense::Post | Sense::Send | Sense::Upload | Sense::Submit | Sense::Start)
    );
    // Who sends a draft makes none.
    let sends = reading.head() == "draft" && reading.sense != Some(Sense::Create);
    (makes && !sends && !reading.head().is_empty()).then(|| reading.head().to_owned())
}
