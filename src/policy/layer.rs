//! User over pack over heuristics, field by field, for one tool.
//!
//! A pack that is bound by the user's configuration counts whole. One that only happens to know the
//! tool's name may add and tighten, never take away: a stranger's server may call its tools what it
//! likes.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::provenance::{Kind, TrustRule};

use super::constraint::{Bound as Folder, Constraint, PathLimit, Presence, Test};
use super::heuristics::Derived;
use super::rule::{Allowance, Extent, Rule, SinkNames};
use super::tool::{ArgRule, Audience, Bound, Budget, ToolPolicy};
use super::{ArgPath, Cells, Effect, Gate, Layer, Locality, Outcome, Role};

/// What destroys may be done this often a session where nobody set a budget.
pub const DESTROY_BUDGET: u32 = 2;

/// The layers of one tool while they are put together.
pub(super) struct Layers<'s> {
    schema: &'s Value,
    policy: ToolPolicy,
    tests: Vec<(ArgPath, Test, Layer)>,
    /// Arguments that only rules for many tools name, by their folded paths.
    loose: BTreeSet<String>,
    path_args: Option<(Vec<ArgPath>, Layer)>,
    folders: Option<(Vec<Folder>, Layer)>,
}

impl<'s> Layers<'s> {
    /// The lowest layer.
    pub(super) fn heuristic(derived: Derived, schema: &'s Value) -> Self {
        // Where no word of an argument's name said anything, nothing is known of it: the gate looks at
        // its values instead.
        let told = derived.args.into_iter().filter(|(_, fact)| fact.rule != "default");
        let args = told.map(|(path, fact)| ArgRule {
            path,
            role: fact.role,
            kind: fact.kind,
            audience: if fact.audience { Audience::Decides } else { Audience::No },
            layer: Layer::Heuristic,
        });
        let budget = (derived.effect == Effect::Destroy)
            .then_some(Budget { max_calls: DESTROY_BUDGET, layer: Layer::Heuristic });
        Self {
            schema,
            policy: ToolPolicy {
                effect: derived.effect,
                effect_layer: Layer::Heuristic,
                also: derived.also.into_iter().map(|effect| (effect, Layer::Heuristic)).collect(),
                gate: Gate::On,
                locality: Locality::Elsewhere,
                args: args.collect(),
                budget,
                constraints: Vec::new(),
                trusted: Vec::new(),
                own_data: Vec::new(),
                cells: Cells::default(),
                creates: derived.creates,
                object: derived.object,
                packs: Vec::new(),
                refused: None,
            },
            tests: Vec::new(),
            loose: BTreeSet::new(),
            path_args: None,
            folders: None,
        }
    }

    /// The policy as far as it is built, for what is no rule: locality, own data, packs.
    pub(super) fn policy(&mut self) -> &mut ToolPolicy {
        &mut self.policy
    }

    /// Trusts a destination for this tool.
    pub(super) fn trust(&mut self, rule: &TrustRule, layer: Layer) {
        self.policy.trusted.push((rule.clone(), layer));
    }

    /// Puts a rule over what is there.
    pub(super) fn apply(&mut self, rule: &Rule, layer: Layer) {
        if rule.extent == Extent::Replaces {
            self.clear();
        }
        if let Some(effect) = rule.effect {
            (self.policy.effect, self.policy.effect_layer) = (effect, layer);
            self.policy.also.clear();
        }
        self.add_effects(rule, layer);
        if let Some(gate) = rule.gate {
            self.policy.gate = gate;
        }
        for (path, (role, kind)) in &rule.args {
            self.set_arg(path, *role, *kind, layer);
        }
        match rule.allowance {
            Some(Allowance::Calls(max_calls)) => self.policy.budget = Some(Budget { max_calls, layer }),
            Some(Allowance::Unlimited) => self.policy.budget = None,
            None => {}
        }
        self.policy.trusted.extend(rule.trusted.iter().map(|trusted| (trusted.clone(), layer)));
        let many = rule.key.is_for_many();
        for (path, test) in &rule.tests {
            let undeclared = presence(self.schema, path.top()) == Presence::Undeclared;
            let about_paths = matches!(test, Test::Path(_) | Test::AtLeast(_));
            if many && undeclared && !about_paths {
                continue;
            }
            self.set_test(path, test, layer);
            self.note_reach(path, many);
        }
        if let Some(args) = &rule.path_args {
            for path in args {
                self.note_reach(path, many);
            }
            self.path_args = Some((args.clone(), layer));
        }
        if let Some(folders) = &rule.bounds {
            self.folders = Some((folders.clone(), layer));
        }
        self.policy.cells.0.extend(rule.cells.0.iter().map(|(cell, outcome)| (*cell, *outcome)));
        self.promote(rule, layer);
    }

