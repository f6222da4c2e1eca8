//! Where Bouncer keeps what outlives it: audit, pins, lasting grants, carried-over servers, sockets.
//!
//! One folder for a user, so that what a person answered in one client is known in the next.

use std::path::PathBuf;

/// The state folder: what was given on the command line, `BOUNCER_STATE`, `$XDG_STATE_HOME/bouncer`,
/// `~/.local/state/bouncer`, or on Windows `%LOCALAPPDATA%\bouncer`. `None` when the environment
/// names no home folder either. The folder need not exist.
pub fn state_folder(given: Option<PathBuf>, env: &dyn Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let set = |name: &str| env(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    given
        .or_else(|| set("BOUNCER_STATE"))
        // The specification has relative paths ignored.
        .or_else(|| set("XDG_STATE_HOME").filter(|path| path.is_absolute()).map(|path| path.join("bouncer")))
        .or_else(|| set("HOME").map(|home| home.join(".local/state/bouncer")))
        .or_else(|| set("LOCALAPPDATA").map(|data| data.join("bouncer")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_that_is_set_counts() {
        let check = |given: Option<&str>, set: &[(&str, &str)], expected: Option<&str>| {
            let env =
                |name: &str| set.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
            assert_eq!(state_folder(given.map(PathBuf::from), &env), expected.map(PathBuf::from), "{set:?}");
        };
        let home = ("HOME", "/home/u");
        check(Some("s"), &[("BOUNCER_STATE", "/b"), home], Some("s"));
        check(None, &[("BOUNCER_STATE", "/b"), home], Some("/b"));
        check(None, &[("BOUNCER_STATE", ""), ("XDG_STATE_HOME", "/x"), home], Some("/x/bouncer"));
        check(None, &[("XDG_STATE_HOME", "x"), home], Some("/home/u/.local/state/bouncer"));
        check(None, &[], None);
    }
}
