//! Variables of a client, rewritten into our own: `${X}`, `${X:-default}`, and `$${` for text.
//!
//! A carried-over server must see what it saw before, so each client's own rules decide what is a
//! variable. What only the client can fill in keeps the server in the client's file.

use std::path::Path;

use super::known::Dialect;

/// What can be known about a file when its variables are rewritten.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'a> {
    /// The client's rules.
    pub(super) dialect: Dialect,
    /// The project's folder, where the file belongs to a project.
    pub(super) project: Option<&'a Path>,
}

/// Rewrites a text.
///
/// # Errors
/// The form that only the client can fill in.
pub(super) fn rewrite(text: &str, place: Place<'_>) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if let Some((written, taken)) = variable(rest, place)? {
            out.push_str(&written);
            rest = rest.get(taken..).unwrap_or_default();
            continue;
        }
        // What is no variable to the client must be none to us.
        if rest.starts_with("${") {
            out.push('$');
        }
        out.push(first);
        rest = rest.get(first.len_utf8()..).unwrap_or_default();
    }
    Ok(out)
}

/// The variable at the start of the text, rewritten, and how many bytes it took.
fn variable(text: &str, place: Place<'_>) -> Result<Option<(String, usize)>, String> {
    let braced = |open: &str| {
        let inner = text.strip_prefix(open)?;
        let end = inner.find('}')?;
        Some((inner.get(..end)?, open.len() + end + 1))
    };
    match place.dialect {
        Dialect::None => Ok(None),
        Dialect::Shell => Ok(braced("${")
            .filter(|(body, _)| is_shell(body))
            .map(|(body, taken)| (format!("${{{body}}}"), taken))),
        Dialect::Gemini => Ok(gemini(text, braced("${"))),
        Dialect::Code => match braced("${") {
            Some((body, taken)) => code(body, place).map(|written| written.map(|written| (written, taken))),
            None => Ok(None),
        },
        Dialect::Opencode => match braced("{") {
            Some((body, taken)) => match body.split_once(':') {
                Some(("env", name)) if is_name(name) => Ok(Some((format!("${{{name}:-}}"), taken))),
                Some(("file", _)) => Err(format!("{{{body}}}")),
                _ => Ok(None),
            },
            None => Ok(None),
        },
    }
}

fn gemini(text: &str, braced: Option<(&str, usize)>) -> Option<(String, usize)> {
    if let Some((body, taken)) = braced
        && is_shell(body)
    {
        // There a variable that is not set is empty.
        let with_default = if body.contains(":-") { body.to_owned() } else { format!("{body}:-") };
        return Some((format!("${{{with_default}}}"), taken));
    }
    let plain =
        |rest: &str| rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
    if let Some(rest) = text.strip_prefix('$') {
        let name = rest.get(..plain(rest)).filter(|name| is_name(name))?;
        return Some((format!("${{{name}:-}}"), name.len() + 1));
    }
    let rest = text.strip_prefix('%')?;
    let name = rest.get(..plain(rest)).filter(|name| is_name(name))?;
    rest.get(name.len()..)?.starts_with('%').then(|| (format!("${{{name}:-}}"), name.len() + 2))
}

fn code(body: &str, place: Place<'_>) -> Result<Option<String>, String> {
    let literal = |path: &Path| path.display().to_string().replace("${", "$${");
    Ok(match body {
        "userHome" => Some("${HOME}".to_owned()),
        "/" | "pathSeparator" => Some(std::path::MAIN_SEPARATOR.to_string()),
        "workspaceFolder" => match place.project {
            Some(project) => Some(literal(project)),
            None => return Err(format!("${{{body}}}")),
        },
        "workspaceFolderBasename" => match place.project.and_then(Path::file_name) {
            Some(name) => Some(literal(Path::new(name))),
            None => return Err(format!("${{{body}}}")),
        },
        _ => match body.split_once(':') {
            Some(("env", name)) if is_name(name) => Some(format!("${{{name}:-}}")),
            Some(("input" | "command" | "config", _)) => return Err(format!("${{{body}}}")),
            _ => None,
        },
    })
}

/// `NAME` or `NAME:-default`.
fn is_shell(body: &str) -> bool {
    is_name(body.split_once(":-").map_or(body, |(name, _)| name))
}

fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(dialect: Dialect, text: &str, expected: Result<&str, &str>) {
        let place = Place { dialect, project: Some(Path::new("/p")) };
        let expected = expected.map(str::to_owned).map_err(str::to_owned);
        assert_eq!(rewrite(text, place), expected, "{text}");
    }

    #[test]
    fn each_client_has_its_own_rules() {
        check(Dialect::None, "${X} $Y {env:Z}", Ok("$${X} $Y {env:Z}"));
        check(Dialect::Shell, "a${X}b${Y:-d}c${env:Z}", Ok("a${X}b${Y:-d}c$${env:Z}"));
        check(
            Dialect::Code,
            "${env:X}${/}${userHome} ${workspaceFolder}/x ${Y}",
            Ok("${X:-}/${HOME} /p/x $${Y}"),
        );
        check(Dialect::Code, "${input:key}", Err("${input:key}"));
        check(Dialect::Gemini, "$X ${Y} ${Z:-d} %W% 5% $", Ok("${X:-} ${Y:-} ${Z:-d} ${W:-} 5% $"));
        check(Dialect::Opencode, "{env:X} {file:p}", Err("{file:p}"));
        check(Dialect::Opencode, "{env:X} {x} ${Y}", Ok("${X:-} {x} $${Y}"));
    }

    #[test]
    fn without_a_project_its_folder_is_not_known() {
        let place = Place { dialect: Dialect::Code, project: None };
        assert!(rewrite("${workspaceFolder}", place).is_err());
    }
}
