//! One upstream of a config: how it is started, what it is called, and what the user said of it.
//!
//! Arguments and environment often hold tokens, so the `Debug` form of an upstream names them and
//! never shows them.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::pack::{Checker, Entry, Node, Position, Value, builtin_packs, nearest, quoted};
use crate::policy::{Locality, UpstreamIdentity};

use crate::pack::raw::names;

use super::expand::{Dialect, Failure, Variables, expand};
use super::raw;

/// An MCP server that Bouncer starts.
#[derive(Clone, PartialEq, Eq)]
pub struct UpstreamConfig {
    /// The configured name: what policies, questions and exported names call it.
    pub name: String,
    /// The program.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables that are set for it beside those every child gets.
    pub env: BTreeMap<String, String>,
    /// Where it runs; `None` for the folder of this process.
    pub cwd: Option<PathBuf>,
    /// What stands before `__` in exported names; `None` for the name, empty for no prefix at all.
    pub prefix: Option<String>,
    /// How long it may take to answer `initialize`; `None` for the default.
    pub start_timeout: Option<Duration>,
    /// How long a call may take; `None` for the default.
    pub call_timeout: Option<Duration>,
    /// The pack that the user says is this server's: binds its loosening part too.
    pub pack: Option<String>,
    /// What it inherits from the environment of this process.
    pub inherit_env: InheritEnv,
    /// Which of its tools are offered at all.
    pub tools: ToolFilter,
    /// Whether its reads and writes stay on this machine.
    pub local: bool,
    /// Where the entry stands in the config.
    pub at: Position,
}

/// What a child inherits beside the fixed list of harmless variables.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum InheritEnv {
    /// Nothing more.
    #[default]
    Fixed,
    /// These too.
    Names(Vec<String>),
    /// Everything.
    All,
}

/// Which tools of an upstream exist for clients. Names may end in or hold `*`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolFilter {
    /// Only these, where given.
    pub allow: Option<Vec<String>>,
    /// Not these, whatever `allow` says.
    pub deny: Vec<String>,
}

impl UpstreamConfig {
    /// What packs and policies bind to.
    pub fn identity(&self) -> UpstreamIdentity {
        UpstreamIdentity {
            name: self.name.clone(),
            command: self.command.clone(),
            args: self.args.clone(),
            host: None,
            pack: self.pack.clone(),
            local: if self.local { Locality::Local } else { Locality::Elsewhere },
        }
    }
}

impl ToolFilter {
    /// Whether a tool of this name is offered.
    pub fn admits(&self, tool: &str) -> bool {
        let any = |patterns: &[String]| patterns.iter().any(|p| crate::policy::Glob::new(p).matches(tool));
        !any(&self.deny) && self.allow.as_deref().is_none_or(any)
    }
}

/// An entry of the config that is not started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// Its name.
    pub name: String,
    /// Why, as an operator reads it.
    pub why: String,
    /// Where it stands.
    pub at: Position,
}

impl fmt::Debug for UpstreamConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UpstreamConfig")
            .field("name", &self.name)
            .field("command", &self.command)
            .field("args", &format_args!("{} arguments", self.args.len()))
            .field("env", &self.env.keys().collect::<Vec<_>>())
            .field("cwd", &self.cwd)
            .field("prefix", &self.prefix)
            .field("pack", &self.pack)
            .field("inherit_env", &self.inherit_env)
            .field("tools", &self.tools)
            .field("local", &self.local)
            .finish_non_exhaustive()
    }
}

/// What became of an entry.
pub(super) enum Read {
    Upstream(Box<UpstreamConfig>),
    Skipped(Skipped),
    /// The problems are in the checker.
    Broken,
}

