//! The runtimes that tests need beside the program itself. One that is missing is said, and the
//! test reports itself as not run; with `BOUNCER_REQUIRE_RUNTIMES` set that is a failure.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Something that a test needs and a machine may lack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Runtime {
    /// `python3` with the standard library: the scripted upstream.
    Python,
    /// The packages of `tests/setup` from PyPI.
    PythonPackages,
    /// `node` and the packages of `tests/setup` from npm.
    NodePackages,
    /// A C compiler, which Rust links with as well, on a system that preloads libraries.
    #[cfg(target_os = "linux")]
    Preload,
}

impl Runtime {
    /// Whether it is here.
    fn present(self) -> bool {
        match self {
            Self::Python => runs("python3"),
            Self::PythonPackages => deps("venv/.fetched").is_file() && deps("venv/bin/python").exists(),
            Self::NodePackages => runs("node") && deps("npm/.fetched").is_file(),
            #[cfg(target_os = "linux")]
            Self::Preload => runs("cc"),
        }
    }

    /// Whether the test may go on. `false` after it was reported as not run.
    pub(crate) fn or_not_run(self) -> bool {
        if self.present() {
            return true;
        }
        let test = std::thread::current().name().unwrap_or("a test").to_owned();
        let what = format!("NOT RUN: {test}: {self:?} missing; tests/setup fetches what can be fetched\n");
        assert!(std::env::var_os("BOUNCER_REQUIRE_RUNTIMES").is_none(), "{what}");
        // Past the capture of the test harness, so that it stands in the log of a run that passes.
        std::io::stderr().write_all(what.as_bytes()).expect("stderr is open");
        false
    }
}

/// Whether a program starts.
fn runs(program: &str) -> bool {
    let mut command = Command::new(program);
    command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// A path below the folder that `tests/setup` fills.
pub(crate) fn deps(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/.deps").join(path)
}
