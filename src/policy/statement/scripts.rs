//! The scripts of sed and awk that only print: a small grammar, and everything outside of it runs.
//!
//! Both languages run programs and write files from the middle of a script, and their
//! implementations disagree about where a regular expression ends. So a script is read in full or
//! not at all, and a form that one implementation reads differently is refused.

use std::iter::Peekable;
use std::str::Chars;

use super::lines::UNKNOWN;
use super::programs::among;

/// Whether a sed script only prints, deletes and substitutes.
pub(super) fn sed_only_prints(script: &str) -> bool {
    !script.contains([UNKNOWN, '\r']) && Sed { chars: script.chars().peekable() }.script().is_some()
}

struct Sed<'a> {
    chars: Peekable<Chars<'a>>,
}

impl Sed<'_> {
    fn script(&mut self) -> Option<()> {
        loop {
            while self.chars.next_if(|it| it.is_whitespace() || matches!(it, ';' | '{' | '}')).is_some() {}
            if self.chars.peek().is_none() {
                return Some(());
            }
            self.address()?;
            self.blanks();
            if self.chars.next_if_eq(&',').is_some() {
                self.blanks();
                self.chars.next_if(|it| matches!(it, '+' | '~'));
                self.address()?;
            }
            while self.chars.next_if(|it| matches!(it, ' ' | '\t' | '!')).is_some() {}
            self.command()?;
        }
    }

    fn blanks(&mut self) {
        while self.chars.next_if(|it| matches!(it, ' ' | '\t')).is_some() {}
    }

    fn address(&mut self) -> Option<()> {
        match self.chars.peek() {
            Some('$') => {
                self.chars.next();
            }
            Some('/') => {
                self.chars.next();
                self.pattern('/')?;
                while self.chars.next_if(|it| matches!(it, 'I' | 'M')).is_some() {}
            }
            _ => while self.chars.next_if(|it| it.is_ascii_digit() || *it == '~').is_some() {},
        }
        Some(())
    }

    /// A regular expression up to its mark. Where the mark stands in brackets, some end there and
    /// some do not.
    fn pattern(&mut self, mark: char) -> Option<()> {
        let mut in_brackets = false;
        loop {
            match self.chars.next()? {
                '\\' => {
                    self.chars.next()?;
                    // Within brackets a backslash is itself to some.
                    if in_brackets && self.chars.peek() == Some(&mark) {
                        return None;
                    }
                }
                '\n' => return None,
                c if c == mark => return (!in_brackets).then_some(()),
                '[' if !in_brackets => {
                    in_brackets = true;
                    self.chars.next_if_eq(&'^');
                    self.chars.next_if_eq(&']');
                }
                ']' => in_brackets = false,
                _ => {}
            }
        }
    }

    fn replacement(&mut self, mark: char) -> Option<()> {
        loop {
            match self.chars.next()? {
                '\\' => {
                    self.chars.next()?;
                }
                '\n' => return None,
                c if c == mark => return Some(()),
                _ => {}
            }
        }
    }

    fn command(&mut self) -> Option<()> {
        let ends = match self.chars.next()? {
            's' => {
                let mark = self.mark()?;
                self.pattern(mark)?;
                self.replacement(mark)?;
                while self.chars.next_if(|it| it.is_ascii_digit() || "gIipmM".contains(*it)).is_some() {}
                true
            }
            'y' => {
                let mark = self.mark()?;
                self.replacement(mark)?;
                self.replacement(mark)?;
                true
            }
            'q' | 'Q' | 'l' => {
                self.blanks();
                while self.chars.next_if(char::is_ascii_digit).is_some() {}
                true
            }
            'p' | 'd' | 'D' | 'P' | '=' | 'n' | 'N' | 'g' | 'G' | 'h' | 'H' | 'x' | 'z' => true,
            '{' => return Some(()),
            ':' | 'b' | 't' | 'T' => {
                self.blanks();
                while self.chars.next_if(char::is_ascii_alphanumeric).is_some() {}
                true
            }
            _ => false,
        };
        self.blanks();
        (ends && self.chars.peek().is_none_or(|it| matches!(it, ';' | '\n' | '}'))).then_some(())
    }

    fn mark(&mut self) -> Option<char> {
        self.chars.next().filter(|it| it.is_ascii_punctuation() && !"\\[];".contains(*it))
    }
}

