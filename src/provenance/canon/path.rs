//! File system paths, lexically: `file:` urls, drive letters, backslashes, dot components.
//!
//! Links are not followed here; whoever confines a path resolves them on the disk.

use percent_encoding::percent_decode_str;

/// The lexical form: slashes forward, `.` and `..` resolved, doubled and trailing slashes dropped, the
/// drive letter small. `None` for nothing.
pub(crate) fn normal(text: &str) -> Option<String> {
    let text = text.trim().trim_matches(['"', '\'']);
    let decoded;
    let text = match text.get(..5) {
        Some(scheme) if scheme.eq_ignore_ascii_case("file:") => {
            let rest = text.get(5..)?;
            let rest = match rest.strip_prefix("//") {
                Some(with_host) => {
                    let slash = with_host.find('/').unwrap_or(with_host.len());
                    let (host, path) = with_host.split_at_checked(slash)?;
                    if host.is_empty() || host.eq_ignore_ascii_case("localhost") { path } else { with_host }
                }
                None => rest,
            };
            decoded = percent_decode_str(rest).decode_utf8_lossy().into_owned();
            decoded.as_str()
        }
        _ => text,
    };
    let mut slashed = text.replace('\\', "/");
    if let Some(rest) = slashed.strip_prefix("//?/").or_else(|| slashed.strip_prefix("//./")) {
        slashed = rest.to_owned();
    }
    // `file:///C:/x` leaves a slash before the drive.
    if let [b'/', drive, b':', ..] = slashed.as_bytes()
        && drive.is_ascii_alphabetic()
    {
        slashed.remove(0);
    }
    let unc = slashed.starts_with("//");
    let (mut root, rest) = match slashed.as_bytes() {
        [drive, b':', ..] if drive.is_ascii_alphabetic() => {
            (format!("{}:/", char::from(drive.to_ascii_lowercase())), slashed.get(2..).unwrap_or_default())
        }
        [b'/', b'/', ..] => ("//".to_owned(), slashed.get(2..).unwrap_or_default()),
        [b'/', ..] => ("/".to_owned(), slashed.get(1..).unwrap_or_default()),
        _ => (String::new(), slashed.as_str()),
    };
    let mut parts: Vec<&str> = Vec::new();
    for part in rest.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            ".." if !root.is_empty() => {}
            _ => parts.push(part),
        }
    }
    if unc && parts.is_empty() {
        return None;
    }
    root.push_str(&parts.join("/"));
    (!root.is_empty()).then_some(root)
}

/// The number of components.
pub(crate) fn depth(normal: &str) -> usize {
    normal.split('/').filter(|part| !part.is_empty()).count()
}

/// Whether a text says by its start that it is a path.
pub(crate) fn is_shaped(text: &str) -> bool {
    let text = text.trim();
    let drive = matches!(text.as_bytes(), [d, b':', b'/' | b'\\', ..] if d.is_ascii_alphabetic());
    drive
        || ["/", "~/", "./", "../", "\\\\", ".\\", "..\\", "~\\"].iter().any(|start| text.starts_with(start))
        || text == "~"
        || text == "."
        || text == ".."
        || text.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("file:"))
}

/// The STRICT form; a path with variables or globs has none, for it depends on who reads it.
pub(crate) fn strict(text: &str) -> Option<String> {
    if text.contains(['$', '*', '?', '`', '\n', '\r']) || text.contains('%') && text.contains(":\\") {
        return None;
    }
    normal(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_lexical() {
        for (text, expected) in [
            ("/srv/share/./tmp/../out/drop.bin", Some("/srv/share/out/drop.bin")),
            ("file:///srv/my%20x", Some("/srv/my x")),
            ("C:\\Share\\Out\\drop.bin", Some("c:/Share/Out/drop.bin")),
            ("~/out//x/", Some("~/out/x")),
            ("/../etc", Some("/etc")),
            ("../x", Some("../x")),
            ("/", Some("/")),
            ("", None),
            ("$HOME/x", None),
        ] {
            assert_eq!(strict(text).as_deref(), expected, "{text}");
        }
    }
}
