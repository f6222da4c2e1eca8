//! Where Bouncer keeps what outlives it: audit, pins, lasting grants, carried-over servers, sockets.
//!
//! One folder for a user, so that what a person answered in one client is known in the next.

use std::path::{Path, PathBuf};

/// The state folder: what was given on the command line, `BOUNCER_HOME`, or `.bouncer` in the user's
/// home folder. `None` when the environment names no home folder either. The folder need not exist.
pub fn state_folder(given: Option<PathBuf>, env: &dyn Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let set = |name: &str| env(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = || set("HOME").or_else(|| set("USERPROFILE"));
    given.or_else(|| set("BOUNCER_HOME")).or_else(|| Some(home()?.join(".bouncer")))
}

/// The folders that a Bouncer of this user keeps its state in where none is given: the one that
/// `BOUNCER_HOME` names, and `.bouncer` in the home folder. Another Bouncer may use either.
pub fn usual_state_folders(env: &dyn Fn(&str) -> Option<String>) -> Vec<PathBuf> {
    let home_only = |name: &str| if name == "BOUNCER_HOME" { None } else { env(name) };
    [state_folder(None, env), state_folder(None, &home_only)].into_iter().flatten().collect()
}

/// The file of a state folder that holds what an upstream writes to its stderr: named by it, with what
/// a file name may not hold as hex, so that no two names share a file.
pub fn log_file(state: &Path, upstream: &str) -> PathBuf {
    use std::fmt::Write as _;
    let mut name = String::new();
    for byte in upstream.bytes().take(80) {
        if byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_' {
            name.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(name, "%{byte:02x}");
        }
    }
    log_folder(state).join(name + ".log")
}

/// The folder of those files.
pub fn log_folder(state: &Path) -> PathBuf {
    state.join("logs")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_upstreams_never_share_a_log() {
        let check = |upstream: &str, expected: &str| {
            assert_eq!(log_file(Path::new("/s"), upstream), Path::new("/s/logs").join(expected));
        };
        check("mail-1", "mail-1.log");
        check("../a b", "%2e%2e%2fa%20b.log");
        check("a.b", "a%2eb.log");
        check("a%2eb", "a%252eb.log");
    }

    #[test]
    fn the_first_that_is_set_counts() {
        let check = |given: Option<&str>, set: &[(&str, &str)], expected: Option<&str>| {
            let env =
                |name: &str| set.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
            assert_eq!(state_folder(given.map(PathBuf::from), &env), expected.map(PathBuf::from), "{set:?}");
        };
        let home = ("HOME", "/home/u");
        check(Some("s"), &[("BOUNCER_HOME", "/b"), home], Some("s"));
        check(None, &[("BOUNCER_HOME", "/b"), home], Some("/b"));
        check(None, &[("BOUNCER_HOME", ""), home], Some("/home/u/.bouncer"));
        check(None, &[("USERPROFILE", "/u")], Some("/u/.bouncer"));
        check(None, &[], None);
    }
}
