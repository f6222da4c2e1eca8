//! A YAML or JSONC document as a tree in which every node knows its place.
//!
//! Stricter than the formats: what two readers of one file could understand differently is an error
//! here. Refused are duplicate keys, names that are no strings, tags, merge keys, several documents in one
//! file. Scalars follow the YAML 1.2 core schema, so `on`, `yes` and `no` are strings. Anchors may
//! stand for a whole value. `check.rs` reads values out of the tree; `jsonc.rs` makes it from JSONC.

use std::collections::BTreeMap;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle};

use super::diagnostic::{Diagnostic, Position, quoted};

/// Files above this many bytes are refused (256 KiB).
pub const MAX_YAML_BYTES: usize = 256 * 1024;

/// Deeper nesting is refused; nothing we read needs more than a handful of levels.
const MAX_DEPTH: usize = 64;

/// More nodes than this are refused, which bounds what anchors can unfold to.
const MAX_NODES: usize = 100_000;

/// A node of a document.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Where it starts.
    pub at: Position,
    /// What it is.
    pub value: Value,
}

/// The value of a node.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Nothing, `~` or `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number that fits 64 bits.
    Int(i64),
    /// Any other number, as written.
    Float(String),
    /// A string.
    String(String),
    /// A sequence.
    Seq(Vec<Node>),
    /// A mapping, in the order of the file; no key stands twice.
    Map(Vec<Entry>),
}

/// A key with its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The key.
    pub key: String,
    /// Where the key stands.
    pub at: Position,
    /// The value.
    pub value: Node,
}

impl Node {
    /// What the node is, in words for a message.
    pub fn describe(&self) -> &'static str {
        match &self.value {
            Value::Null => "nothing",
            Value::Bool(_) => "true or false",
            Value::Int(_) => "a whole number",
            Value::Float(_) => "a decimal number",
            Value::String(_) => "a string",
            Value::Seq(_) => "a list",
            Value::Map(_) => "a mapping",
        }
    }

    /// The value under a key of a mapping.
    pub fn get(&self, key: &str) -> Option<&Node> {
        match &self.value {
            Value::Map(entries) => entries.iter().find(|e| e.key == key).map(|e| &e.value),
            _ => None,
        }
    }

    /// The entries of a mapping; empty for anything else.
    pub fn entries(&self) -> &[Entry] {
        match &self.value {
            Value::Map(entries) => entries,
            _ => &[],
        }
    }
}

/// What was read of a document.
#[derive(Debug)]
pub struct Parsed {
    /// The tree, where the reading came to its end. It is no value while there are problems: entries
    /// that cannot be named are missing, and a key may stand twice. Checking it finds the others.
    pub node: Option<Node>,
    /// Every problem found.
    pub problems: Vec<Diagnostic>,
}

impl Parsed {
    /// Nothing but a problem.
    pub(super) fn nothing(problem: Diagnostic) -> Self {
        Self { node: None, problems: vec![problem] }
    }

    /// The tree of a document without a problem.
    ///
    /// # Errors
    /// Every problem found, at least one.
    pub fn whole(self) -> Result<Node, Vec<Diagnostic>> {
        match self.node {
            Some(node) if self.problems.is_empty() => Ok(node),
            _ => Err(self.problems),
        }
    }
}

/// Reads one YAML document. A syntax error ends the search for problems, everything else goes on.
pub fn parse_yaml(text: &str, file: &str) -> Parsed {
    if text.len() > MAX_YAML_BYTES {
        let problem = Diagnostic::whole(file, format!("file of {} bytes is too large", text.len()));
        let help = format!("at most {MAX_YAML_BYTES} bytes are read; split it");
        return Parsed::nothing(problem.help(help));
    }
    let mut builder = Builder::new(file);
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut parser = Parser::new_from_str(text);
    while let Some(event) = parser.next_event() {
        match event {
            Ok((event, span)) => {
                if builder.take(event, span.start).is_err() {
                    break;
                }
            }
            Err(error) => {
                builder.error(position(*error.marker()), format!("not YAML: {}", error.info()));
                break;
            }
        }
    }
    builder.finish()
}