/// Reads one entry of `upstreams`, `mcpServers` or `servers`.
pub(super) fn read(entry: &Entry, folder: &Path, variables: Variables<'_>, check: &mut Checker) -> Read {
    let own = matches!(variables.dialect, Dialect::Own);
    let skipped = |why: String| Read::Skipped(Skipped { name: entry.key.clone(), why, at: entry.at });
    if let Some(fault) = name_fault(&entry.key) {
        check.error(
            entry.at,
            format!("upstream name {} {fault}", quoted(&entry.key)),
            "choose a short plain name",
        );
        return Read::Broken;
    }
    let what = format!("upstream {}", quoted(&entry.key));
    if !own && !matches!(entry.value.value, Value::Map(_)) {
        return skipped(format!("its entry is {}, not a mapping", entry.value.describe()));
    }
    let Some(fields) = check.map(&entry.value, &what) else { return Read::Broken };
    let get = |key: &str| fields.iter().find(|f| f.key == key).map(|f| &f.value);
    let is = |key: &str, wanted: bool| get(key).is_some_and(|n| n.value == Value::Bool(wanted));
    if is("disabled", true) || is("enabled", false) {
        return skipped("switched off in its entry".to_owned());
    }
    if let Some(remote) = remote_form(fields) {
        return skipped(format!("{remote}; only servers started over stdio are proxied so far"));
    }
    if own {
        let known = names(raw::UPSTREAM);
        for field in fields.iter().filter(|f| !known.contains(&f.key.as_str())) {
            check.unknown_key(field, &format!("for {what}"), &known);
        }
    }
    let mut reader = Reader { what: &what, variables, check, client_only: None, broken: false };
    let upstream = reader.upstream(entry, folder, &get, own);
    let (client_only, broken) = (reader.client_only, reader.broken);
    match upstream {
        _ if client_only.is_some() => skipped(format!(
            "it needs {}, which only its client can fill in",
            client_only.unwrap_or_default()
        )),
        Some(upstream) if !broken => Read::Upstream(Box::new(upstream)),
        _ => Read::Broken,
    }
}

fn name_fault(name: &str) -> Option<&'static str> {
    if name.is_empty() {
        return Some("is empty");
    }
    if name.chars().count() > 64 {
        return Some("has more than 64 characters");
    }
    name.chars().any(char::is_control).then_some("holds control characters")
}

/// Names the remote transport of an entry, if it has one.
fn remote_form(fields: &[Entry]) -> Option<String> {
    let get = |key: &str| fields.iter().find(|f| f.key == key).map(|f| &f.value.value);
    if let Some(Value::String(kind)) = get("type")
        && !matches!(kind.as_str(), "stdio" | "local")
    {
        return Some(format!("its type is {}", quoted(kind)));
    }
    let key = ["url", "httpUrl", "serverUrl", "uri"].into_iter().find(|k| get(k).is_some())?;
    get("command").is_none().then(|| format!("it is remote (`{key}`)"))
}

struct Reader<'r> {
    what: &'r str,
    variables: Variables<'r>,
    check: &'r mut Checker,
    client_only: Option<String>,
    broken: bool,
}

