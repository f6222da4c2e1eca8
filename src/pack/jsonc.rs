//! JSON with comments and trailing commas, as the clients write it, into the tree of `tree.rs`.
//!
//! Reading only: `clients` edits such files in place with a tree of its own that keeps comments.

use jsonc_parser::ast;
use jsonc_parser::{CollectOptions, ParseOptions};

use super::diagnostic::{Diagnostic, Position, quoted};
use super::tree::{Entry, Node, Parsed, Value, resolve};

/// Client files above this many bytes are refused (32 MiB): some clients keep their history there.
pub const MAX_JSON_BYTES: usize = 32 * 1024 * 1024;

/// Reads one JSONC document. A syntax error ends the search for problems.
pub fn parse_jsonc(text: &str, file: &str) -> Parsed {
    if text.len() > MAX_JSON_BYTES {
        let message = format!("file of {} bytes is too large", text.len());
        return Parsed::nothing(Diagnostic::whole(file, message));
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader = Reader { file, text, lines: line_starts(text), problems: Vec::new() };
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    match jsonc_parser::parse_to_ast(text, &CollectOptions::default(), &options) {
        Err(error) => {
            let at = reader.position(error.range().start);
            let what = error.kind().to_string();
            Parsed::nothing(Diagnostic::error(file, at, format!("not JSON: {}", what.to_lowercase())))
        }
        Ok(result) => match result.value {
            None => Parsed::nothing(
                Diagnostic::whole(file, "the file is empty").help("write `{}` for a file without entries"),
            ),
            Some(value) => {
                let node = reader.node(value);
                Parsed { node: Some(node), problems: reader.problems }
            }
        },
    }
}

struct Reader<'t> {
    file: &'t str,
    text: &'t str,
    lines: Vec<usize>,
    problems: Vec<Diagnostic>,
}

fn line_starts(text: &str) -> Vec<usize> {
    std::iter::once(0)
        .chain(text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(i, _)| i + 1))
        .collect()
}

impl Reader<'_> {
    fn position(&self, byte: usize) -> Position {
        let line = self.lines.partition_point(|start| *start <= byte).max(1);
        let start = self.lines.get(line - 1).copied().unwrap_or(0);
        let column = self.text.get(start..byte).map_or(0, |s| s.chars().count());
        Position { line, column: column + 1 }
    }

    // Depth is bounded by the parser (512 levels).
    fn node(&mut self, value: ast::Value<'_>) -> Node {
        match value {
            ast::Value::StringLit(s) => {
                Node { at: self.position(s.range.start), value: Value::String(s.value.into_owned()) }
            }
            ast::Value::NumberLit(n) => {
                let value = match resolve(n.value) {
                    Value::String(text) => Value::Float(text),
                    number => number,
                };
                Node { at: self.position(n.range.start), value }
            }
            ast::Value::BooleanLit(b) => {
                Node { at: self.position(b.range.start), value: Value::Bool(b.value) }
            }
            ast::Value::NullKeyword(n) => Node { at: self.position(n.range.start), value: Value::Null },
            ast::Value::Array(a) => {
                let at = self.position(a.range.start);
                let items = a.elements.into_iter().map(|v| self.node(v)).collect();
                Node { at, value: Value::Seq(items) }
            }
            ast::Value::Object(o) => {
                let at = self.position(o.range.start);
                let mut entries: Vec<Entry> = Vec::with_capacity(o.properties.len());
                let mut names = std::collections::BTreeMap::new();
                for property in o.properties {
                    let at = self.position(property.range.start);
                    let key = property.name.into_string();
                    let value = self.node(property.value);
                    if let Some(first) = names.insert(key.clone(), at) {
                        self.problems.push(
                            Diagnostic::error(self.file, at, format!("key {} stands twice", quoted(&key)))
                                .help(format!("the first is in line {}; keep one of them", first.line)),
                        );
                    }
                    entries.push(Entry { key, at, value });
                }
                Node { at, value: Value::Map(entries) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_trailing_commas_are_read() {
        let node = parse_jsonc("{ // one\n  \"a\": [1, 2.5, true, null,],\n /* b */ \"é\": \"x\", }", "f")
            .whole()
            .unwrap();
        let a = node.get("a").unwrap();
        assert_eq!(a.at, Position { line: 2, column: 8 });
        assert_eq!(node.get("é").unwrap().value, Value::String("x".into()));
        assert_eq!(node.get("é").unwrap().at, Position { line: 3, column: 15 });
    }

    #[test]
    fn what_is_not_json_is_said_with_its_place() {
        let check = |text: &str, line: usize| {
            let problems = parse_jsonc(text, "f").whole().expect_err(text);
            assert_eq!(problems[0].at.map_or(0, |p| p.line), line, "{text}");
        };
        check("", 0);
        check("{\n\"a\": 1,\n\"a\": 2}", 3);
        check("{\n\"a\": }", 2);
        check("{\"a\": 1 \"b\": 2}", 1);
        check("{'a': 1}", 1);
        check(&"[".repeat(10_000), 1);
    }
}
