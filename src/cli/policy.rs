//! `bouncer policy verify | show | schema`: policies without a server.
//!
//! `verify` checks files and shows every problem at once. `show` prints what all layers together make
//! of a tool, and who said which part. `schema` prints the JSON Schema that editors complete with.

use std::env;
use std::fmt::Write as _;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::Exit;
use super::args::{Format, PolicyCommand, SchemaOf, ShowArgs};
use super::show::{counted, harmless};
use crate::config;
use crate::pack::{
    Diagnostic, PolicySource, builtin_packs, file_schema, load_policy, policy_schema, raw, read_policy,
};
use crate::policy::constraint::Test;
use crate::policy::heuristics::ToolDescription;
use crate::policy::{Audience, Bound, Gate, Layer, Locality, ToolPolicy, UpstreamIdentity};

/// Runs a `policy` command.
pub(super) fn policy(command: PolicyCommand, out: &mut dyn Write, errors: &mut dyn Write) -> Exit {
    let (text, exit) = match command {
        PolicyCommand::Verify { files, format } => verify(&files, format),
        PolicyCommand::Show(args) => match show(&args) {
            Ok(text) => (text, Exit::Done),
            Err(problems) => {
                for problem in problems {
                    // Nothing is left to report to when even this cannot be written.
                    let _ = writeln!(errors, "{problem}");
                }
                return Exit::Config;
            }
        },
        PolicyCommand::Schema { of } => (schema(of), Exit::Done),
    };
    if out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_err() { Exit::Bug } else { exit }
}

/// What came of one file.
struct Verified {
    file: String,
    /// How many servers it has, if it is a config.
    servers: Option<usize>,
    /// How many entries it and the policies that it names have; `None` where one does not load.
    entries: Option<usize>,
    problems: Vec<Diagnostic>,
}

fn verify(files: &[PathBuf], format: Format) -> (String, Exit) {
    let all: Vec<Verified> = files.iter().map(|file| Verified::of(file)).collect();
    let loads = all.iter().all(|verified| verified.entries.is_some());
    let text = match format {
        Format::Text => all.iter().map(Verified::as_text).collect::<Vec<_>>().join("\n"),
        Format::Json => {
            let files: Vec<Value> = all.iter().map(Verified::as_json).collect();
            harmless(&pretty(&json!({"loads": loads, "files": files})))
        }
    };
    (text, if loads { Exit::Done } else { Exit::Config })
}

impl Verified {
    fn of(file: &Path) -> Self {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let mut servers = None;
        let read = if config::is_config(&text, file) {
            servers = Some(0);
            config::load(file, &|name| env::var(name).ok()).and_then(|config| {
                servers = Some(config.upstreams.len());
                let (policy, warnings) = load_policy(&config.policy_sources(&[]), builtin_packs()?)?;
                let entries = policy.user().iter().map(|rules| rules.rules.len()).sum();
                Ok((entries, config.warnings.into_iter().chain(warnings).collect()))
            })
        } else {
            read_policy(file).map(|(rules, warnings)| (rules.rules.len(), warnings))
        };
        let (entries, problems) = match read {
            Ok((entries, warnings)) => (Some(entries), warnings),
            Err(problems) => (None, problems),
        };
        Self { file: file.display().to_string(), servers, entries, problems }
    }

    fn as_text(&self) -> String {
        let mut text = String::new();
        for problem in &self.problems {
            let _ = writeln!(text, "{problem}\n");
        }
        let faults = self.problems.iter().filter(|problem| problem.is_error()).count();
        if let Some(entries) = self.entries {
            let entries = counted(entries, "entry", "entries");
            let warnings = counted(self.problems.len(), "warning", "warnings");
            let servers = self.servers.map(|servers| counted(servers, "server", "servers") + ", ");
            let servers = servers.unwrap_or_default();
            let _ = writeln!(text, "{}: loads, {servers}{entries} and {warnings}", self.file);
        } else {
            let faults = counted(faults, "error", "errors");
            let then = if self.servers.is_none() { "; every call would be refused" } else { "" };
            let _ = writeln!(text, "{}: does not load, {faults}{then}", self.file);
        }
        text
    }

