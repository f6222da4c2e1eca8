//! The rule of one tool of one upstream, all layers put together: what the gate asks about a call.
//!
//! Made by `layer.rs`. It answers from itself and the arguments only; the history and the humans are
//! asked elsewhere.

use serde_json::Value;
use serde_json_path::JsonPath;

use crate::provenance::{Destination, Kind, Thing, TrustRule};

use super::argument::{each_leaf, same_name, select};
use super::constraint::{AllowedValue, Constraint, HostPattern, Test, UrlReading, read_url};
use super::members::is_id_key;
use super::{ArgPath, Cells, Effect, Gate, Layer, Locality, Role};

/// What one argument is, and who said so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArgRule {
    /// The argument, with all that stands inside it.
    pub path: ArgPath,
    /// Its role.
    pub role: Role,
    /// The kind of its values, where it is known.
    pub kind: Option<Kind>,
    /// Whether it says who may see or use the result.
    pub audience: Audience,
    /// Who said the role.
    pub layer: Layer,
}

/// Whether an argument decides who may see or use what a call makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Audience {
    /// It does not.
    #[default]
    No,
    /// `private`, `visibility`, `role`, `type: anyone` and their like.
    Decides,
}

/// How many calls a session may make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// At most so many attempts.
    pub max_calls: u32,
    /// Who set it.
    pub layer: Layer,
}

/// A place in the tool's results that is the user's own directory.
#[derive(Debug, Clone)]
pub struct OwnPlace {
    /// The place.
    pub path: JsonPath,
    /// As written.
    pub source: String,
    /// The kinds it vouches for; empty: any.
    pub kinds: Vec<Kind>,
    /// Who declared it.
    pub layer: Layer,
}

/// The rule of one tool.
#[derive(Debug, Clone)]
pub struct ToolPolicy {
    /// What it does.
    pub effect: Effect,
    /// Who said so.
    pub effect_layer: Layer,
    /// What it does besides, or at times.
    pub also: Vec<(Effect, Layer)>,
    /// Whether the sink gate applies.
    pub gate: Gate,
    /// Whether its upstream keeps what it is given.
    pub locality: Locality,
    /// Its arguments, each path once.
    pub args: Vec<ArgRule>,
    /// Its budget.
    pub budget: Option<Budget>,
    /// Its constraints.
    pub constraints: Vec<Constraint>,
    /// Destinations trusted for it.
    pub trusted: Vec<(TrustRule, Layer)>,
    /// The directories in its results.
    pub own_data: Vec<OwnPlace>,
    /// Cells of the table that are changed for it.
    pub cells: Cells,
    /// What a call brings into being, whose id is then the user's own.
    pub creates: Option<String>,
    /// What its name says it acts on, where it says so.
    pub object: Option<String>,
    /// The packs that ruled on it, with how they were bound.
    pub packs: Vec<(String, Bound)>,
    /// Why every call is refused, when the policy did not load.
    pub refused: Option<String>,
}

/// How a pack came to rule on a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// Through the user's configuration: all of it counts.
    ByConfig,
    /// Through the tool's name: only what restricts counts.
    ByName,
}

/// What is behind the id of one of these are people.
const HANDLES: [&str; 6] = ["thread", "draft", "message", "mail", "comment", "event"];

/// Whether an argument of this name takes the id of something that people stand behind.
pub(super) fn reaches_people(argument: &str) -> bool {
    Thing::named_by(argument).is_some_and(|thing| HANDLES.contains(&thing.word()))
}

impl ToolPolicy {
    /// Whether both say the same of every call, as far as a description can change it.
    pub fn rules_like(&self, other: &Self) -> bool {
        self.effect == other.effect
            && self.also == other.also
            && self.gate == other.gate
            && self.locality == other.locality
            && self.args == other.args
            && self.budget == other.budget
            && self.cells == other.cells
            && self.creates == other.creates
    }

    /// The rule of what a client answers an upstream: it is content, and names no destination.
    pub fn of_answer(locality: Locality) -> Self {
        Self {
            effect: Effect::Write,
            effect_layer: Layer::Heuristic,
            also: Vec::new(),
            gate: Gate::On,
            locality,
            args: Vec::new(),
            budget: None,
            constraints: Vec::new(),
            trusted: Vec::new(),
            own_data: Vec::new(),
            cells: Cells::default(),
            creates: None,
            object: None,
            packs: Vec::new(),
            refused: None,
        }
    }

    /// The rule about an argument: of several that cover it the one with the longest path.
    pub fn rule_of(&self, argument: &str) -> Option<&ArgRule> {
        self.args.iter().filter(|rule| rule.path.covers(argument)).max_by_key(|rule| rule.path.depth())
    }

    /// The role of an argument.
    pub fn role_of(&self, argument: &str) -> Option<Role> {
        self.rule_of(argument).map(|rule| rule.role)
    }

    /// The role of a destination: its argument's, but the id of a thread or draft is a target, wherever a
    /// message goes by it. Only a guess is corrected so.
    pub fn role_for(&self, destination: &Destination) -> Option<Role> {
        let rule = self.rule_of(&destination.argument)?;
        let name = destination.argument.rsplit('.').next().unwrap_or_default().trim_end_matches("[]");
        let is_handle = rule.role == Role::Destination
            && rule.layer == Layer::Heuristic
            && destination.kind == Kind::Id
            && is_id_key(name)
            && reaches_people(name);
        Some(if is_handle { Role::Target } else { rule.role })
    }

