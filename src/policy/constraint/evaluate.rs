//! One call against the constraints of its tool.
//!
//! Every demand that is not met is reported, the worst is the verdict's to pick. An argument of the
//! wrong shape fails. An absent one passes only if the schema does not require it and nothing else in
//! the call stands where it should.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::policy::argument::{each_leaf, select};
use crate::policy::{ArgPath, Outcome, Role};

use super::host;
use super::model::{Constraint, ConstraintFailure, PathLimit, Presence, Test};
use super::network;
use super::path::{self, PathFault};
use super::url::UrlReading;
use super::value::{is_plain_ref, scalars, text_of};

/// What is known around a call.
#[derive(Clone, Copy)]
pub struct Environment<'e> {
    /// The upstream's working folder, where it is known.
    pub cwd: Option<&'e str>,
    /// Where a path of [`paths_to_resolve`] leads once symbolic links are followed; `None` when it
    /// was not resolved (an upstream on another machine).
    pub resolved: &'e dyn Fn(&str) -> Option<String>,
    /// What an argument is to the tool.
    pub role: &'e dyn Fn(&str) -> Option<Role>,
    /// Whether the policy lists this host for this argument, or trusts it.
    pub listed: &'e dyn Fn(&str, &UrlReading) -> bool,
}

/// The local paths whose symbolic links matter to these constraints, as the upstream would open them.
/// Relative ones are joined to the upstream's folder where that is known, and left out where not.
pub fn paths_to_resolve(
    constraints: &[Constraint],
    arguments: &Value,
    cwd: Option<&str>,
) -> BTreeSet<String> {
    let mut paths = BTreeSet::new();
    let mut add = |text: &str, base: Option<&str>| {
        let joined = base.map_or_else(|| text.to_owned(), |base| path::join(base, text));
        if joined.starts_with('/') {
            paths.insert(joined);
        }
    };
    for constraint in constraints {
        let Test::Path(limit) = &constraint.test else { continue };
        for bound in &limit.within {
            add(bound.as_str(), cwd);
        }
        for base in bases(limit, arguments) {
            let base = cwd.map_or_else(|| base.to_owned(), |cwd| path::join(cwd, base));
            add(&base, None);
            for text in texts(arguments, &constraint.argument) {
                add(text, Some(&base));
            }
        }
        for text in texts(arguments, &constraint.argument) {
            add(text, cwd);
        }
    }
    paths
}

fn texts<'v>(arguments: &'v Value, path: &ArgPath) -> Vec<&'v str> {
    let selected = select(arguments, path);
    selected.iter().filter_map(|s| scalars(s.value)).flatten().filter_map(Value::as_str).collect()
}

fn bases<'v>(limit: &PathLimit, arguments: &'v Value) -> Vec<&'v str> {
    limit.base.as_ref().map(|base| texts(arguments, base)).unwrap_or_default()
}

/// Checks a call. Empty: every demand is met.
pub fn evaluate(
    constraints: &[Constraint],
    arguments: &Value,
    env: Environment<'_>,
) -> Vec<ConstraintFailure> {
    let mut failures = Vec::new();
    for constraint in constraints {
        if let Test::AtLeast(outcome) = constraint.test {
            if outcome > Outcome::Allow {
                let rule =
                    if outcome == Outcome::Deny { "the policy refuses" } else { "the policy asks about" };
                failures.push(ConstraintFailure::new(
                    &constraint.argument,
                    "",
                    outcome,
                    format!("{rule} every call of this tool"),
                ));
            }
            continue;
        }
        let selected = select(arguments, &constraint.argument);
        let mut tested = 0;
        for found in &selected {
            // An empty array holds no value, so it is an absent argument.
            let Some(values) = scalars(found.value) else {
                let rule = format!("must be {}, not {}", wanted(&constraint.test), shape(found.value));
                failures.push(ConstraintFailure::new(
                    &constraint.argument,
                    &found.pointer,
                    Outcome::Deny,
                    rule,
                ));
                tested += 1;
                continue;
            };
            for value in values {
                tested += 1;
                if let Err(rule) = test(constraint, value, arguments, env) {
                    failures.push(ConstraintFailure::new(
                        &constraint.argument,
                        &found.pointer,
                        Outcome::Deny,
                        rule,
                    ));
                }
            }
        }
        if tested == 0 {
            failures.extend(absent(constraint, constraints, arguments, env));
        }
    }
    failures.extend(network::check(arguments, env.role, env.listed));
    failures
}