    /// Adds what restricts in a pack's rule, and nothing else.
    pub(super) fn restrict(&mut self, rule: &Rule) {
        let layer = Layer::Pack;
        if let Some(effect) = rule.effect.filter(|effect| severity(*effect) > severity(self.policy.effect)) {
            let before = (self.policy.effect, self.policy.effect_layer);
            (self.policy.effect, self.policy.effect_layer) = (effect, layer);
            self.policy.also.push(before);
        } else if let Some(effect) = rule.effect.filter(|e| *e != self.policy.effect && severity(*e) > 0) {
            self.policy.also.push((effect, layer));
        }
        self.add_effects(rule, layer);
        if rule.gate == Some(Gate::On) {
            self.policy.gate = Gate::On;
        }
        for (path, (role, kind)) in &rule.args {
            let known =
                self.policy.args.iter().find(|arg| arg.path.folded() == path.folded()).map(|arg| arg.role);
            let takes_away = match known {
                Some(Role::Destination) => *role != Role::Destination,
                Some(_) => !carries_authority(*role),
                None => false,
            };
            if !takes_away && presence(self.schema, path.top()) != Presence::Undeclared {
                self.set_arg(path, *role, *kind, layer);
            }
        }
        if let Some(Allowance::Calls(max_calls)) = rule.allowance
            && self.policy.budget.is_none_or(|budget| budget.max_calls > max_calls)
        {
            self.policy.budget = Some(Budget { max_calls, layer });
        }
        for (path, test) in &rule.tests {
            if presence(self.schema, path.top()) != Presence::Undeclared {
                self.set_test(path, test, layer);
            }
        }
        let tighter = rule.cells.0.iter().filter(|(_, outcome)| **outcome == Outcome::Deny);
        self.policy.cells.0.extend(tighter.map(|(cell, outcome)| (*cell, *outcome)));
        self.promote(rule, layer);
    }

    /// Whoever writes into a directory of the user's decides whom the user trusts.
    pub(super) fn writes_directory(&mut self) {
        if self.policy.effect == Effect::Write && self.policy.effect_layer != Layer::User {
            self.policy.effect = Effect::Account;
        }
    }

    /// Remembers whether a rule for just this tool names an argument.
    fn note_reach(&mut self, path: &ArgPath, many: bool) {
        if many {
            self.loose.insert(path.folded());
        } else {
            self.loose.remove(&path.folded());
        }
    }

    fn clear(&mut self) {
        self.policy.effect = Effect::Write;
        self.policy.also.clear();
        self.policy.gate = Gate::On;
        self.policy.args.clear();
        self.policy.budget = None;
        self.policy.trusted.clear();
        self.policy.own_data.clear();
        self.policy.cells = Cells::default();
        self.tests.clear();
        self.path_args = None;
        self.folders = None;
    }

    fn add_effects(&mut self, rule: &Rule, layer: Layer) {
        for effect in &rule.also {
            if *effect != self.policy.effect && !self.policy.also.iter().any(|(known, _)| known == effect) {
                self.policy.also.push((*effect, layer));
            }
        }
    }

    /// A tool that is called exfiltrating, or is given sink arguments, is a sink even if nothing else
    /// says so.
    fn promote(&mut self, rule: &Rule, layer: Layer) {
        // A rule for many tools names sinks only of those that have the argument.
        let has_them = || {
            let declared = |path: &ArgPath| presence(self.schema, path.top()) != Presence::Undeclared;
            !rule.key.is_for_many() || rule.args.keys().any(declared)
        };
        let named = rule.names_sinks == SinkNames::Given && has_them();
        let called = rule.gate == Some(Gate::On) || named;
        let said = rule.effect.is_some() || !rule.also.is_empty();
        if called && !said && matches!(self.policy.effect, Effect::Read | Effect::Write) {
            (self.policy.effect, self.policy.effect_layer) = (Effect::Send, layer);
            self.policy.also.retain(|(effect, _)| *effect != Effect::Send);
        }
    }

    fn set_arg(&mut self, path: &ArgPath, role: Role, kind: Option<Kind>, layer: Layer) {
        let folded = path.folded();
        if let Some(arg) = self.policy.args.iter_mut().find(|arg| arg.path.folded() == folded) {
            arg.role = role;
            arg.kind = kind.or(arg.kind);
            arg.layer = layer;
        } else {
            self.policy.args.push(ArgRule { path: path.clone(), role, kind, audience: Audience::No, layer });
        }
        // What stands inside the argument is what it is, unless this layer says otherwise too.
        let inside =
            |arg: &ArgRule| arg.path.folded() != folded && path.covers(&arg.path.0) && arg.layer < layer;
        self.policy.args.retain(|arg| !(inside(arg) && carries_authority(role)));
    }

