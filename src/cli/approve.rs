//! `bouncer approve`: a person answers about calls that were refused because nobody could be asked.
//!
//! Shows what the running Bouncers of a state folder hold, each call with its question, and takes one
//! letter for an answer. Answers are read from a terminal only, and what was typed before a question
//! was shown is thrown away. A lasting yes is written to the state folder first, so that it counts
//! exactly when it stands there. What upstreams and clients wrote is escaped.

use std::collections::BTreeSet;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::actors::{GrantsFile, short_id};
use crate::clock;
use crate::config::state_folder;
use crate::pack;
use crate::policy::{GrantKey, LASTING_DAYS, LastingGrant, MOST_DAYS, Offer, revoke_line};
use crate::transport::{Answered, Choice, HeldCall, Reply, Request, ask, running};

use super::Exit;
use super::args::Format;
use super::person::{forget_typed, person, read_answer, throw_away_typed};
use super::show::{self, date, span};

/// What was asked for.
#[derive(Debug, clap::Args)]
pub(super) struct ApproveArgs {
    /// Only the call with this id, which the refusal names.
    id: Option<String>,
    /// Stay, and ask about each call that comes.
    #[arg(long, conflicts_with = "id")]
    watch: bool,
    /// How to print; JSON only lists the calls and takes no answer.
    #[arg(long, value_enum, default_value = "text", conflicts_with = "watch")]
    format: Format,
    /// How many days a lasting yes lasts.
    #[arg(long, value_name = "N", default_value_t = LASTING_DAYS, value_parser = clap::value_parser!(u64).range(1..=MOST_DAYS))]
    days: u64,
    /// With a yes for good: write the destinations of the call as `trusted_destinations` of its tool
    /// into this policy file, in place of a lasting grant.
    #[arg(long, value_name = "FILE", requires = "id")]
    to_policy: Option<PathBuf>,
    /// The state folder [default: `$BOUNCER_HOME` or `~/.bouncer`].
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
}

/// Runs the command.
pub(super) fn approve(args: &ApproveArgs, out: &mut dyn Write, err: &mut dyn Write) -> Exit {
    let Some(state) = state_folder(args.state.clone(), &|name| std::env::var(name).ok()) else {
        return show::no_state(err);
    };
    let desk = Desk { state: &state, args };
    let on_terminal = io::stdin().is_terminal() && io::stdout().is_terminal();
    let exit = if args.watch { desk.watch(on_terminal, out, err) } else { desk.once(on_terminal, out, err) };
    let _ = out.flush();
    exit
}

struct Desk<'a> {
    state: &'a Path,
    args: &'a ApproveArgs,
}

/// A held call and the Bouncer that holds it.
struct Open {
    pid: u32,
    socket: PathBuf,
    call: HeldCall,
}

/// What a person answered.
#[derive(Clone, Copy)]
enum Said {
    Once,
    Session,
    Lasting,
    No,
    Nothing,
}

