//! `check --accept`: shows what changed since it was first seen, word by word, and takes a yes for it.
//!
//! Only a person at a terminal may accept: an agent that can run commands must not be able to. What is
//! shown is hostile text, escaped.

use std::collections::btree_map::Entry;
use std::io::{self, BufRead, IsTerminal, Write};

use serde_json::Value;

use super::super::{Exit, show};
use super::world::{Listed, Upstream, World};
use crate::actors::pins::{PinBook, PinFault, PinFile, in_words};
use crate::policy::{Change, ServerPin, word_diff};
use crate::provenance::escaped;

/// Characters of the description of a tool that was never seen.
const FIRST_WORDS: usize = 240;

/// Shows and asks for each server that `which` names; all of them when it is empty.
pub(super) fn accept(world: &World, which: &str, out: &mut dyn Write, errors: &mut dyn Write) -> Exit {
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        let help = "run `bouncer check --accept` in a terminal";
        return show::failed(errors, "only a person at a terminal can accept", help, Exit::Usage);
    }
    let mut answer = |out: &mut dyn Write| {
        let _ = write!(out, "Accept? [y/N] ");
        let _ = out.flush();
        let mut line = String::new();
        // FAIL CLOSED: what cannot be read is no yes.
        let read = io::stdin().lock().read_line(&mut line);
        read.is_ok() && matches!(line.trim(), "y" | "Y" | "yes")
    };
    accept_with(world, which, out, errors, &mut answer)
}

fn accept_with(
    world: &World,
    which: &str,
    out: &mut dyn Write,
    errors: &mut dyn Write,
    answer: &mut dyn FnMut(&mut dyn Write) -> bool,
) -> Exit {
    let mut exit = Exit::Done;
    let mut named = false;
    for upstream in &world.upstreams {
        let meant = Meant::of(upstream, which);
        if matches!(meant, Meant::Nothing) {
            continue;
        }
        named = true;
        if let Some(down) = &upstream.down {
            let problem = format!("`{}` could not be reached: {down}", upstream.config.name);
            exit = show::failed(errors, &problem, "nothing of it was accepted", Exit::CheckFailed);
            continue;
        }
        if !describe(upstream, meant, out) {
            continue;
        }
        if !answer(out) {
            let _ = writeln!(out, "  nothing was accepted");
            exit = Exit::CheckFailed;
            continue;
        }
        match store(&world.pins, upstream, meant) {
            Ok(()) => {
                let _ = writeln!(out, "  accepted; a Bouncer that runs shows it within a second or two");
            }
            Err(fault) => {
                exit = show::failed(
                    errors,
                    &fault.to_string(),
                    "nothing was accepted; try again",
                    Exit::CheckFailed,
                );
            }
        }
    }
    if !named {
        let problem = format!("no server or tool `{which}`");
        return show::failed(errors, &problem, "write UPSTREAM or UPSTREAM.TOOL", Exit::Usage);
    }
    exit
}

/// What of a server is meant.
#[derive(Clone, Copy)]
enum Meant<'u> {
    Nothing,
    /// What drifted of it, with that of all others.
    Drift,
    /// Everything of it, what was only pinned too.
    Everything,
    Tool(&'u str),
}

impl<'u> Meant<'u> {
    fn of(upstream: &'u Upstream, which: &str) -> Self {
        let name = upstream.config.name.as_str();
        if which.is_empty() {
            return Self::Drift;
        }
        if which == name {
            return Self::Everything;
        }
        let tool = which.strip_prefix(name).and_then(|rest| rest.strip_prefix('.'));
        let mut tools = upstream.tools.iter();
        tools
            .find(|listed| Some(listed.name.as_str()) == tool)
            .map_or(Self::Nothing, |listed| Self::Tool(&listed.name))
    }

    fn tool(self) -> Option<&'u str> {
        if let Self::Tool(name) = self { Some(name) } else { None }
    }
}