    fn as_json(&self) -> Value {
        json!({
            "file": self.file,
            "loads": self.entries.is_some(),
            "servers": self.servers,
            "entries": self.entries.unwrap_or(0),
            "problems": self.problems.iter().map(Diagnostic::as_json).collect::<Vec<_>>(),
        })
    }
}

fn schema(of: SchemaOf) -> String {
    let schema = match of {
        SchemaOf::Policy => policy_schema(),
        SchemaOf::Config => file_schema("Bouncer config", config::raw::FILE),
        SchemaOf::Pack => file_schema("Bouncer pack", raw::PACK),
    };
    pretty(&schema)
}

fn pretty(value: &Value) -> String {
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.push('\n');
    text
}

fn show(args: &ShowArgs) -> Result<String, Vec<Diagnostic>> {
    let mut sources = Vec::new();
    let mut upstreams = Vec::new();
    if let Some(path) = &args.config {
        let config = config::load(path, &|name| env::var(name).ok())?;
        sources = config.policy_sources(&[]);
        upstreams = config.upstreams.iter().map(config::UpstreamConfig::identity).collect();
    }
    sources.extend(args.policy.iter().cloned().map(PolicySource::File));
    let (policy, _) = load_policy(&sources, builtin_packs()?)?;
    let (upstream, name) = split(&args.tool, &upstreams);
    let tool = describe(&name, args.tools.as_deref())?;
    let rule = policy.tool_policy(&upstream, &tool);
    let note =
        "  note         only the name was looked at; `--tools FILE` shows its description and schema\n";
    Ok(match args.format {
        Format::Json => harmless(&pretty(&as_json(&upstream, &name, &rule))),
        Format::Text if args.tools.is_none() => as_text(&upstream, &name, &rule) + note,
        Format::Text => as_text(&upstream, &name, &rule),
    })
}

/// `upstream.tool` where the config knows the upstream, else a tool of an upstream nobody configured.
fn split(text: &str, upstreams: &[UpstreamIdentity]) -> (UpstreamIdentity, String) {
    let known = upstreams.iter().find_map(|upstream| {
        let name = text.strip_prefix(&upstream.name)?.strip_prefix('.')?;
        Some((upstream.clone(), name.to_owned()))
    });
    known.unwrap_or_else(|| match text.split_once('.') {
        Some((upstream, tool)) => {
            (UpstreamIdentity { name: upstream.to_owned(), ..UpstreamIdentity::default() }, tool.to_owned())
        }
        None => (UpstreamIdentity::default(), text.to_owned()),
    })
}

/// The tool's description, from a file with a `tools/list` result, or as bare as its name.
fn describe(name: &str, tools: Option<&Path>) -> Result<ToolDescription, Vec<Diagnostic>> {
    let bare = json!({"name": name, "inputSchema": {"type": "object"}});
    let entry = match tools {
        None => bare,
        Some(path) => {
            let shown = path.display().to_string();
            let fault = |message: String| {
                vec![
                    Diagnostic::whole(&shown, message)
                        .help("give a file that holds a `tools/list` result with this tool"),
                ]
            };
            let text = std::fs::read_to_string(path).map_err(|error| {
                fault("tools cannot be read".to_owned())
                    .into_iter()
                    .map(|d| d.because(error.to_string()))
                    .collect::<Vec<_>>()
            })?;
            let payload: Value =
                serde_json::from_str(&text).map_err(|_| fault("the file is no JSON".to_owned()))?;
            let body = payload.get("result").unwrap_or(&payload);
            let listed = body.get("tools").and_then(Value::as_array).into_iter().flatten();
            let mut named = listed.filter(|tool| tool.get("name").and_then(Value::as_str) == Some(name));
            named.next().cloned().ok_or_else(|| fault(format!("no tool `{name}` in the file")))?
        }
    };
    ToolDescription::from_entry(&entry).map_err(|error| vec![Diagnostic::whole(name, error.to_string())])
}

fn said_by(layer: Layer) -> &'static str {
    match layer {
        Layer::Heuristic => "heuristics",
        Layer::Pack => "pack",
        Layer::User => "user",
    }
}

