//! Bouncer put in front of a client's servers and taken out again, by the commands that people run.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::stage::{Client, Event, Options, Stage, Terminal};

/// A home folder of its own, with a client's file in it.
pub(crate) struct Home {
    folder: tempfile::TempDir,
    file: PathBuf,
}

impl Home {
    pub(crate) fn new(file: &str, text: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut home = Self { file: PathBuf::new(), folder };
        home.file = home.write(file, text);
        home
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().canonicalize().expect("it is there")
    }

    pub(crate) fn write(&self, file: &str, text: &str) -> PathBuf {
        let path = self.path().join(file);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a writable folder");
        std::fs::write(&path, text).expect("a writable folder");
        path
    }

    /// Runs a command about the file on a terminal.
    fn terminal(&self, arguments: &[&str]) -> Terminal {
        Terminal::start(arguments, |command| {
            command.arg("--config").arg(&self.file).env("HOME", self.path()).env_remove("BOUNCER_HOME");
        })
    }

    /// Runs a command about no file in particular, in this home folder.
    fn plain(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bouncer"));
        command.args(arguments).env("HOME", self.path()).current_dir(self.path()).stdin(Stdio::null());
        for name in ["BOUNCER_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "XDG_CONFIG_HOME"] {
            command.env_remove(name);
        }
        command.output().expect("the program starts")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bouncer"));
        command.args(arguments).arg("--config").arg(&self.file).env("HOME", self.path());
        command.env_remove("BOUNCER_HOME").current_dir(self.path()).stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("the program starts")
    }

