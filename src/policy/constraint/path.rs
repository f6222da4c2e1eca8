//! Path confinement by words alone: which folder a path names once `.` and `..` are worked out, and
//! whether that is inside another.
//!
//! What programs read differently is a fault, not a guess: `~`, `file:`, backslashes where the
//! policy is about POSIX paths, percent-encoded dots. A policy folder with a drive letter makes its
//! rule a Windows one. Symbolic links are not words: the caller resolves them and asks again.

use std::fmt;

/// A folder or file of a policy that paths must be inside of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bound {
    text: String,
    dialect: Dialect,
}

/// How the separators of a path are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dialect {
    Posix,
    Windows,
}

/// Why a path is not compared at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathFault {
    /// It is empty or holds a control character.
    Unreadable,
    /// It begins with `~`, which some programs expand and others do not.
    Home,
    /// It is a url.
    Url,
    /// It holds a backslash or a drive letter where the policy speaks of POSIX paths.
    Backslash,
    /// It holds percent-encoded dots, slashes or NULs.
    Encoded,
    /// It climbs above the folder it starts from.
    Climbs,
    /// It holds a variable, which a shell would replace.
    Variable,
    /// It holds characters that some file systems read as dots or slashes.
    LookAlike,
    /// It is a Windows form that names more than one thing (`C:x`, `\\server`, `file:stream`, `name.`).
    WindowsForm,
}

impl fmt::Display for PathFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unreadable => "path is empty or holds control characters",
            Self::Home => "path begins with `~`; write it out",
            Self::Url => "path is a url",
            Self::Backslash => "path holds a backslash or a drive letter",
            Self::Encoded => "path holds percent-encoded dots or slashes",
            Self::Climbs => "path climbs above the folder it starts from",
            Self::Variable => "path holds a variable",
            Self::LookAlike => "path holds look-alikes of dots or slashes",
            Self::WindowsForm => "path has a Windows form with two meanings",
        })
    }
}

/// A path with `.` and `..` worked out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Plain {
    root: Root,
    parts: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Root {
    /// Absolute, with the drive on Windows.
    Absolute(Option<char>),
    /// Relative to a folder that is not known.
    Unknown,
}

impl Plain {
    /// Whether this is `other` or stands inside it.
    fn is_within(&self, other: &Self, dialect: Dialect) -> bool {
        let same = |a: &String, b: &String| match dialect {
            Dialect::Posix => a == b,
            Dialect::Windows => a.to_lowercase() == b.to_lowercase(),
        };
        self.root == other.root
            && self.parts.len() >= other.parts.len()
            && self.parts.iter().zip(&other.parts).all(|(a, b)| same(a, b))
    }
}

impl Bound {
    /// A folder or file of a policy.
    ///
    /// # Errors
    /// [`PathFault`] when it cannot be compared with anything.
    pub fn new(text: &str) -> Result<Self, PathFault> {
        let dialect = if drive(text).is_some() { Dialect::Windows } else { Dialect::Posix };
        let bound = Self { text: text.to_owned(), dialect };
        plain(text, dialect, None)?;
        Ok(bound)
    }

    /// As the policy wrote it.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether it depends on where the upstream runs.
    pub fn is_relative(&self) -> bool {
        drive(&self.text).is_none() && !self.text.starts_with('/')
    }

    /// Whether `path`, relative to `cwd`, is inside, by words alone.
    ///
    /// # Errors
    /// [`PathFault`] when the path cannot be compared.
    pub(super) fn contains(&self, path: &str, cwd: Option<&str>) -> Result<bool, PathFault> {
        let inside = plain(path, self.dialect, cwd)?;
        let bound = plain(&self.text, self.dialect, cwd)?;
        Ok(inside.is_within(&bound, self.dialect))
    }
}

/// Whether `path` is `folder` or inside it; both relative to `cwd`. For folders that another
/// argument names.
pub(super) fn is_within(path: &str, folder: &str, cwd: Option<&str>) -> Result<bool, PathFault> {
    let dialect = if drive(folder).is_some() { Dialect::Windows } else { Dialect::Posix };
    let outer = plain(folder, dialect, cwd)?;
    let joined = if is_absolute(path, dialect) { path.to_owned() } else { join(folder, path) };
    Ok(plain(&joined, dialect, cwd)?.is_within(&outer, dialect))
}

