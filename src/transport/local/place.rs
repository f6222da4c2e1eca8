//! Where the sockets of a state folder are: `STATE/run/PID.sock` for prompts and `STATE/run/PID.ctl`
//! for control, 0600 in a folder of 0700.
//!
//! A socket's path may have about a hundred bytes only. Where the state folder's is longer, the
//! folder of the sockets is one in the temporary folder that is named by the user and a digest of
//! the state folder, and that counts only when it belongs to the user and nobody else may enter.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

/// Longest path of a socket's folder, in bytes: `sun_path` holds 104 on macOS and 108 on Linux.
const LONGEST: usize = 80;

/// What a socket is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// What the user typed.
    Prompts,
    /// What waits for a person.
    Control,
}

impl Kind {
    /// The end of the socket's name.
    pub(super) fn suffix(self) -> &'static str {
        match self {
            Self::Prompts => "sock",
            Self::Control => "ctl",
        }
    }
}

/// The folder of the sockets of this state folder; it need not exist.
pub(super) fn folder(state: &Path) -> PathBuf {
    let state = std::path::absolute(state).unwrap_or_else(|_| state.to_owned());
    let folder = state.join("run");
    if folder.as_os_str().len() <= LONGEST {
        return folder;
    }
    let digest = Sha256::digest(state.as_os_str().as_bytes());
    let name = HEXLOWER.encode(digest.get(..8).unwrap_or_default());
    std::env::temp_dir().join(format!("bouncer-{}-{name}", rustix::process::getuid().as_raw()))
}

/// Makes the folder if it is missing.
///
/// # Errors
/// It cannot be made, or it is another user's or open to others.
pub(super) fn make(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    if is_private(folder) {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::PermissionDenied, "the folder of the sockets is open to other users"))
}

/// Whether the folder is the user's own, is no link, and lets nobody else write.
pub(super) fn is_private(folder: &Path) -> bool {
    fs::symlink_metadata(folder).is_ok_and(|data| {
        data.is_dir() && data.uid() == rustix::process::getuid().as_raw() && data.mode() & 0o022 == 0
    })
}

/// Sockets of a kind that are told apart.
pub(super) const MOST: usize = 4_096;

/// The sockets of a kind in a folder, each with the process that opened it; at most [`MOST`].
pub(super) fn sockets(folder: &Path, kind: Kind) -> Vec<(u32, PathBuf)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter_map(|entry| {
            let path = entry.path();
            let pid = path.file_name()?.to_str()?.strip_suffix(kind.suffix())?.strip_suffix('.')?;
            let pid = pid.parse().ok()?;
            Some((pid, path))
        })
        .take(MOST)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_state_folders_have_their_sockets_elsewhere() {
        assert_eq!(folder(Path::new("/s")), Path::new("/s/run"));
        let long = PathBuf::from(format!("/{}", "x".repeat(200)));
        assert!(folder(&long).as_os_str().len() < 104);
        assert_ne!(folder(&long), folder(&long.join("y")));
    }

    #[test]
    fn sockets_are_found_by_name() {
        let state = tempfile::tempdir().expect("a folder");
        let folder = folder(state.path());
        make(&folder).expect("a folder inside");
        for name in ["12.sock", "x.sock", ".13.sock.new", "14", "15.ctl"] {
            fs::write(folder.join(name), "").expect("a file");
        }
        assert_eq!(sockets(&folder, Kind::Prompts), vec![(12, folder.join("12.sock"))]);
        assert_eq!(sockets(&folder, Kind::Control), vec![(15, folder.join("15.ctl"))]);
    }
}
