//! Argument paths against real arguments: which rule covers which argument, and which values a path
//! selects.
//!
//! Names are compared without regard to case, since servers read `BCC` and `bcc` alike. A rule for an
//! argument covers all that stands inside it, and an array stands for its items: a rule cannot be
//! escaped by wrapping a value.

use std::borrow::Cow;

use serde_json::Value;

use super::ArgPath;

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Step<'p> {
    Name(&'p str),
    Items,
}

fn steps(path: &str) -> impl Iterator<Item = Step<'_>> {
    path.split('.').flat_map(|part| {
        let name = part.trim_end_matches("[]");
        let items = (part.len() - name.len()) / 2;
        (!name.is_empty())
            .then_some(Step::Name(name))
            .into_iter()
            .chain(std::iter::repeat_n(Step::Items, items))
    })
}

/// Whether two names are the same argument.
pub(super) fn same_name(a: &str, b: &str) -> bool {
    // Names in plain letters, which most are, need no copies in lower case.
    a.eq_ignore_ascii_case(b) || !(a.is_ascii() && b.is_ascii()) && a.to_lowercase() == b.to_lowercase()
}

impl ArgPath {
    /// Whether the path is well formed: names of at most 128 characters, `.` between them, `[]` only
    /// at their ends.
    pub fn is_valid(&self) -> bool {
        self.0.split('.').all(|part| {
            let name = part.trim_end_matches("[]");
            !name.is_empty()
                && name.len() <= 128
                && !name.contains(['[', ']'])
                && !name.chars().any(char::is_control)
        })
    }

    /// Whether a rule for this path rules on `argument` too: it is that argument or one inside it.
    pub fn covers(&self, argument: &str) -> bool {
        let mut theirs = steps(argument).peekable();
        for ours in steps(&self.0) {
            // An array in the call stands for its items whether or not the rule wrote `[]`.
            while ours != Step::Items && theirs.peek() == Some(&Step::Items) {
                theirs.next();
            }
            match (ours, theirs.peek()) {
                (Step::Name(a), Some(Step::Name(b))) if same_name(a, b) => {
                    theirs.next();
                }
                (Step::Items, Some(Step::Items)) => {
                    theirs.next();
                }
                // `to[]` also rules on a `to` that is no array in this call.
                (Step::Items, _) => {}
                _ => return false,
            }
        }
        true
    }

    /// How many steps the path has: of several rules that cover an argument the longest counts.
    pub fn depth(&self) -> usize {
        steps(&self.0).count()
    }

    /// The first name of the path: the argument as the schema's top level knows it.
    pub fn top(&self) -> &str {
        self.0.split(['.', '[']).next().unwrap_or_default()
    }

    /// The form by which equal paths are found equal.
    pub(super) fn folded(&self) -> String {
        self.0.to_lowercase()
    }
}

/// A value in the arguments with its RFC 6901 pointer.
#[derive(Debug, Clone, PartialEq)]
pub struct Selected<'v> {
    /// Where it stands.
    pub pointer: String,
    /// The value.
    pub value: &'v Value,
}

/// The values that a path selects, in the order of the arguments. Every key that equals a name but
/// for its case is selected.
pub fn select<'v>(arguments: &'v Value, path: &ArgPath) -> Vec<Selected<'v>> {
    let mut found = vec![Selected { pointer: String::new(), value: arguments }];
    for step in steps(&path.0) {
        let mut next = Vec::new();
        for here in found {
            descend(here, &step, &mut next);
        }
        found = next;
    }
    found
}

fn descend<'v>(here: Selected<'v>, step: &Step<'_>, out: &mut Vec<Selected<'v>>) {
    match (here.value, step) {
        (Value::Object(map), Step::Name(name)) => {
            for (key, value) in map.iter().filter(|(key, _)| same_name(key, name)) {
                out.push(Selected { pointer: format!("{}/{}", here.pointer, token(key)), value });
            }
        }
        (Value::Array(items), _) => {
            for (index, value) in items.iter().enumerate() {
                let item = Selected { pointer: format!("{}/{index}", here.pointer), value };
                match step {
                    Step::Items => out.push(item),
                    Step::Name(_) => descend(item, step, out),
                }
            }
        }
        (_, Step::Items) => out.push(here),
        _ => {}
    }
}

/// A key as a reference token of RFC 6901.
pub(super) fn token(key: &str) -> Cow<'_, str> {
    if key.contains(['~', '/']) {
        Cow::Owned(key.replace('~', "~0").replace('/', "~1"))
    } else {
        Cow::Borrowed(key)
    }
}