/// Shows what there is to accept; `false` when there is nothing.
fn describe(upstream: &Upstream, meant: Meant<'_>, out: &mut dyn Write) -> bool {
    let tool = meant.tool();
    let name = escaped(&upstream.config.name, 60);
    let Some(pinned) = &upstream.pinned else {
        let _ = writeln!(out, "{name}: not pinned yet; {} tools as they are now", upstream.tools.len());
        if tool.is_none() {
            show_instructions(upstream, out);
        }
        for listed in upstream.tools.iter().filter(|listed| tool.is_none_or(|tool| tool == listed.name)) {
            let _ = writeln!(
                out,
                "  {}: {}",
                escaped(&listed.name, 80),
                text_of(listed, "description", FIRST_WORDS)
            );
        }
        return true;
    };
    let drift = upstream.drift();
    let is_meant = |listed: &&Listed| tool.is_none_or(|tool| tool == listed.name);
    let mut any = false;
    let instructions = drift.values().flatten().any(|change| *change == Change::Instructions);
    if instructions && tool.is_none() {
        any = true;
        let _ = writeln!(out, "{name}: its instructions changed");
        let (old, new) = (pinned.instructions().unwrap_or_default(), upstream.instructions.as_deref());
        let _ = writeln!(out, "    {}", word_diff(old, new.unwrap_or_default()));
    } else if matches!(meant, Meant::Everything)
        && upstream.instructions.is_some()
        && !pinned.has_accepted_instructions()
    {
        any = true;
        let _ = writeln!(out, "{name}: as first seen");
        show_instructions(upstream, out);
    }
    for listed in upstream.tools.iter().filter(is_meant) {
        let shown = escaped(&listed.name, 80);
        if let Some(changes) = drift.get(&listed.name) {
            any = true;
            let _ = writeln!(out, "{name}.{shown}: {}", in_words(changes));
            for change in changes {
                show_change(listed, pinned, change, out);
            }
        } else if !matches!(meant, Meant::Drift) && !pinned.is_accepted(&listed.name) {
            // A person may also accept what was only pinned, with all that is noted about it.
            any = true;
            let _ = writeln!(out, "{name}.{shown}: as first seen");
            let _ = writeln!(out, "    description: {}", text_of(listed, "description", FIRST_WORDS));
        }
    }
    if !any {
        let _ = writeln!(out, "{name}: as pinned");
    }
    any
}

fn show_instructions(upstream: &Upstream, out: &mut dyn Write) {
    if let Some(text) = &upstream.instructions {
        let _ = writeln!(out, "    instructions: {}", escaped(text, 2_000));
    }
}

fn show_change(listed: &Listed, pinned: &ServerPin, change: &Change, out: &mut dyn Write) {
    match change {
        Change::Field(field) => {
            let old =
                pinned.tool(&listed.name).and_then(|pin| pin.value(field)).map(as_text).unwrap_or_default();
            let new = listed.entry.get(*field).map(as_text).unwrap_or_default();
            let _ = writeln!(out, "    {field}: {}", word_diff(&old, &new));
        }
        Change::New | Change::RenamedFrom(_) => {
            let _ = writeln!(out, "    description: {}", text_of(listed, "description", 2_000));
            let _ = writeln!(out, "    inputSchema: {}", text_of(listed, "inputSchema", 2_000));
        }
        Change::Instructions => {}
    }
}

fn text_of(listed: &Listed, field: &str, limit: usize) -> String {
    escaped(&listed.entry.get(field).map(as_text).unwrap_or_default(), limit)
}

fn as_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => serde_json::to_string_pretty(other).unwrap_or_default(),
    }
}

/// How often a held lock is tried again.
const TRIES: u32 = 100;

fn store(pins: &PinFile, upstream: &Upstream, meant: Meant<'_>) -> Result<(), PinFault> {
    let now = &upstream.now;
    for _ in 0..TRIES {
        let put = |book: &mut PinBook| match (book.upstreams.entry(upstream.key.clone()), meant) {
            (Entry::Occupied(mut known), Meant::Drift) => known.get_mut().accept_drift(now),
            // A single tool of a server that was never seen pins the server with it: the rest would be
            // drift otherwise.
            (entry, meant) => entry.or_insert_with(|| now.clone()).accept(now, meant.tool()),
        };
        if pins.change(put)?.is_some() {
            return Ok(());
        }
        std::thread::yield_now();
    }
    Err(pins.locked())
}
