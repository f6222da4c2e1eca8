//! What a client says of its servers in lists that stand outside their entries: which are off, and
//! which of their tools are denied or asked about.
//!
//! Such lists name servers and tools as the client calls them, which is otherwise once Bouncer stands
//! between. So what they forbid comes along with the server that it is said of; what they allow does
//! not, since Bouncer decides call by call. What cannot be carried over is named.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::approved::TextOf;
use super::edit;
use super::entry::Moved;
use super::known::{self, Form};
use super::locate::Homes;

/// Most projects of one file whose settings are looked at.
const MOST_PROJECTS: usize = 1_000;

/// The lists of one client, as far as they count for one file of servers.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Lists {
    layers: Vec<Layer>,
    /// Files that could not be read.
    pub faults: Vec<Fault>,
}

/// A file that could not be read: what it forbids is not known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The project that it counts in; `None` for everywhere.
    project: Option<PathBuf>,
    /// The file and the reason.
    pub why: String,
}

/// What one file says. Later layers count over earlier ones.
#[derive(Debug, Clone, PartialEq)]
struct Layer {
    file: PathBuf,
    kind: Kind,
    /// The project that it counts in; `None` for everywhere.
    project: Option<PathBuf>,
    root: Value,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// `permissions` and lists of refused servers.
    ClaudeCode,
    /// `mcp.allowed` and `mcp.excluded`.
    Gemini,
    /// `tools`, by patterns.
    Opencode,
}

/// A name as Claude Code and opencode write it into the names of tools.
pub(super) fn spelled(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    name.chars().map(|c| if plain(c) { c } else { '_' }).collect()
}

impl Lists {
    /// Reads the lists that count for the servers of `file`.
    pub fn read(file: &Path, homes: &Homes, text_of: TextOf<'_>) -> Self {
        let mut lists = Self::default();
        let Some((known, folder)) = known::by_path(file).zip(file.parent()) else { return lists };
        let in_home = |names: &[&str]| -> Vec<PathBuf> {
            homes.home.iter().flat_map(|home| names.iter().map(|name| home.join(name))).collect()
        };
        match known.client {
            "claude-code" | "claude-code-project" => {
                if let Some(user) = homes.claude_settings() {
                    lists.add(&user, Kind::ClaudeCode, None, text_of);
                }
                lists.of_projects(file, folder, homes, text_of);
            }
            "gemini" => {
                for user in in_home(&[".gemini/settings.json"]) {
                    lists.add(&user, Kind::Gemini, None, text_of);
                }
                lists.add(file, Kind::Gemini, None, text_of);
            }
            "opencode" | "opencode-agents" => {
                for user in in_home(&[".config/opencode/opencode.json", ".config/opencode/opencode.jsonc"]) {
                    lists.add(&user, Kind::Opencode, None, text_of);
                }
                let folder = if known.client == "opencode" { Some(folder) } else { folder.parent() };
                for name in ["opencode.json", "opencode.jsonc"] {
                    lists.add(&folder.unwrap_or(file).join(name), Kind::Opencode, None, text_of);
                }
            }
            _ => {}
        }
        lists
    }

    /// The lists of Claude Code that count in one project: its settings, and what the user's own file
    /// keeps of it.
    fn of_projects(&mut self, file: &Path, folder: &Path, homes: &Homes, text_of: TextOf<'_>) {
        let user = known::by_path(file).is_some_and(|known| known.client == "claude-code");
        let state = if user { Some(file.to_owned()) } else { homes.claude_state() };
        let root = state.as_deref().and_then(|state| self.root(state, Form::Json, None, text_of));
        let kept = root.as_ref().and_then(|root| root.get("projects")).and_then(Value::as_object);
        let kept = kept.into_iter().flatten().map(|(key, root)| (PathBuf::from(key), Some(root)));
        let mut projects: Vec<(PathBuf, Option<&Value>)> = kept.take(MOST_PROJECTS).collect();
        if !user {
            projects.retain(|(project, _)| project == folder);
            if projects.is_empty() {
                projects.push((folder.to_owned(), None));
            }
        }
        for (project, root) in projects {
            if let Some((file, root)) = state.clone().zip(root.cloned()) {
                let project = Some(project.clone());
                self.layers.push(Layer { file, kind: Kind::ClaudeCode, project, root });
            }
            for name in [".claude/settings.json", ".claude/settings.local.json"] {
                self.add(&project.join(name), Kind::ClaudeCode, Some(&project), text_of);
            }
        }
    }