impl Desk<'_> {
    /// All held calls, oldest first, and how many Bouncers were reached.
    fn open(&self, err: &mut dyn Write) -> (Vec<Open>, usize) {
        let mut found = Vec::new();
        let mut reached = 0;
        for (pid, socket) in running(self.state) {
            match ask(&socket, &Request::Holds) {
                Ok(Reply::Holds(calls)) => {
                    reached += 1;
                    found.extend(calls.into_iter().map(|call| Open { pid, socket: socket.clone(), call }));
                }
                Ok(Reply::NotHeard(why)) => {
                    let _ = writeln!(err, "warning: Bouncer {pid} does not answer: {}", show::line(&why));
                }
                Ok(_) => {}
                // One that has gone holds nothing.
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
                Err(error) => {
                    let _ = writeln!(err, "warning: Bouncer {pid} does not answer: {error}");
                }
            }
        }
        found.sort_by_key(|open| std::cmp::Reverse(open.call.age));
        (found, reached)
    }

    fn once(&self, on_terminal: bool, out: &mut dyn Write, err: &mut dyn Write) -> Exit {
        let (mut open, reached) = self.open(err);
        if let Some(id) = &self.args.id {
            open.retain(|open| open.call.id == *id);
            if open.is_empty() {
                let problem = format!("no call is held under `{id}`");
                let help =
                    "a call is held for ten minutes, and until its client ends; let the agent try again";
                return show::failed(err, &problem, help, Exit::CheckFailed);
            }
        }
        if self.args.format == Format::Json {
            let held: Vec<_> =
                open.iter().map(|open| json!({"process": open.pid, "call": open.call})).collect();
            show::json(out, &json!({ "held": held }));
            return Exit::Done;
        }
        if open.is_empty() {
            let text = if reached == 0 { "no Bouncer is running" } else { "no call waits for an answer" };
            let _ = writeln!(out, "{text}");
            return Exit::Done;
        }
        if !on_terminal {
            for calls in shared(open) {
                describe(&calls, out);
            }
            let help = "run `bouncer approve` in a terminal of your own";
            return show::failed(err, "answers are taken on a terminal only", help, Exit::Usage);
        }
        let mut exit = Exit::Done;
        for calls in shared(open) {
            let done = self.ask_about(&calls, out, err);
            exit = if done == Exit::Done { exit } else { done };
        }
        exit
    }

    fn watch(&self, on_terminal: bool, out: &mut dyn Write, err: &mut dyn Write) -> Exit {
        if !on_terminal {
            let help = "run `bouncer approve --watch` in a terminal of your own";
            return show::failed(err, "answers are taken on a terminal only", help, Exit::Usage);
        }
        let _ = writeln!(out, "watching; Ctrl-C ends");
        let mut shown = BTreeSet::new();
        loop {
            let _ = out.flush();
            let (open, _) = self.open(err);
            let known: BTreeSet<_> = open.iter().map(|open| (open.pid, open.call.id.clone())).collect();
            shown.retain(|key| known.contains(key));
            let fresh = open.into_iter().filter(|open| shown.insert((open.pid, open.call.id.clone())));
            for calls in shared(fresh.collect()) {
                self.ask_about(&calls, out, err);
            }
            if !throw_away_typed(std::time::Duration::from_secs(1)) {
                return Exit::Done;
            }
        }
    }

    /// Shows calls that share a question, and carries out one answer for all of them.
    fn ask_about(&self, calls: &Shared, out: &mut dyn Write, err: &mut dyn Write) -> Exit {
        describe(calls, out);
        let (session, lasting) = calls.offers();
        let policy = self.args.to_policy.as_deref();
        let these = calls.counted();
        let _ = writeln!(out, "    o  yes, {these} once");
        if session {
            let _ = writeln!(out, "    s  yes, for this session");
        }
        let ends = LastingGrant::end_after(clock::unix_millis(), self.args.days);
        match policy {
            Some(file) if lasting => {
                let file = show::line(&file.display().to_string());
                let _ = writeln!(out, "    l  yes, lasting: trusted in {file}");
            }
            None if lasting => {
                let _ = writeln!(out, "    l  yes, lasting: until {} ({} days)", date(ends), self.args.days);
            }
            _ => {}
        }
        let _ = writeln!(out, "    n  no");
        let letters = if lasting {
            "o/s/l/n"
        } else if session {
            "o/s/n"
        } else {
            "o/n"
        };
        forget_typed();
        let _ = write!(out, "  answer [{letters}], Enter leaves it: ");
        let _ = out.flush();
        let said = match read_answer().trim().to_lowercase().as_str() {
            "o" | "once" => Said::Once,
            "s" | "session" if session => Said::Session,
            "l" | "lasting" if lasting => Said::Lasting,
            "n" | "no" => Said::No,
            _ => Said::Nothing,
        };
        let mut exit = Exit::Done;
        let mut told = BTreeSet::new();
        for open in &calls.0 {
            match self.carry_out(said, open, ends) {
                // What is true of all is said once.
                Ok(text) if told.insert(text.clone()) => {
                    let _ = writeln!(out, "  {text}");
                }
                Ok(_) => {}
                Err(problem) => {
                    let _ = out.flush();
                    let help = "let the agent try again, and answer then";
                    exit = show::failed(err, &problem, help, Exit::CheckFailed);
                }
            }
        }
        if exit == Exit::Done {
            let _ = writeln!(out);
        }
        let _ = out.flush();
        exit
    }

    /// Carries out an answer about one call, and says what is so now.
    fn carry_out(&self, said: Said, open: &Open, ends: u64) -> Result<String, String> {
        match said {
            Said::Once => {
                answer(open, Choice::Once).map(|()| "allowed once; the agent may try again now".to_owned())
            }
            Said::Session => answer(open, Choice::Session)
                .map(|()| "allowed for this session; the agent may try again now".to_owned()),
            Said::Lasting => {
                let policy = self.args.to_policy.as_deref();
                policy.map_or_else(|| self.grant(open, ends), |file| trust(open, file))
            }
            Said::No => answer(open, Choice::No).map(|()| "refused".to_owned()),
            Said::Nothing => Ok("left; it is still held".to_owned()),
        }
    }

    /// ORDER: the grant stands in the file before it is used, and is taken back where nobody used it.
    fn grant(&self, open: &Open, ends: u64) -> Result<String, String> {
        let call = &open.call;
        let id = short_id().ok_or("the system gives no random numbers")?;
        let file = GrantsFile::of(self.state);
        let grant = LastingGrant {
            id: id.clone(),
            effect: call.effect,
            keys: call.keys.clone(),
            launches: call.launches.clone(),
            about: format!("{} of {}", show::line(&call.tool), show::line(&call.upstream)),
            by: person(),
            given: clock::unix_millis(),
            ends,
        };
        let cannot = |error: io::Error| format!("`{}` cannot be written: {error}", file.path().display());
        file.append(&grant.to_line()).map_err(cannot)?;
        if let Err(problem) = answer(open, Choice::Lasting(id.clone())) {
            file.append(&revoke_line(&id, &person(), clock::unix_millis())).map_err(cannot)?;
            return Err(problem);
        }
        Ok(format!(
            "allowed until {}; `bouncer grants revoke {id}` ends it. The agent may try again now",
            date(ends)
        ))
    }
}