impl Reader<'_> {
    fn upstream<'n>(
        &mut self,
        entry: &Entry,
        folder: &Path,
        get: &dyn Fn(&str) -> Option<&'n Node>,
        own: bool,
    ) -> Option<UpstreamConfig> {
        let Some(command) = get("command") else {
            self.check.error(
                entry.at,
                format!("{} has no `command`", self.what),
                "give the program that starts the server",
            );
            return None;
        };
        let command = self.text(command, "command");
        let args = get("args").and_then(|n| self.args(n)).unwrap_or_default();
        let env = get("env").map(|n| self.env(n)).unwrap_or_default();
        let cwd = get("cwd").and_then(|n| self.text(n, "cwd")).map(|p| resolve(folder, &p, self.variables));
        let own_key = |key: &str| if own { get(key) } else { None };
        let prefix = own_key("prefix").and_then(|n| self.prefix(n));
        let start_timeout = own_key("start_timeout").and_then(|n| {
            let read = self.check.duration(n, "start_timeout");
            self.note(read)
        });
        let call_timeout = own_key("call_timeout").and_then(|n| {
            let read = self.check.duration(n, "call_timeout");
            self.note(read)
        });
        let pack = own_key("pack").and_then(|n| self.pack(n));
        let local = own_key("local").and_then(|n| {
            let read = self.check.boolean(n, "local");
            self.note(read)
        });
        let inherit_env = own_key("inherit_env").and_then(|n| self.inherit_env(n)).unwrap_or_default();
        let tools =
            if own { get("tools").map(|n| self.tools(n)).unwrap_or_default() } else { client_tools(get) };
        Some(UpstreamConfig {
            name: entry.key.clone(),
            command: command?,
            args,
            env,
            cwd,
            prefix,
            start_timeout,
            call_timeout,
            pack,
            inherit_env,
            tools,
            local: local.unwrap_or_default(),
            at: entry.at,
        })
    }

    fn note<T>(&mut self, read: Option<T>) -> Option<T> {
        self.broken |= read.is_none();
        read
    }

    /// A string with its variables expanded.
    fn text(&mut self, node: &Node, key: &str) -> Option<String> {
        let name = format!("`{key}` of {}", self.what);
        let text = self.check.string(node, &name).map(str::to_owned);
        let text = self.note(text)?;
        let expanded = self.expand(&text, node.at, &name);
        if expanded.as_deref() == Some("") {
            self.check.error(node.at, format!("{name} is empty"), "its variables are set but empty");
            return self.note(None);
        }
        expanded
    }

    fn expand(&mut self, text: &str, at: Position, name: &str) -> Option<String> {
        match expand(text, self.variables) {
            Ok(text) if text.contains('\0') => {
                self.check.error(at, format!("{name} holds a NUL character"), "take it out");
                self.note(None)
            }
            Ok(text) => Some(text),
            Err(Failure::Missing(variable)) => {
                self.check.error(
                    at,
                    format!("variable `{variable}` of {name} is not set"),
                    format!("set it, or write `${{{variable}:-default}}`"),
                );
                self.note(None)
            }
            Err(Failure::ClientOnly(form)) => {
                self.client_only = Some(quoted(&form));
                None
            }
            Err(Failure::Malformed) => {
                self.check.error(
                    at,
                    format!("{name} holds a `${{` that names no variable"),
                    "write `${NAME}`, `${NAME:-default}`, or `$${` for the characters themselves",
                );
                self.note(None)
            }
        }
    }

    fn args(&mut self, node: &Node) -> Option<Vec<String>> {
        let name = format!("`args` of {}", self.what);
        let items = self.check.list(node, &name);
        let items = self.note(items)?;
        let mut args = Vec::with_capacity(items.len());
        for item in items {
            // An empty argument is legal, so `Checker::string` is too strict here.
            if let Value::String(text) = &item.value {
                args.extend(self.expand(text, item.at, &name));
            } else {
                self.check.wrong_type(item, &format!("an item of {name}"), "a string");
                self.broken = true;
            }
        }
        Some(args)
    }

    fn env(&mut self, node: &Node) -> BTreeMap<String, String> {
        let name = format!("`env` of {}", self.what);
        let mut env = BTreeMap::new();
        let entries = self.check.map(node, &name);
        for entry in self.note(entries).unwrap_or_default() {
            let at = format!("variable {} in {name}", quoted(&entry.key));
            let text = match &entry.value.value {
                Value::String(text) => text.clone(),
                Value::Int(number) => number.to_string(),
                Value::Float(number) => number.clone(),
                Value::Bool(b) => b.to_string(),
                _ => {
                    self.check.wrong_type(&entry.value, &at, "a string");
                    self.broken = true;
                    continue;
                }
            };
            if entry.key.is_empty() || entry.key.contains(['=', '\0']) {
                self.check.error(entry.at, format!("{at} has an impossible name"), "names hold no `=`");
                self.broken = true;
                continue;
            }
            if let Some(text) = self.expand(&text, entry.value.at, &at) {
                env.insert(entry.key.clone(), text);
            }
        }
        env
    }

    /// The name of a pack that ships, or `none`.
    fn pack(&mut self, node: &Node) -> Option<String> {
        let name = self.text(node, "pack")?;
        let packs = builtin_packs().unwrap_or_default();
        let mut known: Vec<&str> = packs.iter().map(|pack| pack.name.as_str()).collect();
        known.push("none");
        if known.contains(&name.as_str()) {
            return Some(name);
        }
        let help = match nearest(&name, &known) {
            Some(near) => format!("write `{near}`; packs: {}", known.join(", ")),
            None => format!("packs: {}", known.join(", ")),
        };
        self.check.error(node.at, format!("there is no pack {} for {}", quoted(&name), self.what), help);
        self.note(None)
    }

    fn prefix(&mut self, node: &Node) -> Option<String> {
        let valid =
            |s: &str| s.len() <= 32 && s.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
        if let Value::String(text) = &node.value
            && valid(text)
        {
            return Some(text.clone());
        }
        self.check.error(
            node.at,
            format!("`prefix` of {} is no prefix", self.what),
            "at most 32 characters of A-Z, a-z, 0-9, `_` and `-`; `\"\"` exports the bare names",
        );
        self.note(None)
    }

    fn inherit_env(&mut self, node: &Node) -> Option<InheritEnv> {
        if node.value == Value::String("all".to_owned()) {
            return Some(InheritEnv::All);
        }
        if !matches!(node.value, Value::Seq(_)) {
            self.check.wrong_type(
                node,
                &format!("`inherit_env` of {}", self.what),
                "`all` or a list of names",
            );
            return self.note(None);
        }
        let names = self.check.strings(node, &format!("`inherit_env` of {}", self.what));
        self.note(names).map(InheritEnv::Names)
    }

    fn tools(&mut self, node: &Node) -> ToolFilter {
        let mut filter = ToolFilter::default();
        let name = format!("`tools` of {}", self.what);
        let entries = self.check.map(node, &name);
        for entry in self.note(entries).unwrap_or_default() {
            match entry.key.as_str() {
                "allow" => {
                    let names = self.check.strings(&entry.value, &format!("`allow` in {name}"));
                    filter.allow = self.note(names);
                }
                "deny" => {
                    let names = self.check.strings(&entry.value, &format!("`deny` in {name}"));
                    filter.deny = self.note(names).unwrap_or_default();
                }
                _ => {
                    self.check.unknown_key(entry, &format!("in {name}"), &names(raw::TOOLS));
                    self.broken = true;
                }
            }
        }
        filter
    }
}