    fn add(&mut self, file: &Path, kind: Kind, project: Option<&Path>, text_of: TextOf<'_>) {
        if self.layers.iter().any(|layer| layer.file == file && layer.kind == kind) {
            return;
        }
        if let Some(root) = self.root(file, Form::Jsonc, project, text_of) {
            let (file, project) = (file.to_owned(), project.map(Path::to_owned));
            self.layers.push(Layer { file, kind, project, root });
        }
    }

    fn root(
        &mut self,
        file: &Path,
        form: Form,
        project: Option<&Path>,
        text_of: TextOf<'_>,
    ) -> Option<Value> {
        let read = text_of(file).and_then(|text| text.map(|text| edit::read(&text, form)).transpose());
        read.unwrap_or_else(|why| {
            let file = file.display();
            let why = format!("`{file}` cannot be read, so what it forbids cannot be carried over: {why}");
            self.faults.push(Fault { project: project.map(Path::to_owned), why });
            None
        })
    }

    /// Why it is not known what is forbidden of the servers of `project`; `None` where all could be read.
    pub(super) fn fault(&self, project: Option<&Path>) -> Option<&str> {
        let concerns = |fault: &&Fault| fault.project.is_none() || fault.project.as_deref() == project;
        self.faults.iter().find(concerns).map(|fault| fault.why.as_str())
    }

    /// Carries over what is said of a server that moves. `project` is the one that it belongs to.
    pub(super) fn carry(&self, name: &str, project: Option<&Path>, moved: &mut Moved) {
        let mut said = Said::default();
        for layer in &self.layers {
            let rules = rules(layer, name);
            if layer.project.is_none() || layer.project.as_deref() == project {
                for rule in rules {
                    said.take(rule);
                }
            } else if let Some(project) = &layer.project {
                let forbids = rules.iter().filter(|rule| !matches!(rule.does, Does::Approve | Does::Open(_)));
                said.notes.extend(forbids.map(|rule| {
                    format!(
                        "`{}` forbids `{}` in {} only, which cannot be said of a server of all projects: it does not count any more",
                        layer.file.display(),
                        rule.written,
                        project.display()
                    )
                }));
            }
        }
        if let Some(allowed) = self.allowed()
            && !allowed.contains(&name)
        {
            said.off = true;
        }
        said.put_in(name, moved);
    }

    /// The only servers that the client starts, where it has such a list.
    fn allowed(&self) -> Option<Vec<&str>> {
        let lists = self.layers.iter().filter(|layer| layer.kind == Kind::Gemini);
        let lists = lists.filter_map(|layer| layer.root.pointer("/mcp/allowed")?.as_array());
        lists.map(|list| list.iter().filter_map(Value::as_str).collect()).reduce(|mut all: Vec<_>, list| {
            all.extend(list);
            all
        })
    }

    /// What the user has to do so that the client starts our entry.
    pub(super) fn keeps_out(&self, entry: &str) -> Option<String> {
        let allowed = self.allowed()?;
        (!allowed.contains(&entry)).then(|| {
            format!("`mcp.allowed` names the only servers that are started: add `{entry}` to it by hand")
        })
    }
}

/// What one line of a list says of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Rule {
    /// As it is written.
    written: String,
    does: Does,
}

/// What it does, to the tools of these patterns.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Does {
    /// Switches the server off.
    Off,
    Deny(BTreeSet<String>),
    /// Takes a denial back.
    Open(BTreeSet<String>),
    Ask(BTreeSet<String>),
    /// Lets calls through without asking.
    Approve,
    /// Forbids something that cannot be said here.
    Unsaid,
}

