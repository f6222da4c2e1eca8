//! Takes a command line apart: simple commands, the substitutions inside them, and redirections.
//!
//! Follows the shell command language of POSIX (section 2 of its Shell & Utilities volume) as far as
//! it decides what is one command and what is another: quotes, escapes, comments, operators,
//! `$(…)`, backticks, `<(…)`, here-documents. Reserved words stay words, `shell` skips them. A text
//! that ends inside a quote or a bracket is no command line. Linear: each character is looked at
//! once a level, and levels are bounded by the caller.

use std::iter::Peekable;
use std::str::Chars;

/// Stands in a word for a substitution, whose result nobody knows beforehand.
pub(super) const UNKNOWN: char = '\u{1}';

/// One redirection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Redirect {
    /// `>`, `>>`, `<`, `<<<`, `>&` …
    pub(super) operator: String,
    /// The word behind it, quotes not undone.
    pub(super) target: String,
}

/// One simple command as it stands, substitutions replaced by [`UNKNOWN`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Line {
    /// The words, quotes not undone.
    pub(super) text: String,
    /// Its redirections.
    pub(super) redirects: Vec<Redirect>,
    /// The text of a here-document or here-string.
    pub(super) input: String,
    /// Whether it reads what the command before it writes.
    pub(super) piped: bool,
}

/// A command line taken apart.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// The simple commands in order.
    pub(super) lines: Vec<Line>,
    /// The texts of substitutions and subshell-like constructs, to be taken apart in turn.
    pub(super) nested: Vec<String>,
}

/// Takes a text apart; `None` when a quote or bracket stays open.
pub(super) fn lines(text: &str) -> Option<Lines> {
    let mut reader = Reader {
        chars: text.chars().peekable(),
        out: Lines::default(),
        line: Line::default(),
        heredocs: Vec::new(),
    };
    reader.read()?;
    Some(reader.out)
}

/// Whether the inside of `$(…)` is arithmetic (`$((i + 1))`): in brackets, and no two words side by side.
fn computes(inner: &str) -> bool {
    let Some(sum) = inner.strip_prefix('(').and_then(|it| it.strip_suffix(')')) else { return false };
    let plain = sum.chars().all(|it| it.is_ascii_alphanumeric() || "_+-*/%<>=!^~?:, ".contains(it));
    let words: Vec<&str> = sum.split_whitespace().collect();
    let is_word = |it: &str| it.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    plain && !words.windows(2).any(|it| it.iter().all(|word| is_word(word)))
}

