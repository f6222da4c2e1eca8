//! The arguments that an input schema declares, as a flat list.
//!
//! Walks properties, items, the combinators and local references to a bounded depth and number of
//! nodes, so a cyclic or huge schema costs no more than a large honest one. What was not reached is
//! reported as truncated and makes the tool a sink: hiding an argument is no way out.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::words::{Word, words};

/// How deep arguments may nest before the rest is left to the shape of the values.
const DEPTH: usize = 8;
/// How many schema nodes are visited for one tool.
const NODES: usize = 65_536;
/// The longest key that is listed. Longer ones would make paths grow with the square of the schema.
const KEY_BYTES: usize = 256;
/// How many bytes of a description are read.
const DESCRIPTION_BYTES: usize = 400;

/// What JSON types an argument may have; all false when the schema does not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "a schema may name any set of these types")]
pub(super) struct Types {
    /// Text.
    pub(super) string: bool,
    /// Integer or other number.
    pub(super) number: bool,
    /// True or false, and nothing else once it stands alone.
    pub(super) boolean: bool,
    /// An object.
    pub(super) object: bool,
}

impl Types {
    /// Whether the only values are true and false.
    pub(super) fn only_boolean(self) -> bool {
        self.boolean && !self.string && !self.number && !self.object
    }

    /// Whether the only values are numbers.
    pub(super) fn only_number(self) -> bool {
        self.number && !self.string && !self.object
    }
}

/// One argument: a leaf, or an object that holds others.
#[derive(Debug, Clone, Default)]
pub(super) struct Arg {
    /// Dotted path, `[]` after arrays.
    pub(super) path: String,
    /// The words of its own key.
    pub(super) words: Vec<Word>,
    /// The words of the key of the object around it; empty at the top.
    pub(super) parent: Vec<Word>,
    /// What the values may be (of the items, for an array).
    pub(super) types: Types,
    /// `format` of JSON Schema.
    pub(super) format: String,
    /// The values of `enum` and `const` that are texts.
    pub(super) choices: Vec<String>,
    /// What the schema says of it, cut and in lower case.
    pub(super) description: String,
    /// Whether every call has it: listed in `required`, and so are its parents.
    pub(super) required: bool,
    /// Whether other arguments are declared inside it.
    pub(super) holds_others: bool,
}

/// What a schema declares.
#[derive(Debug, Default)]
pub(super) struct Args {
    /// In order of the schema, parents before what they hold.
    pub(super) list: Vec<Arg>,
    /// Whether something was not reached.
    pub(super) truncated: bool,
    /// Whether any `required` list was seen.
    pub(super) says_required: bool,
}

/// Lists the arguments of a schema.
pub(super) fn arguments(schema: &Value) -> Args {
    let mut walk = Walk { root: schema, nodes: 0, at: BTreeMap::new(), out: Args::default() };
    walk.object(schema, &Place { path: "", parent: &[], required: true, depth: 0 });
    walk.out
}

struct Walk<'a> {
    root: &'a Value,
    nodes: usize,
    /// Where the argument of a path stands in the list: the branches of a combinator meet there.
    at: BTreeMap<String, usize>,
    out: Args,
}

/// Where in the arguments a schema stands.
#[derive(Clone, Copy)]
struct Place<'p> {
    path: &'p str,
    parent: &'p [Word],
    required: bool,
    depth: usize,
}

impl<'a> Walk<'a> {
    /// Counts a node; `false` when the schema is used up.
    fn enter(&mut self, depth: usize) -> bool {
        self.nodes += 1;
        // References and combinators deepen too, so twice the depth of arguments is allowed.
        if self.nodes > NODES || depth > DEPTH * 2 {
            self.out.truncated = true;
            return false;
        }
        true
    }

