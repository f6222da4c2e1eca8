//! One entry of a policy file: what it says of a tool, field by field.

use crate::policy::constraint::{
    AllowedValue, Bound, HostPattern, PathLimit, Pattern, Range, Test, never_matches,
};
use crate::policy::{
    Allowance, ArgPath, Cells, Effect, Extent, Gate, Outcome, Provenance, Role, Rule, SinkNames,
};
use crate::provenance::Kind;

use super::check::Checker;
use super::compile::trusted;
use super::diagnostic::quoted;
use super::raw::{self, names};
use super::tree::{Entry, Node, Value};

/// Reads one entry; `None` when it is no mapping.
pub(super) fn rule(entry: &Entry, check: &mut Checker) -> Option<Rule> {
    let what = format!("tool {}", quoted(&entry.key));
    if entry.key.trim().is_empty() {
        check.error(entry.at, "a tool has an empty name", "write the tool's name, or `*` for every tool");
        return None;
    }
    let fields = check.map(&entry.value, &what)?;
    let known = names(raw::ENTRY);
    let mut rule = Rule::new(&entry.key);
    for field in fields {
        let reader = Field { tool: &what, field };
        match field.key.as_str() {
            "exfiltrating" => reader.exfiltrating(&mut rule, check),
            "sink_params" => {
                for path in reader.arguments(check) {
                    rule.args.insert(path, (Role::Destination, None));
                    rule.names_sinks = SinkNames::Given;
                }
            }
            "trusted_destinations" => rule.trusted = trusted(&field.value, check),
            "write_params" => rule.path_args = Some(reader.arguments(check)),
            "allowed_path_prefixes" => rule.bounds = reader.bounds(&field.value, check),
            "max_calls" => rule.allowance = allowance(&field.value, &reader.what(), check),
            "effect" => rule.effect = reader.effect(&field.value, check),
            "also" => {
                let items = check.list(&field.value, &reader.what()).unwrap_or_default();
                rule.also = items.iter().filter_map(|item| reader.effect(item, check)).collect();
            }
            "args" => reader.args(&mut rule, check),
            "arg_patterns" | "paths" | "allowed_values" | "hosts" | "ranges" => {
                reader.tests(&mut rule, check);
            }
            "refs" => rule.tests.extend(reader.arguments(check).into_iter().map(|path| (path, Test::Ref))),
            "on" => rule.cells = reader.cells(check),
            "at_least" => {
                let outcomes = [("ask", Outcome::Ask), ("deny", Outcome::Deny)];
                if let Some(outcome) = check.choice(&field.value, &reader.what(), &outcomes) {
                    rule.tests.push((ArgPath("*".to_owned()), Test::AtLeast(outcome)));
                }
            }
            "replace" => {
                if check.boolean(&field.value, &reader.what()) == Some(true) {
                    rule.extent = Extent::Replaces;
                }
            }
            _ => check.unknown_key(field, &format!("for {what}"), &known),
        }
    }
    Some(rule)
}

/// Reads a number of calls.
pub(super) fn allowance(node: &Node, what: &str, check: &mut Checker) -> Option<Allowance> {
    if node.value == Value::String("unlimited".to_owned()) {
        return Some(Allowance::Unlimited);
    }
    if !matches!(node.value, Value::Int(_)) {
        check.wrong_type(node, what, "a whole number or `unlimited`");
        return None;
    }
    check.count(node, what).map(Allowance::Calls)
}

/// Reads a kind of destination.
pub(super) fn kind(node: &Node, what: &str, check: &mut Checker) -> Option<Kind> {
    let kinds = [
        ("email", Kind::Email),
        ("url", Kind::Url),
        ("host", Kind::Host),
        ("phone", Kind::Phone),
        ("account", Kind::Account),
        ("channel", Kind::Channel),
        ("path", Kind::Path),
        ("repo", Kind::Repo),
        ("id", Kind::Id),
        ("name", Kind::Name),
        ("text", Kind::Text),
    ];
    check.choice(node, what, &kinds)
}

fn role(node: &Node, what: &str, check: &mut Checker) -> Option<Role> {
    let roles = [
        ("destination", Role::Destination),
        ("target", Role::Target),
        ("path", Role::Path),
        ("command", Role::Command),
        ("amount", Role::Amount),
        ("content", Role::Content),
        ("credential", Role::Credential),
        ("selector", Role::Selector),
    ];
    check.choice(node, what, &roles)
}

/// A field of an entry.
struct Field<'e> {
    tool: &'e str,
    field: &'e Entry,
}

