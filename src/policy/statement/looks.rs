//! The programs that only look, each with the closed list of options with which that is true.
//!
//! A program that is in no row, and an option that is not in its row, execute. `options` says how a row
//! is read. `Any` rows hold programs none of whose options does more than look, in any implementation
//! known, so that a computed word changes nothing.

use super::options::{Computed, Until, parse};

/// What a program takes beside options.
#[derive(Clone, Copy)]
enum Operands {
    /// Anything, computed words too.
    Any,
    /// Anything that is not computed.
    Known,
    /// So many at most: one more would be written to.
    Most(usize),
    /// Only words that begin so.
    Begin(&'static str),
    /// Only numbers.
    Numbers,
    /// No word with a `+` before it, which would be a command of the pager.
    NoPlus,
    /// No word with `=`, which would set something.
    NoEquals,
}

use Operands::{Any, Begin, Known, Most, NoEquals, NoPlus, Numbers};

const GREP: &str = "-abcEFGHhiIlLnNoPqrRsTUuvVwxyzZ0 -A= -B= -C= -e= -f= -m= -d= -D= -# --after-context= --before-context= --context= \
    --color? --colour? --include= --exclude= --exclude-dir= --exclude-from= --regexp= --file= --max-count= --ignore-case \
    --invert-match --word-regexp --line-regexp --count --files-with-matches --files-without-match --line-number --only-matching \
    --quiet --silent --no-messages --recursive --dereference-recursive --text --binary-files= --null --no-filename \
    --with-filename --extended-regexp --fixed-strings --perl-regexp --basic-regexp --label= --line-buffered --byte-offset \
    --version --help";
const SUMS: &str = "-bctwqsz -a= --check --binary --text --quiet --status --tag --warn --strict --ignore-missing --algorithm= --zero";

/// The programs, their options, their operands.
const ROWS: &[(&str, &str, Operands)] = &[
    (
        "ls",
        "-aAbBcCdfFgGhHiklLmnNopqQrRsStuUvxXZ1 -I= -w= --all --almost-all --color? --group-directories-first --human-readable \
         --full-time --size --sort= --time= --time-style= --recursive --reverse --directory --inode --classify? --hide= --ignore= \
         --si --author --block-size= --no-group --numeric-uid-gid --format= --indicator-style= --quoting-style= --dereference \
         --width= --zero --file-type --literal --version --help",
        Any,
    ),
    (
        "cat",
        "-AbeEnstTuv --number --number-nonblank --show-all --show-ends --show-tabs --show-nonprinting --squeeze-blank --version",
        Any,
    ),
    ("head", "-qvz -n= -c= -# --lines= --bytes= --quiet --silent --verbose --zero-terminated", Any),
    (
        "tail",
        "-fFqvzr -n= -c= -s= -# --lines= --bytes= --follow? --pid= --retry --sleep-interval= --quiet --verbose --zero-terminated",
        Any,
    ),
    ("grep egrep fgrep", GREP, Any),
    ("zgrep", "-chilnovwEF -e= -A= -B= -C=", Known),
    (
        "rg",
        "-SsinNclLwxvoHIpuUPqFa0 -. -A= -B= -C= -e= -f= -g= -t= -T= -m= -M= -j= -r= -d= --hidden --no-ignore --ignore-case \
         --smart-case --case-sensitive --files --type= --glob= --iglob= --count --count-matches --files-with-matches \
         --files-without-match --line-number --no-line-number --no-heading --heading --json --color= --colors= --context= \
         --after-context= --before-context= --max-count= --max-depth= --multiline --only-matching --fixed-strings --word-regexp \
         --invert-match --pcre2 --sort= --stats --trim --vimgrep --column --follow --replace= --type-list --type-not= --no-messages \
         --no-config --text --no-filename --with-filename --max-columns= --version",
        Known,
    ),
    ("ag", "-ilLcrvwsQSaut -A= -B= -C= -G= -m= --hidden --ignore= --nocolor --nogroup --noheading", Known),
    (
        "fd fdfind",
        "-HIuLasgiFp01 -e= -t= -d= -E= -S= -j= --hidden --no-ignore --type= --extension= --max-depth= --min-depth= --exclude= \
         --full-path --absolute-path --glob --fixed-strings --ignore-case --case-sensitive --follow --size= --changed-within= \
         --changed-before= --color= --max-results=",
        Known,
    ),
    ("wc", "-clmwL --lines --words --bytes --chars --max-line-length --files0-from= --total=", Any),
    (
        "cut",
        "-nsz -b= -c= -d= -f= --bytes= --characters= --fields= --delimiter= --complement --only-delimited --output-delimiter=",
        Any,
    ),
    ("tr", "-cCdstu --delete --squeeze-repeats --complement --truncate-set1", Any),
    (
        "diff",
        "-abBcdeEHinNpqrstTuwyZ -C= -U= -I= -x= -X= -F= -L= -W= -# --brief --unified? --context? --side-by-side --recursive \
         --new-file --color? --ignore-case --ignore-all-space --ignore-space-change --ignore-blank-lines --exclude= \
         --suppress-common-lines --strip-trailing-cr --text --minimal --label= --width= --report-identical-files \
         --ignore-matching-lines= --exclude-from=",
        Any,
    ),
    ("diff3", "-amiT", Known),
    ("cmp", "-bls -i= -n= --verbose --silent --quiet --print-bytes --bytes= --ignore-initial=", Any),
    ("comm", "-123iz --nocheck-order --check-order --output-delimiter= --total", Any),
    (
        "file",
        "-bhiIkLNnr0 -F= --brief --mime --mime-type --mime-encoding --dereference --no-dereference --extension",
        Known,
    ),
    ("stat", "-fLtxsnqr -c= --format= --printf= --file-system --terse --dereference", Any),
    (
        "du",
        "-abcDhHklLmPsSx0 -d= -t= -B= -X= --all --max-depth= --human-readable --summarize --total --apparent-size --exclude= --si \
         --one-file-system --time? --threshold= --block-size= --bytes --null --separate-dirs",
        Any,
    ),
    (
        "df",
        "-ahHiklmPT -B= -t= -x= --all --human-readable --inodes --total --type= --exclude-type= --print-type --output? --local \
         --portability --si",
        Any,
    ),
    ("pwd", "-LP", Any),
    ("cal", "-13jsyh -A= -B=", Any),
    ("whoami logname users tty arch groups", "-s", Any),
    ("id", "-agGnruZz --user --group --name --real --groups", Any),
    (
        "uname",
        "-asnrvmpio --all --kernel-name --kernel-release --machine --operating-system --nodename --processor",
        Any,
    ),
    ("uptime", "-ps --pretty --since", Any),
    (
        "ps",
        "-AacdefFHjlLMmNPrTvwxyZ -p= -u= -U= -t= -G= -g= -o= -O= -C= -s= -q= --sort= --no-headers --headers --forest --pid= --ppid= \
         --user= --width= --cols= --format= --columns= --no-heading",
        Any,
    ),
    ("top", "-bcHiSs1 -n= -d= -p= -u= -U= -o= -w= -E= -e= -l=", Known),
    ("htop", "-CMHt -d= -s= -u= -p=", Known),
    (
        "free",
        "-bkmghltwv -s= -c= --human --total --wide --si --mebi --gibi --mega --giga --bytes --kibi",
        Any,
    ),
    ("printenv", "-0 --null", Any),
    ("which", "-as --all", Any),
    ("whereis", "-bmsu", Any),
    ("basename", "-az -s= --suffix= --multiple --zero", Any),
    ("dirname", "-z --zero", Any),
    (
        "realpath",
        "-emLPqsz --canonicalize-existing --canonicalize-missing --relative-to= --relative-base= --no-symlinks --quiet",
        Any,
    ),
    ("readlink", "-femnqsvz --canonicalize --canonicalize-existing --canonicalize-missing --no-newline", Any),
    ("md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum shasum md5", SUMS, Any),
    ("sum", "-rs", Any),
    ("xxd", "-bcCeEipu -c= -g= -l= -s=", Most(1)),
    (
        "od",
        "-abcdfhilosvxX -A= -j= -N= -t= -w? --address-radix= --skip-bytes= --read-bytes= --format= --output-duplicates --width?",
        Any,
    ),
    ("hexdump hd", "-bcCdovx -n= -s= -e=", Known),
    ("strings", "-afow -n= -t= -e= --all --bytes= --radix= --encoding=", Known),
    ("nl", "-p -b= -d= -f= -h= -i= -l= -n= -s= -v= -w=", Any),
    ("tac", "-br -s= --before --regex --separator=", Any),
    ("rev tsort", "", Any),
    (
        "column",
        "-tnxeJ -s= -o= -c= -N= -R= -H= --table --separator= --output-separator= --json --table-columns=",
        Any,
    ),
    (
        "jq",
        "-nrRcCMSsjae -f= --arg== --argjson== --slurpfile== --rawfile== --args --jsonargs --tab --indent= --raw-output --raw-output0 \
         --compact-output --null-input --slurp --sort-keys --exit-status --join-output --ascii-output --raw-input --color-output \
         --monochrome-output --stream --unbuffered --from-file=",
        Any,
    ),
    ("seq", "-w -f= -s= -# --equal-width --format= --separator=", Any),
    ("sleep nproc", "--all --ignore=", Any),
    ("lsof", "-PntUblNRTwvaO -i? -p= -u= -c=", Known),
    ("netstat", "-aeglnoprstuvWx46N", Known),
    (
        "ss",
        "-aehlmnoprstuxwiSbzH0468O --tcp --udp --listening --processes --numeric --all --summary --unix --no-header --extended --info",
        Known,
    ),
    ("lscpu", "-abcJ -e? -p? --json --all --extended? --parse?", Known),
    (
        "lsblk",
        "-abdDfhiJlmnpPrstSTO -o= -e= -I= --output= --json --all --fs --bytes --noheadings --list --nodeps --paths",
        Known,
    ),
    (
        "dmesg",
        "-Ttdekruxw -l= -f= --ctime --level= --facility= --kernel --time-format= --color? --decode --follow --since= --until= --nopager \
         --json --reltime",
        Known,
    ),
    (
        "journalctl",
        "-aefklmqrxN -b? -u= -n= -o= -p= -S= -U= -t= -g= -F= --unit= --since= --until= --lines= --output= --priority= --no-pager \
         --follow --reverse --boot? --list-boots --disk-usage --user --system --grep= --identifier= --no-hostname --utc --catalog \
         --quiet --all --dmesg --user-unit= --fields --field= --no-full --no-tail --pager-end",
        Known,
    ),
    ("history shift exit return break continue", "", Numbers),
    ("fold", "-bs -w= -# --width= --spaces", Any),
    ("paste", "-sz -d= --serial --delimiters=", Any),
    ("join", "-iz -a= -e= -1= -2= -j= -o= -t= -v= --header --nocheck-order --ignore-case", Any),
    ("expand unexpand", "-ia -t= -# --tabs= --initial", Any),
    ("cd pushd popd", "-LP", Any),
    ("dirs", "-lpv", Known),
    ("jobs wait", "-lnprs", Known),
    ("type", "-aftpP", Any),
    ("help", "-dms", Known),
    ("man", "-afk -s= --apropos --whatis", Known),
    ("apropos whatis", "-ad -s=", Known),
    ("locale", "-amkc", Known),
    ("getconf", "-a -v=", Known),
    ("w who", "-abdfhHilmopqrsTtu", Known),
    ("last", "-adFiwxR -n= -f= -s= -t= -p= -#", Known),
    ("zcat bzcat xzcat zstdcat gzcat", "-f", Known),
    (
        "bat batcat",
        "-nApP -l= -r= -H= --plain --paging=never --style= --color= --language= --line-range= --number --show-all --theme= --wrap= \
         --no-pager",
        Known,
    ),
    (
        "exa eza",
        "-1laRTrhHgGxdFiStumUBb -s= -L= -I= --tree --level= --long --all --git --icons? --color? --sort= --git-ignore \
         --group-directories-first --header",
        Known,
    ),
    ("less more most", "-NSRFXinmEe", NoPlus),
    ("clear", "-x", Most(0)),
    ("tput", "-T=", Known),
    ("numfmt", "--to= --from= --suffix= --field= --padding= --format= --header? -d= --delimiter=", Any),
    ("bc", "-lqsiw --mathlib --quiet", Known),
    ("shuf", "-erz -n= -i= --echo --head-count= --input-range= --repeat --zero-terminated", Known),
    ("sort", SORT, Known),
    (
        "uniq",
        "-cdDiuz -f= -s= -w= --count --repeated --unique --ignore-case --skip-fields= --skip-chars= --all-repeated? --check-chars=",
        Most(1),
    ),
    (
        "yq",
        "-rPCMNjcn -o= -p= -I= --prettyPrint --unwrapScalar --no-colors --output-format= --input-format= --indent= --raw-output",
        Known,
    ),
    (
        "tree",
        "-adfipsughDFrtcUvnCANSJXQlxq -L= -I= -P= --dirsfirst --noreport --gitignore --prune --du --si --filelimit= --charset= --sort=",
        Known,
    ),
    (
        "date",
        "-uRj -I? -d= -r= --utc --iso-8601? --date= --rfc-3339= --reference= --rfc-email --universal",
        Begin("+"),
    ),
    ("hostname", "-fsidIA --fqdn --short --all-ip-addresses --domain --long", Most(0)),
    ("mount", "-l -t=", Most(0)),
    ("ifconfig", "-as", Most(1)),
    ("vmstat", "-aswdn -S=", Numbers),
    ("iostat", "-cdhkmNtxyz", Known),
    ("lspci", "-nvktmD -s= -d=", Known),
    ("lsusb", "-vt -s= -d=", Known),
    ("look", "-df -t=", Known),
    ("base64 base32", "-diD -w= --decode --wrap= --ignore-garbage", Known),
    (
        "pgrep",
        "-aflnouvxci -u= -U= -P= -t= -g= -G= -s= -d= --full --list-name --list-full --count --exact --newest --oldest",
        Known,
    ),
    ("pidof", "-sxc -o=", Known),
    ("sysctl", "-aneNq --all --values --names", NoEquals),
    ("hash", "-rlt", Most(0)),
    ("ulimit", "-aSHcdflmnstuv", Most(0)),
    ("umask", "-pS", Most(0)),
    ("esac ]]", "", Any),
];

const SORT: &str = "-bcCdfghiMmnrRsuVz -k= -t= -S= --key= --field-separator= --numeric-sort --reverse --unique --human-numeric-sort \
    --ignore-case --version-sort --check? --stable --general-numeric-sort --random-sort --dictionary-order --ignore-leading-blanks \
    --month-sort --zero-terminated --parallel= --merge";

/// Programs of the shell that take whatever stands behind them as text.
const TEXTS: &str = "echo true false : expr factor";

/// What is known about a call of a program.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    /// The program is in no row.
    NoRow,
    /// It only looks.
    Only,
    /// It is in a row, but an option or operand is not.
    Else,
}

