//! What programs do with their arguments: a row for each effect, and a method for each program whose
//! options decide. A program in no row executes.

use super::class::{PlaceForm, StatementClass};
use super::shell::Run;
use super::sql::sql;
use crate::policy::Effect;

/// Only look, whatever their arguments.
const READS: &str = "ls cat head tail more grep egrep fgrep zgrep rg ag wc cut tr diff cmp comm file stat du df pwd echo printf cal \
    whoami id groups uname uptime ps top htop free printenv which whereis basename dirname realpath readlink md5sum sha1sum \
    sha256sum sha512sum cksum xxd od hexdump strings nl tac rev column jq true false : seq sleep test [ [[ ]] lsof \
    netstat ss lscpu lsblk dmesg journalctl history fold paste join expand cd pushd popd dirs wait jobs type man help locale \
    getconf nproc arch tty logname users w who last zcat bzcat xzcat bat exa eza fd tput clear expr factor bc numfmt shuf \
    return exit break continue set unset shift let read declare local typeset readonly getent vmstat iostat lspci lsusb esac \
    tsort look apropos whatis diff3 sum b2sum base64 base32 zdiff pgrep pidof ulimit umask shopt hash cksum";
/// Change the user's own files or settings.
const WRITES: &str = "touch mkdir cp mv ln patch gzip gunzip bzip2 bunzip2 xz unxz zip unzip split csplit mktemp mkfifo export \
    alias unalias sync tee unlzma zstd unzstd 7z fallocate chattr renice disown bg fg iconv dos2unix unix2dos convert magick \
    ffmpeg pandoc gofmt prettier black isort rustfmt clang-format dpkg-query crudini logger wall tmux screen open xdg-open";
/// Lose something or end something.
const DESTROYS: &str = "rm rmdir unlink shred wipe wipefs srm trash kill killall pkill xkill fdisk parted sfdisk gdisk mkswap truncate \
    shutdown reboot halt poweroff swapoff umount blkdiscard hdparm";
/// Change who can get in or what they may do.
const ACCOUNTS: &str = "useradd usermod userdel adduser deluser groupadd groupmod groupdel addgroup delgroup passwd chpasswd gpasswd \
    chage visudo chmod chown chgrp setfacl setcap ssh-keygen ssh-copy-id ssh-add newgrp vipw loginctl chsh htpasswd keyctl";
/// Talk to the host that an argument names.
const CONNECTS: &str = "ping ping6 traceroute tracepath dig nslookup host whois mtr arping nmap";
/// Hand data to the host or person that an argument names.
const SENDS: &str = "nc ncat netcat socat telnet ftp lftp sftp scp tftp mail mailx mutt sendmail swaks rclone smbclient curlftpfs nsupdate";
/// Run the rest of their words as a command, after options of their own.
const CARRIERS: &str = "env nohup nice ionice setsid stdbuf time timeout command builtin exec xargs watch strace ltrace chronic \
    unbuffer caffeinate parallel doas sudo su pkexec chroot";

/// Whether a word stands in a row.
pub(super) fn among(word: &str, row: &str) -> bool {
    row.split_ascii_whitespace().any(|it| it == word)
}

/// Adds what a program does.
pub(super) fn program(name: &str, args: &[String], run: &Run<'_>, class: &mut StatementClass) {
    let call = Call { name, args, run };
    match name {
        _ if among(name, READS) => call.reads(class),
        _ if among(name, WRITES) => call.acts(Effect::Write, class),
        _ if among(name, DESTROYS) || name.starts_with("mkfs") => call.acts(Effect::Destroy, class),
        _ if among(name, ACCOUNTS) => call.acts(Effect::Account, class),
        _ if among(name, CONNECTS) => call.connects(Effect::Fetch, class),
        _ if among(name, SENDS) => call.connects(Effect::Send, class),
        _ if among(name, CARRIERS) => call.carries(class),
        "find" => call.find(class),
        "sed" | "gsed" => call.sed(class),
        "awk" | "gawk" | "mawk" | "nawk" => call.awk(class),
        "sort" | "uniq" | "yq" | "tree" | "date" | "hostname" | "less" | "mount" | "ip" | "ifconfig"
        | "crontab" | "systemctl" | "service" | "sysctl" => call.mostly_reads(class),
        "tar" => call.tar(class),
        "dd" => call.dd(class),
        "rsync" => call.rsync(class),
        "curl" | "wget" | "http" | "https" | "xh" => call.web(class),
        "git" => call.git(class),
        "psql" | "mysql" | "mariadb" | "sqlite3" | "duckdb" | "clickhouse-client" => call.database(class),
        "sh" | "bash" | "zsh" | "dash" | "ksh" => call.shell(class),
        "kubectl" | "docker" | "podman" => call.cluster(class),
        _ => call.acts(Effect::Execute, class),
    }
}

