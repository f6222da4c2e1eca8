//! A process's line of ancestors, from `/proc` where there is one and from `ps` elsewhere.

#[cfg(any(test, not(target_os = "linux")))]
use std::collections::BTreeMap;

/// A running process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Process {
    /// Its id.
    pub(super) pid: u32,
    /// Its parent's id; 0 for none.
    pub(super) parent: u32,
    /// What tells it from a later process of the same id.
    pub(super) started: String,
    /// The file name of its program, as the kernel or its own title gives it.
    pub(super) name: String,
    /// The file name of its first argument, which names the script that an interpreter runs.
    pub(super) script: String,
}

/// Longest line of ancestors that is followed.
const DEPTH: usize = 64;

/// The process and its ancestors, nearest first. Ends early where one cannot be read.
pub(super) fn line_of(pid: u32) -> Vec<Process> {
    follow(pid, &mut look_up())
}

fn follow(pid: u32, look: &mut dyn FnMut(u32) -> Option<Process>) -> Vec<Process> {
    let mut line: Vec<Process> = Vec::new();
    let mut next = pid;
    while next != 0 && line.len() < DEPTH && !line.iter().any(|process| process.pid == next) {
        let Some(process) = look(next) else { break };
        next = process.parent;
        line.push(process);
    }
    line
}

#[cfg(target_os = "linux")]
fn look_up() -> impl FnMut(u32) -> Option<Process> {
    |pid| {
        let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
        let arguments = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        parse_stat(pid, &String::from_utf8_lossy(&stat), &arguments)
    }
}

#[cfg(not(target_os = "linux"))]
fn look_up() -> impl FnMut(u32) -> Option<Process> {
    let table = table();
    move |pid| table.get(&pid).cloned()
}

/// Reads a line of `/proc/PID/stat` (proc(5)); the name stands in brackets and may hold any character.
#[cfg(any(test, target_os = "linux"))]
fn parse_stat(pid: u32, stat: &str, arguments: &[u8]) -> Option<Process> {
    let (head, rest) = stat.rsplit_once(')')?;
    let name = head.split_once('(')?.1.to_owned();
    let mut fields = rest.split_whitespace();
    let parent = fields.nth(1)?.parse().ok()?;
    let started = fields.nth(17)?.to_owned();
    let mut arguments = arguments.split(|byte| *byte == 0).skip(1).map(String::from_utf8_lossy);
    let script =
        arguments.find(|argument| !argument.starts_with('-')).map(|path| base(&path)).unwrap_or_default();
    Some(Process { pid, parent, started, name, script })
}

fn base(path: &str) -> String {
    path.rsplit(['/', '\\']).next().unwrap_or_default().to_owned()
}

/// The process table as `ps` prints it.
#[cfg(not(target_os = "linux"))]
fn table() -> BTreeMap<u32, Process> {
    #[expect(clippy::disallowed_methods, reason = "there is no /proc to read")]
    let command = std::process::Command::new("/bin/ps");
    let mut command = command;
    let output =
        command.args(["-A", "-o", "pid=,ppid=,lstart=,command="]).stdin(std::process::Stdio::null()).output();
    output.map(|output| parse_table(&String::from_utf8_lossy(&output.stdout))).unwrap_or_default()
}

/// Reads `ps -o pid=,ppid=,lstart=,command=`: the start takes five words.
#[cfg(any(test, not(target_os = "linux")))]
fn parse_table(text: &str) -> BTreeMap<u32, Process> {
    text.lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let pid = words.next()?.parse().ok()?;
            let parent = words.next()?.parse().ok()?;
            let started = words.by_ref().take(5).collect::<Vec<_>>().join(" ");
            let name = base(words.next()?);
            let script = words.find(|word| !word.starts_with('-')).map(base).unwrap_or_default();
            Some((pid, Process { pid, parent, started, name, script }))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stat_lines_with_any_name_are_read() {
        let tail = "S 7 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 9911 1 1 1";
        let read = parse_stat(9, &format!("9 (a) b (c)) {tail}"), b"node\0--x\0/usr/bin/npx\0-y\0");
        let expected = Process {
            pid: 9,
            parent: 7,
            started: "9911".to_owned(),
            name: "a) b (c)".to_owned(),
            script: "npx".to_owned(),
        };
        assert_eq!(read, Some(expected));
        assert_eq!(parse_stat(9, "9 (a", b""), None);
    }

    #[test]
    fn tables_are_read() {
        let table = parse_table(
            "  12  1 Mon Nov 30 23:20:19 2026 /bin/zsh -l\n 13 12 Mon Nov 30 23:20:20 2026 node /x/npx y\n",
        );
        let read = table.get(&13).map(|p| (p.parent, p.name.as_str(), p.script.as_str(), p.started.as_str()));
        assert_eq!(read, Some((12, "node", "npx", "Mon Nov 30 23:20:20 2026")));
    }

    #[test]
    fn circles_and_gaps_end_the_line() {
        let process = |pid, parent| Process {
            pid,
            parent,
            started: String::new(),
            name: String::new(),
            script: String::new(),
        };
        let line = follow(3, &mut |pid| Some(process(pid, if pid == 1 { 3 } else { pid - 1 })));
        assert_eq!(line.iter().map(|process| process.pid).collect::<Vec<_>>(), [3, 2, 1]);
        assert_eq!(follow(3, &mut |pid| (pid == 3).then(|| process(3, 2))).len(), 1);
    }

    #[test]
    fn our_own_line_is_read() {
        let line = line_of(std::process::id());
        assert_eq!(line.first().map(|process| process.pid), Some(std::process::id()));
        assert!(line.len() > 1);
    }
}
