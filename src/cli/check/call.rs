//! `check --call`: the verdict on one call that is not made, with all its evidence.

use std::io::Write;
use std::path::Path;

use serde_json::{Value, json};

use super::super::{Exit, show};
use super::command::CheckArgs;
use super::world::World;
use crate::cli::args::Format;
use crate::cli::audit::evidence;
use crate::policy::{Trial, Tried};
use crate::provenance::escaped;

/// The upstream that files given as context belong to.
const CONTEXT: &str = "context";
/// The largest context file, in bytes.
const MOST: u64 = 64 * 1024 * 1024;

/// Judges the call and prints the verdict.
pub(super) fn call(
    world: &World,
    name: &str,
    args: &CheckArgs,
    out: &mut dyn Write,
    errors: &mut dyn Write,
) -> Exit {
    let arguments = match serde_json::from_str::<Value>(&args.args) {
        Ok(value @ Value::Object(_)) => value,
        Ok(_) => {
            return show::failed(
                errors,
                "`--args` is no JSON object",
                "write `--args '{\"to\": \"x\"}'`",
                Exit::Usage,
            );
        }
        Err(error) => {
            let problem = format!("`--args` is no JSON: {error}");
            return show::failed(errors, &problem, "write `--args '{\"to\": \"x\"}'`", Exit::Usage);
        }
    };
    let (upstream, tool) = match resolve(world, name) {
        Ok(found) => found,
        Err((problem, help)) => return show::failed(errors, &problem, &help, Exit::Usage),
    };
    let mut trial = world.trial();
    for text in &args.user_said {
        trial.prompt(text);
    }
    for (number, path) in (1..).zip(&args.context) {
        if let Err(problem) = show_file(&mut trial, path, number) {
            return show::failed(errors, &problem, "give files of text with `--context`", Exit::Usage);
        }
    }
    let tried = trial.call(&upstream, &tool, &arguments);
    match args.format {
        Format::Text => print(&upstream, &tool, &tried, out),
        Format::Json => {
            let value = as_json(&upstream, &tool, &tried);
            show::json(out, &value);
        }
    }
    Exit::Done
}

/// Shows a file to the trial: a whole tool result as it is, anything else as text.
fn show_file(trial: &mut Trial, path: &Path, number: u64) -> Result<(), String> {
    let fault = |cause: &dyn std::fmt::Display| format!("cannot read `{}`: {cause}", path.display());
    let size = std::fs::metadata(path).map_err(|error| fault(&error))?.len();
    if size > MOST {
        return Err(fault(&format!("it has {size} bytes, the limit is {MOST}")));
    }
    let bytes = std::fs::read(path).map_err(|error| fault(&error))?;
    let text = String::from_utf8_lossy(&bytes);
    let whole = serde_json::from_str::<Value>(&text)
        .ok()
        .filter(|value| value.get("content").is_some_and(Value::is_array));
    let result = whole.unwrap_or_else(|| json!({"content": [{"type": "text", "text": text}]}));
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    trial.shown(CONTEXT, &name, number, None, &result);
    Ok(())
}

/// The tool that a name stands for: exported, `upstream.tool`, or `tool` where only one server has it.
fn resolve(world: &World, name: &str) -> Result<(String, String), (String, String)> {
    let all = || {
        world
            .upstreams
            .iter()
            .flat_map(|upstream| upstream.tools.iter().map(move |tool| (&upstream.config.name, tool)))
    };
    let as_pair = |(upstream, tool): (&String, &super::world::Listed)| (upstream.clone(), tool.name.clone());
    let exact =
        all().find(|(upstream, tool)| tool.exported == name || format!("{upstream}.{}", tool.name) == name);
    if let Some(found) = exact {
        return Ok(as_pair(found));
    }
    let mut bare = all().filter(|(_, tool)| tool.name == name).map(as_pair);
    match (bare.next(), bare.next()) {
        (Some(found), None) => Ok(found),
        (Some(a), Some(b)) => {
            let problem = format!("several servers have a tool `{name}`");
            Err((problem, format!("write `{}.{name}` or `{}.{name}`", a.0, b.0)))
        }
        (None, _) => {
            let names: Vec<String> =
                all().map(|(upstream, tool)| format!("{upstream}.{}", tool.name)).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let near = crate::pack::nearest(name, &names);
            let help =
                near.map_or("`bouncer check` lists the tools".to_owned(), |near| format!("write `{near}`"));
            Err((format!("no server lists a tool `{name}`"), help))
        }
    }
}

fn print(upstream: &str, tool: &str, tried: &Tried, out: &mut dyn Write) {
    let verdict = &tried.verdict;
    let _ = writeln!(
        out,
        "{}.{}: {} ({})",
        escaped(upstream, 60),
        escaped(tool, 80),
        verdict.outcome.as_str(),
        verdict.contract
    );
    let _ = writeln!(out, "  reason   {}", escaped(&verdict.reason(), 2_000));
    let _ = writeln!(out, "  effect   {}", tried.facts.effect);
    for finding in &verdict.findings {
        let _ = evidence(&json!(finding), out);
    }
}

/// The verdict for programs; the evidence is that of the audit log.
fn as_json(upstream: &str, tool: &str, tried: &Tried) -> Value {
    json!({
        "upstream": upstream,
        "tool": tool,
        "verdict": tried.verdict.outcome,
        "contract": tried.verdict.contract,
        "reason": tried.verdict.reason(),
        "effect": tried.facts.effect,
        "evidence": tried.verdict.findings,
    })
}
