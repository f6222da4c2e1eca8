//! Which pack is about which upstream. Bound by what the user configured, never by what a server
//! says of itself: a pack may loosen, and a server may call itself what it likes.
//!
//! What a pack only restricts may bind by the names of its tools; that is `layer.rs`.

use std::fmt;

/// An upstream as the user configured it.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct UpstreamIdentity {
    /// Its configured name.
    pub name: String,
    /// The program; empty for a remote upstream.
    pub command: String,
    /// The program's arguments. May hold secrets: compared, never shown.
    pub args: Vec<String>,
    /// The host of its url, for a remote upstream.
    pub host: Option<String>,
    /// `pack:` of its entry. A name that no pack has binds none.
    pub pack: Option<String>,
    /// `local: true` of its entry.
    pub local: super::Locality,
}

impl fmt::Debug for UpstreamIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UpstreamIdentity")
            .field("name", &self.name)
            .field("command", &self.command)
            .field("args", &format_args!("{} arguments", self.args.len()))
            .field("host", &self.host)
            .field("pack", &self.pack)
            .field("local", &self.local)
            .finish()
    }
}

/// What a pack is shipped for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Binding {
    /// Names of packages in npm and PyPI.
    pub packages: Vec<String>,
    /// Names of container images without tag.
    pub images: Vec<String>,
    /// Names of programs, as they stand in a PATH.
    pub programs: Vec<String>,
    /// Hosts of remote servers.
    pub hosts: Vec<String>,
}

impl Binding {
    /// Whether the user's configuration says that the upstream is the server this pack, of this name,
    /// is about.
    pub fn binds(&self, pack: &str, upstream: &UpstreamIdentity) -> bool {
        if let Some(chosen) = &upstream.pack {
            return chosen == pack;
        }
        if let Some(host) = &upstream.host {
            return self.names_host(host);
        }
        match Launch::read(&upstream.command, &upstream.args) {
            Launch::Package(name) => self.packages.iter().any(|p| same_package(p, &name)),
            Launch::Image(name) => self.images.contains(&name),
            Launch::Bridge(host) => self.names_host(&host),
            Launch::Script(path) => {
                let path = path.replace('\\', "/");
                self.packages.iter().any(|p| path.contains(&format!("/node_modules/{p}/")))
                    || self.names_program(&path)
            }
            Launch::Program(path) => self.names_program(&path),
        }
    }

    fn names_host(&self, host: &str) -> bool {
        self.hosts.iter().any(|h| h.eq_ignore_ascii_case(host))
    }

    fn names_program(&self, path: &str) -> bool {
        let name = base_name(path);
        self.programs.contains(&name) || self.packages.iter().any(|p| same_package(p, &name))
    }
}

/// PyPI folds case and `-_.` (PEP 503); npm names that differ so do not both exist for long.
fn same_package(a: &str, b: &str) -> bool {
    let fold = |s: &str| s.to_ascii_lowercase().replace(['_', '.'], "-");
    fold(a) == fold(b)
}

fn base_name(path: &str) -> String {
    let name = path.rsplit(['/', '\\']).next().unwrap_or_default();
    let lower = name.to_ascii_lowercase();
    [".exe", ".cmd", ".bat", ".ps1"]
        .iter()
        .find_map(|end| lower.strip_suffix(end))
        .unwrap_or(&lower)
        .to_owned()
}

/// What a command line starts, as far as launchers are known.
enum Launch {
    Package(String),
    Image(String),
    /// A bridge to a remote server at this host.
    Bridge(String),
    Script(String),
    Program(String),
}

impl Launch {
    fn read(command: &str, args: &[String]) -> Self {
        let mut words = std::iter::once(command).chain(args.iter().map(String::as_str)).peekable();
        let mut program = words.next().unwrap_or_default();
        // `cmd /c npx …` and `env A=b npx …` start what comes after.
        loop {
            match base_name(program).as_str() {
                "cmd" if words.next_if(|w| w.eq_ignore_ascii_case("/c")).is_some() => {}
                "env" => while words.next_if(|w| w.contains('=') || w.starts_with('-')).is_some() {},
                _ => break,
            }
            let Some(next) = words.next() else { break };
            program = next;
        }
        let rest: Vec<&str> = words.collect();
        match base_name(program).as_str() {
            "npx" | "bunx" | "pnpx" => Self::package(&rest, &["-p", "--package"]),
            "npm" | "pnpm" | "yarn" | "bun" if matches!(rest.first(), Some(&("exec" | "dlx" | "x"))) => {
                Self::package(rest.get(1..).unwrap_or_default(), &["-p", "--package"])
            }
            "uvx" => Self::package(&rest, &["--from"]),
            "pipx" | "uv" if rest.contains(&"run") => {
                let after = rest.iter().skip_while(|w| **w != "run").skip(1).copied().collect::<Vec<_>>();
                match after.iter().position(|w| *w == "-m") {
                    Some(at) => Self::Package(version_free(after.get(at + 1).copied().unwrap_or_default())),
                    None => Self::package(&after, &["--spec", "--from"]),
                }
            }
            "docker" | "podman" | "nerdctl" if rest.first() == Some(&"run") => {
                Self::image(rest.get(1..).unwrap_or_default())
            }
            name if name.starts_with("python") || name == "py" => {
                match rest.iter().position(|w| *w == "-m") {
                    Some(at) if rest.iter().take(at).all(|w| w.starts_with('-')) => {
                        Self::Package(version_free(rest.get(at + 1).copied().unwrap_or_default()))
                    }
                    _ => Self::script(&rest, program),
                }
            }
            "node" | "bun" | "deno" | "tsx" => Self::script(&rest, program),
            _ => Self::Program(program.to_owned()),
        }
    }

