//! What programs do with their arguments: a row for each effect, and a method for each program whose
//! options decide. `looks` holds those that only look; a program in no row executes.

use super::class::{PlaceForm, StatementClass};
use super::lines::UNKNOWN;
use super::looks::{Look, look};
use super::options::{Computed, Until, parse};
use super::shell::Run;
use crate::policy::Effect;

/// Change the user's own files or settings.
const WRITES: &str = "touch mkdir cp mv ln patch gzip gunzip bzip2 bunzip2 xz unxz zip unzip split csplit mktemp mkfifo export \
    sync tee unlzma zstd unzstd 7z fallocate chattr renice disown bg fg iconv dos2unix unix2dos convert magick \
    ffmpeg pandoc gofmt prettier black isort rustfmt clang-format dpkg-query crudini logger wall tmux screen open xdg-open";
/// Lose something or end something.
const DESTROYS: &str = "rm rmdir unlink shred wipe wipefs srm trash kill killall pkill xkill fdisk parted sfdisk gdisk mkswap truncate \
    shutdown reboot halt poweroff swapoff umount blkdiscard hdparm";
/// Change who can get in or what they may do.
const ACCOUNTS: &str = "useradd usermod userdel adduser deluser groupadd groupmod groupdel addgroup delgroup passwd chpasswd gpasswd \
    chage visudo chmod chown chgrp setfacl setcap ssh-keygen ssh-copy-id ssh-add newgrp vipw loginctl chsh htpasswd keyctl";
/// Talk to the host that an argument names.
const CONNECTS: &str =
    "ping ping6 traceroute tracepath dig nslookup host whois mtr arping nmap getent resolvectl drill kdig";
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
        _ if among(name, WRITES) => call.acts(Effect::Write, class),
        _ if among(name, DESTROYS) || name.starts_with("mkfs") => call.acts(Effect::Destroy, class),
        _ if among(name, ACCOUNTS) => call.acts(Effect::Account, class),
        _ if among(name, CONNECTS) => call.connects(Effect::Fetch, class),
        _ if among(name, SENDS) => call.connects(Effect::Send, class),
        _ if among(name, CARRIERS) => call.carries(class),
        "find" => call.find(class),
        "sed" | "gsed" => call.sed(class),
        "awk" | "gawk" | "mawk" | "nawk" => call.awk(class),
        "ip" | "crontab" | "systemctl" | "service" => call.service(class),
        "test" | "[" | "[[" | "printf" | "let" | "unset" | "read" | "declare" | "local" | "typeset"
        | "readonly" | "set" | "shopt" => call.subscripts(class),
        "tar" => call.tar(class),
        "dd" => call.dd(class),
        "rsync" => call.rsync(class),
        "curl" | "wget" | "http" | "https" | "xh" => call.web(class),
        "git" => call.git(class),
        "psql" | "mysql" | "mariadb" | "sqlite3" | "duckdb" | "clickhouse-client" => call.database(class),
        "sh" | "bash" | "zsh" | "dash" | "ksh" => call.shell(class),
        "kubectl" | "docker" | "podman" => call.cluster(class),
        _ => call.looks(class),
    }
}

/// A program with its arguments.
pub(super) struct Call<'a> {
    pub(super) name: &'a str,
    pub(super) args: &'a [String],
    pub(super) run: &'a Run<'a>,
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

    pub(super) fn paths(&self, class: &mut StatementClass) {
        for operand in
            self.operands().filter(|it| it.contains('/') && !it.contains("://") || it.starts_with('~'))
        {
            class.place(PlaceForm::Path, operand);
        }
    }

    fn looks(&self, class: &mut StatementClass) {
        match look(self.name, self.args) {
            Look::NoRow => self.acts(Effect::Execute, class),
            seen => {
                class.add(if seen == Look::Only { Effect::Read } else { Effect::Execute });
                self.paths(class);
            }
        }
    }

    pub(super) fn acts(&self, effect: Effect, class: &mut StatementClass) {
        class.add(effect);
        let named = matches!(effect, Effect::Destroy | Effect::Write);
        for operand in self.operands().filter(|it| named && !it.contains("://") || it.contains('/')) {
            if !operand.contains("://") && operand != "{}" && operand.chars().any(|it| it != UNKNOWN) {
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
        let row = match self.name {
            "xargs" => {
                "-0rtx -i? -I= -n= -P= -L= -d= -s= -E= -a= --null --no-run-if-empty --max-args= --max-procs= --delimiter="
            }
            "nice" => "-n= -# --adjustment=",
            "ionice" => "-t -c= -n=",
            "setsid" => "-wf",
            "sudo" | "doas" => "-nEHSkb -u= -g= --user= --group=",
            "timeout" => "-v -s= -k= --preserve-status --foreground --signal= --kill-after=",
            "env" => "-i0 -u= -C= --ignore-environment --unset= --chdir=",
            "stdbuf" => "-i= -o= -e=",
            "time" => "-pv",
            "command" => "-pvV",
            "exec" => "-cl",
            "caffeinate" => "-dimsu -t=",
            _ => "",
        };
        let Some(parsed) = parse(row, self.args, Computed::Refused, Until::Operand) else {
            class.add(Effect::Execute);
            return;
        };
        if self.name == "command" && parsed.has("-v -V") {
            return;
        }
        let mut words = parsed.rest.to_vec();
        if self.name == "timeout" && !words.is_empty() {
            words.remove(0);
        }
        if words.is_empty() {
            if !among(self.name, "exec env time command xargs") {
                class.add(Effect::Execute);
            }
            return;
        }
        // What it reads becomes arguments, options among them.
        if self.name == "xargs" {
            words.push(UNKNOWN.to_string());
        }
        self.run.inner(&words, class);
    }
}