fn rules(layer: &Layer, server: &str) -> Vec<Rule> {
    let rule = |written: &str, does: Does| Rule { written: written.to_owned(), does };
    let strings = |place: &str| {
        let list = layer.root.pointer(place).and_then(Value::as_array);
        list.into_iter().flatten().filter_map(Value::as_str)
    };
    let name = spelled(server);
    match layer.kind {
        Kind::ClaudeCode => {
            let off = ["/disabledMcpjsonServers", "/disabledMcpServers"].into_iter().flat_map(strings);
            let off = off.filter(|written| spelled(written) == name).map(|written| rule(written, Does::Off));
            let said = |place, does: fn(BTreeSet<String>) -> Does| {
                let name = &name;
                strings(place).filter_map(move |written| {
                    let (head, inner) =
                        written.split_once('(').map_or((written, None), |(h, i)| (h, Some(i)));
                    let tools = tools_of(head, name)?;
                    let does = does(tools);
                    let unsaid = inner.is_some() && does != Does::Approve;
                    Some(rule(written, if unsaid { Does::Unsaid } else { does }))
                })
            };
            off.chain(said("/permissions/deny", Does::Deny))
                .chain(said("/permissions/ask", Does::Ask))
                .chain(said("/permissions/allow", |_| Does::Approve))
                .collect()
        }
        Kind::Gemini => {
            let excluded = strings("/mcp/excluded").filter(|written| written.eq_ignore_ascii_case(server));
            excluded.map(|written| rule(written, Does::Off)).collect()
        }
        Kind::Opencode => {
            let tools = layer.root.get("tools").and_then(Value::as_object);
            let said = tools.into_iter().flatten().filter_map(|(pattern, on)| {
                let tools = named(rest(pattern, &format!("{name}_")));
                let does = if on.as_bool()? { Does::Open } else { Does::Deny };
                tools.map(|tools| rule(pattern, does(tools)))
            });
            said.collect()
        }
    }
}

/// The tools of a server that a permission rule of Claude Code names: `mcp__srv`, `mcp__srv__tool`.
fn tools_of(rule: &str, server: &str) -> Option<BTreeSet<String>> {
    let rule = rule.trim();
    if !rule.starts_with("mcp__") {
        return None;
    }
    let whole = rest(rule, &format!("mcp__{server}")).contains("");
    if whole {
        Some(BTreeSet::from(["*".to_owned()]))
    } else {
        named(rest(rule, &format!("mcp__{server}__")))
    }
}

/// The patterns that a tool's name can match.
fn named(mut patterns: BTreeSet<String>) -> Option<BTreeSet<String>> {
    patterns.remove("");
    (!patterns.is_empty()).then_some(patterns)
}

/// What is left of a pattern of `*` and `?` when this text was matched, in each way that it can be.
/// A `?` that is left becomes a `*`, which no deny is the weaker for.
fn rest(pattern: &str, matched: &str) -> BTreeSet<String> {
    let pattern: Vec<char> = pattern.chars().collect();
    let spread = |mut at: usize, places: &mut BTreeSet<usize>| {
        while places.insert(at) && pattern.get(at) == Some(&'*') {
            at += 1;
        }
    };
    let mut places = BTreeSet::new();
    spread(0, &mut places);
    for c in matched.chars() {
        let mut next = BTreeSet::new();
        for at in places {
            match pattern.get(at) {
                Some('*') => spread(at, &mut next),
                Some(known) if *known == c || *known == '?' => spread(at + 1, &mut next),
                _ => {}
            }
        }
        places = next;
    }
    // What stands behind a star that is still open is the star's own.
    let open = |at: &usize| {
        at.checked_sub(1).is_some_and(|before| places.contains(&before) && pattern.get(before) == Some(&'*'))
    };
    let tail = |at: &usize| pattern.iter().skip(*at).map(|c| if *c == '?' { '*' } else { *c }).collect();
    places.iter().filter(|at| !open(at)).map(tail).collect()
}

