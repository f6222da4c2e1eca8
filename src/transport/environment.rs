//! What of our environment a child gets: a list of harmless variables, not everything.
//!
//! A server has no business with the tokens of the shell that started its neighbour. What it needs
//! beside the list is written in its `env` or named in `inherit_env`.

use std::collections::BTreeMap;

/// What a child inherits beside the fixed list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Inherit {
    /// Nothing more.
    #[default]
    Fixed,
    /// These too.
    Names(Vec<String>),
    /// Everything.
    All,
}

const NAMES: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "TERM",
    "TMPDIR",
    "LANG",
    "SSH_AUTH_SOCK",
    "NODE_EXTRA_CA_CERTS",
    "DISPLAY",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
];
/// Without these no program starts on Windows.
const WINDOWS_NAMES: &[&str] = &[
    "SYSTEMROOT",
    "SYSTEMDRIVE",
    "WINDIR",
    "COMSPEC",
    "PATHEXT",
    "TEMP",
    "TMP",
    "APPDATA",
    "LOCALAPPDATA",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "PROGRAMFILES(X86)",
    "PROGRAMW6432",
    "COMMONPROGRAMFILES",
    "USERPROFILE",
    "USERNAME",
    "USERDOMAIN",
    "HOMEDRIVE",
    "HOMEPATH",
    "PROCESSOR_ARCHITECTURE",
    "NUMBER_OF_PROCESSORS",
    "OS",
];
const PREFIXES: &[&str] = &["LC_", "XDG_"];
/// Set unless the user did: a Python child with another encoding loses every message with a letter
/// outside it.
const DEFAULTS: &[(&str, &str)] = &[("PYTHONUTF8", "1"), ("PYTHONIOENCODING", "utf-8")];

fn is_listed(name: &str) -> bool {
    NAMES.contains(&name)
        || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        // Names of variables have no case on Windows.
        || WINDOWS_NAMES.contains(&name.to_ascii_uppercase().as_str())
}

/// The whole environment of a child: from ours what it may have, then defaults, then its own.
pub fn child_environment(
    ours: impl IntoIterator<Item = (String, String)>,
    inherit: &Inherit,
    own: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let may = |name: &str| match inherit {
        Inherit::Fixed => is_listed(name),
        Inherit::Names(names) => is_listed(name) || names.iter().any(|more| more == name),
        Inherit::All => true,
    };
    let mut all: BTreeMap<String, String> = ours.into_iter().filter(|(name, _)| may(name)).collect();
    for (name, value) in DEFAULTS {
        all.entry((*name).to_owned()).or_insert_with(|| (*value).to_owned());
    }
    all.extend(own.iter().map(|(name, value)| (name.clone(), value.clone())));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(inherit: &Inherit, own: &[(&str, &str)], expected: &[(&str, &str)]) {
        let ours = [
            ("PATH", "/bin"),
            ("LC_ALL", "C"),
            ("XDG_DATA_HOME", "/x"),
            ("AWS_SECRET", "s"),
            ("SystemRoot", "w"),
            ("EXTRA", "e"),
        ];
        let pairs = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        let mut expected = pairs(expected);
        expected.extend(pairs(&[
            ("PATH", "/bin"),
            ("LC_ALL", "C"),
            ("XDG_DATA_HOME", "/x"),
            ("SystemRoot", "w"),
            ("PYTHONIOENCODING", "utf-8"),
        ]));
        assert_eq!(child_environment(pairs(&ours), inherit, &pairs(own)), expected);
    }

    #[test]
    fn secrets_stay_here_unless_they_are_named() {
        check(&Inherit::Fixed, &[], &[("PYTHONUTF8", "1")]);
        check(
            &Inherit::Names(vec!["EXTRA".to_owned()]),
            &[("PYTHONUTF8", "0")],
            &[("PYTHONUTF8", "0"), ("EXTRA", "e")],
        );
        check(
            &Inherit::All,
            &[("EXTRA", "mine")],
            &[("PYTHONUTF8", "1"), ("EXTRA", "mine"), ("AWS_SECRET", "s")],
        );
    }
}
