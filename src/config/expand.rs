//! `${VAR}` and `${VAR:-default}` in a config, and the forms that clients add to them.
//!
//! A missing variable is an error that names it, never an empty string: an empty token or folder
//! means something else than "not set". Values never appear in a message.

use std::path::Path;

/// Where variables come from.
#[derive(Clone, Copy)]
pub(super) struct Variables<'e> {
    /// The environment.
    pub env: &'e dyn Fn(&str) -> Option<String>,
    /// Which forms count.
    pub dialect: Dialect<'e>,
}

/// Whose file it is.
#[derive(Debug, Clone, Copy)]
pub(super) enum Dialect<'e> {
    /// Our own: `${VAR}`, `${VAR:-default}`, `$${` for a literal `${`.
    Own,
    /// A client's: also `${env:VAR}`, `${userHome}`, `${workspaceFolder}`, `${/}`. The path is the
    /// client's file.
    Client(&'e Path),
}

/// Why a text could not be expanded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Failure {
    /// The variable is not set and has no default.
    Missing(String),
    /// The form needs something that only the client has (`${input:…}`).
    ClientOnly(String),
    /// `${` without its `}`, or a name that is none.
    Malformed,
}

/// Expands one text.
pub(super) fn expand(text: &str, variables: Variables<'_>) -> Result<String, Failure> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        let (before, after) = rest.split_at(at);
        let body = after.get(2..).unwrap_or_default();
        if let Some(kept) = before.strip_suffix('$') {
            out.push_str(kept);
            out.push_str("${");
            rest = body;
            continue;
        }
        out.push_str(before);
        let Some(end) = body.find('}') else { return Err(Failure::Malformed) };
        let (name, tail) = body.split_at(end);
        out.push_str(&value(name, variables)?);
        rest = tail.get(1..).unwrap_or_default();
    }
    out.push_str(rest);
    Ok(out)
}

fn value(body: &str, variables: Variables<'_>) -> Result<String, Failure> {
    if let Dialect::Client(file) = variables.dialect {
        match body {
            "/" => return Ok(std::path::MAIN_SEPARATOR.to_string()),
            "userHome" => return lookup("HOME", None, variables),
            "workspaceFolder" => {
                return workspace(file).ok_or_else(|| Failure::ClientOnly(format!("${{{body}}}")));
            }
            _ if body.starts_with("input:") => return Err(Failure::ClientOnly(format!("${{{body}}}"))),
            _ => {
                if let Some(name) = body.strip_prefix("env:") {
                    return lookup(name, None, variables);
                }
            }
        }
    }
    match body.split_once(":-") {
        Some((name, default)) => lookup(name, Some(default), variables),
        None => lookup(body, None, variables),
    }
}

fn lookup(name: &str, default: Option<&str>, variables: Variables<'_>) -> Result<String, Failure> {
    let valid = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && name.chars().next().is_some_and(|c| !c.is_ascii_digit());
    if !valid {
        return Err(Failure::Malformed);
    }
    // As in the shell, `:-` also stands in for a variable that is set but empty.
    match ((variables.env)(name), default) {
        (Some(value), None) => Ok(value),
        (Some(value), Some(_)) if !value.is_empty() => Ok(value),
        (_, Some(default)) => Ok(default.to_owned()),
        (None, None) => Err(Failure::Missing(name.to_owned())),
    }
}

/// The folder of a project's client file: above `.vscode`, `.cursor` and their like, else beside the
/// file itself.
fn workspace(file: &Path) -> Option<String> {
    let folder = file.parent()?;
    let hidden = folder.file_name().and_then(|n| n.to_str()).is_some_and(|n| n.starts_with('.'));
    let root = if hidden { folder.parent()? } else { folder };
    root.to_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(name: &str) -> Option<String> {
        match name {
            "A" => Some("1".into()),
            "EMPTY" => Some(String::new()),
            "HOME" => Some("/home/u".into()),
            _ => None,
        }
    }

    #[test]
    fn variables_and_defaults() {
        let check = |text: &str, expected: Result<&str, Failure>| {
            let got = expand(text, Variables { env: &env, dialect: Dialect::Own });
            assert_eq!(got, expected.map(str::to_owned), "{text}");
        };
        check("x${A}y${A}", Ok("x1y1"));
        check("${B:-d}${EMPTY:-e}${EMPTY}", Ok("de"));
        check("${B:-}", Ok(""));
        check("$A $ {A}", Ok("$A $ {A}"));
        check("$${A}", Ok("${A}"));
        check("${B}", Err(Failure::Missing("B".into())));
        check("${A", Err(Failure::Malformed));
        check("${a b}", Err(Failure::Malformed));
        check("${env:A}", Err(Failure::Malformed));
        check("${}", Err(Failure::Malformed));
    }

    #[test]
    fn client_forms() {
        let file = Path::new("/w/p/.vscode/mcp.json");
        let check = |text: &str, expected: Result<&str, Failure>| {
            let got = expand(text, Variables { env: &env, dialect: Dialect::Client(file) });
            assert_eq!(got, expected.map(str::to_owned), "{text}");
        };
        check("${env:A} ${userHome} ${workspaceFolder}${/}x", Ok("1 /home/u /w/p/x"));
        check("${env:B}", Err(Failure::Missing("B".into())));
        check("${input:key}", Err(Failure::ClientOnly("${input:key}".into())));
        check("${A:-x}", Ok("1"));
    }
}