/// The path as a program that runs in `cwd` would open it, nothing worked out.
pub(super) fn join(cwd: &str, path: &str) -> String {
    if path.starts_with('/') || drive(path).is_some() {
        return path.to_owned();
    }
    format!("{}/{path}", cwd.trim_end_matches('/'))
}

fn is_absolute(path: &str, dialect: Dialect) -> bool {
    match dialect {
        Dialect::Posix => path.starts_with('/'),
        Dialect::Windows => drive(path).is_some() || path.starts_with(['/', '\\']),
    }
}

/// The drive letter of a path that has one.
pub(in crate::policy) fn drive(path: &str) -> Option<char> {
    let mut chars = path.chars();
    let letter = chars.next().filter(char::is_ascii_alphabetic)?;
    (chars.next() == Some(':') && chars.next().is_none_or(|c| matches!(c, '/' | '\\'))).then_some(letter)
}

fn plain(path: &str, dialect: Dialect, cwd: Option<&str>) -> Result<Plain, PathFault> {
    faults(path, dialect)?;
    let path = match dialect {
        Dialect::Posix => path.to_owned(),
        Dialect::Windows => path.replace('\\', "/"),
    };
    let (root, rest) = match (dialect, drive(&path)) {
        (Dialect::Windows, Some(letter)) => {
            (Root::Absolute(Some(letter.to_ascii_lowercase())), path.get(2..).unwrap_or_default().to_owned())
        }
        (Dialect::Windows, None) if path.starts_with('/') => return Err(PathFault::WindowsForm),
        (Dialect::Posix, _) if path.starts_with('/') => (Root::Absolute(None), path),
        _ => match cwd {
            Some(cwd) if is_absolute(cwd, dialect) => return plain(&join(cwd, &path), dialect, None),
            _ => (Root::Unknown, path),
        },
    };
    let mut parts: Vec<String> = Vec::new();
    for part in rest.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                // Above an absolute root is the root itself; above an unknown folder is anywhere.
                if parts.pop().is_none() && root == Root::Unknown {
                    return Err(PathFault::Climbs);
                }
            }
            _ if dialect == Dialect::Windows && (part.contains(':') || part.ends_with(['.', ' '])) => {
                return Err(PathFault::WindowsForm);
            }
            _ => parts.push(part.to_owned()),
        }
    }
    Ok(Plain { root, parts })
}

fn faults(path: &str, dialect: Dialect) -> Result<(), PathFault> {
    if path.is_empty() || path.chars().any(char::is_control) {
        return Err(PathFault::Unreadable);
    }
    if path.starts_with('~') {
        return Err(PathFault::Home);
    }
    if is_url(path) {
        return Err(PathFault::Url);
    }
    if path.contains("${") || path.contains("$(") || path.starts_with('$') || path.contains('`') {
        return Err(PathFault::Variable);
    }
    if path.contains(['\u{ff0f}', '\u{ff3c}', '\u{2215}', '\u{2044}', '\u{ff0e}', '\u{2024}', '\u{2025}']) {
        return Err(PathFault::LookAlike);
    }
    if dialect == Dialect::Posix && (path.contains('\\') || drive(path).is_some()) {
        return Err(PathFault::Backslash);
    }
    let lower = path.to_ascii_lowercase();
    if ["%2e", "%2f", "%5c", "%00", "%252"].iter().any(|code| lower.contains(code)) {
        return Err(PathFault::Encoded);
    }
    Ok(())
}

/// Whether text has a scheme before anything else: `file:/x`, `s3://b`. A drive letter is none.
fn is_url(path: &str) -> bool {
    let Some((scheme, rest)) = path.split_once(':') else { return false };
    let word =
        scheme.len() > 1 && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
    word && (rest.starts_with('/') || scheme.eq_ignore_ascii_case("file"))
}

