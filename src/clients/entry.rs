//! One server entry of a client, carried over into an upstream of ours, or left where it is.
//!
//! Everything a client says of a server comes along: variables in our spelling, time limits, tool
//! lists, whether it is switched off. What we cannot start, or could only start differently, stays
//! in the client's file with the reason. A client's approvals never become grants.

use std::path::Path;

use serde_json::{Map, Value, json};

use super::known::{Known, Unit};
use super::variables::{Place, rewrite};

/// What becomes of an entry.
#[derive(Debug, Clone, PartialEq)]
pub enum Fate {
    /// It is ours already, and runs the config at this path.
    Ours(String),
    /// It moves to the config of Bouncer.
    Moves(Moved),
    /// It is noted in the config of Bouncer and stays where it is.
    Stays {
        /// The upstream as the config notes it; `None` when there is nothing to note.
        upstream: Option<Value>,
        /// Why, as an operator reads it.
        why: String,
    },
}

/// An entry that moves.
#[derive(Debug, Clone, PartialEq)]
pub struct Moved {
    /// The upstream in `bouncer.yaml`'s form.
    pub upstream: Value,
    /// Policies that come with it: files that the entry named, and rules in place of the client's own.
    pub policies: Vec<Value>,
    /// What a person should know about it.
    pub notes: Vec<String>,
}

/// The key under which the older wrapper keeps what it wrapped.
const WRAPPED: &str = "x-bouncer-upstream";

/// Decides about one entry. `folder` is the client file's, `project` the project's, if it is one's.
pub fn fate(name: &str, entry: &Value, known: &Known, folder: &Path, project: Option<&Path>) -> Fate {
    let stays = |why: &str| Fate::Stays { upstream: None, why: why.to_owned() };
    let Some(fields) = entry.as_object() else { return stays("its entry is not an object") };
    if let Some(config) = our_config(fields) {
        return Fate::Ours(config);
    }
    if let Some(inner) = fields.get(WRAPPED) {
        return match fate(name, inner, known, folder, project) {
            Fate::Moves(mut moved) => {
                moved.notes.push("was wrapped one by one before".to_owned());
                let place = Place { dialect: known.dialect, project };
                match wrapped_policies(fields, place, project.unwrap_or(folder)) {
                    Ok(policies) => {
                        moved.notes.extend(policies.iter().map(|policy| {
                            format!("its policy is `{policy}`, and holds for tools of these names at every server now")
                        }));
                        moved.policies.extend(policies.into_iter().map(Value::String));
                        Fate::Moves(moved)
                    }
                    Err(form) => {
                        stays(&format!("its policy needs {form}, which only its client can fill in"))
                    }
                }
            }
            other => other,
        };
    }
    if name.is_empty() || name.chars().count() > 64 || name.chars().any(char::is_control) {
        return stays("its name is empty, longer than 64 characters or holds control characters");
    }
    if let Some(transport) = fields.get("transport").filter(|transport| transport.is_object()) {
        let keys = transport.as_object().map(|keys| keys.keys().cloned().collect::<Vec<_>>().join("`, `"));
        return Fate::Stays {
            upstream: None,
            why: format!(
                "`{}` stand under `transport`, where no client reads them; the right shape is `{{\"type\": \"http\", \"url\": …, \"headers\": …}}` in the entry itself",
                keys.unwrap_or_default()
            ),
        };
    }
    let place = Place { dialect: known.dialect, project };
    match remote(fields, place) {
        Ok(Some(upstream)) => {
            return Fate::Stays { upstream: Some(upstream), why: "it is remote: not yet proxied".to_owned() };
        }
        Ok(None) => {}
        Err(form) => {
            return stays(&format!("it is remote and needs {form}, which only its client can fill in"));
        }
    }
    if fields.contains_key("envFile") {
        return stays("it reads an `envFile`; put its variables into `env` to have it moved");
    }
    match local(name, fields, known, place, project.unwrap_or(folder)) {
        Ok(moved) => Fate::Moves(moved),
        Err(why) => stays(&why),
    }
}