fn wanted(test: &Test) -> &'static str {
    match test {
        Test::Path(_) => "a path or a list of paths",
        Test::Pattern(_) | Test::Ref => "text",
        Test::OneOf(_) | Test::AtLeast(_) => "one of the allowed values",
        Test::Host(_) => "a url or a host",
        Test::Range(_) => "a number",
    }
}

fn shape(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list that holds null or an object",
        Value::Object(_) => "an object",
    }
}

/// Tests one scalar; the error is the rule in our own words.
fn test(
    constraint: &Constraint,
    value: &Value,
    arguments: &Value,
    env: Environment<'_>,
) -> Result<(), String> {
    let verdict = |ok: bool, rule: &str| if ok { Ok(()) } else { Err(rule.to_owned()) };
    let text = || {
        value.as_str().ok_or_else(|| format!("must be {}, not {}", wanted(&constraint.test), shape(value)))
    };
    match &constraint.test {
        Test::Path(limit) => path_test(limit, text()?, arguments, env),
        Test::Pattern(pattern) => {
            let matched = text_of(value).is_some_and(|text| pattern.matches(&text));
            verdict(matched, "does not match the policy's pattern")
        }
        Test::OneOf(allowed) => {
            verdict(allowed.iter().any(|a| a.is(value)), "is not one of the policy's allowed values")
        }
        Test::Host(hosts) => {
            verdict(host::any_matches(hosts, text()?), "does not lead to one of the policy's hosts")
        }
        Test::Range(range) => verdict(range.admits(value), "is not a number in the policy's range"),
        Test::Ref => verdict(
            is_plain_ref(value),
            "must be a plain name: no leading `-`, no `..`, no control characters",
        ),
        Test::AtLeast(_) => Ok(()),
    }
}

const OUTSIDE: &str = "path outside the allowed folders";

fn path_test(limit: &PathLimit, text: &str, arguments: &Value, env: Environment<'_>) -> Result<(), String> {
    let said = |fault: PathFault| fault.to_string();
    let mut base_seen = None;
    if limit.base.is_some() {
        let bases = bases(limit, arguments);
        let [base] = bases.as_slice() else {
            return Err("the folder this path starts from is not given once".to_owned());
        };
        if !path::is_within(text, base, env.cwd).map_err(said)? {
            return Err("path leaves the folder it belongs to".to_owned());
        }
        let base = env.cwd.map_or_else(|| (*base).to_owned(), |cwd| path::join(cwd, base));
        let whole = path::join(&base, text);
        if let (Some(inner), Some(outer)) = ((env.resolved)(&whole), (env.resolved)(&base))
            && !path::is_within(&inner, &outer, None).map_err(said)?
        {
            return Err("path leaves the folder it belongs to through a link".to_owned());
        }
        base_seen = Some(base);
    }
    if limit.within.is_empty() {
        return Ok(());
    }
    let cwd = base_seen.as_deref().or(env.cwd);
    let mut fault = None;
    for bound in &limit.within {
        match bound.contains(text, cwd) {
            Ok(true) if follows(bound.as_str(), text, cwd, env) => return Ok(()),
            Ok(true) => fault = Some("path leads outside the allowed folders through a link".to_owned()),
            Ok(false) => {}
            Err(why) => fault = fault.or(Some(why.to_string())),
        }
    }
    Err(fault.unwrap_or_else(|| OUTSIDE.to_owned()))
}