/// What all lists together say of one server.
#[derive(Debug, Default)]
struct Said {
    off: bool,
    allow: Option<Vec<String>>,
    deny: Vec<String>,
    ask: BTreeSet<String>,
    approved: Vec<String>,
    notes: Vec<String>,
}

impl Said {
    fn take(&mut self, rule: Rule) {
        match rule.does {
            Does::Off => self.off = true,
            Does::Deny(tools) => {
                for tool in tools {
                    self.deny(tool);
                }
            }
            Does::Open(tools) => {
                for tool in tools {
                    self.open(tool, &rule.written);
                }
            }
            Does::Ask(tools) => self.ask.extend(tools),
            Does::Approve => self.approved.push(rule.written),
            Does::Unsaid => self.notes.push(format!(
                "the client's rule `{}` cannot be carried over: say it in a policy",
                rule.written
            )),
        }
    }

    fn deny(&mut self, tool: String) {
        if tool == "*" {
            (self.allow, self.deny) = (None, vec![tool]);
        } else if !self.deny.contains(&tool) {
            self.deny.push(tool);
        }
    }

    fn open(&mut self, tool: String, written: &str) {
        if tool == "*" {
            (self.allow, self.deny) = (None, Vec::new());
            return;
        }
        let all = self.deny.iter().any(|denied| denied == "*");
        let known = self.deny.len();
        self.deny.retain(|denied| !all && *denied != tool);
        if all || self.allow.is_some() {
            self.allow.get_or_insert_default().push(tool);
        } else if !self.deny.is_empty() && self.deny.len() == known {
            self.notes.push(format!(
                "`{written}` lets tools through that a wider pattern before it denies: they stay denied"
            ));
        }
    }

