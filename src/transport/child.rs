//! Starting an upstream's process: found on its own PATH, in a process group of its own, with the
//! environment it may have, its three streams as pipes, and bound to our life.
//!
//! On Linux a process dies with its parent only if it asks for that itself before it becomes another
//! program. So we start our own binary under [`HELD_CHILD`], which asks ([`become_child`]) and then
//! becomes the server; no unsafe code runs between fork and exec.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::rc::Rc;

use tokio::process::Command;
use tokio::sync::oneshot;

use super::environment::{Inherit, child_environment};
use super::group;
use super::guardian::Guardian;
use super::wire::{Reader, Writer};

/// The hidden subcommand: `bouncer __child PARENT NAME PROGRAM ARGS…`.
pub const HELD_CHILD: &str = "__child";

/// How to start an upstream.
#[derive(Clone, PartialEq, Eq)]
pub struct Launch {
    /// The program: a name looked up on PATH, or a path.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables of its own.
    pub env: BTreeMap<String, String>,
    /// What it inherits beside the fixed list.
    pub inherit: Inherit,
    /// Where it runs; `None`: where we do.
    pub cwd: Option<PathBuf>,
}

/// A process and its streams.
pub struct Child {
    /// Its stdout.
    pub output: Reader,
    /// Its stdin; dropping it asks the process to leave.
    pub input: Writer,
    /// Its stderr.
    pub errors: Reader,
    process: tokio::process::Child,
}

impl Child {
    /// Splits off the wait for the process's end. Whoever sends on (or drops) `stop` has closed stdin
    /// before; then the process gets 2 s, its group SIGTERM, and 1 s later SIGKILL. The text says how
    /// it ended, in our own words.
    /// The guardian knows of the process's group until that has ended.
    pub fn split(
        self,
        stop: oneshot::Receiver<()>,
        guardian: Rc<Guardian>,
    ) -> (Reader, Writer, Reader, impl Future<Output = String>) {
        (self.output, self.input, self.errors, group::see_out(self.process, stop, guardian))
    }
}

/// Why a process did not start.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpawnFault {
    /// No such program.
    #[error("program `{program}` not found; searched {searched}")]
    NotFound {
        /// What was looked for.
        program: String,
        /// Where.
        searched: String,
    },
    /// The folder it is to run in is not there.
    #[error("folder `{0}` in `cwd` does not exist")]
    NoFolder(String),
    /// The system refused.
    #[error("program `{program}` could not be started: {cause}")]
    Refused {
        /// The program.
        program: String,
        /// The system's words.
        cause: String,
    },
}

impl SpawnFault {
    /// The short form for the model: no paths of this machine beyond what the user configured.
    pub fn brief(&self) -> String {
        match self {
            Self::NotFound { program, .. } => format!("its program `{program}` was not found"),
            Self::NoFolder(_) => "the folder it is to run in does not exist".to_owned(),
            Self::Refused { program, .. } => format!("its program `{program}` could not be started"),
        }
    }
}

/// Starts the process. Must run on the thread whose end is to be the child's.
///
/// # Errors
/// The program is not there, or the system refuses.
pub fn spawn(launch: &Launch) -> Result<Child, SpawnFault> {
    if let Some(cwd) = launch.cwd.as_ref().filter(|cwd| !cwd.is_dir()) {
        return Err(SpawnFault::NoFolder(cwd.display().to_string()));
    }
    let ours = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let env = child_environment(ours, &launch.inherit, &launch.env);
    let program = find(&launch.command, env.get("PATH").map(OsStr::new), launch.cwd.as_deref())?;
    let refused =
        |error: io::Error| SpawnFault::Refused { program: launch.command.clone(), cause: error.to_string() };
    let mut command = held(&program, launch);
    command.env_clear().envs(&env).kill_on_drop(true);
    if let Some(cwd) = &launch.cwd {
        command.current_dir(cwd);
    }
    #[cfg(unix)]
    {
        command.process_group(0);
    }
    let (input, output, errors);
    #[cfg(unix)]
    {
        let ours = || -> io::Result<_> {
            let (stdin, our_stdin) = pipe()?;
            let (our_stdout, stdout) = pipe()?;
            let (our_stderr, stderr) = pipe()?;
            command.stdin(Stdio::from(stdin)).stdout(Stdio::from(stdout)).stderr(Stdio::from(stderr));
            Ok((Writer::pipe(our_stdin)?, Reader::pipe(our_stdout)?, Reader::pipe(our_stderr)?))
        };
        (input, output, errors) = {
            let mut ours = ours;
            ours().map_err(refused)?
        };
    }
    #[cfg(not(unix))]
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    #[cfg_attr(
        unix,
        expect(unused_mut, reason = "only where the runtime makes the pipes are they taken out")
    )]
    let mut process = command.spawn().map_err(refused)?;
    #[cfg(not(unix))]
    {
        let broken = || refused(io::ErrorKind::BrokenPipe.into());
        input = Writer::any(process.stdin.take().ok_or_else(broken)?);
        output = Reader::any(process.stdout.take().ok_or_else(broken)?);
        errors = Reader::any(process.stderr.take().ok_or_else(broken)?);
    }
    Ok(Child { output, input, errors, process })
}

