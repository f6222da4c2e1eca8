//! Tests on plain values: patterns, allowed values, ranges, names for a command line.
//!
//! A value of the wrong shape fails, it is not skipped: an object never matches a pattern, `null`
//! is no number. Each item of an array is tested.

use std::fmt;

use regex::{Regex, RegexBuilder};
use serde_json::Value;

/// A regular expression that must match the whole text, on an engine that is linear in the text.
#[derive(Debug, Clone)]
pub struct Pattern {
    source: String,
    regex: Regex,
}

/// Why a pattern is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PatternFault {
    /// It looks around or back, which no linear engine does.
    LookAround,
    /// It is no regular expression; the reason in one line.
    Invalid(String),
}

impl fmt::Display for PatternFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LookAround => f.write_str("it uses look-around or a back reference"),
            Self::Invalid(why) => f.write_str(why),
        }
    }
}

impl Pattern {
    /// Compiles a pattern (syntax of the `regex` crate). At most 1 MiB compiled.
    ///
    /// # Errors
    /// [`PatternFault`] when it is not a regular expression of that syntax, or too large.
    pub fn new(source: &str) -> Result<Self, PatternFault> {
        // Compiled alone first: `a)(b` would be balanced by the group that anchors it.
        let compile =
            |text: &str| RegexBuilder::new(text).size_limit(1 << 20).dfa_size_limit(1 << 20).build();
        compile(source).map_err(|error| fault(&error))?;
        let regex = compile(&format!(r"\A(?:{source}{})\z", if source.contains("(?x") { "\n" } else { "" }))
            .map_err(|error| fault(&error))?;
        Ok(Self { source: source.to_owned(), regex })
    }

    /// The pattern as written.
    pub fn as_str(&self) -> &str {
        &self.source
    }

    /// Whether the whole of `text` matches.
    pub fn matches(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }
}

fn fault(error: &regex::Error) -> PatternFault {
    let text = error.to_string();
    if text.contains("look-around") || text.contains("backreference") {
        return PatternFault::LookAround;
    }
    let last = text.lines().last().unwrap_or_default().trim();
    PatternFault::Invalid(last.strip_prefix("error: ").unwrap_or(last).to_owned())
}

/// One value that a policy allows.
#[derive(Debug, Clone, PartialEq)]
pub enum AllowedValue {
    /// A string, compared byte for byte.
    Text(String),
    /// A number, compared by value.
    Number(f64),
    /// `true` or `false`.
    Bool(bool),
}

impl AllowedValue {
    /// Whether `value` is this one.
    pub fn is(&self, value: &Value) -> bool {
        match (self, value) {
            (Self::Text(a), Value::String(b)) => a == b,
            (Self::Bool(a), Value::Bool(b)) => a == b,
            // Equality on purpose: a policy that allows 3 allows neither 3.0000001 nor 2.9999999.
            (Self::Number(a), Value::Number(b)) => b.as_f64().is_some_and(|b| a.total_cmp(&b).is_eq()),
            _ => false,
        }
    }
}

/// A range of numbers, both ends included; an end that is not given is open.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Range {
    /// The least.
    pub min: Option<f64>,
    /// The greatest.
    pub max: Option<f64>,
}

impl Range {
    /// Whether `value` is a number in the range. Decimal text counts as its number, since many tools
    /// take amounts as text; any other form (exponent, sign `+`, spaces, separators) does not.
    pub fn admits(&self, value: &Value) -> bool {
        let number = match value {
            Value::Number(number) => number.as_f64(),
            Value::String(text) => decimal(text),
            _ => None,
        };
        number.is_some_and(|n| {
            n.is_finite() && self.min.is_none_or(|min| n >= min) && self.max.is_none_or(|max| n <= max)
        })
    }
}

fn decimal(text: &str) -> Option<f64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, rest) = digits.split_once('.').unwrap_or((digits, "0"));
    let plain = |s: &str| !s.is_empty() && s.len() <= 20 && s.bytes().all(|b| b.is_ascii_digit());
    (plain(whole) && plain(rest)).then(|| text.parse().ok()).flatten()
}

