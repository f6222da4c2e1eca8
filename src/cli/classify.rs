//! `bouncer classify FILE…`: what the heuristics make of tools, read from files.
//!
//! No server is started and no policy is read: this shows what Bouncer would take a tool for if
//! nobody had said anything about it. One line of JSON a tool; all files are read even when one of
//! them is bad, and each bad place is named. Read `policy::heuristics` for the rules.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

use super::Exit;
use super::show::harmless;
use crate::policy::heuristics::{Derived, ToolDescription, derive};
use crate::policy::{ArgPath, Effect, Role};

/// The largest file that is read, in bytes.
const FILE_BYTES: u64 = 64 * 1024 * 1024;

/// What is printed of a tool.
#[derive(Serialize)]
struct Line<'a> {
    server: &'a str,
    tool: &'a str,
    effect: Effect,
    also: Vec<Effect>,
    args: BTreeMap<&'a ArgPath, Role>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    audience: Vec<&'a ArgPath>,
    #[serde(skip_serializing_if = "Option::is_none")]
    creates: Option<&'a str>,
    rules: &'a [String],
}

/// Classifies the tools of all files; [`Exit::Config`] when one of them could not be read whole.
pub(super) fn classify(files: &[PathBuf], out: &mut dyn Write, errors: &mut dyn Write) -> Exit {
    let mut exit = Exit::Done;
    for file in files {
        let problems = match read(file) {
            Ok(payload) => match tell(file, &payload, out) {
                Ok(problems) => problems,
                // A reader that went away (`| head`) wants no more lines.
                Err(_) => return exit,
            },
            Err(problem) => vec![problem],
        };
        for problem in problems {
            exit = Exit::Config;
            // Nothing is left to report to when even this cannot be written.
            let _ = write!(errors, "{problem}");
        }
    }
    if out.flush().is_err() { Exit::Bug } else { exit }
}

/// A file as JSON, or the message about it.
fn read(file: &Path) -> Result<Value, String> {
    let shown = file.display();
    let unreadable = |cause: &dyn std::fmt::Display| {
        format!(
            "error: cannot read `{shown}`\n  cause: {cause}\n  help: give a file that holds a `tools/list` result\n"
        )
    };
    let size = fs::metadata(file).map_err(|it| unreadable(&it))?.len();
    if size > FILE_BYTES {
        return Err(unreadable(&format!("it has {size} bytes, the limit is {FILE_BYTES}")));
    }
    let text = fs::read_to_string(file).map_err(|it| unreadable(&it))?;
    serde_json::from_str(&text).map_err(|it| {
        format!(
            "error: the file is no JSON\n  --> {shown}:{}:{}\n  cause: {it}\n  help: give a file that holds a `tools/list` result\n",
            it.line(),
            it.column()
        )
    })
}

/// Prints a line for each tool; returns the messages about entries that are none.
fn tell(file: &Path, payload: &Value, out: &mut dyn Write) -> io::Result<Vec<String>> {
    let shown = file.display();
    let body = payload.get("result").unwrap_or(payload);
    let Some(tools) = body.get("tools").and_then(Value::as_array) else {
        return Ok(vec![format!(
            "error: there are no `tools` in the file\n  --> {shown}\n  help: write `{{\"server\": \"NAME\", \"tools\": [ … ]}}`\n"
        )]);
    };
    let stem = file.file_stem().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default();
    let server = payload.get("server").and_then(Value::as_str).unwrap_or(&stem);
    let mut problems = Vec::new();
    for (at, entry) in tools.iter().enumerate() {
        match ToolDescription::from_entry(entry) {
            Ok(tool) => {
                let derived = derive(&tool);
                let json = serde_json::to_string(&line(server, &tool.name, &derived))?;
                writeln!(out, "{}", harmless(&json))?;
            }
            Err(cause) => problems.push(format!(
                "error: an entry of `tools` is no tool\n  --> {shown}: tools[{at}]\n  cause: {cause}\n"
            )),
        }
    }
    Ok(problems)
}

fn line<'a>(server: &'a str, tool: &'a str, derived: &'a Derived) -> Line<'a> {
    Line {
        server,
        tool,
        effect: derived.effect,
        also: derived.also.iter().copied().collect(),
        args: derived.args.keys().map(|path| (path, shown(path, derived))).collect(),
        audience: derived.args.iter().filter(|(_, fact)| fact.audience).map(|(path, _)| path).collect(),
        creates: derived.creates.as_deref(),
        rules: &derived.rules,
    }
}

/// The role that is shown: in a sink an object shows whether a destination or a command is among
/// its members or theirs, so that a reader who looks no deeper misses none.
fn shown(path: &ArgPath, derived: &Derived) -> Role {
    let own = derived.args.get(path).map_or(Role::Selector, |it| it.role);
    let start = format!("{path}.");
    if !derived.effect.is_sink() {
        return own;
    }
    let near = |it: &ArgPath| it.0.get(start.len()..).is_some_and(|rest| rest.matches('.').count() < 2);
    let inner = derived.args.range(ArgPath(start.clone())..).take_while(|(it, _)| it.0.starts_with(&start));
    let carrying = [Role::Destination, Role::Command];
    inner
        .filter(|(it, _)| near(it))
        .map(|(_, fact)| fact.role)
        .filter(|it| carrying.contains(it))
        .min()
        .unwrap_or(own)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(contents: &str) -> (Exit, String, String) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("mail.json");
        fs::write(&file, contents).unwrap();
        let (mut out, mut errors) = (Vec::new(), Vec::new());
        let exit = classify(std::slice::from_ref(&file), &mut out, &mut errors);
        let shown = String::from_utf8(errors).unwrap().replace(&*folder.path().to_string_lossy(), "DIR");
        (exit, String::from_utf8(out).unwrap(), shown)
    }

    #[test]
    fn each_shape_of_file_gives_a_line_a_tool() {
        let tools = r#"[{"name": "send_email", "inputSchema": {"properties": {"to": {}, "body": {}}}}]"#;
        let check = |contents: String, server: &str| {
            let (exit, out, errors) = run(&contents);
            assert_eq!((exit, errors.as_str()), (Exit::Done, ""));
            let line: Value = serde_json::from_str(&out).unwrap();
            assert_eq!(line["server"], server);
            assert_eq!(line["tool"], "send_email");
            assert_eq!(line["effect"], "send");
            assert_eq!(line["args"]["to"], "destination");
            assert_eq!(line["args"]["body"], "content");
        };
        check(format!(r#"{{"server": "post", "tools": {tools}}}"#), "post");
        check(format!(r#"{{"tools": {tools}}}"#), "mail");
        check(format!(r#"{{"jsonrpc": "2.0", "id": 1, "result": {{"tools": {tools}}}}}"#), "mail");
    }

    #[test]
    fn a_bad_file_is_named_with_its_place() {
        let check = |contents: &str, expected: &str| {
            let (exit, out, errors) = run(contents);
            assert_eq!((exit, out.as_str()), (Exit::Config, ""));
            assert!(errors.contains(expected), "{errors}");
        };
        check("{\n  \"tools\": [}", "--> DIR/mail.json:2:13");
        check("{}", "there are no `tools`");
        check(r#"{"tools": [{"title": "x"}]}"#, "tools[0]");
    }
}
