//! A config file as a whole: which form it has, its upstreams, its policies, its limits.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::pack::raw::names;
use crate::pack::{
    Checker, Diagnostic, Entry, Node, Parsed, PolicySource, Position, Value, parse_jsonc, parse_yaml, quoted,
};

use crate::policy::PinMode;

use super::expand::{Dialect, Variables};
use super::raw;
use super::upstream::{Read, Skipped, UpstreamConfig, read, resolve};

/// A config that loaded.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// The file it was read from.
    pub file: PathBuf,
    /// The servers to start, in the order of the file; no two share a name.
    pub upstreams: Vec<UpstreamConfig>,
    /// Entries that are not started, with the reason.
    pub skipped: Vec<Skipped>,
    /// Where policies come from, in order.
    pub policies: Vec<PolicySource>,
    /// How long `tools/list` waits for upstreams that are starting.
    pub list_wait: Duration,
    /// How long a question waits in a client that takes no progress reports; `None` for the default.
    pub question_wait: Option<Duration>,
    /// What is given up or refused, and when.
    pub limits: Limits,
    /// What a drifted tool means.
    pub pins: PinMode,
    /// What loaded but deserves a look.
    pub warnings: Vec<Diagnostic>,
}

impl Config {
    /// The policies of the config, then those given on the command line: a later one is over an
    /// earlier one.
    pub fn policy_sources(&self, extra: &[PathBuf]) -> Vec<PolicySource> {
        self.policies.iter().cloned().chain(extra.iter().cloned().map(PolicySource::File)).collect()
    }

    /// The files that decide about this run, as absolute paths, for the guard.
    pub fn deciding_files(&self, extra: &[PathBuf]) -> Vec<PathBuf> {
        let sources = self.policy_sources(extra);
        let files = sources.iter().filter_map(|source| match source {
            PolicySource::File(path) => Some(path.as_path()),
            PolicySource::Inline(..) => None,
        });
        std::iter::once(self.file.as_path())
            .chain(files)
            .map(|path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned()))
            .collect()
    }
}

/// What is given up or refused, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of the longest message on a wire.
    pub message: usize,
    /// Bytes of the provenance history.
    pub history: usize,
    /// Requests of a client that wait for their answers.
    pub open_requests: u32,
    /// Bouncers that run at once over one state folder, this one among them.
    pub sessions: u32,
    /// Different things that our own log says of one upstream.
    pub log_lines: u32,
    /// Starts of one upstream within a minute.
    pub restarts_per_minute: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            message: 64 * 1024 * 1024,
            history: 64 * 1024 * 1024,
            open_requests: 4_096,
            sessions: 100,
            log_lines: 100,
            restarts_per_minute: 10,
        }
    }
}

/// The keys under which servers stand, our own first.
const SERVERS: [&str; 3] = ["upstreams", "mcpServers", "servers"];

const LIST_WAIT: Duration = Duration::from_secs(4);
/// The longest that a question may wait.
const LONGEST_QUESTION: Duration = Duration::from_secs(600);

/// Reads and checks a config file.
///
/// # Errors
/// Every problem of the file, at least one: it cannot be read, it is not YAML or JSON, a key is not
/// known, a value has the wrong type, a variable is not set.
pub fn load(path: &Path, env: &dyn Fn(&str) -> Option<String>) -> Result<Config, Vec<Diagnostic>> {
    let shown = path.display().to_string();
    let bytes = std::fs::read(path).map_err(|error| {
        vec![
            Diagnostic::whole(&shown, "config cannot be read")
                .because(error.to_string())
                .help("give the file with `--config FILE`"),
        ]
    })?;
    let text = String::from_utf8(bytes).map_err(|error| {
        vec![
            Diagnostic::whole(&shown, "config is not UTF-8")
                .because(format!("the first bad byte is number {}", error.utf8_error().valid_up_to() + 1)),
        ]
    })?;
    parse(&text, path, env)
}