    /// The schema a node stands for, and the node itself: siblings of `$ref` count as well.
    fn target(&self, schema: &'a Value) -> Option<&'a Value> {
        let reference = schema.get("$ref")?.as_str()?;
        self.root.pointer(reference.strip_prefix('#')?)
    }

    /// Lists the properties of an object schema.
    fn object(&mut self, schema: &'a Value, place: &Place<'_>) {
        if !self.enter(place.depth) {
            return;
        }
        let deeper = Place { depth: place.depth + 1, ..*place };
        if let Some(target) = self.target(schema) {
            self.object(target, &deeper);
        }
        let required: Vec<&str> = schema
            .get("required")
            .and_then(Value::as_array)
            .map(|list| list.iter().filter_map(Value::as_str).collect())
            .unwrap_or_default();
        self.out.says_required |= !required.is_empty();
        let required: std::collections::BTreeSet<&str> = required.into_iter().collect();
        if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
            self.properties(properties, &required, place);
        }
        for (key, may_be_absent) in
            [("allOf", false), ("anyOf", true), ("oneOf", true), ("then", true), ("else", true), ("if", true)]
        {
            let branches = match schema.get(key) {
                Some(Value::Array(list)) => list.as_slice(),
                Some(one @ Value::Object(_)) => std::slice::from_ref(one),
                _ => continue,
            };
            for branch in branches {
                self.object(branch, &Place { required: deeper.required && !may_be_absent, ..deeper });
            }
        }
        for key in ["items", "prefixItems"] {
            match schema.get(key) {
                Some(Value::Array(list)) => list.iter().for_each(|it| self.object(it, &deeper)),
                Some(one) => self.object(one, &deeper),
                None => {}
            }
        }
        for key in ["dependentSchemas", "patternProperties"] {
            if let Some(map) = schema.get(key).and_then(Value::as_object) {
                map.values().for_each(|it| self.object(it, &Place { required: false, ..deeper }));
            }
        }
    }

    fn properties(
        &mut self,
        properties: &'a Map<String, Value>,
        required: &std::collections::BTreeSet<&str>,
        place: &Place<'_>,
    ) {
        for (key, schema) in properties {
            if !self.enter(place.depth) {
                return;
            }
            if key.len() > KEY_BYTES {
                self.out.truncated = true;
                continue;
            }
            let mut arg = Arg {
                words: words(key),
                parent: place.parent.to_vec(),
                required: place.required && required.contains(key.as_str()),
                ..Arg::default()
            };
            let mut array = false;
            self.facts(schema, &mut arg, &mut array, place.depth + 1);
            let suffix = if array { "[]" } else { "" };
            let dot = if place.path.is_empty() { "" } else { "." };
            let path = format!("{}{dot}{key}{suffix}", place.path);
            arg.path.clone_from(&path);
            let own = arg.words.clone();
            let now_required = arg.required;
            let index = *self.at.entry(path.clone()).or_insert(self.out.list.len());
            if let Some(known) = self.out.list.get_mut(index) {
                merge(known, arg);
            } else {
                self.out.list.push(arg);
            }
            let before = self.out.list.len();
            let inner = Place { path: &path, parent: &own, required: now_required, depth: place.depth + 1 };
            self.object(schema, &inner);
            if self.out.list.len() > before
                && let Some(arg) = self.out.list.get_mut(index)
            {
                arg.holds_others = true;
            }
        }
    }