/// Visits every string leaf of the arguments, in order.
pub(super) fn each_leaf<'v>(arguments: &'v Value, mut visit: impl FnMut(Leaf<'_, 'v>)) {
    walk(arguments, &mut Spot::default(), &mut visit);
}

/// A string leaf.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Leaf<'s, 'v> {
    /// The dotted path, `[]` for items.
    pub argument: &'s str,
    /// The pointer.
    pub pointer: &'s str,
    /// The text.
    pub text: &'v str,
}

/// Where the walk through the arguments is: every call is walked, so nothing is copied for it.
#[derive(Default)]
struct Spot {
    argument: String,
    pointer: String,
}

impl Spot {
    /// Goes one step down, and comes back.
    fn within(&mut self, argument: &[&str], pointer: &str, visit: impl FnOnce(&mut Self)) {
        let (before, above) = (self.argument.len(), self.pointer.len());
        self.argument.extend(argument.iter().copied());
        self.pointer.push('/');
        self.pointer.push_str(pointer);
        visit(self);
        self.argument.truncate(before);
        self.pointer.truncate(above);
    }
}

/// Every string and number of the arguments, with its dotted path.
pub(super) fn scalars(arguments: &Value) -> Vec<(String, Cow<'_, str>)> {
    let mut found = Vec::new();
    let mut open = vec![(String::new(), arguments)];
    while let Some((argument, value)) = open.pop() {
        match value {
            Value::String(text) => found.push((argument, Cow::Borrowed(text.as_str()))),
            Value::Number(number) => found.push((argument, Cow::Owned(number.to_string()))),
            Value::Array(items) => {
                open.extend(items.iter().rev().map(|item| (format!("{argument}[]"), item)));
            }
            Value::Object(members) => open.extend(members.iter().rev().map(|(key, member)| {
                let name = if argument.is_empty() { key.clone() } else { format!("{argument}.{key}") };
                (name, member)
            })),
            Value::Bool(_) | Value::Null => {}
        }
    }
    found
}

// Depth is bounded by the JSON reader (128 levels).
fn walk<'v>(value: &'v Value, here: &mut Spot, visit: &mut dyn FnMut(Leaf<'_, 'v>)) {
    match value {
        Value::String(text) => visit(Leaf { argument: &here.argument, pointer: &here.pointer, text }),
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                here.within(&["[]"], &index.to_string(), |here| walk(item, here, visit));
            }
        }
        Value::Object(map) => {
            for (key, item) in map {
                let dot = if here.argument.is_empty() { "" } else { "." };
                here.within(&[dot, key], &token(key), |here| walk(item, here, visit));
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_rule_covers_what_stands_inside() {
        let check = |rule: &str, argument: &str, expected: bool| {
            assert_eq!(ArgPath(rule.into()).covers(argument), expected, "{rule} {argument}");
        };
        check("to", "to", true);
        check("to", "TO", true);
        check("to", "to[].email", true);
        check("to[]", "to", true);
        check("to[].email", "to.email", true);
        check("to.email", "to[].email", true);
        check("to", "topic", false);
        check("message.to", "to", false);
        check("to", "message.to", false);
        check("a[]", "a[][]", true);
    }

    #[test]
    fn wrapping_does_not_hide_a_value() {
        let args = json!({"To": ["a", {"email": "b"}], "to": "c", "m": [{"x/y": 1}]});
        let check = |path: &str, expected: &[&str]| {
            let got: Vec<_> = select(&args, &ArgPath(path.into())).into_iter().map(|s| s.pointer).collect();
            assert_eq!(got, expected, "{path}");
        };
        check("to", &["/To", "/to"]);
        check("to[]", &["/To/0", "/To/1", "/to"]);
        check("to.email", &["/To/1/email"]);
        check("m.x/y", &["/m/0/x~1y"]);
        check("none", &[]);
    }

    #[test]
    fn leaves_know_their_place() {
        let arguments = json!({"a": [{"b": "x"}, "y"], "c": 1});
        let mut got = Vec::new();
        each_leaf(&arguments, |leaf| got.push([leaf.argument, leaf.pointer, leaf.text].map(str::to_owned)));
        assert_eq!(got, [["a[].b", "/a/0/b", "x"], ["a[]", "/a/1", "y"]]);
    }

    #[test]
    fn only_paths_are_paths() {
        let check =
            |path: &str, expected: bool| assert_eq!(ArgPath(path.into()).is_valid(), expected, "{path}");
        check("to", true);
        check("a.b[].c", true);
        check("", false);
        check("a..b", false);
        check("a[0]", false);
        check("[]", false);
    }
}
