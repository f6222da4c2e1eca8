//! What stands where a table stands: a table, or a file, a url or a function that opens one.
//!
//! `DuckDB`, `ClickHouse` and others read `from 'https://…'`, `from "x.csv"` and `from url(…)`. So in the
//! place of a table a text executes, a quoted name executes unless it looks like a name, and a
//! function executes unless it is one of those that make rows of their arguments.

use sqlparser::tokenizer::Token;

use super::class::StatementClass;
use super::sql_words;
use crate::policy::Effect;

/// Functions with a `from` between their arguments.
const FROM_INSIDE: [&str; 8] =
    ["extract", "trim", "ltrim", "rtrim", "btrim", "substring", "overlay", "position"];
/// Words behind which the list of tables is over.
const ENDS: [&str; 18] = [
    "where",
    "group",
    "order",
    "having",
    "limit",
    "union",
    "intersect",
    "except",
    "select",
    "set",
    "values",
    "returning",
    "window",
    "qualify",
    "offset",
    "fetch",
    "for",
    "when",
];

/// One level of brackets.
#[derive(Clone, Copy)]
struct Level {
    /// Whether a comma is followed by another table.
    lists: Lists,
    /// Whether a `from` begins a list here.
    from: From,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Lists {
    Tables,
    Other,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum From {
    BeginsTables,
    SplitsArguments,
}

fn word(token: Option<&&Token>) -> String {
    match token {
        Some(Token::Word(it)) if it.quote_style.is_none() => it.value.to_ascii_lowercase(),
        _ => String::new(),
    }
}

/// Adds what is read in place of a table.
pub(super) fn tables(solid: &[&Token], class: &mut StatementClass) {
    let outer = Level { lists: Lists::Other, from: From::BeginsTables };
    let mut levels = vec![outer];
    let mut expects = false;
    for (at, token) in solid.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|it| solid.get(it));
        let Some(level) = levels.last_mut() else { return };
        let expected = std::mem::take(&mut expects);
        match token {
            Token::LParen => {
                let lists = if expected { Lists::Tables } else { Lists::Other };
                let splits = FROM_INSIDE.contains(&word(before).as_str());
                expects = expected;
                levels.push(Level {
                    lists,
                    from: if splits { From::SplitsArguments } else { From::BeginsTables },
                });
            }
            Token::RParen => {
                levels.pop();
                if levels.is_empty() {
                    levels.push(outer);
                }
            }
            Token::Comma => expects = level.lists == Lists::Tables,
            Token::SemiColon => *level = outer,
            Token::Word(it) if it.quote_style.is_none() => {
                let name = it.value.to_ascii_lowercase();
                let begins = before.is_none_or(|it| matches!(it, Token::SemiColon | Token::LParen));
                match name.as_str() {
                    "from" if level.from == From::BeginsTables && word(before) != "distinct" => {
                        level.lists = Lists::Tables;
                        expects = true;
                    }
                    "join" | "apply" => {
                        level.lists = Lists::Tables;
                        expects = true;
                    }
                    "only" | "lateral" if expected => expects = true,
                    "describe" | "desc" | "summarize" | "table" | "pivot" | "unpivot" if begins => {
                        expects = true;
                    }
                    name if ENDS.contains(&name) => level.lists = Lists::Other,
                    _ if expected => place(solid.get(at..).unwrap_or_default(), class),
                    _ => {}
                }
            }
            _ if expected => place(solid.get(at..).unwrap_or_default(), class),
            _ => {}
        }
    }
}

/// Adds what the name at the front of the tokens opens.
fn place(tokens: &[&Token], class: &mut StatementClass) {
    let mut parts = 0;
    let mut rest = tokens;
    loop {
        let (name, quote) = match rest.first() {
            Some(Token::Word(it)) => (it.value.as_str(), it.quote_style),
            // A name to some and a text to others.
            Some(Token::DoubleQuotedString(it)) => (it.as_str(), Some('"')),
            // A number, a parameter or a variable is no file.
            Some(Token::Number(..) | Token::Placeholder(_)) | None => return,
            Some(_) => {
                class.add(Effect::Execute);
                return;
            }
        };
        parts += 1;
        let plain = quote.is_none_or(|quote| {
            name.chars().all(|c| c.is_alphanumeric() || "_- $#".contains(c) || c == '.' && quote == '`')
        });
        let is_file = (parts > 1 || name.contains('.')) && sql_words::ends_as_file(name);
        let after = rest.get(1);
        let calls = matches!(after, Some(Token::LParen)) && !sql_words::makes_rows(name);
        // Four parts name a table of another server.
        if !plain || is_file || calls || parts > 3 {
            class.add(Effect::Execute);
        }
        if !matches!(after, Some(Token::Period)) {
            return;
        }
        rest = rest.get(2..).unwrap_or_default();
    }
}
