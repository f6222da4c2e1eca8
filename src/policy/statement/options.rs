//! Closed lists of options: a call is understood only when each of its options is spelled exactly as
//! its row says and takes what the row says.
//!
//! A row is a text of words. `-abc`: letters without a value, which may stand together. `-n=`: a
//! letter with a value, glued or in the next word. `-u?`: a letter with an optional glued value. `-#`:
//! a dash and digits. `--name`, `--name=` (behind `=` or in the next word), `--name?` (only behind
//! `=`), `--name==` (the next two words), `--name=value` (just that). Whatever is not in the row, an
//! abbreviation too, is not understood, because programs take abbreviations and glued values for
//! options that write and run.

use super::lines::UNKNOWN;
use super::programs::among;

/// Whether a computed word may be an option that the row does not hold.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Computed {
    /// No option of the program does more than look, so it may be any.
    Harmless,
    /// It may be an option that writes or runs.
    Refused,
}

/// Where reading ends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Until {
    /// Options may stand behind operands.
    End,
    /// At the first operand, which is a sub-command or another program.
    Operand,
}

/// The arguments taken apart.
#[derive(Debug, Default)]
pub(super) struct Parsed<'a> {
    /// The options by name, with their value.
    pub(super) options: Vec<(String, &'a str)>,
    /// The words that are no options.
    pub(super) operands: Vec<&'a str>,
    /// The words that were not read.
    pub(super) rest: &'a [String],
}

impl<'a> Parsed<'a> {
    /// The values of the options with a name of the row.
    pub(super) fn values(&self, row: &str) -> impl Iterator<Item = &'a str> {
        self.options.iter().filter(move |it| among(&it.0, row)).map(|it| it.1)
    }

    /// Whether one of the options is there.
    pub(super) fn has(&self, row: &str) -> bool {
        self.options.iter().any(|it| among(&it.0, row))
    }
}

/// Takes arguments apart by a row; `None` when one is not in it.
pub(super) fn parse<'a>(
    row: &str,
    args: &'a [String],
    computed: Computed,
    until: Until,
) -> Option<Parsed<'a>> {
    let known: Vec<&str> = row.split_ascii_whitespace().collect();
    let mut reader = Reader { known: &known, rest: args, computed, parsed: Parsed::default() };
    let mut only_operands = false;
    while let Some((arg, more)) = reader.rest.split_first() {
        if computed == Computed::Refused && arg.contains(UNKNOWN) {
            return None;
        }
        if only_operands || !arg.starts_with('-') || arg == "-" {
            if until == Until::Operand {
                break;
            }
            reader.parsed.operands.push(arg);
            reader.rest = more;
        } else if arg == "--" {
            only_operands = true;
            reader.rest = more;
            if until == Until::Operand {
                break;
            }
        } else {
            reader.rest = more;
            reader.option(arg)?;
        }
    }
    reader.parsed.rest = reader.rest;
    Some(reader.parsed)
}

struct Reader<'a, 'r> {
    known: &'r [&'r str],
    rest: &'a [String],
    computed: Computed,
    parsed: Parsed<'a>,
}

impl<'a> Reader<'a, '_> {
    fn knows(&self, name: &str, mark: &str) -> bool {
        self.known.iter().any(|it| it.strip_suffix(mark).is_some_and(|it| it == name))
    }

    fn push(&mut self, name: &str, value: &'a str) {
        self.parsed.options.push((name.to_owned(), value));
    }

    /// The next word as a value. FAIL CLOSED: a value that looks like an option is one where another
    /// implementation takes no value, so it is refused.
    fn value(&mut self) -> Option<&'a str> {
        let Some((value, more)) = self.rest.split_first() else { return Some("") };
        let number = value.strip_prefix('-').is_some_and(|it| it.chars().all(|c| c.is_ascii_digit()));
        let plain = !value.starts_with('-') || number;
        if self.computed == Computed::Refused && (!plain || value.contains(UNKNOWN)) {
            return None;
        }
        self.rest = more;
        Some(value)
    }

    fn option(&mut self, arg: &'a str) -> Option<()> {
        if !arg.ends_with(['=', '?'])
            && self.known.contains(&arg)
            && (arg.starts_with("--") || arg.len() == 2)
        {
            self.push(arg, "");
            return Some(());
        }
        if !arg.starts_with("--") {
            return self.letters(arg);
        }
        if let Some((name, value)) = arg.split_once('=') {
            (self.knows(name, "=") || self.knows(name, "?")).then(|| self.push(name, value))
        } else if self.knows(arg, "?") {
            self.push(arg, "");
            Some(())
        } else if self.knows(arg, "==") {
            let first = self.value()?;
            self.value()?;
            self.push(arg, first);
            Some(())
        } else if self.knows(arg, "=") {
            let value = self.value()?;
            self.push(arg, value);
            Some(())
        } else {
            None
        }
    }

    fn letters(&mut self, arg: &'a str) -> Option<()> {
        let cluster = arg.strip_prefix('-')?;
        if self.known.contains(&"-#") && cluster.chars().all(|it| it.is_ascii_digit()) {
            return Some(());
        }
        for (at, letter) in cluster.char_indices() {
            let name = format!("-{letter}");
            let glued = cluster.get(at + letter.len_utf8()..)?;
            if self.knows(&name, "=") {
                let value = if glued.is_empty() { self.value()? } else { glued };
                self.push(&name, value);
                return Some(());
            }
            if self.knows(&name, "?") {
                self.push(&name, glued);
                return Some(());
            }
            let flag = self.known.iter().any(|it| {
                it.strip_prefix('-').is_some_and(|it| {
                    !it.starts_with('-') && !it.ends_with(['=', '?', '#']) && it.contains(letter)
                })
            });
            if !flag {
                return None;
            }
            self.push(&name, "");
        }
        Some(())
    }
}