/// A program with its arguments.
pub(super) struct Call<'a> {
    pub(super) name: &'a str,
    pub(super) args: &'a [String],
    run: &'a Run<'a>,
}

impl Call<'_> {
    /// The arguments that are no options.
    pub(super) fn operands(&self) -> impl Iterator<Item = &str> {
        self.args.iter().map(String::as_str).filter(|it| !it.starts_with('-') || *it == "-")
    }

    pub(super) fn has(&self, options: &[&str]) -> bool {
        self.args.iter().any(|arg| {
            options
                .iter()
                .any(|it| arg == it || arg.strip_prefix(it).is_some_and(|rest| rest.starts_with('=')))
        })
    }

    /// Whether a cluster of short options holds the letter: `-xzf`.
    fn has_letter(&self, letter: char) -> bool {
        self.args.iter().any(|it| it.starts_with('-') && !it.starts_with("--") && it.contains(letter))
    }

    fn paths(&self, class: &mut StatementClass) {
        for operand in
            self.operands().filter(|it| it.contains('/') && !it.contains("://") || it.starts_with('~'))
        {
            class.place(PlaceForm::Path, operand);
        }
    }

    fn reads(&self, class: &mut StatementClass) {
        // `rg --pre` and `fd -x` run a program for each file.
        if matches!(self.name, "rg" | "fd") && self.has(&["--pre", "-x", "-X", "--exec", "--exec-batch"]) {
            class.add(Effect::Execute);
        }
        if self.name == "history" && self.has(&["-c", "-d"]) {
            class.add(Effect::Destroy);
        }
        self.paths(class);
    }

    pub(super) fn acts(&self, effect: Effect, class: &mut StatementClass) {
        class.add(effect);
        let named = matches!(effect, Effect::Destroy | Effect::Write);
        for operand in self.operands().filter(|it| named && !it.contains("://") || it.contains('/')) {
            if !operand.contains("://") && operand != "{}" {
                class.place(PlaceForm::Path, operand);
            }
        }
    }

    fn carries(&self, class: &mut StatementClass) {
        if matches!(self.name, "sudo" | "su" | "doas" | "pkexec" | "chroot") {
            class.add(Effect::Account);
        }
        if matches!(self.name, "su" | "chroot" | "strace" | "ltrace" | "parallel" | "watch") {
            class.add(Effect::Execute);
            return;
        }
        // Options that take a value of their own.
        let valued: &[&str] = match self.name {
            "xargs" => &["-I", "-n", "-P", "-L", "-d", "-s", "-E", "-a"],
            "nice" | "ionice" => &["-n", "-c", "-p"],
            "sudo" | "doas" => &["-u", "-g", "-C", "-h", "-p", "-U"],
            "timeout" => &["-s", "-k"],
            "env" => &["-u", "-C", "-S"],
            "stdbuf" => &["-i", "-o", "-e"],
            _ => &[],
        };
        if self.name == "env" && self.has(&["-S", "--split-string"]) {
            class.add(Effect::Execute);
            return;
        }
        let mut at = 0;
        while let Some(arg) = self.args.get(at).filter(|it| it.starts_with('-')) {
            at += if valued.contains(&arg.as_str()) { 2 } else { 1 };
        }
        if self.name == "timeout" {
            at += 1;
        }
        match self.args.get(at..) {
            Some(rest) if !rest.is_empty() => self.run.inner(rest, class),
            _ if self.name == "exec"
                || self.name == "env"
                || self.name == "time"
                || self.name == "command" => {}
            _ if self.name == "xargs" => {}
            _ => class.add(Effect::Execute),
        }
    }

    fn find(&self, class: &mut StatementClass) {
        self.paths(class);
        if self.has(&["-delete"]) {
            class.add(Effect::Destroy);
        }
        if self.has(&["-fprint", "-fprintf", "-fls", "-fprint0"]) {
            class.add(Effect::Write);
        }
        for (at, arg) in self.args.iter().enumerate() {
            if among(arg, "-exec -execdir -ok -okdir") {
                let rest: Vec<String> = self
                    .args
                    .iter()
                    .skip(at + 1)
                    .take_while(|it| *it != ";" && *it != "+")
                    .cloned()
                    .collect();
                self.run.inner(&rest, class);
            }
        }
    }

    fn sed(&self, class: &mut StatementClass) {
        if self.has_letter('i')
            || self.has(&["--in-place"])
            || self.args.iter().any(|it| it.starts_with("--in-place"))
        {
            class.add(Effect::Write);
        }
        // Its `e` runs and its `w` writes; both end an address or a substitution.
        let scripts = self.operands().take(1).chain(self.args.windows(2).filter_map(|it| match it {
            [flag, script] if flag == "-e" || flag == "--expression" => Some(script.as_str()),
            _ => None,
        }));
        for script in scripts {
            if runs_in_sed(script) {
                class.add(Effect::Execute);
            }
        }
        if self.has(&["-f", "--file"]) {
            class.add(Effect::Execute);
        }
        let scripted = self.has(&["-e", "--expression", "-f", "--file"]);
        for file in self.operands().skip(usize::from(!scripted)).filter(|it| it.contains('/')) {
            class.place(PlaceForm::Path, file);
        }
    }

    fn awk(&self, class: &mut StatementClass) {
        let program = self.operands().next().unwrap_or_default();
        if program.contains("system")
            || program.contains('|')
            || program.contains("@load")
            || self.has(&["-f", "--file", "-i", "-l"])
        {
            class.add(Effect::Execute);
        } else if program.find("print").is_some_and(|at| program.get(at..).is_some_and(|it| it.contains('>')))
        {
            class.add(Effect::Write);
        }
    }

    /// Programs that look unless an option or operand says otherwise.
    fn mostly_reads(&self, class: &mut StatementClass) {
        let first = self.operands().next().unwrap_or_default();
        let count = self.operands().count();
        let effect = match self.name {
            "sort" if self.has(&["-o", "--output"]) => Effect::Write,
            "sort" if self.has(&["--compress-program"]) => Effect::Execute,
            "uniq" if count > 1 => Effect::Write,
            "yq" if self.has(&["-i", "--inplace"]) => Effect::Write,
            "tree" if self.has(&["-o"]) => Effect::Write,
            "date"
                if self.has(&["-s", "--set"])
                    || first.chars().all(|it| it.is_ascii_digit()) && !first.is_empty() =>
            {
                Effect::Write
            }
            "hostname" | "mount" if count > 0 => Effect::Write,
            "less" if self.has_letter('o') => Effect::Write,
            "ip" | "ifconfig" if among_any(self.args, "add del delete set flush change replace up down") => {
                Effect::Write
            }
            "sysctl" if self.has(&["-w", "--write", "-p"]) || self.args.iter().any(|it| it.contains('=')) => {
                Effect::Write
            }
            "crontab" if !self.has(&["-l"]) => {
                if self.has(&["-r"]) {
                    Effect::Destroy
                } else {
                    Effect::Execute
                }
            }
            "systemctl" | "service"
                if !among_any(
                    self.args,
                    "status show list-units list-timers list-unit-files is-active is-enabled cat --version",
                ) =>
            {
                Effect::Execute
            }
            _ => Effect::Read,
        };
        class.add(effect);
        self.paths(class);
    }

    fn tar(&self, class: &mut StatementClass) {
        let runs = [
            "--to-command",
            "--checkpoint-action",
            "--use-compress-program",
            "-I",
            "--rsh-command",
            "--info-script",
        ];
        if self.has(&runs) {
            class.add(Effect::Execute);
        }
        let letters = self.args.first().map_or("", String::as_str);
        let lists = (letters.contains('t') && !letters.starts_with("--")) || self.has(&["--list"]);
        if !lists {
            class.add(Effect::Write);
        }
        self.paths(class);
    }

    fn dd(&self, class: &mut StatementClass) {
        class.add(if self.args.iter().any(|it| it.starts_with("of=")) {
            Effect::Destroy
        } else {
            Effect::Read
        });
        for arg in self.args {
            if let Some(path) = arg.strip_prefix("of=").or_else(|| arg.strip_prefix("if=")) {
                class.place(PlaceForm::Path, path);
            }
        }
    }

    /// A database client: the statement handed over, else whatever stands in its input.
    fn database(&self, class: &mut StatementClass) {
        let flags = "-c --command -e --execute -q --query -cmd -s";
        let mut statements: Vec<&str> = self
            .args
            .windows(2)
            .filter_map(|it| match it {
                [flag, text] if among(flag, flags) => Some(text.as_str()),
                _ => None,
            })
            .collect();
        statements.extend(self.args.iter().filter_map(|it| {
            let (flag, text) = it.split_once('=')?;
            among(flag, flags).then_some(text)
        }));
        if matches!(self.name, "sqlite3" | "duckdb") {
            statements.extend(self.operands().skip(1));
        }
        let lists = self.name == "psql" && self.has(&["-l", "--list"]);
        if statements.is_empty() && !lists || self.run.has_input() || self.has(&["-f", "--file", "-init"]) {
            class.add(Effect::Execute);
        }
        for statement in statements {
            let inner = sql(statement);
            class.join(&StatementClass { statements: inner.statements.saturating_sub(1), ..inner });
        }
        for pair in self.args.windows(2) {
            if let [flag, host] = pair
                && among(flag, "-h --host")
            {
                class.place(PlaceForm::Host, host);
            }
        }
    }

    fn shell(&self, class: &mut StatementClass) {
        let text =
            self.args.iter().position(|it| it.starts_with('-') && !it.starts_with("--") && it.ends_with('c'));
        match text.and_then(|at| self.args.get(at + 1)) {
            Some(text) if !self.run.has_input() => self.run.script(text, class),
            _ => self.acts(Effect::Execute, class),
        }
    }

    fn cluster(&self, class: &mut StatementClass) {
        let command = self.operands().next().unwrap_or_default();
        let looks = "get describe logs top explain version cluster-info api-resources ps images inspect stats info diff events port search history";
        let loses = "delete rm rmi kill prune drain stop";
        class.add(if among(command, looks) {
            Effect::Read
        } else if among(command, loses) || among_any(self.args, "prune") {
            Effect::Destroy
        } else {
            Effect::Execute
        });
    }
}

fn among_any(words: &[String], row: &str) -> bool {
    words.iter().any(|it| among(it, row))
}

/// Whether a sed script holds a command that runs or writes: `e`, `w` or their flags of `s`.
fn runs_in_sed(script: &str) -> bool {
    script.split([';', '\n', '{', '}']).map(str::trim).any(|part| {
        let command = part.trim_start_matches(|it: char| it.is_ascii_digit() || "$,! /".contains(it));
        if let Some(rest) = command.strip_prefix('s')
            && let Some(mark) = rest.chars().next()
        {
            let flags = rest.rsplit(mark).next().unwrap_or_default();
            return flags.contains('e') || flags.contains('w');
        }
        command.starts_with('e')
            || command.starts_with('w')
            || command.starts_with('W')
            || part.ends_with("/e")
    })
}
