//! What a policy file or a pack says of tools, compiled but not yet layered.
//!
//! A field that is not given is `None` or empty, so that layering can go field by field. Made by
//! `pack::compile` from YAML; put together for one tool by `layer.rs`.

use std::collections::BTreeMap;

use serde_json_path::JsonPath;

use crate::provenance::{Kind, TrustRule};

use super::constraint::{Bound, Test};
use super::{ArgPath, Cells, Effect, Gate, Glob, Role, heuristics};

/// Which tools of which upstreams an entry is about: `tool` (of any upstream) or `upstream.tool`,
/// each with `*`.
///
/// A name with a dot always begins with the upstream, so that a tool that calls itself
/// `mail.send` cannot slip under an entry for the upstream `mail`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolKey {
    source: String,
}

impl ToolKey {
    /// Reads a key; any text is one.
    pub fn new(source: &str) -> Self {
        Self { source: source.to_owned() }
    }

    /// As written.
    pub fn as_str(&self) -> &str {
        &self.source
    }

    /// Whether the key is about many tools.
    pub fn is_for_many(&self) -> bool {
        self.source.rsplit('.').next().is_some_and(|tool| tool.contains('*'))
    }

    /// How specific the key is for this tool, if it is about it at all. More is more specific: first
    /// the tool's part counts, then the upstream's.
    pub fn matches(&self, upstream: &str, tool: &str) -> Option<Specificity> {
        if !self.source.contains('.') {
            let glob = Glob::new(&self.source);
            return glob.matches(tool).then(|| (glob.specificity(), (false, 0)));
        }
        // Upstream names may hold dots themselves, so every dot may be the one between.
        let dots = self.source.match_indices('.');
        dots.filter_map(|(at, _)| {
            let (left, right) = (Glob::new(self.source.get(..at)?), Glob::new(self.source.get(at + 1..)?));
            (left.matches(upstream) && right.matches(tool)).then(|| (right.specificity(), left.specificity()))
        })
        .max()
    }
}

/// Whether without `*`, and how many characters: of the tool's part, then of the upstream's.
pub type Specificity = ((bool, usize), (bool, usize));

/// How an entry stands to what lower layers say of the same tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Extent {
    /// Field by field, what is not given stays.
    #[default]
    Extends,
    /// Nothing of them stays.
    Replaces,
}

/// How many calls a session may make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Allowance {
    /// At most so many.
    Calls(u32),
    /// As many as it likes.
    Unlimited,
}

/// One entry.
#[derive(Debug, Clone)]
pub struct Rule {
    /// The tools it is about.
    pub key: ToolKey,
    /// How it stands to lower layers.
    pub extent: Extent,
    /// What the tools do.
    pub effect: Option<Effect>,
    /// What they do besides.
    pub also: Vec<Effect>,
    /// Whether the sink gate applies (`exfiltrating`).
    pub gate: Option<Gate>,
    /// What arguments are.
    pub args: BTreeMap<ArgPath, (Role, Option<Kind>)>,
    /// Whether `sink_params` were given: the tools are sinks unless an effect says otherwise.
    pub names_sinks: SinkNames,
    /// Destinations that are trusted for these tools.
    pub trusted: Vec<TrustRule>,
    /// The budget.
    pub allowance: Option<Allowance>,
    /// Arguments that hold paths (`write_params`).
    pub path_args: Option<Vec<ArgPath>>,
    /// Where those may lead (`allowed_path_prefixes`).
    pub bounds: Option<Vec<Bound>>,
    /// Tests on single arguments.
    pub tests: Vec<(ArgPath, Test)>,
    /// Cells of the table that are changed for these tools.
    pub cells: Cells,
}

/// Whether an entry names sink arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SinkNames {
    /// It does not.
    #[default]
    None,
    /// It does.
    Given,
}

impl Rule {
    /// An entry that says nothing.
    pub fn new(key: &str) -> Self {
        Self {
            key: ToolKey::new(key),
            extent: Extent::default(),
            effect: None,
            also: Vec::new(),
            gate: None,
            args: BTreeMap::new(),
            names_sinks: SinkNames::default(),
            trusted: Vec::new(),
            allowance: None,
            path_args: None,
            bounds: None,
            tests: Vec::new(),
            cells: Cells::default(),
        }
    }
}

/// A directory of the user's own: results of these tools, at this JSON path.
#[derive(Debug, Clone)]
pub struct OwnData {
    /// The tools whose results hold it.
    pub key: ToolKey,
    /// Where in a result (RFC 9535).
    pub path: JsonPath,
    /// The path as written.
    pub source: String,
    /// The kinds it vouches for; empty: whatever kind its values have.
    pub kinds: Vec<Kind>,
}

impl OwnData {
    /// Whether a tool that writes is about the same things as the directory: `add_contact` beside
    /// `search_contacts`.
    pub(super) fn is_written_by(&self, upstream: &str, tool: &str) -> bool {
        let lists = self.key.as_str().rsplit('.').next().unwrap_or_default();
        let thing = heuristics::thing(lists);
        thing.is_some() && self.key.matches(upstream, lists).is_some() && heuristics::thing(tool) == thing
    }
}

/// All that one file says.
#[derive(Debug, Clone, Default)]
pub struct RuleSet {
    /// Its entries.
    pub rules: Vec<Rule>,
    /// Its directories.
    pub own_data: Vec<OwnData>,
    /// Destinations trusted for every tool.
    pub trusted: Vec<TrustRule>,
    /// Upstreams that keep what they are given.
    pub local: Vec<Glob>,
    /// Upstreams that may use the client's model.
    pub sampling: Vec<Glob>,
}

impl RuleSet {
    /// The entries about one tool, the least specific first; equals in the order of the file.
    pub(super) fn about(&self, upstream: &str, tool: &str) -> Vec<&Rule> {
        let mut found: Vec<(Specificity, &Rule)> =
            self.rules.iter().filter_map(|rule| Some((rule.key.matches(upstream, tool)?, rule))).collect();
        found.sort_by_key(|(specificity, _)| *specificity);
        found.into_iter().map(|(_, rule)| rule).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_bind_upstream_and_tool() {
        let check = |key: &str, upstream: &str, tool: &str, expected: bool| {
            assert_eq!(
                ToolKey::new(key).matches(upstream, tool).is_some(),
                expected,
                "{key} {upstream} {tool}"
            );
        };
        check("send", "mail", "send", true);
        check("mail.send", "mail", "send", true);
        check("mail.send", "chat", "send", false);
        check("mail.send", "evil", "mail.send", false);
        check("*.mail.send", "x", "mail.send", true);
        check("a.b.send", "a.b", "send", true);
        check("pw.*", "pw", "browser_click", true);
        check("mail__send", "mail", "send", false);
        check("*", "x", "y", true);
    }

    #[test]
    fn the_more_specific_comes_later() {
        let set = RuleSet {
            rules: ["browser_click", "*", "pw.*", "pw.browser_*", "pw.browser_click"].map(Rule::new).to_vec(),
            ..RuleSet::default()
        };
        let order: Vec<_> = set.about("pw", "browser_click").iter().map(|r| r.key.as_str()).collect();
        assert_eq!(order, ["*", "pw.*", "pw.browser_*", "browser_click", "pw.browser_click"]);
    }
}