fn position(mark: Marker) -> Position {
    Position { line: mark.line().max(1), column: mark.col() + 1 }
}

/// What is open while the events come in.
enum Open {
    Seq {
        at: Position,
        items: Vec<Node>,
        anchor: usize,
    },
    /// The key is that of the value to come; it has no name when it can have none.
    Map {
        at: Position,
        entries: Vec<Entry>,
        key: Option<(Option<String>, Position)>,
        anchor: usize,
    },
}

/// Stops reading; the reason is already among the problems.
struct Stop;

struct Builder<'f> {
    file: &'f str,
    open: Vec<Open>,
    anchors: BTreeMap<usize, (Node, usize)>,
    nodes: usize,
    documents: usize,
    root: Option<Node>,
    problems: Vec<Diagnostic>,
}

impl<'f> Builder<'f> {
    fn new(file: &'f str) -> Self {
        Self {
            file,
            open: Vec::new(),
            anchors: BTreeMap::new(),
            nodes: 0,
            documents: 0,
            root: None,
            problems: Vec::new(),
        }
    }

    fn error(&mut self, at: Position, message: impl Into<String>) {
        self.problems.push(Diagnostic::error(self.file, at, message));
    }

    fn help(&mut self, help: impl Into<String>) {
        if let Some(last) = self.problems.last_mut() {
            last.help = Some(help.into());
        }
    }