/// Whether no option and no variable of the environment makes the program do more than look.
pub(super) fn harmless(name: &str) -> bool {
    super::programs::among(name, TEXTS) || row(name).is_some_and(|it| matches!(it.2, Any))
}

fn row(name: &str) -> Option<&'static (&'static str, &'static str, Operands)> {
    ROWS.iter().find(|it| super::programs::among(name, it.0))
}

/// Looks a call up.
pub(super) fn look(name: &str, args: &[String]) -> Look {
    if super::programs::among(name, TEXTS) {
        return Look::Only;
    }
    let Some((_, options, operands)) = row(name) else { return Look::NoRow };
    let computed = if matches!(operands, Any) { Computed::Harmless } else { Computed::Refused };
    let Some(parsed) = parse(options, args, computed, Until::End) else { return Look::Else };
    let each = |is: fn(&str) -> bool| parsed.operands.iter().all(|it| is(it));
    let fits = match operands {
        Any | Known => true,
        Most(count) => parsed.operands.len() <= *count,
        Begin(begin) => parsed.operands.iter().all(|it| it.starts_with(begin)),
        Numbers => each(|it| it.chars().all(|c| c.is_ascii_digit())),
        NoPlus => each(|it| !it.starts_with('+')),
        NoEquals => each(|it| !it.contains('=')),
    };
    if fits { Look::Only } else { Look::Else }
}