impl Field<'_> {
    fn what(&self) -> String {
        format!("`{}` of {}", self.field.key, self.tool)
    }

    fn exfiltrating(&self, rule: &mut Rule, check: &mut Checker) {
        match check.boolean(&self.field.value, &self.what()) {
            Some(true) => rule.gate = Some(Gate::On),
            Some(false) => {
                check.warn(
                    self.field.value.at,
                    format!("{} turns its sink gate off", self.tool),
                    "whatever it sends is not asked about; list `trusted_destinations` to allow less",
                );
                rule.gate = Some(Gate::Off);
            }
            None => {}
        }
    }

    fn effect(&self, node: &Node, check: &mut Checker) -> Option<Effect> {
        let effects = Effect::ALL.map(|effect| (effect.as_str(), effect));
        check.choice(node, &self.what(), &effects)
    }

    /// A list of argument paths.
    fn arguments(&self, check: &mut Checker) -> Vec<ArgPath> {
        let what = self.what();
        let Value::Seq(items) = &self.field.value.value else {
            check.wrong_type(&self.field.value, &what, "a list of strings");
            return Vec::new();
        };
        let mut paths = Vec::with_capacity(items.len());
        for item in items {
            if let Some(text) = check.string(item, &format!("an item of {what}")) {
                paths.extend(argument(text, item, check));
            }
        }
        paths
    }

    fn bounds(&self, node: &Node, check: &mut Checker) -> Option<Vec<Bound>> {
        let what = self.what();
        let Value::Seq(items) = &node.value else {
            check.wrong_type(node, &what, "a list of strings");
            return None;
        };
        let mut bounds = Vec::with_capacity(items.len());
        for item in items {
            let Some(text) = check.string(item, &format!("an item of {what}")) else { continue };
            match Bound::new(text) {
                Ok(bound) => {
                    if bound.is_relative() {
                        check.warn(
                            item.at,
                            format!("{} of {} is relative", quoted(text), self.tool),
                            "it is read from the folder the server runs in; write the whole path",
                        );
                    }
                    bounds.push(bound);
                }
                Err(fault) => {
                    let message = format!("{} of {} cannot be compared: {fault}", quoted(text), self.tool);
                    check.error(item.at, message, "write a plain absolute path");
                }
            }
        }
        if items.is_empty() {
            check.warn(
                node.at,
                format!("{what} allows no path at all"),
                "list a folder, or take the key out for no confinement",
            );
        }
        Some(bounds)
    }

    fn args(&self, rule: &mut Rule, check: &mut Checker) {
        for arg in check.map(&self.field.value, &self.what()).unwrap_or_default() {
            let what = format!("argument {} of {}", quoted(&arg.key), self.tool);
            let (role_node, kind_node) = if let Value::Map(fields) = &arg.value.value {
                for field in fields.iter().filter(|f| !names(raw::ARG_KEYS).contains(&f.key.as_str())) {
                    check.unknown_key(field, &format!("for {what}"), &names(raw::ARG_KEYS));
                }
                (arg.value.get("role"), arg.value.get("kind"))
            } else {
                (Some(&arg.value), None)
            };
            let kind = kind_node.and_then(|node| kind(node, &format!("the kind of {what}"), check));
            let Some(role_node) = role_node else {
                check.error(
                    arg.value.at,
                    format!("{what} has no `role`"),
                    "write `role: destination` or another role",
                );
                continue;
            };
            if let (Some(role), Some(path)) =
                (role(role_node, &format!("the role of {what}"), check), argument_at(&arg.key, arg, check))
            {
                rule.args.insert(path, (role, kind));
            }
        }
    }

    /// The fields that map an argument to a test.
    fn tests(&self, rule: &mut Rule, check: &mut Checker) {
        for arg in check.map(&self.field.value, &self.what()).unwrap_or_default() {
            let what = format!("`{}` in {}", arg.key, self.what());
            let path = argument_at(&arg.key, arg, check);
            let test = match self.field.key.as_str() {
                "arg_patterns" => pattern(&arg.value, &what, check),
                "paths" => self.path_limit(&arg.value, &what, check).map(Test::Path),
                "allowed_values" => allowed(&arg.value, &what, check),
                "hosts" => hosts(&arg.value, &what, check),
                _ => range(&arg.value, &what, check),
            };
            let (Some(path), Some(test)) = (path, test) else { continue };
            if matches!(test, Test::Path(_)) {
                rule.args.insert(path.clone(), (Role::Path, Some(Kind::Path)));
            }
            rule.tests.push((path, test));
        }
    }

    fn path_limit(&self, node: &Node, what: &str, check: &mut Checker) -> Option<PathLimit> {
        let mut limit = PathLimit::default();
        for field in check.map(node, what)? {
            match field.key.as_str() {
                "within" => limit.within = self.bounds(&field.value, check)?,
                "base" => {
                    let text = check.string(&field.value, &format!("`base` of {what}"))?;
                    limit.base = argument(text, &field.value, check);
                }
                _ => check.unknown_key(field, &format!("in {what}"), &names(raw::PATH_KEYS)),
            }
        }
        if limit.within.is_empty() && limit.base.is_none() {
            check.error(
                node.at,
                format!("{what} limits nothing"),
                "write `within: [FOLDER]` or `base: ARGUMENT`",
            );
            return None;
        }
        Some(limit)
    }

    fn cells(&self, check: &mut Checker) -> Cells {
        let mut cells = Cells::default();
        let names: Vec<&str> = Provenance::ALL.iter().map(|p| p.as_str()).collect();
        for cell in check.map(&self.field.value, &self.what()).unwrap_or_default() {
            let Some(provenance) = Provenance::parse(&cell.key) else {
                check.unknown_key(cell, &format!("in {}", self.what()), &names);
                continue;
            };
            let what = format!("`{}` in {}", cell.key, self.what());
            if cell.value.value == Value::String("allow".to_owned()) {
                let help = "a policy may tighten a verdict, or ask where the table denies; \
                            list `trusted_destinations` to allow";
                check.error(cell.value.at, format!("{what} may not be `allow`"), help);
                continue;
            }
            let outcomes = [("ask", Outcome::Ask), ("deny", Outcome::Deny)];
            if let Some(outcome) = check.choice(&cell.value, &what, &outcomes) {
                cells.0.insert(provenance, outcome);
            }
        }
        cells
    }
}

