//! One test's world: a folder, its scripted upstreams, a config, a policy, and the program over them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use super::client::Client;
use super::runtime::Runtime;
use super::upstream::Upstream;

/// How long any single wait may take. Long, because machines are loaded; nothing waits for it when
/// all is well.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);

/// What is left until a deadline.
pub(crate) fn left(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}

/// What a test may want other than the usual.
#[derive(Debug, Clone, Default)]
pub(crate) struct Options {
    /// The text of the policy file; an empty mapping when absent.
    pub(crate) policy: Option<String>,
    /// Keys for the top of `bouncer.yaml`. When present the config is written as one, else as a
    /// client's `mcpServers` file.
    pub(crate) settings: Option<Value>,
    /// Further entries of the config, beside the scripted upstreams.
    pub(crate) servers: Map<String, Value>,
    /// Keys to add to the entry of each scripted upstream.
    pub(crate) entry: Map<String, Value>,
    /// How to change the entry of each scripted upstream, after that.
    pub(crate) launch: Launch,
    /// Environment of the program.
    pub(crate) env: Vec<(String, String)>,
    /// Further arguments of `bouncer run`.
    pub(crate) run: Vec<String>,
}

/// How the process of a scripted upstream comes to be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Launch {
    /// The program of the entry is the server.
    #[default]
    Direct,
    /// A shell starts the server and waits for it, as package runners do.
    Shell,
}

impl Launch {
    /// The entry changed so.
    fn apply(self, mut entry: Value) -> Value {
        if self == Self::Shell {
            let mut arguments = vec![json!("-c"), json!("exec 3<&0; python3 \"$@\" <&3 & wait"), json!("sh")];
            arguments.extend(entry["args"].as_array().cloned().unwrap_or_default());
            entry["command"] = json!("sh");
            entry["args"] = Value::Array(arguments);
        }
        entry
    }
}

/// A folder with everything of one test in it.
pub(crate) struct Stage {
    folder: tempfile::TempDir,
    /// The scripted upstreams, in the order given.
    pub(crate) upstreams: Vec<Upstream>,
    config: PathBuf,
    policy: PathBuf,
    env: Vec<(String, String)>,
    run: Vec<String>,
}

impl Stage {
    /// Sets up upstreams by name and script; `None` when their runtime is missing, which has been
    /// said then.
    pub(crate) fn new(upstreams: &[(&str, Value)]) -> Option<Self> {
        Self::with(upstreams, Options::default())
    }

    /// As [`Self::new`], with more said.
    pub(crate) fn with(upstreams: &[(&str, Value)], options: Options) -> Option<Self> {
        if !Runtime::Python.or_not_run() {
            return None;
        }
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().to_owned();
        let upstreams: Vec<_> = upstreams
            .iter()
            .enumerate()
            .map(|(index, (name, script))| (*name, Upstream::new(&path, index, name, script)))
            .collect();
        let mut servers = Map::new();
        for (name, upstream) in &upstreams {
            let mut entry = upstream.entry();
            entry.as_object_mut().expect("an object").extend(options.entry.clone());
            servers.insert((*name).to_owned(), options.launch.apply(entry));
        }
        servers.extend(options.servers);
        // JSON is YAML, so the same writer serves both kinds of file.
        let (config, contents) = match options.settings {
            Some(mut settings) => {
                settings["upstreams"] = Value::Object(servers);
                (path.join("bouncer.yaml"), settings)
            }
            None => (path.join("servers.json"), json!({ "mcpServers": servers })),
        };
        std::fs::write(&config, contents.to_string()).expect("a writable folder");
        let policy = path.join("policy.yaml");
        std::fs::write(&policy, options.policy.as_deref().unwrap_or("{}\n")).expect("a writable folder");
        let upstreams = upstreams.into_iter().map(|(_, upstream)| upstream).collect();
        Some(Self { folder, upstreams, config, policy, env: options.env, run: options.run })
    }

    /// Adds an entry to a config in the form of a client's file.
    pub(crate) fn add(&mut self, name: &str, entry: Value) {
        let text = std::fs::read_to_string(&self.config).expect("written before");
        let mut config: Value = serde_json::from_str(&text).expect("a client's file");
        config["mcpServers"][name] = entry;
        std::fs::write(&self.config, config.to_string()).expect("a writable folder");
    }

    /// Changes the config.
    pub(crate) fn configure(&self, change: impl FnOnce(&mut Value)) {
        let text = std::fs::read_to_string(&self.config).expect("written before");
        let mut config: Value = serde_json::from_str(&text).expect("JSON");
        change(&mut config);
        std::fs::write(&self.config, config.to_string()).expect("a writable folder");
    }

    /// Writes another policy.
    pub(crate) fn rule(&self, policy: &str) {
        std::fs::write(&self.policy, policy).expect("a writable folder");
    }

    /// The folder.
    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The state folder of the program.
    pub(crate) fn state(&self) -> PathBuf {
        self.path().join("state")
    }

    /// Starts `bouncer run` over this stage, without a handshake.
    pub(crate) fn run(&self) -> Client {
        self.run_under(&[])
    }

    /// The same, started by another program that is given the command as its last arguments.
    pub(crate) fn run_under(&self, program: &[&str]) -> Client {
        let text = |path: &Path| path.to_str().expect("an ordinary path").to_owned();
        let mut words: Vec<String> = program.iter().map(|word| (*word).to_owned()).collect();
        words.extend([
            env!("CARGO_BIN_EXE_bouncer").to_owned(),
            "run".to_owned(),
            "--config".to_owned(),
            text(&self.config),
            "--policy".to_owned(),
            text(&self.policy),
            "--state".to_owned(),
            text(&self.state()),
        ]);
        words.extend(self.run.clone());
        let env = self.env.clone();
        let program = words.remove(0);
        Client::start(Path::new(&program), &words, |command: &mut Command| {
            command.envs(env).current_dir(self.path());
        })
    }

    /// Runs a command of the program over this stage's config, policy and state until it ends.
    pub(crate) fn command(&self, arguments: &[&str]) -> std::process::Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bouncer"));
        command.args(self.arguments(arguments)).envs(self.env.clone()).current_dir(self.path());
        command.stdin(std::process::Stdio::null()).output().expect("the program ends")
    }

    /// The arguments of a command with those that name this stage's files.
    pub(crate) fn arguments(&self, arguments: &[&str]) -> Vec<String> {
        let text = |path: &Path| path.to_str().expect("an ordinary path").to_owned();
        let mut all: Vec<String> = arguments.iter().map(|&argument| argument.to_owned()).collect();
        for (name, path) in
            [("--config", &self.config), ("--policy", &self.policy), ("--state", &self.state())]
        {
            all.extend([name.to_owned(), text(path)]);
        }
        all
    }

    /// Starts it and does the handshake of a client that can show questions.
    pub(crate) fn client(&self) -> Client {
        self.client_with(&json!({"elicitation": {}}))
    }

    /// Starts it and does the handshake with these capabilities.
    pub(crate) fn client_with(&self, capabilities: &Value) -> Client {
        let mut client = self.run();
        client.initialize("2025-06-18", capabilities);
        client
    }

    /// The records of the audit log, in order.
    pub(crate) fn audit(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.state().join("audit.jsonl")).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).expect("a record is JSON")).collect()
    }
}
