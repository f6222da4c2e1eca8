//! Programs whose effect stands in a language of their own: words of `find`, modes of `tar`, objects
//! of `ip`, sub-commands of cluster and service tools, statements of database clients, scripts.
//!
//! As everywhere, what is not in a closed list executes, and a sub-command is looked for only where
//! nothing but known options stands before it.

use super::class::{PlaceForm, StatementClass};
use super::lines::UNKNOWN;
use super::options::{Computed, Until, parse};
use super::programs::{Call, among};
use super::scripts::{awk_only_prints, sed_only_prints};
use super::sql::sql;
use crate::policy::Effect;

/// Words of find without a value, that look.
const FIND_WORDS: &str = "-print -print0 -ls -prune -quit -depth -mount -xdev -empty -true -false -not -a -o -and -or -follow -readable \
    -writable -executable -nouser -nogroup -daystart -noleaf -nowarn -H -L -P -E -X -s -d -x";
/// Words of find with a value, that look.
const FIND_VALUED: &str = "-name -iname -path -ipath -wholename -iwholename -regex -iregex -type -xtype -size -mtime -mmin -atime -amin \
    -ctime -cmin -newer -anewer -cnewer -newermt -newerct -newerat -newermm -maxdepth -mindepth -perm -user -group -uid -gid \
    -links -inum -samefile -lname -ilname -fstype -printf -regextype";
/// Words of find that lose, write or run.
const FIND_ACTS: &str = "-delete -exec -execdir -ok -okdir -fprint -fprint0 -fls -fprintf";

const KUBE_FRONT: &str = "-n= --namespace= --context=";
const KUBE: &str = "-n= --namespace= --context= -A -o= -l= -w -L= -c= -p --all-namespaces --output= --selector= --watch --show-labels --no-headers \
    --tail= --since= --since-time= --container= --previous --timestamps --field-selector= --sort-by= --all-containers? --prefix \
    --request-timeout= --limit-bytes= --recursive --api-version= --containers --use-protocol-buffers --short --client --verbs= \
    --namespaced? --api-group= --types= --for= --minify --ignore-not-found";
const DOCKER_FRONT: &str = "-c= --context=";
const DOCKER: &str = "-aqslft -n= --all --quiet --size --latest --last= --filter= --format= --no-trunc --digests --type= --tail= --since= --until= \
    --follow --timestamps --details --no-stream --verbose --services";
const SERVICES: &str = "-alq -n= -t= -o= -p= --no-pager --user --system --all --full --plain --no-legend --quiet --failed --lines= --type= \
    --state= --output= --property= --value --version";

