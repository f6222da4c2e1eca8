//! Where Bouncer keeps what outlives it: audit, pins, lasting grants, carried-over servers, sockets.
//!
//! One folder for a user, so that what a person answered in one client is known in the next.

use std::path::PathBuf;

/// The state folder: what was given on the command line, `BOUNCER_HOME`, or `.bouncer` in the user's
/// home folder. `None` when the environment names no home folder either. The folder need not exist.
pub fn state_folder(given: Option<PathBuf>, env: &dyn Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let set = |name: &str| env(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let home = || set("HOME").or_else(|| set("USERPROFILE"));
    given.or_else(|| set("BOUNCER_HOME")).or_else(|| Some(home()?.join(".bouncer")))
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
        check(Some("s"), &[("BOUNCER_HOME", "/b"), home], Some("s"));
        check(None, &[("BOUNCER_HOME", "/b"), home], Some("/b"));
        check(None, &[("BOUNCER_HOME", ""), home], Some("/home/u/.bouncer"));
        check(None, &[("USERPROFILE", "/u")], Some("/u/.bouncer"));
        check(None, &[], None);
    }
}
