//! Names with `*`, and which of several that match is the most specific.
//!
//! Tool names only: no `?`, no sets, no escapes, since no tool name holds a `*`. Linear in the text
//! for each star.

/// A name, possibly with `*` for any run of characters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Glob {
    text: String,
}

impl Glob {
    /// A pattern; any text is one.
    pub fn new(text: &str) -> Self {
        Self { text: text.to_owned() }
    }

    /// The pattern as written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether the whole of `name` is matched.
    pub fn matches(&self, name: &str) -> bool {
        let mut parts = self.text.split('*');
        let first = parts.next().unwrap_or_default();
        let Some(mut rest) = name.strip_prefix(first) else { return false };
        let Some(last) = parts.next_back() else { return rest.is_empty() };
        for part in parts {
            let Some(at) = rest.find(part) else { return false };
            rest = rest.get(at + part.len()..).unwrap_or_default();
        }
        rest.ends_with(last)
    }

    /// How specific the pattern is: one without `*` beats any with, then more characters beat fewer.
    pub fn specificity(&self) -> (bool, usize) {
        let stars = self.text.matches('*').count();
        (stars == 0, self.text.chars().count() - stars)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_any_run() {
        let check = |glob: &str, name: &str, expected: bool| {
            assert_eq!(Glob::new(glob).matches(name), expected, "{glob} {name}");
        };
        check("send", "send", true);
        check("send", "send_all", false);
        check("*", "", true);
        check("*", "x", true);
        check("git_*", "git_log", true);
        check("git_*", "xgit_log", false);
        check("*_file", "read_file", true);
        check("a*b*c", "a1b2c", true);
        check("a*b*c", "acb", false);
        check("ab*ba", "aba", false);
        check("", "", true);
        check("", "x", false);
    }

    #[test]
    fn the_more_specific_wins() {
        let order = ["*", "b*", "browser_*", "*browser_c*", "x"].map(|g| Glob::new(g).specificity());
        assert!(order.windows(2).all(|w| w[0] < w[1]), "{order:?}");
    }
}