/// Functions of awk that compute.
const AWK_COMPUTES: &str = "length substr index split sub gsub match tolower toupper sprintf int sqrt exp log sin cos atan2 rand \
    srand strftime systime mktime gensub asort asorti and or xor lshift rshift print printf if while for in return";
/// Words of awk that reach outside, or name code that stands elsewhere.
const AWK_REACHES: &str = "system getline close fflush function func include load namespace";
/// Words of awk behind which both a division and a pattern make sense to somebody.
const AWK_WORDS: &str = "print printf return in if while for do else exit delete next case";

/// Whether an awk program only prints what it reads.
pub(super) fn awk_only_prints(program: &str) -> bool {
    awk(program).is_some()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    Operator,
    Operand,
    Bracket,
    Word,
    Step,
}

fn awk(program: &str) -> Option<()> {
    let branches = ["if", "while", "for"].iter().any(|it| program.contains(it));
    let mut chars = program.chars().peekable();
    let mut before = Before::Operator;
    let mut braces = 0_usize;
    let mut brackets = 0_usize;
    while let Some(c) = chars.next() {
        match c {
            ' ' | '\t' | '\n' => {}
            '"' => {
                quoted(&mut chars, '"')?;
                before = Before::Operand;
            }
            '/' => match before {
                Before::Operator => {
                    quoted(&mut chars, '/')?;
                    before = Before::Operand;
                }
                Before::Operand => before = Before::Operator,
                Before::Bracket if !branches => before = Before::Operator,
                _ => return None,
            },
            '|' => {
                chars.next_if_eq(&'|')?;
                before = Before::Operator;
            }
            // Behind `print` it would open a file.
            '>' => {
                if braces > 0 && brackets == 0 {
                    return None;
                }
                before = Before::Operator;
            }
            '(' | '[' => {
                brackets += 1;
                before = Before::Operator;
            }
            ')' | ']' => {
                brackets = brackets.checked_sub(1)?;
                before = if c == ')' { Before::Bracket } else { Before::Operand };
            }
            '{' => {
                braces += 1;
                before = Before::Operator;
            }
            '}' => {
                braces = braces.checked_sub(1)?;
                before = Before::Operator;
            }
            '+' | '-' => {
                before = if chars.next_if_eq(&c).is_some() { Before::Step } else { Before::Operator };
            }
            '$' | '=' | '<' | '!' | '~' | '&' | '*' | '%' | '^' | '?' | ':' | ';' | ',' => {
                before = Before::Operator;
            }
            _ if c.is_ascii_digit() || c == '.' => {
                while chars.next_if(|it| it.is_ascii_alphanumeric() || *it == '.').is_some() {}
                before = Before::Operand;
            }
            _ if c.is_ascii_alphabetic() || c == '_' => {
                let mut name = String::from(c);
                while let Some(more) = chars.next_if(|it| it.is_ascii_alphanumeric() || *it == '_') {
                    name.push(more);
                }
                while chars.next_if(|it| matches!(it, ' ' | '\t')).is_some() {}
                let calls = chars.peek() == Some(&'(') && !among(&name, AWK_COMPUTES);
                if among(&name, AWK_REACHES) || calls {
                    return None;
                }
                before = if among(&name, AWK_WORDS) { Before::Word } else { Before::Operand };
            }
            _ => return None,
        }
    }
    (braces == 0 && brackets == 0).then_some(())
}

/// A string or pattern up to its mark. A mark in brackets ends it for some and not for others.
fn quoted(chars: &mut Peekable<Chars<'_>>, mark: char) -> Option<()> {
    let mut in_brackets = false;
    loop {
        match chars.next()? {
            '\\' => {
                chars.next()?;
            }
            '\n' | UNKNOWN => return None,
            c if c == mark => return (!in_brackets).then_some(()),
            '[' if mark == '/' => in_brackets = true,
            ']' => in_brackets = false,
            _ => {}
        }
    }
}