/// Calls that are answered together: one tool, one record, one Bouncer.
struct Shared(Vec<Open>);

/// The held calls by question, in the order of the first of each.
fn shared(open: Vec<Open>) -> Vec<Shared> {
    let mut all: Vec<Shared> = Vec::new();
    for open in open {
        let is_like = |other: &Open| {
            open.call.group.is_some()
                && (other.pid, &other.call.group, other.call.offer, other.call.effect)
                    == (open.pid, &open.call.group, open.call.offer, open.call.effect)
        };
        match all.iter_mut().find(|shared| shared.0.first().is_some_and(is_like)) {
            Some(shared) => shared.0.push(open),
            None => all.push(Shared(vec![open])),
        }
    }
    all
}

impl Shared {
    /// Whether a yes for the session, and a lasting one, can be given to all.
    fn offers(&self) -> (bool, bool) {
        let session = |open: &Open| open.call.offer == Offer::Session;
        let lasting = |open: &Open| LastingGrant::may_last(open.call.effect, &open.call.keys);
        let session = self.0.iter().all(session);
        (session, session && self.0.iter().all(lasting))
    }

    fn counted(&self) -> String {
        if self.0.len() == 1 { "this call".to_owned() } else { format!("these {} calls, each", self.0.len()) }
    }
}