fn argument(text: &str, node: &Node, check: &mut Checker) -> Option<ArgPath> {
    let path = ArgPath(text.to_owned());
    if path.is_valid() {
        return Some(path);
    }
    check.error(
        node.at,
        format!("{} is no argument path", quoted(text)),
        "write names with `.` between them and `[]` for the items of a list: `message.to[].address`",
    );
    None
}

fn argument_at(text: &str, entry: &Entry, check: &mut Checker) -> Option<ArgPath> {
    argument(text, &Node { at: entry.at, value: Value::Null }, check)
}

fn pattern(node: &Node, what: &str, check: &mut Checker) -> Option<Test> {
    let text = check.string(node, what)?;
    match Pattern::new(text) {
        Ok(pattern) => {
            if never_matches(text) {
                check.warn(
                    node.at,
                    format!("{what} never matches, so every call with this argument is refused"),
                    "`^` and `$` are not needed, since it must match the whole value; look for an anchor in the middle, \
                     a word boundary where there is none, or a class that holds nothing",
                );
            }
            Some(Test::Pattern(pattern))
        }
        Err(fault) => {
            check.error(
                node.at,
                format!("{what} is no pattern: {fault}"),
                "write a regular expression without look-around or back references; it must match the whole value",
            );
            None
        }
    }
}

fn allowed(node: &Node, what: &str, check: &mut Checker) -> Option<Test> {
    let mut values = Vec::new();
    for item in check.list(node, what)? {
        values.push(match &item.value {
            Value::String(text) => AllowedValue::Text(text.clone()),
            Value::Bool(b) => AllowedValue::Bool(*b),
            Value::Int(_) | Value::Float(_) => AllowedValue::Number(number(item, what, check)?),
            _ => {
                check.wrong_type(item, &format!("an item of {what}"), "a string, a number, true or false");
                return None;
            }
        });
    }
    Some(Test::OneOf(values))
}

fn hosts(node: &Node, what: &str, check: &mut Checker) -> Option<Test> {
    let mut patterns = Vec::new();
    let Value::Seq(items) = &node.value else {
        check.wrong_type(node, what, "a list of strings");
        return None;
    };
    for item in items {
        let text = check.string(item, &format!("an item of {what}"))?;
        if let Some(pattern) = HostPattern::new(text) {
            patterns.push(pattern);
        } else {
            check.error(
                item.at,
                format!("{} in {what} is no host", quoted(text)),
                "write `example.com`, `*.example.com` or `127.0.0.1`, with or without a port; never a public suffix",
            );
        }
    }
    Some(Test::Host(patterns))
}

fn range(node: &Node, what: &str, check: &mut Checker) -> Option<Test> {
    let mut range = Range::default();
    for field in check.map(node, what)? {
        match field.key.as_str() {
            "min" => range.min = Some(number(&field.value, &format!("`min` of {what}"), check)?),
            "max" => range.max = Some(number(&field.value, &format!("`max` of {what}"), check)?),
            _ => check.unknown_key(field, &format!("in {what}"), &names(raw::RANGE_KEYS)),
        }
    }
    let empty = matches!((range.min, range.max), (Some(min), Some(max)) if min > max);
    if empty || range == Range::default() {
        let fault = if empty { "admits no number" } else { "limits nothing" };
        check.error(node.at, format!("{what} {fault}"), "write `{min: 0, max: 100}`");
        return None;
    }
    Some(Test::Range(range))
}

fn number(node: &Node, what: &str, check: &mut Checker) -> Option<f64> {
    let text = match &node.value {
        Value::Int(i) => i.to_string(),
        Value::Float(f) => f.clone(),
        _ => {
            check.wrong_type(node, what, "a number");
            return None;
        }
    };
    let number = text.parse::<f64>().ok().filter(|n| n.is_finite());
    if number.is_none() {
        check.error(node.at, format!("{what} is no finite number"), "write a plain number");
    }
    number
}