/// The config that an entry of ours runs.
fn our_config(fields: &Map<String, Value>) -> Option<String> {
    let (command, args) = command_of(fields)?;
    let program = command.rsplit(['/', '\\']).next().unwrap_or_default();
    let ours = matches!(program, "bouncer" | "bouncer.exe") && args.first().is_some_and(|arg| arg == "run");
    let config = args.iter().position(|arg| arg == "--config").and_then(|at| args.get(at + 1));
    config.filter(|_| ours && !fields.contains_key(WRAPPED)).cloned()
}

/// The policy files of an older wrapper, as absolute paths. It looked for them in the folder that its
/// client started it in: the one of the entry, of the project or, for want of another, of the file.
fn wrapped_policies(
    fields: &Map<String, Value>,
    place: Place<'_>,
    base: &Path,
) -> Result<Vec<String>, String> {
    let Some((_, args)) = command_of(fields) else { return Ok(Vec::new()) };
    let cwd = fields.get("cwd").and_then(Value::as_str).map(|cwd| rewrite(cwd, place)).transpose()?;
    let base = cwd.map_or_else(|| base.display().to_string(), |cwd| below(base, cwd));
    let next = args.iter().skip(1).map(Some).chain([None]);
    let written = args.iter().zip(next).filter_map(|(arg, next)| match arg.strip_prefix("--policy") {
        Some("") => next.cloned(),
        Some(rest) => rest.strip_prefix('=').map(str::to_owned),
        None => None,
    });
    written.map(|policy| Ok(below(Path::new(&base), rewrite(&policy, place)?))).collect()
}

/// A path in our own form, absolute; one that begins with a variable is taken for absolute.
fn below(base: &Path, path: String) -> String {
    let absolute = path.starts_with(['/', '~', '$']) || Path::new(&path).is_absolute();
    if absolute { path } else { base.join(&path).display().to_string() }
}

/// The program and its arguments, in any of the clients' spellings.
fn command_of(fields: &Map<String, Value>) -> Option<(String, Vec<String>)> {
    let strings = |value: Option<&Value>| -> Option<Vec<String>> {
        match value {
            None => Some(Vec::new()),
            Some(value) => value.as_array()?.iter().map(|item| item.as_str().map(str::to_owned)).collect(),
        }
    };
    match fields.get("command")? {
        Value::String(command) => Some((command.clone(), strings(fields.get("args"))?)),
        Value::Array(_) => {
            let mut all = strings(fields.get("command"))?.into_iter();
            Some((all.next()?, all.collect()))
        }
        Value::Object(older) => {
            let path = older.get("path")?.as_str()?;
            Some((path.to_owned(), strings(older.get("args"))?))
        }
        _ => None,
    }
}

/// A remote entry as the config notes it.
fn remote(fields: &Map<String, Value>, place: Place<'_>) -> Result<Option<Value>, String> {
    let kind = fields.get("type").and_then(Value::as_str).unwrap_or_default();
    let url = ["url", "httpUrl", "serverUrl", "uri"].into_iter().find_map(|key| fields.get(key));
    let local = matches!(kind, "" | "stdio" | "local");
    if local && (url.is_none() || fields.contains_key("command")) {
        return Ok(None);
    }
    let mut upstream = Map::new();
    upstream.insert("type".to_owned(), json!(if kind.contains("sse") { "sse" } else { "http" }));
    if let Some(url) = url.and_then(Value::as_str) {
        upstream.insert("url".to_owned(), json!(rewrite(url, place)?));
    }
    let mut headers = Map::new();
    let of = |key: &str| fields.get(key).and_then(Value::as_object).into_iter().flatten();
    for (name, value) in of("headers").chain(of("http_headers")) {
        if let Some(value) = value.as_str() {
            headers.insert(name.clone(), json!(rewrite(value, place)?));
        }
    }
    // Codex names the variables that hold the values.
    let named = of("env_http_headers").map(|(name, variable)| (name.as_str(), variable, ""));
    let bearer = fields.get("bearer_token_env_var").map(|variable| ("Authorization", variable, "Bearer "));
    for (name, variable, before) in named.chain(bearer) {
        if let Some(variable) = variable.as_str() {
            headers.insert(name.to_owned(), json!(format!("{before}${{{variable}:-}}")));
        }
    }
    if !headers.is_empty() {
        upstream.insert("headers".to_owned(), Value::Object(headers));
    }
    Ok(Some(Value::Object(upstream)))
}