#[cfg(unix)]
fn pipe() -> io::Result<(std::os::fd::OwnedFd, std::os::fd::OwnedFd)> {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    let ends = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    let ends = {
        let ends = rustix::pipe::pipe()?;
        rustix::io::fcntl_setfd(&ends.0, rustix::io::FdFlags::CLOEXEC)?;
        rustix::io::fcntl_setfd(&ends.1, rustix::io::FdFlags::CLOEXEC)?;
        ends
    };
    Ok(ends)
}

/// The command that becomes the program, bound to our life where the system can do that.
fn held(program: &Path, launch: &Launch) -> Command {
    #[cfg(target_os = "linux")]
    {
        const OURSELVES: &str = "/proc/self/exe";
        // By this link and not by name: an upgrade may have replaced the file since we started.
        if Path::new(OURSELVES).exists() {
            let mut command = Command::new(OURSELVES);
            command
                .arg(HELD_CHILD)
                .arg(std::process::id().to_string())
                .arg(&launch.command)
                .arg(program)
                .args(&launch.args);
            return command;
        }
    }
    let mut command = Command::new(program);
    #[cfg(unix)]
    command.arg0(&launch.command);
    command.args(&launch.args);
    command
}

/// What runs under [`HELD_CHILD`]: asks to die with the parent, then becomes the program. Returns only
/// if it could not.
pub fn become_child(mut args: impl Iterator<Item = OsString>) -> String {
    let (Some(parent), Some(name), Some(program)) = (args.next(), args.next(), args.next()) else {
        return format!("`{HELD_CHILD}` is not for people; it takes a parent, a name and a program");
    };
    #[cfg(target_os = "linux")]
    {
        // SIGKILL, because a server that does not leave when stdin closes may not heed SIGTERM either.
        let asked = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
        if let Err(error) = asked {
            return format!("cannot be bound to the life of bouncer: {error}");
        }
        // The parent may have left before we asked; then nobody would tell us.
        let now = rustix::process::getppid().map(|id| id.as_raw_nonzero().to_string());
        if now.as_deref().map(OsStr::new) != Some(parent.as_os_str()) {
            return "bouncer left before its server started".to_owned();
        }
    }
    #[cfg(not(target_os = "linux"))]
    drop(parent);
    #[cfg(unix)]
    {
        use std::os::unix::process::CommandExt as _;
        let error = std::process::Command::new(&program).arg0(&name).args(args).exec();
        format!("program `{}` could not be started: {error}", name.display())
    }
    #[cfg(not(unix))]
    format!("`{}` cannot be started this way here: {}", name.display(), program.display())
}

/// Finds a program as the child's own PATH has it. A relative path is taken from `cwd`.
fn find(command: &str, path: Option<&OsStr>, cwd: Option<&Path>) -> Result<PathBuf, SpawnFault> {
    let not_found = |searched: String| SpawnFault::NotFound { program: command.to_owned(), searched };
    if command.contains('/') || (cfg!(windows) && command.contains('\\')) {
        let here = cwd.map_or_else(|| std::env::current_dir().unwrap_or_default(), Path::to_owned);
        let whole = here.join(command);
        return candidates(&whole)
            .into_iter()
            .find(|file| is_program(file))
            .ok_or_else(|| not_found("that path".to_owned()));
    }
    let path = path.unwrap_or_default();
    let folders: Vec<PathBuf> =
        std::env::split_paths(path).filter(|folder| !folder.as_os_str().is_empty()).collect();
    let found =
        folders.iter().flat_map(|folder| candidates(&folder.join(command))).find(|file| is_program(file));
    found.ok_or_else(|| {
        let folders: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
        not_found(if folders.is_empty() {
            "an empty PATH".to_owned()
        } else {
            format!("the PATH: {}", folders.join(", "))
        })
    })
}

/// The files a program name may stand for: on Windows with each extension that runs.
fn candidates(file: &Path) -> Vec<PathBuf> {
    if cfg!(windows) && file.extension().is_none() {
        let extensions = std::env::var("PATHEXT").unwrap_or_else(|_| ".COM;.EXE;.BAT;.CMD".to_owned());
        let with = |extension: &str| {
            let mut name = file.as_os_str().to_owned();
            name.push(extension);
            PathBuf::from(name)
        };
        return extensions.split(';').map(with).collect();
    }
    vec![file.to_owned()]
}

fn is_program(file: &Path) -> bool {
    #[cfg(unix)]
    let may_run = rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok();
    #[cfg(not(unix))]
    let may_run = true;
    may_run && file.is_file()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_says_where_it_was_looked_for() {
        fn check(command: &str, path: Option<&str>, expected: &str) {
            let fault = find(command, path.map(OsStr::new), None).unwrap_err();
            assert!(fault.to_string().contains(expected), "{fault}");
            assert!(fault.brief().contains("was not found"));
        }
        check(
            "no-such-program",
            Some("/usr/bin:/bin"),
            "program `no-such-program` not found; searched the PATH: /usr/bin, /bin",
        );
        check("no-such-program", None, "an empty PATH");
        check("/no/such/program", Some("/bin"), "that path");
    }

    #[cfg(unix)]
    #[test]
    fn only_what_may_run_is_a_program() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("server");
        std::fs::write(&file, "#!/bin/sh\n").unwrap();
        let path = folder.path().as_os_str();
        assert!(find("server", Some(path), None).is_err());
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(find("server", Some(path), None), Ok(file.clone()));
        assert_eq!(
            find("./server", None, Some(folder.path())).map(|found| found.canonicalize().unwrap()),
            Ok(file.canonicalize().unwrap())
        );
    }
}