    fn take(&mut self, event: Event<'_>, mark: Marker) -> Result<(), Stop> {
        let at = position(mark);
        match event {
            Event::DocumentStart(_) => {
                self.documents += 1;
                if self.documents > 1 {
                    self.error(at, "a second document in one file");
                    self.help("take out the `---` line, or write two files");
                    return Err(Stop);
                }
            }
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => {}
            Event::Alias(id) => {
                let Some((node, size)) = self.anchors.get(&id).cloned() else {
                    self.error(at, "alias inside the value it stands for");
                    return Err(Stop);
                };
                self.count(size, at)?;
                self.insert(Node { at, value: node.value }, Spelling::Other, 0, size);
            }
            Event::Scalar(text, style, anchor, tag) => {
                self.count(1, at)?;
                self.refuse_tag(tag.is_some(), at);
                let plain = style == ScalarStyle::Plain;
                let value = if plain { resolve(&text) } else { Value::String(text.into_owned()) };
                let spelling = if plain && value == Value::String("<<".to_owned()) {
                    Spelling::Merge
                } else {
                    Spelling::Other
                };
                self.insert(Node { at, value }, spelling, anchor, 1);
            }
            Event::SequenceStart(anchor, tag) => {
                self.refuse_tag(tag.is_some(), at);
                self.push(Open::Seq { at, items: Vec::new(), anchor }, at)?;
            }
            Event::MappingStart(anchor, tag) => {
                self.refuse_tag(tag.is_some(), at);
                self.push(Open::Map { at, entries: Vec::new(), key: None, anchor }, at)?;
            }
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some(Open::Seq { at, items, anchor }) => {
                    self.close(Node { at, value: Value::Seq(items) }, anchor);
                }
                Some(Open::Map { at, entries, anchor, .. }) => {
                    self.close(Node { at, value: Value::Map(entries) }, anchor);
                }
                None => {}
            },
        }
        Ok(())
    }

    fn refuse_tag(&mut self, tagged: bool, at: Position) {
        if tagged {
            self.error(at, "tags are not read");
            self.help("take out the word that begins with `!`");
        }
    }

    fn push(&mut self, open: Open, at: Position) -> Result<(), Stop> {
        self.count(1, at)?;
        if self.open.len() >= MAX_DEPTH {
            self.error(at, format!("nested deeper than {MAX_DEPTH} levels"));
            return Err(Stop);
        }
        self.open.push(open);
        Ok(())
    }

    fn count(&mut self, nodes: usize, at: Position) -> Result<(), Stop> {
        self.nodes = self.nodes.saturating_add(nodes);
        if self.nodes > MAX_NODES {
            self.error(at, format!("more than {MAX_NODES} values"));
            return Err(Stop);
        }
        Ok(())
    }

    fn close(&mut self, node: Node, anchor: usize) {
        let size = if anchor > 0 { size(&node) } else { 0 };
        self.insert(node, Spelling::Other, anchor, size);
    }

    fn insert(&mut self, node: Node, spelling: Spelling, anchor: usize, size: usize) {
        if anchor > 0 {
            self.anchors.insert(anchor, (node.clone(), size));
        }
        match self.open.last_mut() {
            None => self.root = Some(node),
            Some(Open::Seq { items, .. }) => items.push(node),
            Some(Open::Map { entries, key, .. }) => match key.take() {
                Some((Some(name), at)) => {
                    let twice = entries.iter().find(|e| e.key == name).map(|e| e.at);
                    let message = format!("key {} stands twice", quoted(&name));
                    entries.push(Entry { key: name, at, value: node });
                    if let Some(first) = twice {
                        self.error(at, message);
                        self.help(format!("the first is in line {}; keep one of them", first.line));
                    }
                }
                Some((None, _)) => {}
                None => self.begin_entry(node, spelling),
            },
        }
    }

    fn begin_entry(&mut self, node: Node, spelling: Spelling) {
        let name = match (node.value, spelling) {
            (Value::String(_), Spelling::Merge) => {
                self.error(node.at, "merge keys are not read");
                self.help("write the entries out; two readers of YAML understand `<<` differently");
                None
            }
            (Value::String(name), Spelling::Other) => Some(name),
            (other, _) => {
                let node = Node { at: node.at, value: other };
                self.error(node.at, format!("a name must be a string, not {}", node.describe()));
                self.help("put the name in quotes");
                None
            }
        };
        if let Some(Open::Map { key, .. }) = self.open.last_mut() {
            *key = Some((name, node.at));
        }
    }

    fn finish(mut self) -> Parsed {
        if self.root.is_none() && self.problems.is_empty() {
            self.problems.push(
                Diagnostic::whole(self.file, "the file is empty")
                    .help("write `{}` for a file without entries"),
            );
        }
        Parsed { node: self.root, problems: self.problems }
    }
}

/// Whether a scalar is the merge key, which only its plain spelling is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Spelling {
    Merge,
    Other,
}

/// How many nodes a tree has.
fn size(node: &Node) -> usize {
    1 + match &node.value {
        Value::Seq(items) => items.iter().map(size).sum(),
        Value::Map(entries) => entries.iter().map(|e| 1 + size(&e.value)).sum(),
        _ => 0,
    }
}