    /// Runs `init`, which must do something, and gives what it said.
    pub(crate) fn init(&self) -> String {
        let output = self.run(&["init", "--yes", "--no-hook"]);
        assert!(output.status.success(), "{output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    pub(crate) fn text(&self) -> String {
        std::fs::read_to_string(&self.file).expect("it is there")
    }

    /// Undoes it, as a person at a terminal, and gives what was shown.
    fn restores(&self) -> String {
        let mut person = self.terminal(&["restore"]);
        person.shows("Bring this file back? [y/N] ");
        person.types("y");
        let (code, screen) = person.ends();
        assert_eq!(code, Some(0), "{screen}");
        screen
    }

    /// Undoes it, and checks that every byte is as it was.
    pub(crate) fn restored(&self, original: &str) {
        self.restores();
        assert_eq!(self.text(), original);
    }

    /// What is carried over, as text.
    pub(crate) fn carried(&self) -> String {
        let folder = self.path().join(".bouncer/clients");
        let files = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        let carried = files.filter(|path| path.extension().is_some_and(|ext| ext == "yaml"));
        carried.map(|path| std::fs::read_to_string(path).expect("it is there")).collect()
    }
}

/// The command line of our own entry: each client writes it in its own form, but all write the words
/// of it as strings, one after the other.
fn command_line(text: &str) -> Vec<String> {
    let strings = text.split('"').skip(1).step_by(2).map(str::to_owned);
    let mut line: Vec<String> = strings
        .skip_while(|word| word != env!("CARGO_BIN_EXE_bouncer"))
        .filter(|word| word != "args")
        .collect();
    let config = line
        .iter()
        .position(|word| Path::new(word).extension().is_some_and(|ext| ext == "yaml"))
        .expect("our entry names a config");
    line.truncate(config + 1);
    line
}

/// A real-shaped file of each client, around the entry of a server that runs.
fn files(entry: &Value) -> Vec<(&'static str, String)> {
    let arguments = &entry["args"];
    let code = format!(
        "{{\n  \"numStartups\": 12, \"tipsHistory\": {{\"a\": 1}},\n  \"mcpServers\": {{\n    \"mail\": \
         {{\"type\": \"stdio\", \"command\": \"python3\", \"args\": {arguments}, \"env\": {{}}}}\n  }},\n  \
         \"projects\": {{\"/p\": {{\"allowedTools\": [], \"history\": [{{\"display\": \"h\u{e9}llo\"}}], \"mcpServers\": {{}}}}}}\n}}\n"
    );
    let cursor = format!(
        "{{\r\n\t\"mcpServers\": {{\r\n\t\t\"mail\": {{\"command\": \"python3\", \"args\": {arguments}}},\r\n\t\t\"far\": \
         {{\"url\": \"https://mcp.example/sse\"}}\r\n\t}}\r\n}}"
    );
    let vscode = format!(
        "// mine\n{{\n  \"inputs\": [],\n  \"servers\": {{\n    /* the mail */\n    \"mail\": {{\"type\": \"stdio\", \
         \"command\": \"python3\", \"args\": {arguments}}}, // last\n  }},\n}}\n"
    );
    let codex = format!(
        "model = \"m\" # mine\n\n[mcp_servers.mail]\ncommand = \"python3\"\nargs = {arguments}\nstartup_timeout_sec = 20\n\n[tui]\ntheme = \"x\"\n"
    );
    vec![
        (".claude.json", code),
        (".cursor/mcp.json", cursor),
        (".vscode/mcp.json", vscode),
        (".codex/config.toml", codex),
    ]
}

#[test]
fn four_clients_are_set_up_run_from_the_written_entry_and_restored() {
    let script = json!({"tools": ["search_mail"], "calls": {"search_mail": [{"text": "one mail"}]}});
    let Some(stage) = Stage::new(&[("mail", script)]) else { return };
    for (file, original) in files(&stage.upstreams[0].entry()) {
        let home = Home::new(file, &original);
        let said = home.init();
        assert!(said.contains("moves behind Bouncer: mail"), "{file}: {said}");
        let written = home.text();
        assert!(home.init().contains("nothing to do") && home.text() == written, "{file}: twice is once");
        let line = command_line(&written);
        let home_folder = home.path();
        let mut client = Client::start(Path::new(&line[0]), &line[1..], |command| {
            command.env("HOME", home_folder).env_remove("BOUNCER_HOME");
        });
        client.initialize("2025-06-18", &json!({}));
        client.tools(&["mail__search_mail"]);
        assert_eq!(client.call("mail__search_mail", &json!({})).text(), "one mail", "{file}");
        client.close();
        client.end();
        home.restored(&original);
    }
}

#[test]
fn the_dialog_shows_the_change_and_takes_only_a_yes() {
    let original =
        "{\n  \"mcpServers\": {\"a\": {\"command\": \"x\", \"env\": {\"API_KEY\": \"hunter2hunter2\"}}}\n}\n";
    for (answers, changed) in [(&["n"][..], false), (&[""], false), (&["maybe"], false), (&["y", "n"], true)]
    {
        let home = Home::new(".cursor/mcp.json", original);
        let mut person = home.terminal(&["init"]);
        let seen = person.shows("Change this file? [y/N] ");
        assert!(seen.contains("API_KEY") && !seen.contains("hunter2"), "{seen}");
        person.types(answers[0]);
        if let Some(second) = answers.get(1) {
            person.shows("Add the prompt hook");
            person.types(second);
        }
        let (code, screen) = person.ends();
        assert_eq!(code, Some(0), "{screen}");
        assert_eq!(home.text() != original, changed, "{answers:?}: {screen}");
        assert!(!home.path().join(".cursor/hooks.json").exists(), "the hook was refused");
        if changed {
            home.restored(original);
        }
    }
}

#[test]
fn a_server_that_is_not_there_is_no_success() {
    let original = "{\"mcpServers\": {\"a\": {\"command\": \"x\"}, \"b\": {\"command\": \"y\"}}}\n";
    let home = Home::new(".cursor/mcp.json", original);
    home.write(".config/Code/User/mcp.json", "{\"servers\": {\"c\": {\"command\": \"z\"}}}\n");
    let named = |name: &str| home.run(&["init", "--yes", "--no-hook", "--server", name]);
    assert!(named("a").status.success());
    assert!(named("a").status.success(), "it has moved before");
    let found = home.plain(&["init", "--yes", "--no-hook", "--server", "b"]);
    assert!(found.status.success() && found.stderr.is_empty() && !home.text().contains("\"b\""), "{found:?}");
    let none = home.plain(&["init", "--yes", "--server", "nope"]);
    assert_eq!(none.status.code(), Some(3), "{none:?}");
    assert!(
        String::from_utf8_lossy(&none.stderr).contains("no client's config on this machine has"),
        "{none:?}"
    );
    let written = home.text();
    let output = named("nope");
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("there is no such server"), "{output:?}");
    assert_eq!(home.text(), written);
    home.restored(original);
}