    /// Whether an argument that says where the call goes holds a value: a non-empty string, a number,
    /// or a key.
    pub fn is_addressed(&self, arguments: &Value) -> bool {
        let destinations = self.args.iter().filter(|rule| rule.role == Role::Destination);
        destinations
            .into_iter()
            .any(|rule| select(arguments, &rule.path).iter().any(|found| holds(found.value)))
    }

    /// Whether a first recipient holds a value: one who is not only copied.
    pub fn is_addressed_first(&self, arguments: &Value) -> bool {
        let copied = |path: &ArgPath| {
            let name = path.0.rsplit('.').next().unwrap_or_default().to_lowercase();
            ["cc", "bcc", "copy", "reply", "guest", "watcher", "follower", "notify"]
                .iter()
                .any(|word| name.contains(word))
        };
        let first = self.args.iter().filter(|rule| rule.role == Role::Destination && !copied(&rule.path));
        first.into_iter().any(|rule| select(arguments, &rule.path).iter().any(|found| holds(found.value)))
    }

    /// Whether an argument that decides what runs holds anything that is not known to only read.
    pub fn runs_something(&self, arguments: &Value) -> bool {
        let filled = |rule: &&ArgRule| select(arguments, &rule.path).iter().any(|found| holds(found.value));
        self.args.iter().filter(|rule| rule.role == Role::Command).any(|rule| filled(&rule))
    }

    /// The amounts of a call with their currencies, where an argument names one.
    pub fn amounts(&self, arguments: &Value) -> Vec<(String, Option<String>)> {
        let mut amounts = self.with_role(Role::Amount).peekable();
        if amounts.peek().is_none() {
            return Vec::new();
        }
        let mut currency = None;
        each_leaf(arguments, |leaf| {
            let is_named = leaf.argument.rsplit('.').next().is_some_and(|name| same_name(name, "currency"));
            if currency.is_none() && is_named {
                currency = Some(leaf.text.to_owned());
            }
        });
        let values = amounts.flat_map(|rule| select(arguments, &rule.path));
        let texts = values.flat_map(|found| match found.value {
            Value::Number(number) => vec![number.to_string()],
            // The currency itself is often given the role of its amount.
            Value::String(text) if text.chars().any(|c| c.is_ascii_digit()) => vec![text.clone()],
            // FAIL CLOSED: an amount that is no scalar is one that nobody can have typed.
            Value::Array(_) | Value::Object(_) => vec![found.value.to_string()],
            _ => Vec::new(),
        });
        texts.map(|text| (text, currency.clone())).collect()
    }

    /// The rule of a policy that vouches for a destination: a trusted destination, or a value or host
    /// that the *user's* policy allows for its argument. A pattern vouches for nothing.
    pub fn vouches(&self, destination: &Destination, arguments: &Value) -> Option<String> {
        if let Some((rule, _)) = self.trusted.iter().find(|(rule, _)| rule.covers(destination)) {
            return Some(rule.to_string());
        }
        if destination.is_key {
            return None;
        }
        let whole = arguments.pointer(&destination.pointer)?;
        let mut covering = self
            .constraints
            .iter()
            .filter(|c| c.layer == Layer::User && c.argument.covers(&destination.argument));
        covering.find_map(|c| vouching(&c.test, whole))
    }

    /// Whether the policy lists a host for an argument: by its hosts, or as a trusted destination.
    pub fn lists_host(&self, argument: &str, reading: &UrlReading) -> bool {
        let hosts =
            self.constraints.iter().filter(|c| c.argument.covers(argument)).filter_map(|c| match &c.test {
                Test::Host(hosts) => Some(hosts),
                _ => None,
            });
        let mut listed = hosts.flatten().chain(&[]).any(|host| host.matches(reading));
        listed |= self.trusted.iter().any(|(rule, _)| {
            // A trusted url lists its host; `HostPattern` reads everything else that names one.
            let written = rule.as_str();
            match read_url(written) {
                Some(Ok(own)) => own == *reading,
                Some(Err(_)) => false,
                None => HostPattern::new(written).is_some_and(|host| host.matches(reading)),
            }
        });
        listed
    }

    /// The arguments with a role.
    pub fn with_role(&self, role: Role) -> impl Iterator<Item = &ArgRule> {
        self.args.iter().filter(move |rule| rule.role == role)
    }
}

/// Whether a test of the user's vouches for a value, and by which word.
fn vouching(test: &Test, value: &Value) -> Option<String> {
    match test {
        Test::OneOf(allowed) => allowed.iter().find(|a| a.is(value)).map(|a| match a {
            AllowedValue::Text(word) => word.clone(),
            AllowedValue::Number(number) => number.to_string(),
            AllowedValue::Bool(b) => b.to_string(),
        }),
        Test::Host(hosts) => {
            let reading = read_url(value.as_str()?)?.ok()?;
            hosts.iter().find(|host| host.matches(&reading)).map(|host| host.as_str().to_owned())
        }
        _ => None,
    }
}

/// Whether there is anything in a value that could be an address.
fn holds(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) => false,
        Value::Number(_) => true,
        Value::String(text) => !text.trim().is_empty(),
        Value::Array(items) => items.iter().any(holds),
        Value::Object(members) => !members.is_empty(),
    }
}