fn test_in_words(test: &Test) -> String {
    match test {
        Test::Path(limit) => {
            let mut parts: Vec<String> =
                limit.within.iter().map(|bound| format!("inside {}", bound.as_str())).collect();
            parts.extend(limit.base.as_ref().map(|base| format!("inside the folder of `{base}`")));
            if parts.is_empty() { "no path at all".to_owned() } else { parts.join(" or ") }
        }
        Test::Pattern(pattern) => format!("matches {}", pattern.as_str()),
        Test::OneOf(values) => format!("one of {} allowed values", values.len()),
        Test::Host(hosts) => {
            format!(
                "leads to {}",
                hosts
                    .iter()
                    .map(crate::policy::constraint::HostPattern::as_str)
                    .collect::<Vec<_>>()
                    .join(", ")
            )
        }
        Test::Range(range) => match (range.min, range.max) {
            (Some(min), Some(max)) => format!("from {min} to {max}"),
            (Some(min), None) => format!("at least {min}"),
            (None, Some(max)) => format!("at most {max}"),
            (None, None) => "any number".to_owned(),
        },
        Test::Ref => "a plain name".to_owned(),
        Test::AtLeast(outcome) => format!("every call at least {outcome:?}").to_lowercase(),
    }
}

fn as_text(upstream: &UpstreamIdentity, name: &str, rule: &ToolPolicy) -> String {
    let mut text = String::new();
    let place = if upstream.name.is_empty() {
        "any upstream".to_owned()
    } else {
        format!("upstream {}", upstream.name)
    };
    let _ = writeln!(text, "{name} ({place})");
    let _ = writeln!(text, "  effect       {} ({})", rule.effect, said_by(rule.effect_layer));
    for (effect, layer) in &rule.also {
        let _ = writeln!(text, "  also         {effect} ({})", said_by(*layer));
    }
    let gate = if rule.gate == Gate::On { "on" } else { "OFF: what it sends is not asked about" };
    let _ = writeln!(text, "  sink gate    {gate}");
    let local = if rule.locality == Locality::Local {
        "keeps what it is given"
    } else {
        "may pass on what it is given"
    };
    let _ = writeln!(text, "  upstream     {local}");
    let budget = rule
        .budget
        .map_or("none".to_owned(), |b| format!("{} calls a session ({})", b.max_calls, said_by(b.layer)));
    let _ = writeln!(text, "  budget       {budget}");
    for arg in &rule.args {
        let part = serde_json::to_value(arg.role)
            .ok()
            .and_then(|v| v.as_str().map(str::to_owned))
            .unwrap_or_default();
        let audience = if arg.audience == Audience::Decides { ", decides who may see it" } else { "" };
        let _ = writeln!(text, "  argument     {}: {part}{audience} ({})", arg.path, said_by(arg.layer));
    }
    for constraint in &rule.constraints {
        let _ = writeln!(
            text,
            "  constraint   {}: {} ({})",
            constraint.argument,
            test_in_words(&constraint.test),
            said_by(constraint.layer)
        );
    }
    for (trusted, layer) in &rule.trusted {
        let _ = writeln!(text, "  trusts       {trusted} ({})", said_by(*layer));
    }
    for own in &rule.own_data {
        let _ = writeln!(text, "  own data     {} ({})", own.source, said_by(own.layer));
    }
    for (provenance, outcome) in &rule.cells.0 {
        let _ = writeln!(
            text,
            "  on           {}: {}",
            provenance.as_str(),
            format!("{outcome:?}").to_lowercase()
        );
    }
    for (pack, bound) in &rule.packs {
        let how = match bound {
            Bound::ByConfig => "bound by the config",
            Bound::ByName => "bound by the tool's name: restricts only",
        };
        let _ = writeln!(text, "  pack         {pack} ({how})");
    }
    text
}