    fn put_in(self, name: &str, moved: &mut Moved) {
        let Some(upstream) = moved.upstream.as_object_mut() else { return };
        if self.off {
            moved.notes.push("it stays off, as the client's lists have it".to_owned());
            upstream.insert("disabled".to_owned(), Value::Bool(true));
        }
        if self.allow.is_some() || !self.deny.is_empty() {
            let tools = |tools: &[String]| format!("`{}`", tools.join("`, `"));
            let denied = (!self.deny.is_empty()).then(|| format!("{} denied", tools(&self.deny)));
            let left = self.allow.as_deref().map(|allow| format!("only {} left", tools(allow)));
            let lists: Vec<String> = left.into_iter().chain(denied).collect();
            moved.notes.push(format!("tools as the client's lists have them: {}", lists.join(", ")));
            let own = upstream.get("tools");
            let of =
                |key: &str| -> Option<Vec<String>> { serde_json::from_value(own?.get(key)?.clone()).ok() };
            let (allow, mut deny) = (of("allow"), of("deny").unwrap_or_default());
            deny.extend(self.deny);
            let allow = match (allow, self.allow) {
                (Some(own), Some(said)) => Some(own.into_iter().filter(|tool| said.contains(tool)).collect()),
                (own, said) => own.or(said),
            };
            let mut lists = Map::new();
            lists.extend(allow.map(|allow| ("allow".to_owned(), json!(allow))));
            lists.extend((!deny.is_empty()).then(|| ("deny".to_owned(), json!(deny))));
            upstream.insert("tools".to_owned(), Value::Object(lists));
        }
        if !self.ask.is_empty() {
            let asked = |tool: &String| (format!("{name}.{tool}"), json!({"at_least": "ask"}));
            let tools: Map<String, Value> = self.ask.iter().map(asked).collect();
            moved.policies.push(json!({"tools": tools}));
        }
        if !self.approved.is_empty() {
            moved.notes.push(format!(
                "the client's approval of `{}` is not taken over: Bouncer decides call by call",
                self.approved.join("`, `")
            ));
        }
        moved.notes.extend(self.notes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What becomes of server `srv` of a file, with these files around it.
    fn carried(file: &str, project: Option<&str>, around: &[(&str, &str)]) -> Moved {
        let text_of = |path: &Path| {
            let found = around.iter().find(|(name, _)| Path::new(name) == path);
            Ok(found.map(|(_, text)| (*text).to_owned()))
        };
        let lists = Lists::read(Path::new(file), &Homes::in_home("/home/u"), &text_of);
        assert!(lists.faults.is_empty(), "{lists:?}");
        let mut moved = Moved { upstream: json!({"command": "x"}), policies: Vec::new(), notes: Vec::new() };
        lists.carry("srv", project.map(Path::new), &mut moved);
        moved
    }

    fn check(file: &str, project: Option<&str>, around: &[(&str, &str)], expected: &Value) {
        let mut wanted = json!({"command": "x"});
        wanted.as_object_mut().expect("an object").extend(expected.as_object().expect("an object").clone());
        assert_eq!(carried(file, project, around).upstream, wanted, "{around:?}");
    }

    const GEMINI: &str = "/home/u/.gemini/settings.json";

    #[test]
    fn gemini_switches_servers_off_by_lists() {
        let check = |text: &str, expected: &Value| check(GEMINI, None, &[(GEMINI, text)], expected);
        check(r#"{"mcp": {"excluded": ["srv"]}}"#, &json!({"disabled": true}));
        check(r#"{"mcp": {"excluded": ["other"]}}"#, &json!({}));
        check(r#"{"mcp": {"allowed": ["other"]}}"#, &json!({"disabled": true}));
        check(r#"{"mcp": {"allowed": ["other", "srv"]}}"#, &json!({}));
        check(r#"{"mcp": {"allowed": []}}"#, &json!({"disabled": true}));
        check(r#"{"mcp": {"allowed": ["srv"], "excluded": ["srv"]}}"#, &json!({"disabled": true}));
        let project = "/p/.gemini/settings.json";
        let around = [(GEMINI, r#"{"mcp": {"excluded": ["srv"]}}"#), (project, "{}")];
        super::tests::check(project, Some("/p"), &around, &json!({"disabled": true}));
    }

    #[test]
    fn opencode_denies_tools_by_patterns_and_the_last_counts() {
        let file = "/home/u/.config/opencode/opencode.json";
        let check = |tools: &str, expected: &Value| {
            check(file, None, &[(file, &format!(r#"{{"tools": {tools}}}"#))], expected);
        };
        check(r#"{"srv_*": false}"#, &json!({"tools": {"deny": ["*"]}}));
        check(r#"{"srv*": false}"#, &json!({"tools": {"deny": ["*"]}}));
        check(r#"{"*": false}"#, &json!({"tools": {"deny": ["*"]}}));
        check(r#"{"srv_send": false, "bash": false}"#, &json!({"tools": {"deny": ["send"]}}));
        check(r#"{"*_send*": false}"#, &json!({"tools": {"deny": ["*_send*", "send*"]}}));
        check(r#"{"srv_t?": false}"#, &json!({"tools": {"deny": ["t*"]}}));
        check(r#"{"srv2_*": false, "srv_*": true, "srv_": false}"#, &json!({}));
        check(r#"{"srv_*": false, "srv_read": true}"#, &json!({"tools": {"allow": ["read"]}}));
        check(r#"{"srv_read": true, "srv_*": false}"#, &json!({"tools": {"deny": ["*"]}}));
        check(
            r#"{"srv_*": false, "srv_*_all": true, "srv_del_all": false}"#,
            &json!({"tools": {"allow": ["*_all"], "deny": ["del_all"]}}),
        );
        let text = r#"{"tools": {"srv_d*": false, "srv_do": true}}"#;
        let moved = carried(file, None, &[(file, text)]);
        assert_eq!(moved.upstream["tools"], json!({"deny": ["d*"]}));
        assert!(moved.notes.iter().any(|note| note.contains("stay denied")), "{moved:?}");
    }

    const USER: &str = "/home/u/.claude/settings.json";
    const STATE: &str = "/home/u/.claude.json";

    #[test]
    fn claude_code_denies_and_asks_by_rules() {
        let check = |deny: &str, expected: &Value| {
            check(STATE, None, &[(USER, &format!(r#"{{"permissions": {{"deny": {deny}}}}}"#))], expected);
        };
        check(r#"["mcp__srv__send", "Bash(rm:*)", "mcp__srv2__x"]"#, &json!({"tools": {"deny": ["send"]}}));
        for all in [r#"["mcp__srv"]"#, r#"["mcp__srv__*"]"#, r#"["mcp__*"]"#] {
            check(all, &json!({"tools": {"deny": ["*"]}}));
        }
        check(r#"["mcp__srv__del_*", "mcp__sr"]"#, &json!({"tools": {"deny": ["del_*"]}}));
        check(r#"["mcp__srv__"]"#, &json!({}));
        let text = r#"{"permissions": {"ask": ["mcp__srv__send"], "allow": ["mcp__srv"], "deny": ["mcp__srv__x(a:*)"]}}"#;
        let moved = carried(STATE, None, &[(USER, text)]);
        assert_eq!(moved.policies, [json!({"tools": {"srv.send": {"at_least": "ask"}}})]);
        for piece in ["`mcp__srv` is not taken over", "`mcp__srv__x(a:*)` cannot be carried over"] {
            assert!(moved.notes.iter().any(|note| note.contains(piece)), "{moved:?}");
        }
    }

    #[test]
    fn what_claude_code_was_told_in_a_project_counts_there_only() {
        let deny = r#"{"permissions": {"deny": ["mcp__srv__send"]}}"#;
        let state = r#"{"projects": {"/p": {"disabledMcpServers": ["srv"]}, "/q": {}}}"#;
        let around =
            [(STATE, state), ("/q/.claude/settings.json", deny), ("/p/.claude/settings.local.json", deny)];
        let of_p = json!({"disabled": true, "tools": {"deny": ["send"]}});
        check(STATE, Some("/p"), &around, &of_p);
        check("/p/.mcp.json", Some("/p"), &around, &of_p);
        check(STATE, Some("/q"), &around, &json!({"tools": {"deny": ["send"]}}));
        check("/r/.mcp.json", Some("/r"), &around, &json!({}));
        let moved = carried(STATE, None, &around);
        assert_eq!(moved.upstream, json!({"command": "x"}));
        for place in ["/p only", "/q only"] {
            assert!(moved.notes.iter().any(|note| note.contains(place)), "{moved:?}");
        }
    }

    #[test]
    fn lists_join_those_of_the_entry() {
        let text = r#"{"tools": {"srv_*": false, "srv_a": true, "srv_b": true, "srv_z": false}}"#;
        let file = "/home/u/.config/opencode/opencode.json";
        let text_of = |path: &Path| Ok((path == Path::new(file)).then(|| text.to_owned()));
        let lists = Lists::read(Path::new(file), &Homes::default(), &text_of);
        let upstream = json!({"command": "x", "tools": {"allow": ["a", "c"], "deny": ["y"]}});
        let mut moved = Moved { upstream, policies: Vec::new(), notes: Vec::new() };
        lists.carry("srv", None, &mut moved);
        assert_eq!(moved.upstream["tools"], json!({"allow": ["a"], "deny": ["y", "z"]}));
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let text_of = |path: &Path| Ok((path == Path::new(USER)).then(|| "{".to_owned()));
        let lists = Lists::read(Path::new(STATE), &Homes::in_home("/home/u"), &text_of);
        assert!(lists.fault(None).is_some_and(|why| why.contains(USER)), "{lists:?}");
        let state = r#"{"projects": {"/p": {}, "/q": {}}}"#;
        let of_p = "/p/.claude/settings.json";
        let around = [(STATE, state), (of_p, "{")];
        let text_of = |path: &Path| {
            let found = around.iter().find(|(name, _)| Path::new(name) == path);
            Ok(found.map(|(_, text)| (*text).to_owned()))
        };
        let lists = Lists::read(Path::new(STATE), &Homes::in_home("/home/u"), &text_of);
        assert!(lists.fault(Some(Path::new("/p"))).is_some_and(|why| why.contains(of_p)), "{lists:?}");
        for other in [None, Some(Path::new("/q"))] {
            assert_eq!(lists.fault(other), None, "what a project forbids counts there only");
        }
    }
}