/// An entry that is started over stdio, in our form.
fn local(
    name: &str,
    fields: &Map<String, Value>,
    known: &Known,
    place: Place<'_>,
    base: &Path,
) -> Result<Moved, String> {
    let client_only = |form: String| format!("it needs {form}, which only its client can fill in");
    let text = |value: &str| rewrite(value, place).map_err(client_only);
    let Some((command, args)) = command_of(fields) else {
        return Err("it has no `command` that could be started".to_owned());
    };
    let mut upstream = Map::new();
    let mut notes = unpinned(&command, &args);
    upstream.insert("command".to_owned(), json!(text(&command)?));
    if !args.is_empty() {
        let args: Vec<String> = args.iter().map(|arg| text(arg)).collect::<Result<_, _>>()?;
        upstream.insert("args".to_owned(), json!(args));
    }
    let older = fields.get("command").and_then(|command| command.get("env"));
    if let Some(env) =
        fields.get("env").or_else(|| fields.get("environment")).or(older).and_then(Value::as_object)
        && !env.is_empty()
    {
        let mut written = Map::new();
        for (name, value) in env {
            if name.is_empty() || name.contains(['=', '\0']) {
                return Err(format!("its variable `{}` has an impossible name", name.escape_debug()));
            }
            let value = match value {
                Value::String(value) => text(value)?,
                Value::Number(number) => number.to_string(),
                Value::Bool(value) => value.to_string(),
                Value::Null => continue,
                _ => return Err(format!("its variable `{name}` is no text")),
            };
            written.insert(name.clone(), json!(value));
        }
        upstream.insert("env".to_owned(), Value::Object(written));
    }
    if let Some(cwd) = fields.get("cwd").and_then(Value::as_str) {
        upstream.insert("cwd".to_owned(), json!(below(base, text(cwd)?)));
    }
    let inherit: Vec<&str> = fields
        .get("env_vars")
        .and_then(Value::as_array)
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    if !inherit.is_empty() {
        upstream.insert("inherit_env".to_owned(), json!(inherit));
    }
    limits(fields, known, &mut upstream);
    tools(fields, &mut upstream, &mut notes);
    if fields.get("disabled") == Some(&Value::Bool(true))
        || fields.get("enabled") == Some(&Value::Bool(false))
    {
        upstream.insert("disabled".to_owned(), Value::Bool(true));
    }
    let policies = approvals(name, fields, &mut notes);
    Ok(Moved { upstream: Value::Object(upstream), policies, notes })
}

fn limits(fields: &Map<String, Value>, known: &Known, upstream: &mut Map<String, Value>) {
    let mut write = |key: &str, value: Option<&Value>, unit: Unit| {
        let Some(number) = value.and_then(Value::as_f64).filter(|number| *number >= 1.0 && *number < 1e9)
        else {
            return;
        };
        let millis = match unit {
            Unit::Seconds => number * 1000.0,
            Unit::Milliseconds => number,
        };
        upstream.insert(key.to_owned(), json!(format!("{millis:.0}ms")));
    };
    write("call_timeout", fields.get("timeout"), known.timeout);
    write("call_timeout", fields.get("tool_timeout_sec"), Unit::Seconds);
    write("start_timeout", fields.get("startup_timeout_sec"), Unit::Seconds);
    write("start_timeout", fields.get("startup_timeout_ms"), Unit::Milliseconds);
}