fn as_json(upstream: &UpstreamIdentity, name: &str, rule: &ToolPolicy) -> Value {
    let args: Vec<Value> = rule
        .args
        .iter()
        .map(|arg| json!({"argument": arg.path, "role": arg.role, "kind": arg.kind, "layer": arg.layer}))
        .collect();
    let constraints: Vec<Value> = rule
        .constraints
        .iter()
        .map(|c| json!({"argument": c.argument, "test": test_in_words(&c.test), "layer": c.layer}))
        .collect();
    json!({
        "upstream": upstream.name,
        "tool": name,
        "effect": rule.effect,
        "effect_layer": rule.effect_layer,
        "also": rule.also.iter().map(|(effect, layer)| json!({"effect": effect, "layer": layer})).collect::<Vec<_>>(),
        "gate": rule.gate,
        "locality": rule.locality,
        "budget": rule.budget.map(|b| json!({"max_calls": b.max_calls, "layer": b.layer})),
        "args": args,
        "constraints": constraints,
        "trusted": rule.trusted.iter().map(|(t, layer)| json!({"rule": t.as_str(), "layer": layer})).collect::<Vec<_>>(),
        "own_data": rule.own_data.iter().map(|own| json!({"path": own.source, "layer": own.layer})).collect::<Vec<_>>(),
        "on": rule.cells,
        "packs": rule.packs.iter().map(|(pack, bound)| json!({
            "pack": pack,
            "bound": if *bound == Bound::ByConfig { "by config" } else { "by name" },
        })).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pack::in_words;
    use crate::pack::raw::Key;

    /// The table of a set of keys, as `docs/policy-reference.md` holds it.
    fn table(keys: &[Key]) -> String {
        let mut text = String::from("| key | value | meaning |\n|---|---|---|\n");
        for key in keys {
            let _ = writeln!(text, "| `{}` | {} | {} |", key.name, in_words(key.shape), key.meaning);
        }
        text
    }

    #[test]
    fn the_reference_holds_every_table() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/policy-reference.md");
        let reference = std::fs::read_to_string(path).unwrap();
        let tables =
            [raw::ENTRY, raw::FILE, raw::PACK, config::raw::FILE, config::raw::UPSTREAM, config::raw::LIMITS]
                .map(table);
        let missing: Vec<_> = tables.iter().filter(|table| !reference.contains(*table)).cloned().collect();
        assert!(missing.is_empty(), "docs/policy-reference.md lacks\n{}", missing.join("\n"));
    }

    #[test]
    fn the_shipped_schemas_are_the_codes() {
        for (of, file) in
            [(SchemaOf::Policy, "policy.schema.json"), (SchemaOf::Config, "bouncer.schema.json")]
        {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("config").join(file);
            let shipped = std::fs::read_to_string(path).unwrap_or_default();
            assert!(shipped == schema(of), "config/{file} is stale: write `bouncer policy schema` to it");
        }
    }

    #[test]
    fn verify_says_what_is_wrong_and_what_it_means() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = dir.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let good = write("good.yaml", "send: {exfiltrating: false}\n");
        let bad = write("bad.yaml", "send: {max_calls: x}\nread: 1\n");
        let (text, exit) = verify(&[good, bad], Format::Text);
        assert_eq!(exit, Exit::Config);
        assert!(text.contains("good.yaml: loads, 1 entry and 1 warning"), "{text}");
        assert!(text.contains("bad.yaml: does not load, 2 errors; every call would be refused"), "{text}");
    }

    #[test]
    fn show_names_the_layer_of_each_part() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("p.yaml");
        std::fs::write(&path, "send_email: {trusted_destinations: [ok@corp.com], max_calls: 3}\n").unwrap();
        let tools = dir.path().join("tools.json");
        let listed = json!({"tools": [{"name": "send_email", "inputSchema": {"type": "object",
            "properties": {"to": {"type": "string"}, "body": {"type": "string"}}}}]});
        std::fs::write(&tools, listed.to_string()).unwrap();
        let args = ShowArgs {
            tool: "mail.send_email".into(),
            policy: vec![path],
            config: None,
            tools: Some(tools),
            format: Format::Text,
        };
        let text = show(&args).unwrap();
        for part in [
            "send_email (upstream mail)",
            "effect       send (heuristics)",
            "budget       3 calls a session (user)",
            "trusts       ok@corp.com (user)",
            "pack         gmail (bound by the tool's name: restricts only)",
        ] {
            assert!(text.contains(part), "{part} is not in\n{text}");
        }
        let args = ShowArgs { format: Format::Json, ..args };
        assert!(show(&args).unwrap().contains("\"bound\": \"by name\""));
    }
}
