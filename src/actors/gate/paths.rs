//! Following symbolic links on the local disk.
//!
//! Asking another thread costs a call more than all the rest of its judgement, so a few paths are followed here,
//! as long as every look goes to a file system of this machine, which answers in microseconds. A mount
//! that may hang (a network, a program) is looked at by a thread that may hang with it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::actors::{TooFar, follow_links, follow_links_while};

/// The most paths of one call that are followed; what is not resolved is judged by its words.
const PATHS: usize = 256;
/// The most that are followed at once.
const AT_ONCE: usize = 16;

/// Where each path leads once symbolic links are followed. One that cannot be resolved is left out.
pub(super) async fn resolve(paths: BTreeSet<String>) -> BTreeMap<String, String> {
    if let Some(resolved) = at_once(&paths) {
        return resolved;
    }
    let work = move || {
        let followed = paths.into_iter().take(PATHS);
        followed.filter_map(|path| follow_links(&path).map(|real| (path, real))).collect()
    };
    // FAIL CLOSED: a task that died resolved nothing, so only the words of a path count, and a path
    // outside by its words stays outside.
    tokio::task::spawn_blocking(work).await.unwrap_or_default()
}

/// All of them, if they are few and near.
fn at_once(paths: &BTreeSet<String>) -> Option<BTreeMap<String, String>> {
    static MOUNTS: OnceLock<Option<Vec<PathBuf>>> = OnceLock::new();
    let far = MOUNTS.get_or_init(far_mounts).as_deref()?;
    if paths.len() > AT_ONCE {
        return None;
    }
    let is_near = |path: &Path| !far.iter().any(|mount| path.starts_with(mount));
    let followed: Result<Vec<_>, TooFar> =
        paths.iter().map(|path| Ok((path, follow_links_while(path, &is_near)?))).collect();
    Some(followed.ok()?.into_iter().filter_map(|(path, real)| Some((path.clone(), real?))).collect())
}

/// Where file systems are mounted that may take long to answer; `None` where the system does not say.
/// Read once: a mount that comes later is taken for near, which costs time and never a verdict.
fn far_mounts() -> Option<Vec<PathBuf>> {
    Some(far_in(&std::fs::read_to_string("/proc/self/mountinfo").ok()?))
}

/// The mount points in `mountinfo` (`proc_pid_mountinfo(5)`) whose file system does not live in this
/// machine's kernel.
fn far_in(mountinfo: &str) -> Vec<PathBuf> {
    const NEAR: &[&str] = &[
        "ext2",
        "ext3",
        "ext4",
        "xfs",
        "btrfs",
        "zfs",
        "bcachefs",
        "f2fs",
        "vfat",
        "exfat",
        "tmpfs",
        "ramfs",
        "rootfs",
        "overlay",
        "squashfs",
        "erofs",
        "iso9660",
        "proc",
        "sysfs",
        "devtmpfs",
        "devpts",
        "cgroup",
        "cgroup2",
        "mqueue",
        "hugetlbfs",
        "debugfs",
        "tracefs",
        "securityfs",
        "bpf",
        "pstore",
        "efivarfs",
    ];
    let far = |line: &str| {
        let (mount, kind) = line.split_once(" - ")?;
        let kind = kind.split(' ').next()?;
        let point = mount.split(' ').nth(4)?;
        (!NEAR.contains(&kind)).then(|| PathBuf::from(plain(point)))
    };
    mountinfo.lines().filter_map(far).collect()
}

/// A mount point with its octal escapes undone.
fn plain(point: &str) -> String {
    ["\\040", "\\011", "\\012", "\\134"]
        .into_iter()
        .zip([" ", "\t", "\n", "\\"])
        .fold(point.to_owned(), |text, (escaped, letter)| text.replace(escaped, letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_file_systems_of_this_machine_are_near() {
        let mountinfo = "27 1 254:1 / / rw - ext4 /dev/vda1 rw\n22 27 0:21 / /proc rw,relatime shared:5 - proc proc rw\n\
                         40 27 0:40 / /mnt/my\\040share rw - nfs4 host:/x rw\n41 27 0:41 / /home/u/cloud rw - fuse.rclone x rw\n";
        assert_eq!(far_in(mountinfo), [PathBuf::from("/mnt/my share"), PathBuf::from("/home/u/cloud")]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_is_near_is_followed_as_on_the_other_thread() {
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::os::unix::fs::symlink("/etc/passwd", root.join("link")).unwrap();
        let path = root.join("link").to_str().unwrap().to_owned();
        let paths = BTreeSet::from([path.clone(), "relative".to_owned()]);
        if let Some(resolved) = at_once(&paths) {
            assert_eq!(resolved, BTreeMap::from([(path, follow_links("/etc/passwd").unwrap())]));
        }
        let many: BTreeSet<String> = (0..=AT_ONCE).map(|number| format!("/{number}")).collect();
        assert_eq!(at_once(&many), None);
    }
}