fn tools(fields: &Map<String, Value>, upstream: &mut Map<String, Value>, notes: &mut Vec<String>) {
    let names = |keys: &[&str]| -> Option<Vec<&str>> {
        let value = keys.iter().find_map(|key| fields.get(*key))?;
        Some(value.as_array()?.iter().filter_map(Value::as_str).collect())
    };
    let mut lists = Map::new();
    if let Some(allow) = names(&["includeTools", "enabled_tools", "available_tools", "tools"])
        && allow != ["*"]
    {
        lists.insert("allow".to_owned(), json!(allow));
    }
    if let Some(deny) =
        names(&["excludeTools", "disabledTools", "disabled_tools"]).filter(|deny| !deny.is_empty())
    {
        lists.insert("deny".to_owned(), json!(deny));
    }
    if !lists.is_empty() {
        upstream.insert("tools".to_owned(), Value::Object(lists));
    }
    if let Some(always) = names(&["alwaysAllow", "autoApprove"]).filter(|always| !always.is_empty()) {
        notes.push(format!(
            "the client's approval of `{}` is not taken over: Bouncer decides call by call",
            always.join("`, `")
        ));
    }
}

/// Approval modes of a client (Codex) as a policy: what it asked about, Bouncer asks about. What it
/// let through is decided call by call, so nothing is taken over from that.
fn approvals(name: &str, fields: &Map<String, Value>, notes: &mut Vec<String>) -> Vec<Value> {
    let mut tools = Map::new();
    let mut take = |tool: &str, mode: Option<&Value>| match mode.and_then(Value::as_str) {
        Some("prompt" | "untrusted" | "on-request" | "writes") => {
            tools.insert(format!("{name}.{tool}"), json!({"at_least": "ask"}));
        }
        Some(mode) => notes.push(format!(
            "the client's approval mode `{mode}` for `{tool}` is not taken over: Bouncer decides call by call"
        )),
        None => {}
    };
    take("*", fields.get("default_tools_approval_mode"));
    for (tool, settings) in fields.get("tools").and_then(Value::as_object).into_iter().flatten() {
        take(tool, settings.get("approval_mode"));
    }
    if tools.is_empty() { Vec::new() } else { vec![json!({"tools": tools})] }
}