    /// The package of a runner: that of the naming option, else the first word that is no option.
    fn package(words: &[&str], naming: &[&str]) -> Self {
        let mut name = None;
        let mut at = 0;
        while let Some(word) = words.get(at) {
            if naming.contains(word) {
                name = words.get(at + 1).copied();
                break;
            }
            let inline = naming.iter().find_map(|o| word.strip_prefix(o)?.strip_prefix('='));
            if inline.is_some() {
                name = inline;
                break;
            }
            if matches!(*word, "--python" | "--with" | "--index-url" | "--registry" | "--cache") {
                at += 2;
                continue;
            }
            if !word.starts_with('-') {
                name = Some(word);
                break;
            }
            at += 1;
        }
        let name = version_free(name.unwrap_or_default());
        if matches!(name.as_str(), "mcp-remote" | "mcp-proxy") {
            let host = words.iter().find_map(|w| url::Url::parse(w).ok()?.host_str().map(str::to_owned));
            return host.map_or(Self::Package(name), Self::Bridge);
        }
        Self::Package(name)
    }

    fn script(words: &[&str], program: &str) -> Self {
        let script = words.iter().find(|w| !w.starts_with('-') && **w != "run");
        script.map_or_else(|| Self::Program(program.to_owned()), |s| Self::Script((*s).to_owned()))
    }

    /// The image of `docker run`: the first word after the options, whose values are skipped.
    fn image(words: &[&str]) -> Self {
        const BARE: [&str; 10] = [
            "-i",
            "-t",
            "-it",
            "-d",
            "--rm",
            "--init",
            "--privileged",
            "--interactive",
            "--tty",
            "--read-only",
        ];
        let mut at = 0;
        while let Some(word) = words.get(at) {
            if !word.starts_with('-') {
                let name = word.split('@').next().unwrap_or_default();
                let tag = name.rfind(':').filter(|c| !name.get(*c..).unwrap_or_default().contains('/'));
                return Self::Image(tag.and_then(|t| name.get(..t)).unwrap_or(name).to_owned());
            }
            at += if BARE.contains(word) || word.contains('=') { 1 } else { 2 };
        }
        Self::Image(String::new())
    }
}

/// A package name without its version: `@scope/name@1.2`, `name==1.2`, `name[extra]`.
fn version_free(name: &str) -> String {
    let scope = usize::from(name.starts_with('@'));
    let rest = name.get(scope..).unwrap_or_default();
    let end = rest.find(['@', '=', '<', '>', '~', '[', '!']).unwrap_or(rest.len());
    name.get(..scope + end).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn git() -> Binding {
        Binding {
            packages: vec!["@modelcontextprotocol/server-git".into(), "mcp-server-git".into()],
            images: vec!["mcp/git".into()],
            programs: vec!["git-mcp".into()],
            hosts: vec!["git.example.com".into()],
        }
    }

    #[test]
    fn the_launch_decides() {
        let check = |line: &str, expected: bool| {
            let mut words = line.split(' ').map(str::to_owned);
            let upstream = UpstreamIdentity {
                name: "x".into(),
                command: words.next().unwrap(),
                args: words.collect(),
                ..UpstreamIdentity::default()
            };
            assert_eq!(git().binds("git", &upstream), expected, "{line}");
        };
        check("npx -y @modelcontextprotocol/server-git", true);
        check("npx -y @modelcontextprotocol/server-git@2026.8.31 /srv", true);
        check("cmd /c npx -y @modelcontextprotocol/server-git", true);
        check("env A=b npx @modelcontextprotocol/server-git", true);
        check("npx --package=@modelcontextprotocol/server-git run", true);
        check("npx -y evil @modelcontextprotocol/server-git", false);
        check("npx -y @evil/server-git", false);
        check("uvx mcp-server-git --repository /srv", true);
        check("uvx --from mcp-server-git==1.0 mcp-server-git", true);
        check("uvx --from evil mcp-server-git", false);
        check("python -m mcp_server_git", true);
        check("python3 evil.py -m mcp_server_git", false);
        check("uv run -m mcp_server_git", true);
        check("pipx run mcp-server-git", true);
        check("docker run -i --rm -v /a:/b mcp/git:latest", true);
        check("docker run -i --rm evil/git mcp/git", false);
        check("node /opt/node_modules/@modelcontextprotocol/server-git/dist/index.js", true);
        check("node /opt/server-git.js", false);
        check("/usr/local/bin/mcp-server-git", true);
        check("git-mcp", true);
        check("npx mcp-remote https://git.example.com/mcp", true);
        check("npx mcp-remote https://evil.test/git.example.com", false);
        check("sh -c mcp-server-git", false);
    }

    #[test]
    fn the_users_choice_and_the_host() {
        let check =
            |upstream: UpstreamIdentity, expected: bool| assert_eq!(git().binds("git", &upstream), expected);
        let chosen = |pack: &str| UpstreamIdentity { pack: Some(pack.into()), ..UpstreamIdentity::default() };
        check(chosen("git"), true);
        check(chosen("other"), false);
        check(
            UpstreamIdentity {
                pack: Some("none".into()),
                command: "git-mcp".into(),
                ..UpstreamIdentity::default()
            },
            false,
        );
        check(UpstreamIdentity { host: Some("GIT.example.com".into()), ..UpstreamIdentity::default() }, true);
        check(UpstreamIdentity { host: Some("evil.test".into()), ..UpstreamIdentity::default() }, false);
        check(UpstreamIdentity { name: "git".into(), ..UpstreamIdentity::default() }, false);
    }
}