impl Call<'_> {
    pub(super) fn find(&self, class: &mut StatementClass) {
        self.paths(class);
        let mut at = 0;
        while let Some(arg) = self.args.get(at) {
            at += 1;
            if arg.contains(UNKNOWN) {
                class.add(Effect::Execute);
            } else if among(arg, FIND_VALUED) {
                // Where it takes no value elsewhere, an action would follow.
                if self.args.get(at).is_some_and(|it| it.contains(UNKNOWN) || among(it, FIND_ACTS)) {
                    class.add(Effect::Execute);
                }
                at += 1;
            } else if arg == "-delete" {
                class.add(Effect::Destroy);
            } else if among(arg, "-fprint -fprint0 -fls -fprintf") {
                class.add(Effect::Write);
                if let Some(file) = self.args.get(at) {
                    class.place(PlaceForm::Path, file);
                }
                at += if arg == "-fprintf" { 2 } else { 1 };
            } else if among(arg, "-exec -execdir -ok -okdir") {
                let rest = self.args.get(at..).unwrap_or_default();
                let mut before = "";
                let length = rest
                    .iter()
                    .take_while(|it| {
                        let ends = *it == ";" || *it == "+" && before == "{}";
                        before = it;
                        !ends
                    })
                    .count();
                self.run.inner(rest.get(..length).unwrap_or_default(), class);
                at += length + 1;
            } else if arg.starts_with('-') && !among(arg, FIND_WORDS) {
                class.add(Effect::Execute);
            }
        }
    }

    pub(super) fn sed(&self, class: &mut StatementClass) {
        let row = "-nErsuz -i? -e= --quiet --silent --regexp-extended --expression= --null-data --separate --unbuffered --posix --in-place?";
        let Some(parsed) = parse(row, self.args, Computed::Refused, Until::End) else {
            class.add(Effect::Execute);
            return;
        };
        if parsed.has("-i --in-place") {
            class.add(Effect::Write);
        }
        let mut operands = parsed.operands.iter().copied().skip_while(|it| it.is_empty());
        let mut scripts: Vec<&str> = parsed.values("-e --expression").collect();
        if scripts.is_empty() {
            scripts.extend(operands.next());
        }
        if scripts.is_empty() || !scripts.iter().all(|it| sed_only_prints(it)) {
            class.add(Effect::Execute);
        }
        for file in operands.filter(|it| it.contains('/')) {
            class.place(PlaceForm::Path, file);
        }
    }

    pub(super) fn awk(&self, class: &mut StatementClass) {
        let parsed = parse("-F= -v=", self.args, Computed::Refused, Until::Operand);
        let program = parsed.as_ref().and_then(|it| it.rest.split_first());
        let reads = program.is_some_and(|(program, files)| {
            awk_only_prints(program) && !files.iter().any(|it| it.starts_with('-') || it.contains(UNKNOWN))
        });
        class.add(if reads { Effect::Read } else { Effect::Execute });
        self.paths(class);
    }

    pub(super) fn tar(&self, class: &mut StatementClass) {
        let mut args = self.args.to_vec();
        // The first word needs no dash, and then its values follow in order: only `f` may have one.
        if let Some(first) = args.first_mut().filter(|it| !it.starts_with('-')) {
            first.insert(0, '-');
        }
        let row = "-txcruvzjJapPkmOhS -f= -C= -T= -X= --list --extract --get --create --append --update --file= --gzip --bzip2 --xz --zstd \
            --verbose --exclude= --wildcards --strip-components= --directory= --auto-compress --preserve-permissions --no-same-owner";
        let parsed = parse(row, &args, Computed::Refused, Until::End);
        let known = parsed.as_ref().is_some_and(|it| {
            // A name with a colon is reached over a remote shell.
            !it.values("-f --file").any(|it| it.is_empty() || it.contains(':'))
        });
        if !known {
            class.add(Effect::Execute);
        }
        let lists = parsed.as_ref().is_some_and(|it| {
            it.has("-t --list") && !it.has("-x -c -r -u --extract --get --create --append --update")
        });
        if !lists {
            class.add(Effect::Write);
        }
        self.paths(class);
    }

    pub(super) fn dd(&self, class: &mut StatementClass) {
        for arg in self.args {
            let (name, value) = arg.split_once('=').unwrap_or((arg, ""));
            class.add(match name {
                "of" => Effect::Destroy,
                "if" | "bs" | "ibs" | "obs" | "count" | "skip" | "iflag" | "status" | "conv"
                    if !arg.contains(UNKNOWN) =>
                {
                    Effect::Read
                }
                _ => Effect::Execute,
            });
            if among(name, "of if") {
                class.place(PlaceForm::Path, value);
            }
        }
    }

    /// A database client: the statement handed over, and nothing else that it would run.
    pub(super) fn database(&self, class: &mut StatementClass) {
        let row = match self.name {
            "psql" => {
                "-tAqxXwl1E -c= -h= -U= -d= -p= -F= --command= --host= --username= --dbname= --port= --tuples-only --no-align --csv \
                 --expanded --no-psqlrc --quiet --list --field-separator= --no-password --version"
            }
            "clickhouse-client" => {
                "-q= -h= -u= -d= --query= --host= --port= --user= --password= --database= --format="
            }
            "mysql" | "mariadb" => {
                "-BNstrE -p? -e= -h= -u= -P= -D= --execute= --host= --user= --port= --password? --database= --batch --skip-column-names \
                 --table --raw --vertical --silent --version"
            }
            _ => "",
        };
        let files = matches!(self.name, "sqlite3" | "duckdb");
        let shapes = "-header -noheader -csv -json -column -line -list -readonly -batch -box -markdown -table -tabs -quote -c";
        let args: Vec<String> = self.args.iter().filter(|it| !files || !among(it, shapes)).cloned().collect();
        let Some(parsed) = parse(row, &args, Computed::Refused, Until::End) else {
            class.add(Effect::Execute);
            return;
        };
        let mut statements: Vec<&str> =
            parsed.values("-c --command -e --execute -q --query").filter(|it| !it.is_empty()).collect();
        if files {
            // `duckdb -c` may stand without a file before it.
            let without_file =
                usize::from(!self.args.iter().any(|it| it == "-c") || parsed.operands.len() > 1);
            statements.extend(parsed.operands.iter().skip(without_file));
        }
        if statements.is_empty() && !parsed.has("-l --list --version") || self.run.has_input() {
            class.add(Effect::Execute);
        }
        for statement in statements {
            let inner = sql(statement);
            class.join(&StatementClass { statements: inner.statements.saturating_sub(1), ..inner });
        }
        let local = |it: &str| it.starts_with('/') || among(it, "localhost 127.0.0.1 ::1");
        for host in parsed.values("-h --host") {
            class.place(PlaceForm::Host, host);
            class.add(if local(host) { Effect::Read } else { Effect::Fetch });
        }
        // A url or a string of settings says where to connect.
        if !files
            && parsed
                .operands
                .iter()
                .copied()
                .chain(parsed.values("-d --dbname"))
                .any(|it| it.contains("://") || it.contains('='))
        {
            class.add(Effect::Fetch);
        }
    }

    pub(super) fn shell(&self, class: &mut StatementClass) {
        match self.args {
            [flag, text, ..] if among(flag, "-c -ec -lc -xc -ce -euc") && !self.run.has_input() => {
                self.run.script(text, class);
            }
            _ => self.acts(Effect::Execute, class),
        }
    }

    pub(super) fn cluster(&self, class: &mut StatementClass) {
        let kube = self.name == "kubectl";
        let (front, row) = if kube { (KUBE_FRONT, KUBE) } else { (DOCKER_FRONT, DOCKER) };
        let front = parse(front, self.args, Computed::Refused, Until::Operand);
        let Some((command, rest)) = front.as_ref().and_then(|it| it.rest.split_first()) else {
            class.add(Effect::Execute);
            return;
        };
        let second = rest.first().map_or("", String::as_str);
        let behind = rest.get(1..).unwrap_or_default();
        let (looks, loses) = if kube {
            let pair = match command.as_str() {
                "config" => "view get-contexts current-context get-clusters",
                "auth" => "can-i",
                "rollout" => "status history",
                "top" => "pod pods po node nodes no",
                _ => "",
            };
            let alone = "get describe logs explain version api-resources api-versions events";
            let reads =
                among(command, alone) || among(second, pair) || command == "cluster-info" && rest.is_empty();
            (reads, among(command, "delete drain"))
        } else {
            let pair = match command.as_str() {
                "container" => "ls list ps inspect logs top stats port diff",
                "image" => "ls list inspect history",
                "network" | "volume" | "context" | "node" | "service" | "stack" => "ls list inspect ps",
                "system" => "df info",
                "compose" => "ps logs images ls top version",
                _ => "",
            };
            let alone = "ps images inspect logs top stats info version port diff history events";
            let gone = "rm remove prune kill down";
            let reads = among(command, alone) || among(second, pair);
            (reads, among(command, "rm rmi kill stop") || !pair.is_empty() && among(second, gone))
        };
        let follows = kube && command == "logs";
        let row = if follows { format!("{row} -f --follow") } else { row.to_owned() };
        let known = parse(&row, rest, Computed::Refused, Until::End).is_some();
        class.add(match () {
            () if looks && known => Effect::Read,
            () if loses && !behind.iter().chain(rest.first()).any(|it| it.starts_with("--kubec")) => {
                Effect::Destroy
            }
            () => Effect::Execute,
        });
    }

    /// Programs of services and networks: `ip`, `systemctl`, `service`, `crontab`.
    pub(super) fn service(&self, class: &mut StatementClass) {
        let words: Vec<&str> = self.args.iter().map(String::as_str).collect();
        let reads = match (self.name, words.as_slice()) {
            ("crontab", ["-l"]) | ("service", ["--status-all"]) => true,
            ("crontab", ["-r"]) => {
                class.add(Effect::Destroy);
                return;
            }
            ("service", [name, "status"]) => !name.starts_with('-') && !name.contains(UNKNOWN),
            ("systemctl", _) => {
                let looks = "status show list-units list-timers list-unit-files list-sockets is-active is-enabled is-failed cat \
                    get-default list-dependencies";
                parse(SERVICES, self.args, Computed::Refused, Until::End).is_some_and(|it| {
                    it.operands.first().map_or_else(|| it.has("--version --failed"), |it| among(it, looks))
                })
            }
            ("ip", words) => {
                let looks = "-4 -6 -br -brief -c -color -j -json -p -pretty -s -d -o -details -stats";
                let mut rest = words.iter().skip_while(|it| among(it, looks));
                let object = rest
                    .next()
                    .is_some_and(|it| among(it, "addr address a link l route r rule neigh n maddress"));
                object
                    && rest.next().is_none_or(|it| among(it, "show list ls get"))
                    && !words.iter().any(|it| it.contains(UNKNOWN))
            }
            _ => false,
        };
        class.add(if reads { Effect::Read } else { Effect::Execute });
    }

    /// Commands of the shell that evaluate a subscript even in a quoted word.
    pub(super) fn subscripts(&self, class: &mut StatementClass) {
        let evaluates = |it: &str| it.contains(['[', '`']) || it.contains("$(");
        let words: Vec<&str> = self
            .args
            .iter()
            .map(String::as_str)
            .filter(|it| !matches!((self.name, *it), ("[", "]") | ("[[", "]]")))
            .collect();
        let computed = words.iter().any(|it| it.contains(UNKNOWN));
        let names = |row: &str, computed: Computed| {
            parse(row, self.args, computed, Until::End).is_some_and(|it| {
                it.operands.iter().all(|it| {
                    let name = it.split('=').next().unwrap_or_default();
                    !evaluates(it) && !super::shell::loads(name)
                })
            })
        };
        let reads = match self.name {
            "test" | "[" | "[[" => {
                let numbers = words.iter().any(|it| among(it, "-eq -ne -lt -le -gt -ge"));
                let counts = self.name == "[[" && computed && numbers;
                !counts && !words.iter().any(|it| evaluates(it) || among(it, "-v -R"))
            }
            // The format is only a format where no option stands before it.
            "printf" => words.split_first().is_none_or(|(format, values)| {
                !format.starts_with(['-', UNKNOWN]) && !values.iter().any(|it| evaluates(it))
            }),
            "let" => !computed && !words.iter().any(|it| evaluates(it)),
            "unset" => names("-fv", Computed::Refused),
            "read" => names("-rs -p= -t= -n= -d= -N= -a=", Computed::Refused),
            "declare" | "local" | "typeset" | "readonly" => names("-raAgxpf", Computed::Refused),
            "set" => words.iter().all(|it| {
                among(it, "-e -u -x -eu -ex -eux -euo -euxo -eo -o +e +u +x pipefail errexit nounset xtrace")
            }),
            "shopt" => {
                words.iter().all(|it| among(it, "-s -u -p -q nullglob globstar dotglob extglob nocaseglob"))
            }
            _ => false,
        };
        class.add(if reads { Effect::Read } else { Effect::Execute });
    }
}
