//! What a client was told about its servers comes along with them: what it has not approved stays,
//! what it has switched off is off, what it denies is denied.

use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::init::Home;

const TWO: &str = "{\n  \"mcpServers\": {\n    \"good\": {\"command\": \"x\"},\n    \"evil\": {\"command\": \"y\"}\n  }\n}\n";

/// A project's file in a home folder, with these files beside it; `{p}` stands for the project.
fn project(file: &str, text: &str, around: &[(&str, &str)]) -> Home {
    let home = Home::new(&format!("p/{file}"), text);
    let folder = home.path().join("p").display().to_string();
    for (name, text) in around {
        home.write(name, &text.replace("{p}", &folder));
    }
    home
}

/// What `init` says on stdout, with these further arguments.
fn said(home: &Home, arguments: &[&str]) -> String {
    let output = home.run(&[&["init", "--yes", "--no-hook"], arguments].concat());
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn servers_of_a_project_that_claude_code_has_not_approved_stay() {
    let approved = r#"{"enabledMcpjsonServers": ["good"]}"#;
    let trusted = r#"{"projects": {"{p}": {"hasTrustDialogAccepted": true}}}"#;
    let kept =
        r#"{"projects": {"{p}": {"enabledMcpjsonServers": ["good"], "disabledMcpjsonServers": ["evil"]}}}"#;
    for around in [
        &[(".claude/settings.json", approved)][..],
        &[(".claude.json", trusted), ("p/.claude/settings.json", approved)],
        &[(".claude.json", trusted), ("p/.claude/settings.local.json", approved)],
        &[(".claude.json", kept)],
    ] {
        let home = project(".mcp.json", TWO, around);
        let said = said(&home, &[]);
        assert!(said.contains("moves behind Bouncer: good (from mcpServers)"), "{said}");
        assert!(said.contains("stays: evil: not approved by the client"), "{said}");
        assert!(said.contains("`--server evil` takes it all the same"), "{said}");
        let (text, carried) = (home.text(), home.carried());
        assert!(text.contains(r#""evil": {"command": "y"}"#) && !text.contains(r#""good""#), "{text}");
        assert!(carried.contains("good:") && !carried.contains("evil"), "{carried}");
        home.restored(TWO);
    }
}

#[test]
fn a_project_cannot_approve_its_own_servers() {
    for file in ["p/.claude/settings.json", "p/.claude/settings.local.json"] {
        let home = project(".mcp.json", TWO, &[(file, r#"{"enableAllProjectMcpServers": true}"#)]);
        let said = said(&home, &[]);
        assert!(said.contains("nothing to move") && said.contains("does not trust this folder"), "{said}");
        assert_eq!((home.text(), home.carried()), (TWO.to_owned(), String::new()));
    }
}

#[test]
fn a_link_hides_nobodys_project() {
    let home = Home::new("p/mcp/all.json", TWO);
    let link = home.path().join("p/.mcp.json");
    std::os::unix::fs::symlink("mcp/all.json", &link).expect("a writable folder");
    let mut command = Command::new(env!("CARGO_BIN_EXE_bouncer"));
    command.args(["init", "--yes", "--no-hook", "--config"]).arg(&link).env("HOME", home.path());
    let output = command.env_remove("BOUNCER_HOME").stdin(Stdio::null()).output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    for name in ["good", "evil"] {
        assert!(said.contains(&format!("stays: {name}: not approved by the client")), "{said}");
    }
    assert_eq!((home.text(), home.carried()), (TWO.to_owned(), String::new()));
}

#[test]
fn what_is_named_is_taken_and_what_was_refused_stays_off() {
    let refused = r#"{"disabledMcpjsonServers": ["evil"], "enabledMcpjsonServers": ["good"]}"#;
    for (around, off) in [(&[][..], false), (&[(".claude/settings.json", refused)], true)] {
        let home = project(".mcp.json", TWO, around);
        let said = said(&home, &["--server", "evil"]);
        assert!(said.contains("moves behind Bouncer: evil (from mcpServers)"), "{said}");
        assert!(
            said.contains("not approved by the client") && said.contains("because you named it"),
            "{said}"
        );
        let carried = home.carried();
        assert!(carried.contains("evil:") && !carried.contains("good"), "{carried}");
        assert_eq!(carried.contains("disabled: true"), off, "{carried}");
        home.restored(TWO);
    }
}

#[test]
fn codex_takes_a_projects_servers_only_where_the_project_is_trusted() {
    let original = "[mcp_servers.a]\ncommand = \"x\"\n";
    for (level, moves) in [("trusted", true), ("untrusted", false)] {
        let trust = format!("[projects.\"{{p}}\"]\ntrust_level = \"{level}\"\n");
        let home = project(".codex/config.toml", original, &[(".codex/config.toml", &trust)]);
        let said = said(&home, &[]);
        assert_eq!(said.contains("moves behind Bouncer: a"), moves, "{said}");
        assert_eq!(said.contains("stays: a: not approved by the client"), !moves, "{said}");
        assert_eq!(home.text() != original, moves);
        if moves {
            home.restored(original);
        }
    }
}

#[test]
fn a_yes_to_all_that_is_found_is_none_to_what_a_repository_brought() {
    let opencode = r#"{"mcp": {"good": {"type": "local", "command": ["x"]}, "evil": {"type": "local", "command": ["y"]}}}"#;
    for (file, original) in [(".cursor/mcp.json", TWO), ("opencode.json", opencode)] {
        let home = project(file, original, &[]);
        let init = |arguments: &[&str]| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_bouncer"));
            command.args(["init", "--yes", "--no-hook"]).args(arguments).stdin(Stdio::null());
            command.env("HOME", home.path()).env_remove("BOUNCER_HOME").current_dir(home.path().join("p"));
            let output = command.output().expect("the program starts");
            assert!(output.status.success(), "{output:?}");
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        let said = init(&[]);
        assert!(said.contains("does not say which of them it has approved"), "{said}");
        assert_eq!(home.text(), original);
        let said = init(&["--config", file]);
        assert!(said.contains("moves behind Bouncer: good, evil"), "{said}");
        home.restored(original);
    }
}

/// One carried upstream.
fn upstream(home: &Home, name: &str) -> Value {
    let carried: Value = serde_yaml::from_str(&home.carried()).expect("YAML");
    carried["upstreams"][name].clone()
}

/// `init` over a file of one client makes these tool lists and this switch of server `mail`.
fn check(file: &str, text: &str, around: &[(&str, &str)], tools: &Value, off: bool) {
    let home = Home::new(file, text);
    for (name, text) in around {
        home.write(name, text);
    }
    home.init();
    let mail = upstream(&home, "mail");
    assert_eq!((&mail["tools"], mail["disabled"] == true), (tools, off), "{file}: {text}");
    home.restored(text);
}

#[test]
fn tool_lists_of_each_client_come_along() {
    let entry = |fields: &str| format!(r#"{{"mcpServers": {{"mail": {{"command": "x", {fields}}}}}}}"#);
    let roo = ".config/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json";
    let deny = json!({"deny": ["send"]});
    for file in [".codeium/windsurf/mcp_config.json", roo, ".kiro/settings/mcp.json"] {
        check(file, &entry(r#""disabledTools": ["send"]"#), &[], &deny, false);
        check(file, &entry(r#""disabled": true"#), &[], &Value::Null, true);
    }
    let copilot = ".copilot/mcp-config.json";
    check(copilot, &entry(r#""type": "local", "tools": ["*"]"#), &[], &Value::Null, false);
    let two = json!({"allow": ["read", "list"]});
    check(copilot, &entry(r#""type": "local", "tools": ["read", "list"]"#), &[], &two, false);
    check(copilot, &entry(r#""type": "local", "tools": []"#), &[], &json!({"allow": []}), false);
    let both = json!({"allow": ["read", "send"], "deny": ["send"]});
    check(
        ".codex/config.toml",
        "[mcp_servers.mail]\ncommand = \"x\"\nenabled_tools = [\"read\", \"send\"]\ndisabled_tools = [\"send\"]\n",
        &[],
        &both,
        false,
    );
    check(
        ".codex/config.toml",
        "[mcp_servers.mail]\ncommand = \"x\"\nenabled = false\n",
        &[],
        &Value::Null,
        true,
    );
    let gemini = entry(r#""includeTools": ["read", "send"], "excludeTools": ["send"]"#);
    check(".gemini/settings.json", &gemini, &[], &both, false);
}

#[test]
fn lists_outside_the_entries_come_along() {
    let servers = r#""mcpServers": {"mail": {"command": "x"}}"#;
    let gemini = |lists: &str| format!("{{{servers}, \"mcp\": {{{lists}}}}}");
    let file = ".gemini/settings.json";
    check(file, &gemini(r#""excluded": ["mail"]"#), &[], &Value::Null, true);
    check(file, &gemini(r#""allowed": ["notes"]"#), &[], &Value::Null, true);
    check(file, &gemini(r#""allowed": ["mail", "bouncer"]"#), &[], &Value::Null, false);
    let opencode =
        r#"{"mcp": {"mail": {"type": "local", "command": ["x"]}}, "tools": {"mail_*": false, "bash": true}}"#;
    let all = json!({"deny": ["*"]});
    check(".config/opencode/opencode.json", opencode, &[], &all, false);
    let rules = |rules: &str| format!(r#"{{"permissions": {{"deny": [{rules}]}}}}"#);
    let code = format!("{{{servers}}}");
    let settings = ".claude/settings.json";
    let one = rules(r#""mcp__mail__send", "Read(./.env)""#);
    check(".claude.json", &code, &[(settings, &one)], &json!({"deny": ["send"]}), false);
    check(".claude.json", &code, &[(settings, &rules(r#""mcp__mail""#))], &all, false);
}

#[test]
fn lists_that_no_upstream_can_hold_are_named() {
    let servers = r#""mcpServers": {"mail": {"command": "x"}}"#;
    let home =
        Home::new(".gemini/settings.json", &format!(r#"{{{servers}, "mcp": {{"allowed": ["mail"]}}}}"#));
    let said = home.init();
    assert!(said.contains("add `bouncer` to it by hand"), "{said}");
    let home =
        Home::new(".gemini/settings.json", &format!(r#"{{{servers}, "mcp": {{"excluded": ["mail"]}}}}"#));
    assert!(home.init().contains("note: mail: it stays off"), "what is carried over is shown");
    let home = Home::new(
        ".claude.json",
        &format!(r#"{{{servers}, "projects": {{"/nowhere/p": {{"disabledMcpServers": ["mail"]}}}}}}"#),
    );
    home.write(
        ".claude/settings.json",
        r#"{"permissions": {"ask": ["mcp__mail__send"], "deny": ["mcp__mail__del_*"], "allow": ["mcp__mail"]}}"#,
    );
    let said = home.init();
    assert!(said.contains("forbids `mail` in /nowhere/p only"), "{said}");
    assert!(said.contains("tools as the client's lists have them: `del_*` denied"), "{said}");
    assert!(said.contains("approval of `mcp__mail` is not taken over"), "{said}");
    assert!(home.carried().contains(r#""mail.send":{"at_least":"ask"}"#), "{}", home.carried());
}
