//! The uris that a template (RFC 6570) may stand for.
//!
//! Generously: routing decides who is asked, and the upstream says no to what is not its own. A template is
//! text of an upstream, so what it may cost is bounded: in its own size, in that of all of one upstream,
//! and in what it compiles to. What is beyond is listed all the same, and is no way to anywhere.

use regex::bytes::{Regex, RegexBuilder};

/// Bytes of one template, and of a uri that is held against it.
const BYTES: usize = 2_048;
/// Templates of one list, and bytes of all of them.
const TEMPLATES: usize = 256;
const ALL_BYTES: usize = 16 << 10;
/// Bytes that one may compile to.
const COMPILED: usize = 64 << 10;

/// A template that uris are held against.
#[derive(Debug, Clone)]
pub(crate) struct Pattern(Regex);

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.0.as_str() == other.0.as_str()
    }
}

impl Eq for Pattern {}

impl Pattern {
    /// Whether a uri may come of the template.
    pub(crate) fn fits(&self, uri: &str) -> bool {
        uri.len() <= BYTES && self.0.is_match(uri.as_bytes())
    }
}

/// What the templates of one list may still cost.
#[derive(Debug)]
pub(crate) struct Budget {
    templates: usize,
    bytes: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self { templates: TEMPLATES, bytes: ALL_BYTES }
    }
}

impl Budget {
    /// Compiles a template; `None` where it cannot be, or is too much.
    pub(crate) fn compile(&mut self, template: &str) -> Option<Pattern> {
        if template.len() > BYTES {
            return None;
        }
        // ORDER: taken before it is compiled, so that what fails costs no more than what works.
        self.templates = self.templates.checked_sub(1)?;
        self.bytes = self.bytes.checked_sub(template.len())?;
        let mut built = RegexBuilder::new(&expression(template)?);
        built.unicode(false).dot_matches_new_line(true).size_limit(COMPILED).build().ok().map(Pattern)
    }
}

fn expression(template: &str) -> Option<String> {
    let mut out = String::from("^");
    let mut rest = template;
    let mut last = "";
    while let Some((literal, tail)) = rest.split_once('{') {
        let (variable, tail) = tail.split_once('}')?;
        let any = match variable.chars().next()? {
            '+' | '#' => ".*",
            '/' => "(?:/[^?#]*)?",
            '?' | '&' => "(?:[?&].*)?",
            ';' => "(?:;[^/?#]*)*",
            _ => "[^/?#]*",
        };
        out.push_str(&regex::escape(literal));
        // One after the other they stand for no more than one of them.
        if !literal.is_empty() || any != last {
            out.push_str(any);
        }
        (rest, last) = (tail, any);
    }
    out.push_str(&regex::escape(rest));
    out.push('$');
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_stand_for_what_they_may() {
        fn check(template: &str, fits: &[&str], other: &[&str]) {
            let pattern = Budget::default().compile(template).unwrap();
            for uri in fits {
                assert!(pattern.fits(uri), "{template} {uri}");
            }
            for uri in other {
                assert!(!pattern.fits(uri), "{template} {uri}");
            }
        }
        check(
            "demo://t/{id}",
            &["demo://t/5", "demo://t/\u{fc}"],
            &["demo://t/5/6", "demo://u/5", "xdemo://t/5"],
        );
        check("file:///{+path}", &["file:///a/b?c", "file:///"], &["file://x/a"]);
        check("db://{schema}/{table}{?limit}", &["db://a/b", "db://a/b?limit=5"], &["db://a"]);
        check("a.b://{x}.json", &["a.b://n.json"], &["axb://n.json", "a.b://njson"]);
        check("x://{a}{b}{+c}{+d}", &["x://", "x://n/m"], &["y://n"]);
        check("b\u{fc}cher://{x}", &["b\u{fc}cher://1"], &["bucher://1"]);
        check("plain:thing", &["plain:thing"], &["plain:things"]);
        assert!(Budget::default().compile("broken://{x").is_none());
        assert!(!Budget::default().compile("x://{id}").unwrap().fits(&format!("x://{}", "a".repeat(BYTES))));
    }

    #[test]
    fn what_costs_too_much_is_no_pattern() {
        assert!(Budget::default().compile(&"x".repeat(BYTES + 1)).is_none());
        let mut many = Budget::default();
        assert_eq!((0..1_000).filter(|n| many.compile(&format!("x:{n}")).is_some()).count(), TEMPLATES);
        let mut long = Budget::default();
        let compiled = (0..100).filter(|_| long.compile(&"{a}/".repeat(500)).is_some()).count();
        assert!(compiled <= ALL_BYTES / 2_000, "{compiled}");
        assert!(long.compile("x:{id}").is_none() || compiled < 8);
    }
}