/// The scalars of a value, arrays unfolded; `None` when there is anything else in it.
pub(super) fn scalars(value: &Value) -> Option<Vec<&Value>> {
    match value {
        Value::String(_) | Value::Number(_) | Value::Bool(_) => Some(vec![value]),
        Value::Array(items) => {
            let parts: Option<Vec<_>> = items.iter().map(scalars).collect();
            Some(parts?.into_iter().flatten().collect())
        }
        Value::Null | Value::Object(_) => None,
    }
}

/// The text a pattern is tried on.
pub(super) fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(b) => Some(b.to_string()),
        _ => None,
    }
}

/// Whether text is a plain name for a command line.
pub(super) fn is_plain_ref(value: &Value) -> bool {
    let Value::String(text) = value else { return false };
    !text.is_empty()
        && !text.trim_start().starts_with('-')
        && !text.contains("..")
        && !text.chars().any(|c| c.is_control() || c == '\\')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn patterns_match_from_end_to_end() {
        let check = |pattern: &str, text: &str, expected: bool| {
            assert_eq!(Pattern::new(pattern).unwrap().matches(text), expected, "{pattern} {text:?}");
        };
        check("[a-z_]+", "users", true);
        check("[a-z_]+", "users\nx", false);
        check("[a-z_]+", "users\n", false);
        check("a|b", "ab", false);
        check("^a$", "a", true);
        check("(?i)yes", "YES", true);
        check("(?x) a # one", "a", true);
        check("", "", true);
    }

    #[test]
    fn what_is_no_pattern_says_why() {
        let check = |pattern: &str, expected: Option<PatternFault>| {
            let fault = Pattern::new(pattern).err();
            match expected {
                Some(PatternFault::Invalid(_)) => {
                    assert!(matches!(fault, Some(PatternFault::Invalid(_))), "{pattern}");
                }
                other => assert_eq!(fault, other, "{pattern}"),
            }
        };
        check("(", Some(PatternFault::Invalid(String::new())));
        check("a)(b", Some(PatternFault::Invalid(String::new())));
        check("a(?=b)", Some(PatternFault::LookAround));
        check(r"(a)\1", Some(PatternFault::LookAround));
        check("(a{1000}){1000}", Some(PatternFault::Invalid(String::new())));
    }

    #[test]
    fn ranges_take_numbers_and_plain_decimals() {
        let range = Range { min: Some(0.0), max: Some(100.0) };
        let check = |value: Value, expected: bool| assert_eq!(range.admits(&value), expected, "{value}");
        check(json!(0), true);
        check(json!(100.0), true);
        check(json!(100.01), false);
        check(json!(-1), false);
        check(json!("50.25"), true);
        check(json!("5e1"), false);
        check(json!(" 5"), false);
        check(json!("1,000"), false);
        check(json!(true), false);
        check(json!([5]), false);
        check(Value::Null, false);
    }

    #[test]
    fn refs_carry_no_options() {
        let check = |text: &str, expected: bool| assert_eq!(is_plain_ref(&json!(text)), expected, "{text:?}");
        check("main", true);
        check("feature/x", true);
        check("HEAD~2", true);
        check("--output=/x", false);
        check(" -x", false);
        check("a..b", false);
        check("a\nb", false);
        check("", false);
    }

    #[test]
    fn allowed_values_are_exact() {
        let check = |allowed: AllowedValue, value: Value, expected: bool| {
            assert_eq!(allowed.is(&value), expected, "{value}");
        };
        check(AllowedValue::Text("a".into()), json!("a"), true);
        check(AllowedValue::Text("a".into()), json!("A"), false);
        check(AllowedValue::Number(3.0), json!(3), true);
        check(AllowedValue::Number(3.0), json!("3"), false);
        check(AllowedValue::Bool(true), json!(true), true);
    }
}