/// A plain scalar by the core schema of YAML 1.2.2, section 10.3.2.
pub(super) fn resolve(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" => return Value::Bool(true),
        "false" | "False" | "FALSE" => return Value::Bool(false),
        _ => {}
    }
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) {
        return text.parse().map_or_else(|_| Value::Float(text.to_owned()), Value::Int);
    }
    let radix = [("0x", 16), ("0o", 8)];
    if let Some((rest, base)) = radix.iter().find_map(|(p, b)| Some((text.strip_prefix(p)?, *b)))
        && rest.chars().all(|c| c.is_digit(base))
        && let Ok(number) = i64::from_str_radix(rest, base)
    {
        return Value::Int(number);
    }
    let special = matches!(digits, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN");
    let numeric = digits.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'-' | b'+'))
        && digits.bytes().any(|b| b.is_ascii_digit())
        && digits.parse::<f64>().is_ok();
    if special || numeric { Value::Float(text.to_owned()) } else { Value::String(text.to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(node: &Node) -> String {
        match &node.value {
            Value::Null => "null".into(),
            Value::Bool(b) => b.to_string(),
            Value::Int(i) => i.to_string(),
            Value::Float(f) => format!("float {f}"),
            Value::String(s) => format!("{s:?}"),
            Value::Seq(items) => format!("[{}]", items.iter().map(shape).collect::<Vec<_>>().join(", ")),
            Value::Map(es) => {
                let inner: Vec<_> = es.iter().map(|e| format!("{}: {}", e.key, shape(&e.value))).collect();
                format!("{{{}}}", inner.join(", "))
            }
        }
    }

    fn check(text: &str, expected: &str) {
        match parse_yaml(text, "f").whole() {
            Ok(node) => assert_eq!(shape(&node), expected, "{text:?}"),
            Err(problems) => panic!("{text:?}: {problems:?}"),
        }
    }

    #[test]
    fn scalars_follow_the_core_schema() {
        check("[on, yes, no, off]", r#"["on", "yes", "no", "off"]"#);
        check(
            "[true, 1, -1, 0x10, 0o17, 1.5, 1e3, .inf]",
            "[true, 1, -1, 16, 15, float 1.5, float 1e3, float .inf]",
        );
        check(
            "['1', \"true\", 1.2.3, 2024-01-01, +1 555]",
            r#"["1", "true", "1.2.3", "2024-01-01", "+1 555"]"#,
        );
        check("[~, null, '']", r#"[null, null, ""]"#);
        check("99999999999999999999", "float 99999999999999999999");
        check("a: &x [1]\nb: *x", "{a: [1], b: [1]}");
        check("\u{feff}a:\r\n  b: 1\r\n", "{a: {b: 1}}");
        check("a:\n", "{a: null}");
    }

    #[test]
    fn ambiguity_is_refused_with_its_place() {
        let check = |text: &str, expected: &[(usize, usize, &str)]| {
            let problems = parse_yaml(text, "f").whole().expect_err(text);
            let seen: Vec<_> = problems
                .iter()
                .map(|d| (d.at.map_or(0, |p| p.line), d.at.map_or(0, |p| p.column), d.message.as_str()))
                .collect();
            assert_eq!(seen, expected, "{text:?}");
        };
        check("a: 1\na: 2\nb: 3\nb: 4", &[(2, 1, "key `a` stands twice"), (4, 1, "key `b` stands twice")]);
        check(
            "123: 1\ntrue: 1\n~: 1",
            &[
                (1, 1, "a name must be a string, not a whole number"),
                (2, 1, "a name must be a string, not true or false"),
                (3, 1, "a name must be a string, not nothing"),
            ],
        );
        check("b: &b {x: 1}\np:\n  <<: *b", &[(3, 3, "merge keys are not read")]);
        check("post: !!python/object [1]", &[(1, 23, "tags are not read")]);
        check("a: 1\n---\nb: 1", &[(2, 1, "a second document in one file")]);
        check("", &[(0, 0, "the file is empty")]);
        check("# only words\n", &[(0, 0, "the file is empty")]);
        check("? [a]\n: 1", &[(1, 3, "a name must be a string, not a list")]);
    }

    #[test]
    fn hostile_files_stay_small() {
        assert!(parse_yaml(&"[".repeat(10_000), "f").whole().is_err());
        assert!(parse_yaml(&" ".repeat(MAX_YAML_BYTES + 1), "f").whole().is_err());
        let mut bomb = String::from("a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n");
        for i in 1..9 {
            let items = vec![format!("*a{}", i - 1); 10].join(",");
            bomb.extend(["a", &i.to_string(), ": &a", &i.to_string(), " [", &items, "]\n"]);
        }
        assert!(parse_yaml(&bomb, "f").whole().is_err());
        assert!(parse_yaml("a: [1", "f").whole().is_err());
    }
}
