//! Command lines: the class of each simple command, joined.
//!
//! `lines` takes the text apart, `programs` says what a program does with its arguments; here stands
//! what belongs to the shell itself: assignments, reserved words, programs that run others (`env`,
//! `xargs`, `sudo`), redirections, and substitutions. A program that is computed, or stands outside
//! the system's folders, is not known and executes.

use super::class::{PlaceForm, StatementClass, urls};
use super::lines::{Line, UNKNOWN, lines};
use super::looks::harmless;
use super::programs;
use crate::policy::Effect;

/// The most bytes that are taken apart.
const BYTES: usize = 64 * 1024;
/// How deep substitutions and programs that run others may nest.
const DEPTH: usize = 12;

/// What a command line does.
pub fn shell(text: &str) -> StatementClass {
    if text.len() > BYTES || text.contains('\0') {
        return StatementClass::unknown();
    }
    nested(text, 0)
}

fn nested(text: &str, depth: usize) -> StatementClass {
    let Some(parts) = (depth < DEPTH).then(|| lines(text)).flatten() else {
        return StatementClass::unknown();
    };
    let mut class = StatementClass::empty();
    for line in &parts.lines {
        simple(line, depth, &mut class);
    }
    for inner in &parts.nested {
        class.join(&nested(inner, depth + 1));
    }
    class
}

/// Adds what one simple command does.
fn simple(line: &Line, depth: usize, class: &mut StatementClass) {
    for redirect in &line.redirects {
        redirection(&redirect.operator, &redirect.target, class);
    }
    let Ok(words) = shell_words::split(&line.text) else {
        class.join(&StatementClass::unknown());
        return;
    };
    if words.is_empty() {
        return;
    }
    class.statements += 1;
    for word in &words {
        urls(word, class);
    }
    command(&words, &Run { line, depth }, class);
}

/// The simple command around a program.
#[derive(Clone, Copy)]
pub(super) struct Run<'a> {
    line: &'a Line,
    depth: usize,
}

impl Run<'_> {
    /// Reads a text that the program hands to a shell.
    pub(super) fn script(&self, text: &str, class: &mut StatementClass) {
        class.join(&nested(text, self.depth + 1));
    }

    /// Whether the program reads what another one writes, or a text behind it.
    pub(super) fn has_input(&self) -> bool {
        self.line.piped
            || !self.line.input.is_empty()
            || self.line.redirects.iter().any(|it| it.operator == "<")
    }

    /// Runs the words as a command of their own (`xargs rm`, `find -exec rm`).
    pub(super) fn inner(&self, words: &[String], class: &mut StatementClass) {
        if self.depth >= DEPTH {
            class.join(&StatementClass::unknown());
            return;
        }
        command(words, &Run { depth: self.depth + 1, ..*self }, class);
    }
}

/// Names that decide what a later program loads or runs.
const LOADED: &str = "PATH LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT DYLD_INSERT_LIBRARIES BASH_ENV ENV PROMPT_COMMAND IFS PAGER GIT_PAGER \
    EDITOR VISUAL GIT_EDITOR GIT_SSH GIT_SSH_COMMAND GIT_EXTERNAL_DIFF GIT_CONFIG_GLOBAL GIT_PROXY_COMMAND MANPAGER BROWSER \
    PYTHONPATH PYTHONSTARTUP NODE_OPTIONS NODE_PATH PERL5OPT PERL5LIB RUBYOPT RUBYLIB JAVA_TOOL_OPTIONS SHELL LESSOPEN \
    GCONV_PATH PERL5DB SHELLOPTS PS4";

/// Words of the shell that only hold commands together.
const RESERVED: &str = "if then else elif fi while until do done { } ! time";

fn command(words: &[String], run: &Run<'_>, class: &mut StatementClass) {
    let mut rest = words;
    let mut set: Vec<&str> = Vec::new();
    while let Some((first, more)) = rest.split_first() {
        if let Some((name, value)) = first.split_once('=').filter(|it| is_name(it.0)) {
            // Arithmetic evaluates what a quoted value spells out.
            let evaluated = value.contains("$(") || value.contains('`');
            class.add(if loads(name) || evaluated { Effect::Execute } else { Effect::Read });
            set.push(name);
        } else if !programs::among(first, RESERVED) {
            break;
        }
        rest = more;
    }
    let Some((first, args)) = rest.split_first() else { return };
    if first == "for" {
        // Its words are data; the body stands in the lines that follow.
        class.add(if args.first().is_some_and(|it| loads(it)) { Effect::Execute } else { Effect::Read });
        return;
    }
    if first.contains(UNKNOWN) {
        class.add(Effect::Execute);
        return;
    }
    let Some(name) = program_name(first) else {
        class.add(Effect::Execute);
        return;
    };
    // A variable that we do not know may name a file of settings or a program.
    if !harmless(name) && set.iter().any(|it| !is_plain_variable(it)) {
        class.add(Effect::Execute);
    }
    programs::program(name, args, run, class);
}

/// Whether the variable decides what a later program loads or runs.
pub(super) fn loads(name: &str) -> bool {
    programs::among(name.strip_suffix('+').unwrap_or(name), LOADED)
}

/// Variables of any program that change how it shows and nothing else.
fn is_plain_variable(name: &str) -> bool {
    name.starts_with("LC_")
        || programs::among(
            name,
            "LANG TZ COLUMNS LINES TERM NO_COLOR CLICOLOR CLICOLOR_FORCE FORCE_COLOR GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL \
             GIT_AUTHOR_DATE GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL GIT_COMMITTER_DATE PGPASSWORD DEBIAN_FRONTEND",
        )
}

fn is_name(text: &str) -> bool {
    let name = text.strip_suffix('+').unwrap_or(text);
    !name.is_empty()
        && !name.starts_with(|it: char| it.is_ascii_digit())
        && name.chars().all(|it| it.is_ascii_alphanumeric() || it == '_')
}

/// The name of a program found through PATH or in a folder of the system.
fn program_name(word: &str) -> Option<&str> {
    if !word.contains('/') {
        return Some(word);
    }
    ["/bin/", "/usr/bin/", "/usr/local/bin/", "/sbin/", "/usr/sbin/", "/opt/homebrew/bin/"]
        .iter()
        .find_map(|it| word.strip_prefix(it))
        .filter(|it| !it.contains('/') && !it.is_empty())
}

/// Adds what a redirection does.
fn redirection(operator: &str, target: &str, class: &mut StatementClass) {
    let target = shell_words::split(target).ok().and_then(|it| it.into_iter().next()).unwrap_or_default();
    if let Some(peer) = target.strip_prefix("/dev/tcp/").or_else(|| target.strip_prefix("/dev/udp/")) {
        class.add(Effect::Send);
        class.place(PlaceForm::Host, peer.split('/').next().unwrap_or_default());
        return;
    }
    let copies_descriptor =
        operator.ends_with('&') && (target == "-" || target.chars().all(|it| it.is_ascii_digit()));
    let nowhere = ["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"].contains(&target.as_str());
    if copies_descriptor || nowhere {
        return;
    }
    class.place(PlaceForm::Path, &target);
    if operator.contains('>') {
        class.add(if target.starts_with("/dev/") { Effect::Destroy } else { Effect::Write });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_lines_end() {
        let check = |text: String| assert_eq!(shell(&text).effect, Effect::Execute);
        check("$(".repeat(20_000));
        check("(".repeat(70_000));
        check(format!("{}ls{}", "$(".repeat(40), ")".repeat(40)));
        check("env ".repeat(5_000) + "ls");
        check("`".repeat(9_999));
    }
}