#[test]
fn restore_asks_on_a_terminal_and_does_nothing_without_one() {
    let original = "{\"mcpServers\": {\"a\": {\"command\": \"x\"}}}\n";
    let home = Home::new(".cursor/mcp.json", original);
    home.init();
    let installed = home.text();
    let refused = home.run(&["restore"]);
    assert_eq!(home.run(&["restore", "--yes"]).status.code(), Some(2), "no flag does without one");
    assert_eq!(home.text(), installed);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    assert!(
        String::from_utf8_lossy(&refused.stderr).contains("there is no terminal to ask on"),
        "{refused:?}"
    );
    for (answer, text) in [("", &*installed), ("n", &installed), ("y", original)] {
        let mut person = home.terminal(&["restore"]);
        let seen = person.shows("Bring this file back? [y/N] ");
        assert!(seen.contains("these servers run without it: a"), "{seen}");
        person.types(answer);
        let (code, screen) = person.ends();
        assert_eq!((code, &*home.text()), (Some(0), text), "{answer:?}: {screen}");
        assert_eq!(screen.contains("byte for byte"), answer == "y", "{screen}");
    }
}

#[test]
fn restore_says_that_a_file_was_changed_and_keeps_the_change() {
    let original = "{\"theme\": \"x\", \"mcpServers\": {\"a\": {\"command\": \"x\"}}}\n";
    let home = Home::new(".cursor/mcp.json", original);
    home.init();
    std::fs::write(&home.file, home.text().replace("\"theme\": \"x\"", "\"theme\": \"y\"")).expect("ours");
    let said = home.restores();
    assert!(
        said.contains("it was changed since, so the servers are back and those changes are kept"),
        "{said}"
    );
    let expected: Value =
        serde_json::from_str(&original.replace("\"theme\": \"x\"", "\"theme\": \"y\"")).expect("JSON");
    assert_eq!(serde_json::from_str::<Value>(&home.text()).expect("JSON"), expected);
}