/// Whether the path is still inside once links are followed, where that is known.
fn follows(bound: &str, text: &str, cwd: Option<&str>, env: Environment<'_>) -> bool {
    let join =
        |text: &str, cwd: Option<&str>| cwd.map_or_else(|| text.to_owned(), |cwd| path::join(cwd, text));
    let Some(inner) = (env.resolved)(&join(text, cwd)) else { return true };
    let outer = (env.resolved)(&join(bound, env.cwd)).unwrap_or_else(|| join(bound, env.cwd));
    path::is_within(&inner, &outer, None).unwrap_or(false)
}

/// What the absence of a constrained argument means.
fn absent(
    constraint: &Constraint,
    all: &[Constraint],
    arguments: &Value,
    env: Environment<'_>,
) -> Option<ConstraintFailure> {
    let fail = |outcome, rule: &str| Some(ConstraintFailure::new(&constraint.argument, "", outcome, rule));
    if constraint.presence == Presence::Required {
        return fail(Outcome::Deny, "is required and absent");
    }
    let (mut has_others, mut has_path) = (false, false);
    each_leaf(arguments, |leaf| {
        let covers = |c: &Constraint| !matches!(c.test, Test::AtLeast(_)) && c.argument.covers(leaf.argument);
        if all.iter().any(covers) {
            return;
        }
        has_others = true;
        has_path |= match (env.role)(leaf.argument) {
            Some(Role::Path) => true,
            Some(Role::Content | Role::Credential) => false,
            _ => path::looks_like_path(leaf.text),
        };
    });
    // The path stands under another name, where the rule does not look.
    if matches!(constraint.test, Test::Path(_)) && has_path {
        return fail(Outcome::Deny, "is absent, and another argument carries a path that no rule covers");
    }
    if constraint.presence == Presence::Undeclared && has_others {
        return fail(
            Outcome::Ask,
            "is limited by the policy, but this call says it under another name or not at all",
        );
    }
    None
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{AllowedValue, Bound, HostPattern, Pattern, Range};
    use super::*;
    use crate::policy::Layer;

    fn constraint(argument: &str, test: Test) -> Constraint {
        Constraint {
            argument: ArgPath(argument.into()),
            test,
            layer: Layer::User,
            presence: Presence::Optional,
        }
    }

    fn within(argument: &str, folders: &[&str]) -> Constraint {
        let within = folders.iter().map(|f| Bound::new(f).unwrap()).collect();
        constraint(argument, Test::Path(PathLimit { within, base: None }))
    }

    fn worst(
        constraints: &[Constraint],
        args: &Value,
        cwd: Option<&str>,
        links: &[(&str, &str)],
    ) -> Option<Outcome> {
        let resolved =
            |path: &str| links.iter().find(|(from, _)| *from == path).map(|(_, to)| (*to).to_owned());
        let env = Environment { cwd, resolved: &resolved, role: &|_| None, listed: &|_, _| false };
        evaluate(constraints, args, env).into_iter().map(|f| f.outcome).max()
    }

    #[test]
    fn paths_of_every_shape() {
        let rules = [within("path", &["/w/out"])];
        let check = |args: Value, expected: Option<Outcome>| {
            assert_eq!(worst(&rules, &args, None, &[]), expected, "{args}");
        };
        check(json!({"path": "/w/out/a"}), None);
        check(json!({"path": ["/w/out/a", "/w/out/b"]}), None);
        check(json!({"path": ["/w/out/a", ["/etc/x"]]}), Some(Outcome::Deny));
        check(json!({"path": null}), Some(Outcome::Deny));
        check(json!({"path": 3}), Some(Outcome::Deny));
        check(json!({"path": {"a": "/w/out/a"}}), Some(Outcome::Deny));
        check(json!({"path": "/w/out/a", "PATH": "/etc/x"}), Some(Outcome::Deny));
        check(json!({"file": "/etc/passwd"}), Some(Outcome::Deny));
        check(json!({"path": [], "file": "/etc/passwd"}), Some(Outcome::Deny));
        check(json!({"mode": "fast"}), None);
        check(json!({}), None);
        check(Value::Null, None);
    }

    #[test]
    fn links_are_followed() {
        let rules = [within("path", &["/w/out"])];
        let links =
            [("/w/out/l/x", "/etc/x"), ("/w/out", "/private/w/out"), ("/w/out/a", "/private/w/out/a")];
        assert_eq!(worst(&rules, &json!({"path": "/w/out/l/x"}), None, &links), Some(Outcome::Deny));
        assert_eq!(worst(&rules, &json!({"path": "/w/out/a"}), None, &links), None);
        let asked = paths_to_resolve(&rules, &json!({"path": ["a", "/w/out/a"]}), Some("/w/out"));
        assert_eq!(asked.into_iter().collect::<Vec<_>>(), ["/w/out", "/w/out/a"]);
    }

    #[test]
    fn a_base_argument_is_a_fence() {
        let limit = PathLimit { within: Vec::new(), base: Some(ArgPath("repo_path".into())) };
        let rules = [constraint("files", Test::Path(limit))];
        let check = |args: Value, expected: Option<Outcome>| {
            assert_eq!(worst(&rules, &args, None, &[]), expected, "{args}");
        };
        check(json!({"repo_path": "/srv/r", "files": ["a", "b/c"]}), None);
        check(json!({"repo_path": "/srv/r", "files": ["../../../.kube/config"]}), Some(Outcome::Deny));
        check(json!({"files": ["a"]}), Some(Outcome::Deny));
        let links = [("/srv/r/l", "/etc"), ("/srv/r", "/srv/r")];
        let args = json!({"repo_path": "/srv/r", "files": ["l"]});
        assert_eq!(worst(&rules, &args, None, &links), Some(Outcome::Deny));
    }

    #[test]
    fn absence_depends_on_the_schema() {
        let mut rule = constraint("table", Test::Pattern(Pattern::new("[a-z_]+").unwrap()));
        let mut check = |presence, args: Value, expected: Option<Outcome>| {
            rule.presence = presence;
            assert_eq!(worst(std::slice::from_ref(&rule), &args, None, &[]), expected, "{args} {presence:?}");
        };
        check(Presence::Optional, json!({"tbl": "users; drop"}), None);
        check(Presence::Undeclared, json!({"tbl": "users; drop"}), Some(Outcome::Ask));
        check(Presence::Undeclared, json!({}), None);
        check(Presence::Required, json!({"tbl": "x"}), Some(Outcome::Deny));
        check(Presence::Required, json!({"Table": "x"}), None);
    }

    #[test]
    fn the_other_tests() {
        let check = |test: Test, value: Value, expected: Option<Outcome>| {
            assert_eq!(worst(&[constraint("x", test)], &json!({"x": value}), None, &[]), expected, "{value}");
        };
        let one = || Test::OneOf(vec![AllowedValue::Text("a".into()), AllowedValue::Number(1.0)]);
        check(one(), json!("a"), None);
        check(one(), json!(["a", 1]), None);
        check(one(), json!(["a", 2]), Some(Outcome::Deny));
        let hosts = || Test::Host(vec![HostPattern::new("*.google.com").unwrap()]);
        check(hosts(), json!("https://www.google.com/"), None);
        check(hosts(), json!("https://evil.test/"), Some(Outcome::Deny));
        check(hosts(), json!(7), Some(Outcome::Deny));
        check(Test::Range(Range { min: None, max: Some(5.0) }), json!(6), Some(Outcome::Deny));
        check(Test::Ref, json!("--output=/x"), Some(Outcome::Deny));
        check(Test::AtLeast(Outcome::Ask), json!("x"), Some(Outcome::Ask));
        check(Test::AtLeast(Outcome::Allow), json!("x"), None);
    }
}