/// The tool lists of a client's entry. `alwaysAllow` and its like are no part of it: a client's
/// approval never becomes a grant.
fn client_tools<'n>(get: &dyn Fn(&str) -> Option<&'n Node>) -> ToolFilter {
    let names = |key: &str| -> Option<Vec<String>> {
        let Value::Seq(items) = &get(key)?.value else { return None };
        let names = items.iter().filter_map(|i| match &i.value {
            Value::String(s) => Some(s.clone()),
            _ => None,
        });
        Some(names.collect())
    };
    let allow = ["includeTools", "enabled_tools"].into_iter().find_map(names).or_else(|| names("tools"));
    let deny = ["excludeTools", "disabledTools", "disabled_tools"].into_iter().find_map(names);
    ToolFilter { allow, deny: deny.unwrap_or_default() }
}

/// A path of the config: `~` is the home folder, anything relative is beside the config.
pub(super) fn resolve(folder: &Path, path: &str, variables: Variables<'_>) -> PathBuf {
    let home = || (variables.env)("HOME").or_else(|| (variables.env)("USERPROFILE"));
    if let Some(rest) = path.strip_prefix("~/").or_else(|| (path == "~").then_some(""))
        && let Some(home) = home()
    {
        return Path::new(&home).join(rest);
    }
    folder.join(path)
}