/// Checks the text of a config file. `path` is where it was read from: relative paths in it are
/// beside it.
///
/// # Errors
/// As [`load`].
pub fn parse(
    text: &str,
    path: &Path,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<Config, Vec<Diagnostic>> {
    let shown = path.display().to_string();
    let mut check = Checker::new(&shown);
    let Some(root) = check.tree(tree(text, path)) else { return Err(check.into_problems()) };
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let [ours, theirs @ ..] = SERVERS;
    let config = if root.get(ours).is_some() {
        own(&root, &absolute, env, &mut check)
    } else if let Some(key) = theirs.into_iter().find(|k| root.get(k).is_some()) {
        client(&root, key, &absolute, env, &mut check)
    } else {
        let help = "a config has `upstreams:`, a client file `mcpServers` or `servers`; `bouncer init --config FILE` \
                    takes the files of other clients over";
        let known = names(raw::FILE);
        for entry in root.entries().iter().filter(|e| !known.contains(&e.key.as_str())).take(8) {
            check.unknown_key(entry, "in the config", &known);
        }
        check.error(root.at, "no upstreams in the config", help);
        None
    };
    let failed = check.failed();
    let problems = check.into_problems();
    match config {
        Some(mut config) if !failed => {
            path.clone_into(&mut config.file);
            config.warnings = problems;
            Ok(config)
        }
        _ => Err(problems),
    }
}

/// The tree of a config: by its name, or by how it begins.
fn tree(text: &str, path: &Path) -> Parsed {
    let shown = path.display().to_string();
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
    let braces = text.trim_start_matches('\u{feff}').trim_start().starts_with(['{', '/']);
    match extension {
        "toml" => Parsed {
            node: None,
            problems: vec![
                Diagnostic::error(&shown, Position::START, "TOML configs are not read here")
                    .help("`bouncer init --config FILE` takes the servers over into a file that is"),
            ],
        },
        "yaml" | "yml" => parse_yaml(text, &shown),
        _ if braces => parse_jsonc(text, &shown),
        "json" | "jsonc" => parse_jsonc(text, &shown),
        _ => parse_yaml(text, &shown),
    }
}

/// Whether a text is a config and no policy: it says how servers are started or reached.
pub fn is_config(text: &str, path: &Path) -> bool {
    let is_server = |entry: &Entry| ["command", "url"].iter().any(|key| entry.value.get(key).is_some());
    tree(text, path).node.is_some_and(|root| {
        let servers = SERVERS.iter().filter_map(|key| root.get(key));
        servers.flat_map(Node::entries).any(is_server)
    })
}

fn empty() -> Config {
    Config {
        file: PathBuf::new(),
        upstreams: Vec::new(),
        skipped: Vec::new(),
        policies: Vec::new(),
        list_wait: LIST_WAIT,
        question_wait: None,
        limits: Limits::default(),
        pins: PinMode::default(),
        warnings: Vec::new(),
    }
}

fn own(
    root: &Node,
    path: &Path,
    env: &dyn Fn(&str) -> Option<String>,
    check: &mut Checker,
) -> Option<Config> {
    let mut config = empty();
    let folder = path.parent().unwrap_or(Path::new("."));
    let variables = Variables { env, dialect: Dialect::Own };
    for entry in check.map(root, "the config")? {
        match entry.key.as_str() {
            "upstreams" => upstreams(entry, folder, variables, check, &mut config),
            "policy" => config.policies = policies(&entry.value, folder, variables, check),
            "list_wait" => {
                config.list_wait = check.duration(&entry.value, "`list_wait`").unwrap_or(LIST_WAIT);
            }
            "question_wait" => {
                let wait = check.duration(&entry.value, "`question_wait`");
                config.question_wait = wait.map(|wait| wait.min(LONGEST_QUESTION));
            }
            "limits" => config.limits = limits(&entry.value, check),
            "pins" => config.pins = pins(&entry.value, check),
            _ => check.unknown_key(entry, "in the config", &names(raw::FILE)),
        }
    }
    Some(config)
}

fn client(
    root: &Node,
    key: &str,
    path: &Path,
    env: &dyn Fn(&str) -> Option<String>,
    check: &mut Checker,
) -> Option<Config> {
    let mut config = empty();
    let folder = path.parent().unwrap_or(Path::new("."));
    let variables = Variables { env, dialect: Dialect::Client(path) };
    let entry = root.entries().iter().find(|e| e.key == key)?;
    upstreams(entry, folder, variables, check, &mut config);
    Some(config)
}

fn upstreams(
    entry: &Entry,
    folder: &Path,
    variables: Variables<'_>,
    check: &mut Checker,
    config: &mut Config,
) {
    let Some(entries) = check.map(&entry.value, &format!("`{}`", entry.key)) else { return };
    for entry in entries {
        match read(entry, folder, variables, check) {
            Read::Upstream(upstream) => config.upstreams.push(*upstream),
            Read::Skipped(skipped) => config.skipped.push(skipped),
            Read::Broken => {}
        }
    }
}

fn policies(node: &Node, folder: &Path, variables: Variables<'_>, check: &mut Checker) -> Vec<PolicySource> {
    match &node.value {
        Value::Map(_) => vec![PolicySource::Inline(node.clone(), PathBuf::from(check.file()))],
        Value::Seq(items) => items.iter().flat_map(|item| policies(item, folder, variables, check)).collect(),
        _ => {
            let Some(text) = check.string(node, "`policy`") else { return Vec::new() };
            if let Ok(path) = super::expand::expand(text, variables) {
                return vec![PolicySource::File(resolve(folder, &path, variables))];
            }
            let message = format!("variables of `policy` {} are not set", quoted(text));
            check.error(node.at, message, "set them, or write the path out");
            Vec::new()
        }
    }
}

fn limits(node: &Node, check: &mut Checker) -> Limits {
    let mut limits = Limits::default();
    for entry in check.map(node, "`limits`").unwrap_or_default() {
        match entry.key.as_str() {
            "message_bytes" => limits.message = bytes(entry, check).unwrap_or(limits.message),
            "history_bytes" => limits.history = bytes(entry, check).unwrap_or(limits.history),
            "open_requests" => set(&mut limits.open_requests, at_least_one(entry, check)),
            "sessions" => set(&mut limits.sessions, at_least_one(entry, check)),
            "log_lines" => set(&mut limits.log_lines, at_least_one(entry, check)),
            "restarts_per_minute" => set(&mut limits.restarts_per_minute, at_least_one(entry, check)),
            _ => check.unknown_key(entry, "in `limits`", &names(raw::LIMITS)),
        }
    }
    limits
}

fn set(limit: &mut u32, count: Option<u32>) {
    *limit = count.unwrap_or(*limit);
}

/// A whole number from 1.
fn at_least_one(entry: &Entry, check: &mut Checker) -> Option<u32> {
    let count = check.count(&entry.value, &format!("`{}`", entry.key))?;
    if count == 0 {
        check.error(
            entry.value.at,
            format!("`{}` of 0 lets nothing through", entry.key),
            "write a number from 1, or leave the key out",
        );
    }
    (count > 0).then_some(count)
}

/// A size in bytes, plain or with `K`, `M` or `G`; at least 64 KiB, at most 16 GiB.
fn bytes(entry: &Entry, check: &mut Checker) -> Option<usize> {
    let text = match &entry.value.value {
        Value::Int(i) => i.to_string(),
        Value::String(s) => s.to_ascii_uppercase(),
        _ => String::new(),
    };
    let trimmed = text.trim_end_matches(['B', 'I']);
    let (number, shift) = match trimmed.char_indices().last() {
        Some((at, 'K')) => (trimmed.get(..at), 10),
        Some((at, 'M')) => (trimmed.get(..at), 20),
        Some((at, 'G')) => (trimmed.get(..at), 30),
        _ => (Some(trimmed), 0),
    };
    let size = number.and_then(|n| n.trim().parse::<u64>().ok()).and_then(|n| n.checked_mul(1 << shift));
    if let Some(size) = size.filter(|s| (64 * 1024..=16 * (1 << 30)).contains(s)) {
        return usize::try_from(size).ok();
    }
    check.error(
        entry.value.at,
        format!("`{}` is not a size", entry.key),
        "write bytes or a number with `K`, `M` or `G`: `64M`; from 64K to 16G",
    );
    None
}

fn pins(node: &Node, check: &mut Checker) -> PinMode {
    // `off` is a string in YAML 1.2, but `false` is what people reach for.
    if node.value == Value::Bool(false) {
        return PinMode::Off;
    }
    let choices = [("warn", PinMode::Warn), ("enforce", PinMode::Enforce), ("off", PinMode::Off)];
    check.choice(node, "`pins`", &choices).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::upstream::{InheritEnv, ToolFilter};
    use super::*;

    fn env(name: &str) -> Option<String> {
        match name {
            "TOKEN" => Some("s3cret".into()),
            "HOME" => Some("/home/u".into()),
            _ => None,
        }
    }

    fn read(file: &str, text: &str) -> Result<Config, Vec<String>> {
        parse(text, Path::new(file), &env).map_err(|ds| ds.iter().map(ToString::to_string).collect())
    }

    const FULL: &str = "\
upstreams:
  git:
    command: uvx
    args: [mcp-server-git, --repo, '${REPO:-/srv/r}']
    env: {T: '${TOKEN}', PORT: 80}
    cwd: sub
    prefix: g
    start_timeout: 60
    call_timeout: 2m
    pack: git
    inherit_env: [HTTP_X]
    tools: {allow: [git_*], deny: [git_push]}
    local: true
  far: {url: 'https://x.test/mcp'}
  off: {command: x, disabled: true}
policy: [~/p.yaml, {send: {max_calls: 1}}]
list_wait: 500ms
question_wait: 20
limits: {message_bytes: 1M, open_requests: 7, sessions: 6, log_lines: 8, restarts_per_minute: 9}
pins: warn
";

    #[test]
    fn an_own_file_with_everything() {
        let c = read("/etc/b/bouncer.yaml", FULL).unwrap();
        let git = &c.upstreams[0];
        assert_eq!(git.args, ["mcp-server-git", "--repo", "/srv/r"]);
        assert_eq!(git.env["T"], "s3cret");
        assert_eq!(git.env["PORT"], "80");
        assert_eq!(git.cwd.as_deref(), Some(Path::new("/etc/b/sub")));
        assert_eq!(git.prefix.as_deref(), Some("g"));
        assert_eq!(git.start_timeout, Some(Duration::from_secs(60)));
        assert_eq!(git.call_timeout, Some(Duration::from_secs(120)));
        assert_eq!(git.inherit_env, InheritEnv::Names(vec!["HTTP_X".into()]));
        assert!(git.local);
        let seen = ["git_log", "git_push", "other"].map(|t| git.tools.admits(t));
        assert_eq!(seen, [true, false, false]);
        let skipped: Vec<_> = c.skipped.iter().map(|s| (s.name.as_str(), s.why.as_str())).collect();
        assert_eq!(
            skipped,
            [
                ("far", "it is remote (`url`); only servers started over stdio are proxied so far"),
                ("off", "switched off in its entry"),
            ]
        );
        assert_eq!(c.policies[0], PolicySource::File("/home/u/p.yaml".into()));
        assert!(matches!(&c.policies[1], PolicySource::Inline(n, _) if n.get("send").is_some()));
        assert_eq!(c.list_wait, Duration::from_millis(500));
        assert_eq!(c.question_wait, Some(Duration::from_secs(20)));
        assert_eq!(c.limits.message, 1 << 20);
        let limits =
            [c.limits.open_requests, c.limits.sessions, c.limits.log_lines, c.limits.restarts_per_minute];
        assert_eq!(limits, [7, 6, 8, 9]);
        assert_eq!(c.pins, PinMode::Warn);
        assert!(!format!("{c:?}").contains("s3cret"));
        let files = c.deciding_files(&["/x/q.yaml".into()]);
        assert_eq!(files, ["/etc/b/bouncer.yaml", "/home/u/p.yaml", "/x/q.yaml"].map(PathBuf::from));
        assert_eq!(c.policy_sources(&["/x/q.yaml".into()]).len(), 3);
    }

    #[test]
    fn a_client_file_is_read_as_it_is() {
        let text = "{ // mine\n\"theme\": 1, \"mcpServers\": {\n\
            \"a\": {\"command\": \"npx\", \"args\": [\"-y\", \"p\"], \"env\": {\"K\": \"${env:TOKEN}\"}, \"alwaysAllow\": [\"x\"]},\n\
            \"b\": {\"type\": \"http\", \"url\": \"u\"},\n\
            \"c\": {\"command\": \"x\", \"args\": [\"${input:key}\"]},\n\
            \"d\": 7,\n\
            \"e\": {\"command\": \"x\", \"disabledTools\": [\"rm\"]},\n } }";
        let c = read("/h/.cursor/mcp.json", text).unwrap();
        assert_eq!(c.upstreams.iter().map(|u| u.name.as_str()).collect::<Vec<_>>(), ["a", "e"]);
        assert_eq!(c.upstreams[0].env["K"], "s3cret");
        assert_eq!(c.upstreams[0].tools, ToolFilter::default());
        assert!(!c.upstreams[1].tools.admits("rm"));
        assert_eq!(c.skipped.iter().map(|s| s.name.as_str()).collect::<Vec<_>>(), ["b", "c", "d"]);
        let vscode =
            read("/w/.vscode/mcp.json", "{\"servers\": {\"a\": {\"command\": \"x\"}}, \"inputs\": []}")
                .unwrap();
        assert_eq!(vscode.upstreams.len(), 1);
    }

    #[test]
    fn every_problem_is_named_at_once() {
        let text = "\
upstreams:
  a: {comand: x}
  b: {command: [x]}
  c: {command: x, args: y, env: {K: '${NOPE}'}}
  d: {command: x, call_timeout: soon}
  e:
  f: {command: x, pack: githb}
polcy: x
pins: maybe
limits: {message_bytes: 5, open_requests: 0}
";
        let problems = read("bouncer.yaml", text).unwrap_err().join("\n");
        for expected in [
            "unknown key `comand` for upstream `a`\n  --> bouncer.yaml:2:7\n  help: write `command`",
            "upstream `a` has no `command`",
            "`command` of upstream `b` must be a string, not a list",
            "`args` of upstream `c` must be a list, not a string\n  --> bouncer.yaml:4:25\n  help: write `[y]`",
            "variable `NOPE` of variable `K` in `env` of upstream `c` is not set",
            "call_timeout is not a span of time",
            "upstream `e` must be a mapping, not nothing",
            "there is no pack `githb` for upstream `f`\n  --> bouncer.yaml:7:25\n  help: write `github`",
            "unknown key `polcy` in the config\n  --> bouncer.yaml:8:1\n  help: write `policy`",
            "`pins` is `maybe`, which is not known",
            "`message_bytes` is not a size",
        ] {
            assert!(problems.contains(expected), "missing {expected:?} in\n{problems}");
        }
        assert!(!problems.contains("s3cret"));
    }

    #[test]
    fn what_is_no_config_says_so() {
        let check = |file: &str, text: &str, expected: &str| {
            let problems = read(file, text).unwrap_err().join("\n");
            assert!(problems.contains(expected), "{problems}");
        };
        check("x.yaml", "foo: 1", "no upstreams in the config");
        check("x.yaml", "", "the file is empty");
        check("x.toml", "a = 1", "TOML configs are not read here");
        check("x.json", "{", "not JSON");
        check("x.yaml", "upstreams: [a]", "`upstreams` must be a mapping");
        let missing = load(Path::new("/nonexistent/bouncer.yaml"), &env).unwrap_err();
        assert!(
            missing[0]
                .to_string()
                .starts_with("error: config cannot be read\n  --> /nonexistent/bouncer.yaml")
        );
    }
}