struct Reader<'a> {
    chars: Peekable<Chars<'a>>,
    out: Lines,
    line: Line,
    /// Delimiters whose bodies follow the next newline: the word, whether `<<-`, and whether quoted.
    heredocs: Vec<(String, Strip, Quoting)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Strip {
    Tabs,
    Nothing,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Quoting {
    Literal,
    Expanded,
}

impl Reader<'_> {
    fn read(&mut self) -> Option<()> {
        while let Some(c) = self.chars.next() {
            match c {
                '\\' => match self.chars.next() {
                    Some('\n') => {}
                    Some(next) => {
                        self.line.text.push('\\');
                        self.line.text.push(next);
                    }
                    None => return None,
                },
                '\'' => self.single()?,
                '"' => self.double()?,
                '`' => {
                    let inner = self.backticks()?;
                    self.substitution(inner);
                }
                '$' => self.dollar()?,
                '#' if self.at_word_start() => while self.chars.next_if(|it| *it != '\n').is_some() {},
                '\n' => {
                    self.end();
                    self.bodies()?;
                }
                ';' | '(' | ')' => self.end(),
                '&' => {
                    if self.chars.next_if_eq(&'>').is_some() {
                        let more = self.chars.next_if_eq(&'>').is_some();
                        self.redirect(if more { "&>>" } else { "&>" })?;
                    } else {
                        self.chars.next_if_eq(&'&');
                        self.end();
                    }
                }
                '|' => {
                    let or = self.chars.next_if_eq(&'|').is_some();
                    self.chars.next_if_eq(&'&');
                    self.end();
                    self.line.piped = !or;
                }
                '>' => {
                    let operator = match self.chars.peek() {
                        Some('>') => ">>",
                        Some('&') => ">&",
                        Some('|') => ">|",
                        Some('(') => {
                            self.process_substitution()?;
                            continue;
                        }
                        _ => ">",
                    };
                    if operator.len() > 1 {
                        self.chars.next();
                    }
                    self.redirect(operator)?;
                }
                '<' => self.less()?,
                '{' => {
                    self.line.text.push(c);
                    if self.expands_braces() {
                        self.line.text.push(UNKNOWN);
                    }
                }
                _ => self.line.text.push(c),
            }
        }
        self.end();
        // A here-document without its body is no whole command line.
        self.heredocs.is_empty().then_some(())
    }

    /// Whether the bracket just read begins `{a,b}` or `{1..9}`, which become several words.
    fn expands_braces(&self) -> bool {
        let word = self.chars.clone().take_while(|it| !it.is_ascii_whitespace());
        let mut last = ' ';
        for c in word.take(256) {
            if matches!(c, ',' | '\'' | '"' | '\\' | '$' | '`') || c == '.' && last == '.' {
                return true;
            }
            if c == '}' {
                return false;
            }
            last = c;
        }
        // Nobody looked further.
        last != ' '
    }

    fn at_word_start(&self) -> bool {
        // Only these blanks end a word, and not where a backslash stands before them.
        let text = self.line.text.as_str();
        let Some(before) = text.strip_suffix([' ', '\t']) else { return text.is_empty() };
        (before.len() - before.trim_end_matches('\\').len()).is_multiple_of(2)
    }

    fn end(&mut self) {
        let line = std::mem::take(&mut self.line);
        if !line.text.trim().is_empty() || !line.redirects.is_empty() {
            self.out.lines.push(line);
        }
    }

    fn substitution(&mut self, inner: String) {
        self.line.text.push(UNKNOWN);
        self.out.nested.push(inner);
    }

    fn single(&mut self) -> Option<()> {
        self.line.text.push('\'');
        loop {
            let c = self.chars.next()?;
            self.line.text.push(c);
            if c == '\'' {
                return Some(());
            }
        }
    }

    fn double(&mut self) -> Option<()> {
        self.line.text.push('"');
        loop {
            match self.chars.next()? {
                '"' => {
                    self.line.text.push('"');
                    return Some(());
                }
                '\\' => {
                    self.line.text.push('\\');
                    let c = self.chars.next()?;
                    self.line.text.push(c);
                }
                '`' => {
                    let inner = self.backticks()?;
                    self.substitution(inner);
                }
                '$' => self.dollar()?,
                c => self.line.text.push(c),
            }
        }
    }

    fn backticks(&mut self) -> Option<String> {
        let mut inner = String::new();
        loop {
            match self.chars.next()? {
                '`' => return Some(inner),
                '\\' => {
                    let c = self.chars.next()?;
                    if !"`\\$".contains(c) {
                        inner.push('\\');
                    }
                    inner.push(c);
                }
                c => inner.push(c),
            }
        }
    }

    /// Behind a `$`: a substitution, a variable, or a plain dollar.
    fn dollar(&mut self) -> Option<()> {
        match self.chars.peek() {
            Some('(') => {
                self.chars.next();
                let inner = self.balanced(')')?;
                if computes(&inner) {
                    self.line.text.push(UNKNOWN);
                } else {
                    self.substitution(inner);
                }
            }
            Some('{') => {
                self.chars.next();
                let inner = self.balanced('}')?;
                // `${x@P}` runs what the value spells out, `${!x}` evaluates it.
                if inner.ends_with("@P") || inner.starts_with('!') {
                    return None;
                }
                self.line.text.push(UNKNOWN);
                if inner.contains("$(") || inner.contains('`') {
                    self.out.nested.push(inner);
                }
            }
            Some('\'') => {
                // `$'\x72m'` spells out what it likes.
                self.chars.next();
                loop {
                    match self.chars.next()? {
                        '\\' => {
                            self.chars.next()?;
                        }
                        '\'' => break,
                        _ => {}
                    }
                }
                self.line.text.push(UNKNOWN);
            }
            Some(c) if c.is_alphanumeric() || "_@*#?$!-".contains(*c) => {
                self.chars.next();
                while self.chars.next_if(|it| it.is_alphanumeric() || *it == '_').is_some() {}
                self.line.text.push(UNKNOWN);
            }
            _ => self.line.text.push('$'),
        }
        Some(())
    }

    /// The text up to the closing bracket of the one just opened.
    fn balanced(&mut self, close: char) -> Option<String> {
        let open = if close == ')' { '(' } else { '{' };
        let mut depth = 1_usize;
        let mut inner = String::new();
        let mut quote: Option<char> = None;
        loop {
            let c = self.chars.next()?;
            match (quote, c) {
                (Some('\''), '\'') => quote = None,
                (Some('\''), _) => {}
                (_, '\\') => {
                    inner.push(c);
                    inner.push(self.chars.next()?);
                    continue;
                }
                (Some(open_quote), _) if open_quote == c => quote = None,
                (None, '\'' | '"') => quote = Some(c),
                (None, _) if c == open => depth += 1,
                (None, _) if c == close => {
                    depth -= 1;
                    if depth == 0 {
                        return Some(inner);
                    }
                }
                _ => {}
            }
            inner.push(c);
        }
    }

    fn process_substitution(&mut self) -> Option<()> {
        self.chars.next();
        let inner = self.balanced(')')?;
        self.substitution(inner);
        Some(())
    }

    fn less(&mut self) -> Option<()> {
        if self.chars.peek() == Some(&'(') {
            return self.process_substitution();
        }
        if self.chars.next_if_eq(&'<').is_none() {
            let operator = if self.chars.next_if_eq(&'&').is_some() {
                "<&"
            } else if self.chars.next_if_eq(&'>').is_some() {
                "<>"
            } else {
                "<"
            };
            return self.redirect(operator);
        }
        if self.chars.next_if_eq(&'<').is_some() {
            let word = self.word()?;
            self.line.input.push_str(&word);
            return Some(());
        }
        let strip = if self.chars.next_if_eq(&'-').is_some() { Strip::Tabs } else { Strip::Nothing };
        let word = self.word()?;
        let quoting = if word.contains(['\'', '"', '\\']) { Quoting::Literal } else { Quoting::Expanded };
        let delimiter: String = word.chars().filter(|it| !"'\"\\".contains(*it)).collect();
        self.heredocs.push((delimiter, strip, quoting));
        Some(())
    }

    fn redirect(&mut self, operator: &str) -> Option<()> {
        // The number before it (`2>`) is part of the operator.
        let digits = self.line.text.trim_end_matches(|it: char| it.is_ascii_digit());
        if digits.is_empty() || digits.ends_with(char::is_whitespace) {
            let length = digits.len();
            self.line.text.truncate(length);
        }
        let target = self.word()?;
        self.line.redirects.push(Redirect { operator: operator.to_owned(), target });
        Some(())
    }

    /// The next word, quotes kept.
    fn word(&mut self) -> Option<String> {
        while self.chars.next_if(|it| *it == ' ' || *it == '\t').is_some() {}
        let kept = std::mem::take(&mut self.line.text);
        while let Some(&c) = self.chars.peek() {
            match c {
                ' ' | '\t' | '\n' | ';' | '&' | '|' | '<' | '>' | '(' | ')' => break,
                _ => {}
            }
            self.chars.next();
            match c {
                '\'' => self.single()?,
                '"' => self.double()?,
                '`' => {
                    let inner = self.backticks()?;
                    self.substitution(inner);
                }
                '$' => self.dollar()?,
                '\\' => {
                    self.line.text.push('\\');
                    let next = self.chars.next()?;
                    self.line.text.push(next);
                }
                _ => self.line.text.push(c),
            }
        }
        let word = std::mem::replace(&mut self.line.text, kept);
        (!word.is_empty()).then_some(word)
    }

    /// Reads the bodies of the here-documents opened on the line that just ended.
    fn bodies(&mut self) -> Option<()> {
        for (delimiter, strip, quoting) in std::mem::take(&mut self.heredocs) {
            let mut body = String::new();
            loop {
                let mut line = String::new();
                let mut ended = false;
                for c in self.chars.by_ref() {
                    if c == '\n' {
                        ended = true;
                        break;
                    }
                    line.push(c);
                }
                let shown = if strip == Strip::Tabs { line.trim_start_matches('\t') } else { line.as_str() };
                if shown == delimiter {
                    break;
                }
                if !ended {
                    return None;
                }
                body.push_str(&line);
                body.push('\n');
            }
            if quoting == Quoting::Expanded && (body.contains("$(") || body.contains('`')) {
                self.expand(&body)?;
            }
            if let Some(last) = self.out.lines.last_mut() {
                last.input.push_str(&body);
            }
        }
        Some(())
    }

    /// Collects the substitutions in the body of a here-document.
    fn expand(&mut self, body: &str) -> Option<()> {
        let quoted = format!("\"{}\"", body.replace('"', "\\\""));
        let inner = lines(&quoted)?;
        self.out.nested.extend(inner.nested);
        Some(())
    }
}