/// Writes the call's destinations into a policy and grants them for this session.
fn trust(open: &Open, file: &Path) -> Result<String, String> {
    let call = &open.call;
    let shown = file.display().to_string();
    let mut values = Vec::new();
    for key in &call.keys {
        match key {
            GrantKey::Destination { strict, .. } => values.push(strict.clone()),
            GrantKey::Call(_) => {}
            GrantKey::FetchHost(_) | GrantKey::Flow { .. } => {
                return Err("this call is not about destinations that a policy can list".to_owned());
            }
        }
    }
    let text = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(format!("`{shown}` cannot be read: {error}")),
    };
    let key = format!("{}.{}", call.upstream, call.tool);
    let after = pack::trust(&text, &shown, &key, &values).map_err(|problem| problem.to_string())?;
    // The session's yes first: a call that is not held any more must not change the policy.
    answer(open, Choice::Session)?;
    write_whole(file, &after).map_err(|error| format!("`{shown}` cannot be written: {error}"))?;
    let shown = show::line(&shown);
    let unread = unread_by(open, file).map(|config| {
        format!(
            ", but Bouncer {} does not read this file: name it under `policy:` in {}, or give it with `--policy`",
            open.pid,
            show::line(&config)
        )
    });
    Ok(format!(
        "allowed for this session, so the agent may try again now; trusted in {shown} for every session that starts \
         from now on{}",
        unread.unwrap_or_default()
    ))
}

/// The config of the Bouncer that holds the call, where it has read no such policy file.
fn unread_by(open: &Open, file: &Path) -> Option<String> {
    let Ok(Reply::Status(report)) = ask(&open.socket, &Request::Status) else { return None };
    let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let known = report.policies.iter().any(|policy| real(Path::new(policy)) == real(file));
    (!known).then_some(report.config)
}

/// Hands the answer to the Bouncer that holds the call.
fn answer(open: &Open, choice: Choice) -> Result<(), String> {
    let id = open.call.id.clone();
    match ask(&open.socket, &Request::Answer { id, choice }) {
        Ok(Reply::Answered(Answered::Taken)) => Ok(()),
        Ok(Reply::Answered(Answered::Ended)) => {
            Err(format!("call `{}` is not held any more, so the answer changes nothing", open.call.id))
        }
        Ok(Reply::Answered(Answered::NotOffered)) => {
            Err(format!("Bouncer {} does not take this answer about call `{}`", open.pid, open.call.id))
        }
        Ok(Reply::NotHeard(why)) => Err(format!("Bouncer {} did not take the answer: {why}", open.pid)),
        Ok(_) => Err(format!("Bouncer {} is of another version", open.pid)),
        Err(_) => Err(format!("Bouncer {} has ended, so the answer changes nothing", open.pid)),
    }
}

/// Writes a file in one step; links are followed, and the file's mode is kept.
fn write_whole(file: &Path, text: &str) -> io::Result<()> {
    let file = std::fs::canonicalize(file).unwrap_or_else(|_| file.to_owned());
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut fresh = tempfile::NamedTempFile::new_in(folder)?;
    if let Ok(data) = std::fs::metadata(&file) {
        fresh.as_file().set_permissions(data.permissions())?;
    }
    fresh.write_all(text.as_bytes())?;
    fresh.as_file().sync_all()?;
    fresh.persist(&file).map_err(|error| error.error)?;
    Ok(())
}

/// Held calls with their question: what they have in common once, what each is about in full.
fn describe(calls: &Shared, out: &mut dyn Write) {
    for open in &calls.0 {
        let call = &open.call;
        let client = if call.client.is_empty() { "a client".to_owned() } else { show::line(&call.client) };
        let _ = writeln!(
            out,
            "[{}] {client} (Bouncer {}), {} ago, held for {} more",
            show::line(&call.id),
            open.pid,
            span(call.age),
            span(call.left)
        );
    }
    if calls.0.len() > 1 {
        let _ = writeln!(out, "  {} calls, one answer for all of them:", calls.0.len());
    }
    let (mut shown, mut last) = (BTreeSet::new(), Vec::new());
    for open in &calls.0 {
        for row in open.call.question.lines().filter(|row| shown.insert(*row)) {
            // Why it is asked comes last, as in the question about one call.
            if row.starts_with("why: ") || row.starts_with("note: ") {
                last.push(row);
            } else {
                let _ = writeln!(out, "  {}", show::line(row));
            }
        }
    }
    for row in last {
        let _ = writeln!(out, "  {}", show::line(row));
    }
}