#[test]
fn restore_without_a_file_names_what_there_is() {
    let original = "{\"mcpServers\": {\"a\": {\"command\": \"x\"}}}";
    let home = Home::new(".cursor/mcp.json", original);
    let restore = || {
        let output = home.plain(&["restore"]);
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    assert_eq!(restore().0, Some(0));
    home.init();
    let line = format!("bouncer restore --config {}\n", home.file.display());
    assert_eq!(restore(), (Some(2), line));
    home.restored(original);
    assert!(restore().1.contains("nothing to restore"));
}

#[test]
fn without_a_terminal_or_a_yes_nothing_is_changed() {
    let original = "{\"mcpServers\": {\"a\": {\"command\": \"x\"}}}";
    let home = Home::new(".cursor/mcp.json", original);
    assert_eq!(home.run(&["init"]).status.code(), Some(2));
    assert!(home.run(&["init", "--dry-run"]).status.success());
    assert_eq!(home.text(), original);
    let broken = Home::new(".cursor/mcp.json", "{\"mcpServers\": {\"a\": ");
    assert_eq!(broken.run(&["init", "--yes"]).status.code(), Some(3));
    assert_eq!(broken.text(), "{\"mcpServers\": {\"a\": ");
}

#[test]
fn a_claude_code_that_was_moved_gets_its_hook_where_it_reads_it() {
    let home = Home::new("cfg/.claude.json", "{\"mcpServers\": {\"a\": {\"command\": \"x\"}}}");
    let mut init = Command::new(env!("CARGO_BIN_EXE_bouncer"));
    init.args(["init", "--yes"]).env("HOME", home.path()).current_dir(home.path()).stdin(Stdio::null());
    for name in ["BOUNCER_HOME", "CODEX_HOME", "COPILOT_HOME", "XDG_CONFIG_HOME"] {
        init.env_remove(name);
    }
    let output = init.env("CLAUDE_CONFIG_DIR", home.path().join("cfg")).output().expect("the program starts");
    assert!(output.status.success(), "{output:?}");
    assert!(home.text().contains("\"bouncer\""), "{}", home.text());
    let settings = std::fs::read_to_string(home.path().join("cfg/settings.json")).expect("the hook file");
    assert!(settings.contains("hook claude-code"), "{settings}");
    assert!(!home.path().join("cfg/.claude").exists() && !home.path().join(".claude").exists());
}

#[test]
fn hooks_are_added_with_a_yes_and_gone_after_restore() {
    let original = "{\"mcpServers\": {\"a\": {\"command\": \"x\"}}}\n";
    let home = Home::new(".cursor/mcp.json", original);
    let hooks = home.path().join(".cursor/hooks.json");
    assert!(home.run(&["init", "--yes"]).status.success());
    let text = std::fs::read_to_string(&hooks).expect("the hook file");
    assert!(text.contains("beforeSubmitPrompt") && text.contains("hook cursor"), "{text}");
    home.restored(original);
    assert!(!hooks.exists());
}

#[test]
fn b01_comments_order_and_commas_of_vs_code_stay() {
    let original = "{\n  // mine\n  \"servers\": {\n    \"example\": { \"type\": \"http\", \"url\": \"https://example.com/mcp\" },\n    \
                    \"near\": { \"command\": \"npx\", \"args\": [\"-y\", \"near@1.2.3\"] }, // last\n  }\n}";
    let home = Home::new(".vscode/mcp.json", original);
    let said = home.init();
    assert!(said.contains("stays: example: it is remote: not yet proxied"), "{said}");
    let text = home.text();
    assert!(
        text.contains("  // mine\n")
            && text.contains("// last")
            && text.contains("\"example\": { \"type\": \"http\""),
        "{text}"
    );
    home.restored(original);
}

#[test]
fn b02_only_the_servers_of_opencode_are_edited() {
    let original = "{\n // theme\n \"theme\":\"x\",\n \"mcp\":{\"a\":{\"type\":\"local\",\"command\":[\"npx\",\"-y\",\"a\"]}}\n}";
    let home = Home::new(".config/opencode/opencode.json", original);
    home.init();
    assert!(
        home.text().starts_with("{\n // theme\n \"theme\":\"x\",\n \"mcp\":{\"bouncer\":"),
        "{}",
        home.text()
    );
    home.restored(original);
}

#[test]
fn b04_a_file_that_its_client_reads_strictly_stays_strict() {
    let original = "{\"mcpServers\":{\"a\":{\"command\":\"npx\",\"args\":[\"-y\",\"a\"]}}}";
    let home = Home::new("p/.mcp.json", original);
    home.write(".claude/settings.json", r#"{"enableAllProjectMcpServers": true}"#);
    home.init();
    let parsed: Value = serde_json::from_str(&home.text()).expect("strict JSON");
    assert!(parsed["mcpServers"]["bounce2"].is_object(), "{parsed}");
    home.restored(original);
}

#[test]
fn b05_servers_in_a_file_that_is_not_read_are_named() {
    let original = r#"{"mcpServers":{},"projects":{"/p":{"mcpServers":{"y":{"command":"b"}}}}}"#;
    let home = Home::new(".claude.json", original);
    home.write(".claude/settings.json", r#"{"mcpServers":{"x":{"command":"a"}}}"#);
    let said = home.init();
    assert!(said.contains("y (from mcpServers of project /p)"), "{said}");
    assert!(said.contains("`x` stand in") && said.contains("settings.json"), "{said}");
    assert!(home.carried().contains("y:") && !home.carried().contains("x:"), "{}", home.carried());
    home.restored(original);
}

#[test]
fn b06_an_entry_in_a_wrong_shape_stays_and_the_right_one_is_shown() {
    let original = r#"{"mcpServers":{"t":{"transport":{"type":"http","url":"http://localhost:8002","headers":{"x-t":"${T}"}}}}}"#;
    let home = Home::new(".cursor/mcp.json", original);
    let said = home.init();
    assert!(said.contains("stays: t: ") && said.contains(r#"{"type": "http", "url": "#), "{said}");
    assert_eq!((home.text(), home.carried()), (original.to_owned(), String::new()));
}

#[test]
fn b08_a_server_that_needs_a_dialog_of_its_client_stays() {
    let original = r#"{"inputs":[{"type":"promptString","id":"k","password":true}],"servers":{"s":{"command":"x","env":{"K":"${input:k}"}},"r":{"command":"y"}}}"#;
    let home = Home::new(".vscode/mcp.json", original);
    let said = home.init();
    assert!(said.contains("stays: s: it needs ${input:k}"), "{said}");
    assert!(home.text().contains("${input:k}") && !home.carried().contains("input"), "{}", home.carried());
    home.restored(original);
}

#[test]
fn b09_a_key_that_vs_code_does_not_read_is_noted_and_ours_goes_where_it_reads() {
    let original = r#"{"mcpServers":{"a":{"command":"x"}}}"#;
    let home = Home::new(".config/Code/User/mcp.json", original);
    let said = home.init();
    assert!(said.contains("`mcpServers` is a key that VS Code does not read"), "{said}");
    let parsed: Value = serde_json::from_str(&home.text()).expect("JSON");
    assert!(parsed["servers"]["bouncer"].is_object(), "{parsed}");
    home.restored(original);
}

#[test]
fn b10_opencode_in_all_its_ways() {
    let local =
        r#"{"type":"local","command":["npx","-y","p"],"environment":{"K":"{env:K}"},"enabled":false}"#;
    let original = format!(r#"{{"mcp":{{"a":{local},"b":{local}}}}}"#);
    let home = Home::new("p/opencode.json", &original);
    home.write("p/.agents/mcp.json", r#"{"a":{"type":"remote","url":"https://e.test/mcp"}}"#);
    let said = home.init();
    assert!(said.contains("stays: a: ") && said.contains("is the one that counts"), "{said}");
    assert!(said.contains("clients ask again for a changed entry"), "{said}");
    let carried = home.carried();
    assert!(carried.contains("disabled: true") && carried.contains("${K"), "{carried}");
    home.restored(&original);
}

#[test]
fn b11_a_profile_of_zed_that_names_a_server_is_named() {
    let original = r#"{"context_servers":{"s":{"source":"custom","command":"c","args":[],"env":{}}},"agent":{"profiles":{"p":{"context_servers":{"s":{"tools":{"t":true}}}}}}}"#;
    let home = Home::new(".config/zed/settings.json", original);
    let said = home.init();
    assert!(said.contains("profile `p` names the server `s`"), "{said}");
    assert!(home.text().contains(r#""source": "custom""#), "{}", home.text());
    home.restored(original);
}

#[test]
fn b12_what_codex_asked_about_bouncer_asks_about() {
    let original = "# mine\n[mcp_servers.pw]\ncommand = \"npx\"\nargs = [\"-y\",\"pw\"]\ndefault_tools_approval_mode = \"approve\"\n\
                    [mcp_servers.pw.tools.browser_click]\napproval_mode = \"prompt\"\n[other]\nx = 1 # c\n";
    let home = Home::new(".codex/config.toml", original);
    home.init();
    assert!(
        home.carried().contains("pw.browser_click") && home.carried().contains("ask"),
        "{}",
        home.carried()
    );
    let text = home.text();
    assert!(text.starts_with("# mine\n") && text.ends_with("[other]\nx = 1 # c\n"), "{text}");
    home.restored(original);
}

#[test]
fn b13_bouncer_answers_before_its_servers_are_up_and_passes_proxy_settings_on() {
    let script = json!({"tools": ["t"], "on": {"initialize": [{"wait": "never"}]}});
    let proxy = ("https_proxy".to_owned(), "http://proxy.example:3128".to_owned());
    let options = Options { env: vec![proxy], ..Options::default() };
    let Some(mut stage) = Stage::with(&[("slow", script)], options) else { return };
    // The handshake waits for nobody: the server never answers its own. How long it takes is measured
    // in `docs/benchmarks.md` (`cold_init_s`: 13 ms).
    let mut client = stage.client();
    assert_eq!(client.request("ping", &json!({})).message["result"], json!({}));
    let started =
        |event: &Event| if let Event::Started(report) = event { Some(report.clone()) } else { None };
    let report = stage.upstreams[0].wait("its start", started);
    assert_eq!(report["env"]["https_proxy"], "http://proxy.example:3128");
}

#[test]
fn b15_a_secret_among_arguments_is_shown_nowhere() {
    let original = r#"{"mcpServers":{"m":{"command":"/nowhere/mcp-remote","args":["http://127.0.0.1:27123/mcp/","--header","Authorization: Bearer sk-neutral-123"]}}}"#;
    let home = Home::new(".cursor/mcp.json", original);
    let said = home.init();
    assert!(said.contains("Authorization") && !said.contains("sk-neutral-123"), "{said}");
    let line = command_line(&home.text());
    let home_folder = home.path();
    let mut client = Client::start(Path::new(&line[0]), &line[1..], |command| {
        command.env("HOME", home_folder).env_remove("BOUNCER_HOME");
    });
    client.initialize("2025-06-18", &json!({}));
    client.says(&["upstream `m` is not available"]);
    assert!(!client.stderr().contains("sk-neutral-123"));
    let status = Command::new(&line[0])
        .args(["status", "--format", "json"])
        .env("HOME", home.path())
        .env_remove("BOUNCER_HOME")
        .output();
    let status = String::from_utf8_lossy(&status.expect("it runs").stdout).into_owned();
    assert!(status.contains("\"m\"") && !status.contains("sk-neutral-123"), "{status}");
    client.close();
    client.end();
    let audit = std::fs::read_to_string(home.path().join(".bouncer/audit.jsonl")).unwrap_or_default();
    assert!(!audit.contains("sk-neutral-123"), "{audit}");
    home.restored(original);
}

#[test]
fn b22_entries_of_windows_move_as_they_are_and_what_is_not_pinned_is_named() {
    let original = r#"{"mcpServers":{"w":{"command":"cmd","args":["/c","npx","-y","@scope/pkg@latest"]}}}"#;
    let home = Home::new(".cursor/mcp.json", original);
    let said = home.init();
    assert!(said.contains("package `@scope/pkg@latest` is not pinned"), "{said}");
    assert!(home.carried().contains("command: cmd") && home.carried().contains("- /c"), "{}", home.carried());
    home.restored(original);
}

#[test]
fn clients_that_are_not_supported_are_named() {
    let home = Home::new(".config/goose/config.yaml", "extensions: {}\n");
    home.write(".continue/config.yaml", "mcpServers: []\n");
    let output = home.plain(&["init", "--yes"]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    for client in ["Goose", "Continue"] {
        assert!(said.contains(&format!("{client} is not yet supported")), "{said}");
    }
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    let named = home.run(&["init", "--yes"]);
    assert_eq!(named.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&named.stderr).contains("Goose is not yet supported"), "{named:?}");
    assert_eq!(home.text(), "extensions: {}\n");
}

#[test]
fn one_file_that_does_not_parse_stops_no_other_and_is_no_success() {
    let original = "{\"mcpServers\": {\"a\": {\"command\": \"x\"}}}\n";
    let home = Home::new(".cursor/mcp.json", original);
    let broken = home.write(".codeium/windsurf/mcp_config.json", "{\"mcpServers\": {");
    let output = home.plain(&["init", "--yes", "--no-hook"]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("windsurf/mcp_config.json"), "{output:?}");
    assert_eq!(std::fs::read_to_string(broken).expect("there"), "{\"mcpServers\": {");
    assert!(home.text().contains("bouncer"));
    home.restored(original);
}

#[test]
fn all_that_is_offered_is_shown_before_the_question() {
    let original = r#"{"mcpServers":{"w":{"command":"npx","args":["-y","@scope/pkg"]},"far":{"url":"https://mcp.example/sse"}}}"#;
    let home = Home::new(".cursor/mcp.json", original);
    home.write(".npm/_npx/1a/node_modules/@scope/pkg/package.json", r#"{"version": "2.4.1"}"#);
    let pieces = [
        "stays: far: it is remote: not yet proxied",
        "outside Bouncer remain the client's own tools (shell, files, web) and what stays",
        "offers to pin: w: `@scope/pkg` was last run as `@scope/pkg@2.4.1`",
    ];
    let dry = home.run(&["init", "--dry-run"]);
    let mut person = home.terminal(&["init"]);
    for said in [String::from_utf8_lossy(&dry.stdout).into_owned(), person.shows("Change this file? [y/N] ")]
    {
        for piece in pieces {
            assert!(said.contains(piece), "{piece} in {said}");
        }
    }
    assert!(String::from_utf8_lossy(&dry.stdout).contains("prompt hook"), "{dry:?}");
    assert_eq!(home.text(), original);
    person.types("y");
    person.shows("Add the prompt hook");
    person.types("n");
    person.shows("Pin these packages");
    person.types("y");
    assert_eq!(person.ends().0, Some(0));
    assert!(home.carried().contains("@scope/pkg@2.4.1"), "{}", home.carried());
    home.restored(original);
}

#[test]
fn a_policy_of_the_older_wrapper_is_still_read() {
    let script = json!({"tools": ["t"]});
    let Some(stage) = Stage::new(&[("a", script)]) else { return };
    let inner = stage.upstreams[0].entry();
    let original = json!({"mcpServers": {"a": {"command": "bouncer",
        "args": ["run", "--config", "mcp.json", "--upstream-name", "a", "--policy", "rules/p.yaml"], "x-bouncer-upstream": inner}}});
    let original = original.to_string();
    let home = Home::new("p/.cursor/mcp.json", &original);
    let policy = home.write("p/rules/p.yaml", "t:\n  max_calls: 1\n");
    let said = home.init();
    assert!(said.contains(&format!("its policy is `{}`", policy.display())), "{said}");
    let line = command_line(&home.text());
    let home_folder = home.path();
    let mut client = Client::start(Path::new(&line[0]), &line[1..], |command| {
        command.env("HOME", home_folder).env_remove("BOUNCER_HOME").current_dir("/");
    });
    client.initialize("2025-06-18", &json!({}));
    client.tools(&["a__t"]);
    assert!(!client.call("a__t", &json!({})).blocked());
    assert!(client.call("a__t", &json!({})).text().contains("all 1 calls"), "the policy counts");
    client.close();
    client.end();
    home.restored(&original);
}

#[test]
fn packages_are_pinned_to_what_was_run_only_when_the_user_wants_it() {
    let original = r#"{"mcpServers":{"w":{"command":"npx","args":["-y","@scope/pkg@latest","/notes"]}}}"#;
    for (arguments, pinned) in
        [(&["init", "--yes", "--no-hook", "--pin"][..], true), (&["init", "--yes", "--no-hook"], false)]
    {
        let home = Home::new(".cursor/mcp.json", original);
        home.write(".npm/_npx/1a/node_modules/@scope/pkg/package.json", r#"{"version": "2.4.1"}"#);
        let output = home.run(arguments);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(said.contains("was last run as `@scope/pkg@2.4.1`"), "{said}");
        assert_eq!(said.contains("not pinned; `--pin` says so"), !pinned, "{said}");
        assert_eq!(home.carried().contains("@scope/pkg@2.4.1"), pinned, "{}", home.carried());
        assert!(home.carried().contains("/notes"));
        home.restored(original);
    }
}

#[test]
fn files_of_the_corpus_go_through_the_commands_byte_for_byte() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/configs");
    let mut seen = 0;
    for name in
        ["01-claude-desktop", "11-cursor", "17-gemini", "24-zed", "29-codex-dotted", "34-unicode-names"]
    {
        let mut open = vec![corpus.join(name)];
        while let Some(path) = open.pop() {
            if path.is_dir() {
                open.extend(
                    std::fs::read_dir(&path).expect("a folder").map(|entry| entry.expect("a file").path()),
                );
                continue;
            }
            let inside =
                path.strip_prefix(corpus.join(name)).expect("below").to_str().expect("plain").to_owned();
            let original = std::fs::read_to_string(&path).expect("text");
            let home = Home::new(&inside, &original);
            home.init();
            if home.text() != original {
                home.restored(&original);
                seen += 1;
            }
        }
    }
    assert!(seen >= 5, "{seen} files of the corpus were changed and came back");
}
