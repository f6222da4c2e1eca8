//! Where a local path leads once symbolic links are followed: the one fact about paths that words
//! cannot tell.
//!
//! Works for files that do not exist yet, and follows links that dangle: opening one for writing
//! creates what it points to.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// Links followed before a path is given up, as Linux does.
const MAX_LINKS: usize = 40;

/// The path that opening `path` would touch; `None` when it is relative, not UTF-8 afterwards, or
/// runs in circles. Reads the file system, opens nothing.
pub fn follow_links(path: &str) -> Option<String> {
    follow_links_while(path, &|_| true).ok().flatten()
}

/// A part of a path that may not be looked at here and now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooFar;

/// As [`follow_links`], but asks before each look at the file system, and gives up where that is
/// refused.
///
/// # Errors
/// `may_look` said no.
pub fn follow_links_while(path: &str, may_look: &dyn Fn(&Path) -> bool) -> Result<Option<String>, TooFar> {
    let mut pending: VecDeque<OsString> = VecDeque::new();
    let mut done = PathBuf::new();
    let mut links = 0;
    if push(Path::new(path), &mut pending, &mut done).is_none() {
        return Ok(None);
    }
    while let Some(part) = pending.pop_front() {
        if part == ".." {
            done.pop();
            continue;
        }
        done.push(&part);
        if !may_look(&done) {
            return Err(TooFar);
        }
        let Ok(target) = std::fs::read_link(&done) else { continue };
        links += 1;
        if links > MAX_LINKS {
            return Ok(None);
        }
        done.pop();
        if !target.is_absolute() {
            prepend(&target, &mut pending);
        } else if push(&target, &mut pending, &mut done).is_none() {
            return Ok(None);
        }
    }
    Ok(done.into_os_string().into_string().ok())
}

/// Starts over at the root of an absolute path, with its parts before those still pending.
fn push(path: &Path, pending: &mut VecDeque<OsString>, done: &mut PathBuf) -> Option<()> {
    if !path.is_absolute() {
        return None;
    }
    done.clear();
    for component in path.components() {
        if matches!(component, Component::Prefix(_) | Component::RootDir) {
            done.push(component);
        }
    }
    prepend(path, pending);
    Some(())
}

fn prepend(path: &Path, pending: &mut VecDeque<OsString>) {
    let parts: Vec<OsString> = path
        .components()
        .filter_map(|component| match component {
            Component::Normal(part) => Some(part.to_owned()),
            Component::ParentDir => Some(OsString::from("..")),
            _ => None,
        })
        .collect();
    for part in parts.into_iter().rev() {
        pending.push_front(part);
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_are_followed_even_into_the_void() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("out/sub")).unwrap();
        symlink("/etc", root.join("out/etc")).unwrap();
        symlink("../new.txt", root.join("out/dangling")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        symlink("sub", root.join("out/alias")).unwrap();
        let root = root.to_str().unwrap();
        let check = |path: &str, expected: Option<String>| {
            assert_eq!(follow_links(&format!("{root}/{path}")), expected, "{path}");
        };
        check("out/a.txt", Some(format!("{root}/out/a.txt")));
        check("out/etc/passwd", Some("/etc/passwd".into()));
        check("out/dangling", Some(format!("{root}/new.txt")));
        check("out/alias/../x", Some(format!("{root}/out/x")));
        check("out/missing/deep", Some(format!("{root}/out/missing/deep")));
        check("loop/x", None);
        assert_eq!(follow_links("relative"), None);
    }
}