    /// Collects what a property's schema says of its values, through references and combinators.
    fn facts(&mut self, schema: &'a Value, arg: &mut Arg, array: &mut bool, depth: usize) {
        if !self.enter(depth) {
            return;
        }
        if let Some(target) = self.target(schema) {
            self.facts(target, arg, array, depth + 1);
        }
        let types = match schema.get("type") {
            Some(Value::String(one)) => vec![one.as_str()],
            Some(Value::Array(many)) => many.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        for name in types {
            match name {
                "string" => arg.types.string = true,
                "number" | "integer" => arg.types.number = true,
                "boolean" => arg.types.boolean = true,
                "object" => arg.types.object = true,
                "array" => *array = true,
                _ => {}
            }
        }
        let text = |key: &str| schema.get(key).and_then(Value::as_str);
        if let Some(format) = text("format").filter(|_| arg.format.is_empty()) {
            arg.format = cut(format);
        }
        if let Some(description) = text("description").filter(|_| arg.description.is_empty()) {
            arg.description = cut(description);
        }
        let listed = schema.get("enum").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let choices = listed.iter().chain(schema.get("const")).filter_map(Value::as_str);
        arg.choices.extend(choices.take(200).map(str::to_owned));
        for key in ["allOf", "anyOf", "oneOf"] {
            for branch in schema.get(key).and_then(Value::as_array).into_iter().flatten() {
                self.facts(branch, arg, array, depth + 1);
            }
        }
        match schema.get("items") {
            Some(Value::Array(list)) => {
                *array = true;
                for it in list {
                    self.facts(it, arg, &mut false, depth + 1);
                }
            }
            Some(items) => {
                *array = true;
                self.facts(items, arg, &mut false, depth + 1);
            }
            None => {}
        }
    }
}

/// Joins what two branches say of one argument.
fn merge(known: &mut Arg, other: Arg) {
    known.types.string |= other.types.string;
    known.types.number |= other.types.number;
    known.types.boolean |= other.types.boolean;
    known.types.object |= other.types.object;
    known.required |= other.required;
    known.choices.extend(other.choices);
    if known.format.is_empty() {
        known.format = other.format;
    }
    if known.description.is_empty() {
        known.description = other.description;
    }
}

/// A text in lower case, cut to the bytes that are read.
fn cut(text: &str) -> String {
    let mut end = text.len().min(DESCRIPTION_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default().to_lowercase()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn paths(schema: &Value) -> String {
        arguments(schema).list.iter().map(|it| it.path.as_str()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn arguments_are_found_wherever_a_schema_may_hide_them() {
        let check = |schema: Value, expected: &str| assert_eq!(paths(&schema), expected, "{schema}");
        check(json!({"properties": {"to": {}, "m": {"properties": {"x": {}}}}}), "to m m.x");
        check(json!({"allOf": [{"properties": {"to": {}}}]}), "to");
        check(json!({"oneOf": [{"properties": {"a": {}}}, {"properties": {"a": {}, "b": {}}}]}), "a b");
        check(
            json!({"properties": {"list": {"type": "array", "items": {"properties": {"to": {}}}}}}),
            "list[] list[].to",
        );
        check(
            json!({"properties": {"m": {"$ref": "#/$defs/M"}}, "$defs": {"M": {"properties": {"to": {}}}}}),
            "m m.to",
        );
        check(json!({"$ref": "#/definitions/M", "definitions": {"M": {"properties": {"to": {}}}}}), "to");
        check(
            json!({"properties": {"l": {"anyOf": [{"type": "array", "items": {"$ref": "#/$defs/M"}}, {"type": "null"}]}},
                   "$defs": {"M": {"properties": {"to": {}}}}}),
            "l[] l[].to",
        );
        check(json!({"if": {"properties": {"a": {}}}, "then": {"properties": {"b": {}}}}), "b a");
        check(json!(null), "");
        check(json!({"properties": [1, 2]}), "");
        check(json!({"properties": {"a": true}}), "a");
    }

    #[test]
    fn hostile_schemas_end() {
        let cycle =
            json!({"$ref": "#/$defs/A", "$defs": {"A": {"properties": {"a": {"$ref": "#/$defs/A"}}}}});
        assert!(arguments(&cycle).truncated);
        assert!(arguments(&json!({"$ref": "#"})).truncated);
        let many: Map<String, Value> = (0..10_000).map(|it| (format!("p{it}"), json!({}))).collect();
        assert!(arguments(&json!({"properties": many})).list.len() > 5_000);
        let mut doubling = json!({"properties": {"leaf": {}}});
        for _ in 0..40 {
            doubling = json!({"allOf": [doubling.clone(), doubling.clone()]});
            if doubling.to_string().len() > 1_000_000 {
                break;
            }
        }
        assert!(arguments(&doubling).truncated);
    }
}