    fn set_test(&mut self, path: &ArgPath, test: &Test, layer: Layer) {
        let same = |(known, other, _): &(ArgPath, Test, Layer)| {
            known.folded() == path.folded() && other.kind() == test.kind()
        };
        self.tests.retain(|entry| !same(entry));
        self.tests.push((path.clone(), test.clone(), layer));
    }

    /// The finished rule.
    pub(super) fn finish(mut self) -> ToolPolicy {
        if let Some((args, layer)) = self.path_args.clone() {
            for path in args {
                self.set_arg(&path, Role::Path, Some(Kind::Path), layer);
            }
        }
        if let Some((folders, layer)) = self.folders.take() {
            for path in self.confined() {
                let limit = PathLimit { within: folders.clone(), base: None };
                self.set_test(&path, &Test::Path(limit), layer);
            }
        }
        let Self { schema, mut policy, tests, loose, .. } = self;
        policy.constraints = tests
            .into_iter()
            .map(|(argument, test, layer)| {
                let presence = match presence(schema, argument.top()) {
                    Presence::Undeclared if loose.contains(&argument.folded()) => Presence::Swept,
                    presence => presence,
                };
                Constraint { argument, test, layer, presence }
            })
            .collect();
        let effect = policy.effect;
        policy.also.retain(|(also, _)| *also != effect);
        policy
    }

    /// The arguments that `allowed_path_prefixes` is about: those named, else all paths of the tool.
    fn confined(&mut self) -> Vec<ArgPath> {
        if let Some((args, _)) = &self.path_args {
            return args.clone();
        }
        let known: Vec<ArgPath> = self
            .policy
            .args
            .iter()
            .filter(|arg| arg.role == Role::Path)
            .map(|arg| arg.path.clone())
            .collect();
        // FAIL CLOSED: nothing is known to be a path, so whatever looks like one is.
        if known.is_empty() {
            self.loose.insert("path".to_owned());
            return vec![ArgPath("path".to_owned())];
        }
        known
    }
}

/// Whether an argument of this role decides where a call goes or what it touches.
fn carries_authority(role: Role) -> bool {
    matches!(role, Role::Destination | Role::Target | Role::Path | Role::Command)
}

fn severity(effect: Effect) -> u8 {
    match effect {
        Effect::Read => 0,
        Effect::Write => 1,
        Effect::Fetch => 2,
        _ => 3,
    }
}

/// What a schema says of a top-level argument, through `allOf`, `anyOf` and `oneOf`.
fn presence(schema: &Value, name: &str) -> Presence {
    let is = |key: &str| super::argument::same_name(key, name);
    // Only an array requires; `required: true` inside a property is an old draft's.
    let required = |at: &Value| {
        at.get("required")
            .and_then(Value::as_array)
            .is_some_and(|names| names.iter().filter_map(Value::as_str).any(is))
    };
    if required(schema) {
        return Presence::Required;
    }
    let declared = |at: &Value| {
        at.get("properties")
            .and_then(Value::as_object)
            .is_some_and(|properties| properties.keys().any(|k| is(k)))
    };
    if declared(schema) {
        return Presence::Optional;
    }
    for (key, strict) in [("allOf", true), ("anyOf", false), ("oneOf", false)] {
        for part in schema.get(key).and_then(Value::as_array).into_iter().flatten() {
            if strict && required(part) {
                return Presence::Required;
            }
            if declared(part) || required(part) {
                return Presence::Optional;
            }
        }
    }
    Presence::Undeclared
}

/// How a pack is bound to a tool.
pub(super) fn bind(layers: &mut Layers<'_>, pack: &str, rules: &[&Rule], bound: Bound) {
    // A pack that knows none of the tool's arguments is about another tool of that name.
    let fits = |rule: &Rule, schema: &Value| {
        // A pattern of a pack is about its own server's names only.
        let exact = !rule.key.as_str().contains('*');
        let declared = |path: &ArgPath| presence(schema, path.top()) != Presence::Undeclared;
        exact && (rule.args.is_empty() || rule.args.keys().any(declared))
    };
    let mut counted = false;
    for rule in rules {
        match bound {
            Bound::ByConfig => layers.apply(rule, Layer::Pack),
            Bound::ByName if fits(rule, layers.schema) => layers.restrict(rule),
            Bound::ByName => continue,
        }
        counted = true;
    }
    if counted {
        layers.policy.packs.push((pack.to_owned(), bound));
    }
}