/// Whether text that no rule names looks like a path: it is absolute, starts from a home or dotted
/// folder, has a drive, or has a separator and no space.
pub(super) fn looks_like_path(text: &str) -> bool {
    let text = text.trim();
    !text.is_empty()
        && text.len() <= 4096
        && (text.starts_with(['/', '~'])
            || text.starts_with("./")
            || text.starts_with("../")
            || text == ".."
            || text.starts_with("\\\\")
            || drive(text).is_some()
            || text.get(..5).is_some_and(|s| s.eq_ignore_ascii_case("file:"))
            || (text.contains(['/', '\\']) && !text.contains(char::is_whitespace)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bound: &str, path: &str, cwd: Option<&str>, expected: Result<bool, PathFault>) {
        assert_eq!(
            Bound::new(bound).unwrap().contains(path, cwd),
            expected,
            "{path} in {bound} from {cwd:?}"
        );
    }

    #[test]
    fn components_decide_not_characters() {
        check("/srv/safe", "/srv/safe/a", None, Ok(true));
        check("/srv/safe", "/srv/safe", None, Ok(true));
        check("/srv/safe/", "/srv/safe", None, Ok(true));
        check("/srv/safe", "/srv/safe_evil/a", None, Ok(false));
        check("/srv/safe", "/srv/safe/../x", None, Ok(false));
        check("/srv/safe", "/srv/safe//../x", None, Ok(false));
        check("/srv/safe", "//srv/safe/./a", None, Ok(true));
        check("/srv/safe", "/../srv/safe/a", None, Ok(true));
        check("/", "/etc/x", None, Ok(true));
    }

    #[test]
    fn relative_paths_start_somewhere() {
        check("/srv/safe", "notes.md", Some("/srv/safe"), Ok(true));
        check("/srv/safe", "notes.md", Some("/srv"), Ok(false));
        check("/srv/safe", "notes.md", None, Ok(false));
        check("./out", "out/a", None, Ok(true));
        check("out", "/w/out/a", Some("/w"), Ok(true));
        check(".", "../x", None, Err(PathFault::Climbs));
        check(".", "../x", Some("/w"), Ok(false));
        check(".", "a/../../x", None, Err(PathFault::Climbs));
        check(".", "a", None, Ok(true));
        check("out", "/../../../out/x", None, Ok(false));
    }

    #[test]
    fn two_readings_are_a_fault() {
        check("/w", "~/x", None, Err(PathFault::Home));
        check(".", "out\\..\\..\\x", None, Err(PathFault::Backslash));
        check("/w", "C:\\w\\x", None, Err(PathFault::Backslash));
        check("/w", "file:///w/a", None, Err(PathFault::Url));
        check("/w", "FILE:a", None, Err(PathFault::Url));
        check("/w", "/w/%2E%2e/x", None, Err(PathFault::Encoded));
        check("/w", "/w/%252e/x", None, Err(PathFault::Encoded));
        check("/w", "/w/a\0b", None, Err(PathFault::Unreadable));
        check("/w", "", None, Err(PathFault::Unreadable));
        check("/w", "$HOME/x", None, Err(PathFault::Variable));
        check("/w", "/w/\u{ff0e}\u{ff0e}/x", None, Err(PathFault::LookAlike));
        check("/w", "/w/100%/a:b", None, Ok(true));
    }

    #[test]
    fn a_drive_makes_it_windows() {
        check("C:\\work", "c:/WORK/a", None, Ok(true));
        check("C:\\work", "C:\\work\\..\\x", None, Ok(false));
        check("C:\\work", "a\\b", Some("C:\\work"), Ok(true));
        check("C:\\work", "D:\\work\\a", None, Ok(false));
        check("C:\\work", "\\\\srv\\share", None, Err(PathFault::WindowsForm));
        check("C:\\work", "C:\\work\\a:stream", None, Err(PathFault::WindowsForm));
        check("C:\\work", "C:\\work\\a.", None, Err(PathFault::WindowsForm));
    }

    #[test]
    fn a_folder_from_another_argument() {
        let check = |path: &str, folder: &str, expected: Result<bool, PathFault>| {
            assert_eq!(is_within(path, folder, None), expected, "{path} {folder}");
        };
        check("a/b", "/srv/r", Ok(true));
        check("../../../.kube/config", "/srv/r", Ok(false));
        check("/srv/r/a", "/srv/r", Ok(true));
        check("/etc/x", "/srv/r", Ok(false));
        check("../x", "r", Ok(false));
    }

    #[test]
    fn what_looks_like_a_path() {
        let check = |text: &str, expected: bool| assert_eq!(looks_like_path(text), expected, "{text}");
        check("/etc/passwd", true);
        check("../x", true);
        check("C:\\x", true);
        check("a/b.txt", true);
        check("file:///x", true);
        check("hello world", false);
        check("either/or is fine", false);
        check("users", false);
    }
}