/// Packages that a package runner takes in whatever version there is.
fn unpinned(command: &str, args: &[String]) -> Vec<String> {
    let Some(loose) = super::pins::loose(command, args) else { return Vec::new() };
    let package = loose.written;
    vec![format!(
        "package `{package}` is not pinned to a version: what runs may change from one start to the next"
    )]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clients::known::{KNOWN, by_path};

    fn known(client: &str) -> &'static Known {
        KNOWN.iter().find(|known| known.client == client).expect("a known client")
    }

    fn check(client: &str, entry: &Value, expected: &Value) {
        let fate = fate("s", entry, known(client), Path::new("/h"), Some(Path::new("/p")));
        match fate {
            Fate::Moves(moved) => assert_eq!(&moved.upstream, expected, "{entry}"),
            other => panic!("{entry} {other:?}"),
        }
    }

    fn stays(client: &str, entry: &Value, why: &str) {
        match fate("s", entry, known(client), Path::new("/h"), None) {
            Fate::Stays { why: said, .. } => assert!(said.contains(why), "{said}"),
            other => panic!("{entry} {other:?}"),
        }
    }

    #[test]
    fn entries_of_all_spellings_move() {
        check(
            "claude-desktop",
            &json!({"command": "npx", "args": ["-y", "a@1.2.3"], "env": {"K": "${v}", "N": 1}}),
            &json!({"command": "npx", "args": ["-y", "a@1.2.3"], "env": {"K": "$${v}", "N": "1"}}),
        );
        check(
            "claude-code-project",
            &json!({"type": "stdio", "command": "${A:-b}", "cwd": "x"}),
            &json!({"command": "${A:-b}", "cwd": "/p/x"}),
        );
        check(
            "gemini",
            &json!({"command": "a", "timeout": 5000, "trust": true, "includeTools": ["x"], "excludeTools": ["y"]}),
            &json!({"command": "a", "call_timeout": "5000ms", "tools": {"allow": ["x"], "deny": ["y"]}}),
        );
        check(
            "cline",
            &json!({"command": "a", "timeout": 60, "disabled": true, "alwaysAllow": ["x"]}),
            &json!({"command": "a", "call_timeout": "60000ms", "disabled": true}),
        );
        check(
            "opencode",
            &json!({"type": "local", "command": ["npx", "-y", "p"], "environment": {"K": "{env:K}"}, "enabled": false}),
            &json!({"command": "npx", "args": ["-y", "p"], "env": {"K": "${K:-}"}, "disabled": true}),
        );
        check(
            "zed",
            &json!({"command": {"path": "c", "args": ["a"], "env": {"K": "v"}}}),
            &json!({"command": "c", "args": ["a"], "env": {"K": "v"}}),
        );
        check(
            "codex",
            &json!({"command": "a", "env_vars": ["T"], "startup_timeout_sec": 20, "tool_timeout_sec": 90}),
            &json!({"command": "a", "inherit_env": ["T"], "call_timeout": "90000ms", "start_timeout": "20000ms"}),
        );
        check("copilot", &json!({"type": "local", "command": "a", "tools": ["*"]}), &json!({"command": "a"}));
        check(
            "claude-desktop",
            &json!({"command": "cmd", "args": ["/c", "npx", "-y", "@scope/pkg@latest"]}),
            &json!({"command": "cmd", "args": ["/c", "npx", "-y", "@scope/pkg@latest"]}),
        );
        let wrapped = json!({"command": "bouncer", "args": ["run", "--config", "/c.json", "--upstream-name", "s", "--policy", "/p.yaml"],
            "x-bouncer-upstream": {"command": "npx", "args": ["a@1"]}});
        check("claude-desktop", &wrapped, &json!({"command": "npx", "args": ["a@1"]}));
    }

    #[test]
    fn policies_of_the_older_wrapper_come_along_as_absolute_paths() {
        let check = |project: Option<&str>, outer: &Value, expected: &[&str]| {
            let mut entry =
                json!({"command": "bouncer", "x-bouncer-upstream": {"command": "npx", "args": ["a@1"]}});
            entry.as_object_mut().expect("an object").extend(outer.as_object().expect("an object").clone());
            let known = known("vscode");
            let fate = fate("s", &entry, known, Path::new("/h/.cursor"), project.map(Path::new));
            let Fate::Moves(moved) = fate else { panic!("{entry}: {fate:?}") };
            assert_eq!(
                moved.policies,
                expected.iter().map(|path| json!(path)).collect::<Vec<_>>(),
                "{entry}"
            );
        };
        let args = |args: &[&str]| {
            let all = [&["run", "--upstream-name", "s"], args].concat();
            json!({ "args": all })
        };
        check(None, &args(&[]), &[]);
        check(None, &args(&["--policy", "/p.yaml", "--policy", "~/q.yaml"]), &["/p.yaml", "~/q.yaml"]);
        check(None, &args(&["--policy", "p.yaml"]), &["/h/.cursor/p.yaml"]);
        check(Some("/w"), &args(&["--policy=rules/p.yaml"]), &["/w/rules/p.yaml"]);
        check(Some("/w"), &args(&["--policy", "${workspaceFolder}/p.yaml"]), &["/w/p.yaml"]);
        check(None, &args(&["--policy", "${env:P}/p.yaml"]), &["${P:-}/p.yaml"]);
        let mut with_cwd = args(&["--policy", "p.yaml"]);
        with_cwd["cwd"] = json!("sub");
        check(Some("/w"), &with_cwd, &["/w/sub/p.yaml"]);
        stays(
            "vscode",
            &json!({"command": "bouncer", "args": ["run", "--policy", "${input:p}"], "x-bouncer-upstream": {"command": "a"}}),
            "${input:p}",
        );
    }

    #[test]
    fn remote_entries_are_noted_whole() {
        for (client, entry, expected) in [
            (
                "claude-code",
                json!({"type": "sse", "url": "https://e.example/sse", "headers": {"Authorization": "Bearer ${T}"}}),
                json!({"type": "sse", "url": "https://e.example/sse", "headers": {"Authorization": "Bearer ${T}"}}),
            ),
            (
                "gemini",
                json!({"httpUrl": "https://e.example", "headers": {"K": "$V"}}),
                json!({"type": "http", "url": "https://e.example", "headers": {"K": "${V:-}"}}),
            ),
            (
                "windsurf",
                json!({"serverUrl": "https://e.example"}),
                json!({"type": "http", "url": "https://e.example"}),
            ),
            (
                "codex",
                json!({"url": "https://e.example", "http_headers": {"K": "v"}, "env_http_headers": {"L": "LV"}, "bearer_token_env_var": "T"}),
                json!({"type": "http", "url": "https://e.example", "headers": {"K": "v", "L": "${LV:-}", "Authorization": "Bearer ${T:-}"}}),
            ),
        ] {
            let fate = fate("s", &entry, known(client), Path::new("/h"), None);
            let Fate::Stays { upstream, why } = fate else { panic!("{entry} moves") };
            assert_eq!(
                (upstream, why.as_str()),
                (Some(expected), "it is remote: not yet proxied"),
                "{client}"
            );
        }
    }

    #[test]
    fn what_cannot_be_started_stays_with_a_reason() {
        stays("vscode", &json!({"command": "x", "env": {"K": "${input:k}"}}), "${input:k}");
        stays("vscode", &json!({"type": "http", "url": "https://example.com/mcp"}), "remote");
        stays("windsurf", &json!({"serverUrl": "https://example.com/mcp"}), "remote");
        stays("claude-code", &json!({"transport": {"type": "http", "url": "u"}}), "right shape");
        stays("cursor", &json!({"command": "a", "envFile": ".env"}), "envFile");
        stays("cursor", &json!({"args": []}), "no `command`");
        stays("cursor", &json!("npx"), "not an object");
    }

    #[test]
    fn what_the_client_asked_about_bouncer_asks_about() {
        let entry = json!({"command": "a", "default_tools_approval_mode": "approve",
            "tools": {"click": {"approval_mode": "prompt"}, "read": {"approval_mode": "approve"}}});
        let Fate::Moves(moved) = fate("pw", &entry, known("codex"), Path::new("/h"), None) else {
            panic!("it moves");
        };
        assert_eq!(moved.policies, [json!({"tools": {"pw.click": {"at_least": "ask"}}})]);
        assert_eq!(moved.notes.len(), 2);
    }

    #[test]
    fn unpinned_packages_are_named() {
        for (words, named) in [
            (&["npx", "-y", "a"][..], true),
            (&["npx", "-y", "@s/a@latest"], true),
            (&["npx", "-y", "@s/a@1.0.0"], false),
            (&["cmd", "/c", "npx", "a"], true),
            (&["uvx", "a==1.2"], false),
            (&["uvx", "a"], true),
            (&["node", "x.js"], false),
            (&["npx", "./local"], false),
        ] {
            let args: Vec<String> = words.iter().skip(1).map(|word| (*word).to_owned()).collect();
            assert_eq!(!unpinned(words.first().expect("a word"), &args).is_empty(), named, "{words:?}");
        }
    }

    #[test]
    fn our_own_entry_is_known() {
        let entry = json!({"command": "/usr/bin/bouncer", "args": ["run", "--config", "/s/clients/x.yaml"]});
        let known = by_path(Path::new("/h/.cursor/mcp.json")).expect("Cursor");
        assert_eq!(
            fate("bouncer", &entry, known, Path::new("/h"), None),
            Fate::Ours("/s/clients/x.yaml".to_owned())
        );
    }
}
