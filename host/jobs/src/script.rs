//! What is run where a job is: a script for any POSIX shell, in the job's folder. It sees to it that
//! the command is run once, whatever a scheduler does, within its limits and kept apart as far as the
//! system lets it, and writes down last how it ended, whole or not at all.

use crate::experiment::Experiment;
use crate::place::LIMITED;

/// What a script is made from.
pub(crate) struct Script<'s> {
    pub(crate) name: &'s str,
    pub(crate) experiment: &'s Experiment,
    /// Whether the network may be used.
    pub(crate) network: bool,
    /// Names of variables that are handed on.
    pub(crate) handed: &'s [String],
    /// The most processes.
    pub(crate) processes: u32,
}

impl Script<'_> {
    /// Its text. It is given nothing but the folder that it is started in.
    pub(crate) fn text(&self) -> String {
        let limits = &self.experiment.limits;
        let words = |words: &[String]| words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ");
        let set: Vec<String> =
            self.experiment.environment.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let program = self.experiment.command.first().cloned().unwrap_or_default();
        // A path is one in the folder, and a shell looks for a name without `/` in its path alone.
        let program = if program.contains('/') && !program.starts_with('/') { format!("./{program}") } else { program };
        let kinds = match self.network {
            true => ["'-p'", "'-c -p' '-r -p'"],
            false => ["'-n -p' '-p'", "'-c -n -p' '-r -n -p' '-r -p'"],
        };
        TEXT.replace("@name@", &quoted(self.name))
            .replace("@handed@", &self.handed.join(" "))
            .replace("@root@", kinds[0])
            .replace("@user@", kinds[1])
            .replace("@processes@", &self.processes.to_string())
            .replace("@seconds@", &limits.seconds.to_string())
            .replace("@cpu@", &limits.cpu_seconds.to_string())
            .replace("@kib@", &(u64::from(limits.memory_mib) << 10).to_string())
            .replace("@blocks@", &limits.output_bytes.div_ceil(512).to_string())
            .replace("@limited@", &quoted(LIMITED))
            // What a user wrote is put in last, so that nothing in it is taken for a place.
            .replace("@program@", &quoted(&program))
            .replacen("@set@", &words(&set), 1)
            .replacen("@arguments@", &words(&self.experiment.command[1..]), 1)
    }
}

/// A word for a shell.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Its exit code tells the scheduler that it did its work, and nothing about the command.
const TEXT: &str = r#"#!/bin/sh
name=@name@
# Another folder, or none: whoever started this has given it up.
[ "$(cat name 2>/dev/null)" = "$name" ] || exit 75
# Somebody else, whom the scheduler started for the same job, has begun.
mkdir claim 2>/dev/null || exit 0
for variable in $(awk 'BEGIN { for (name in ENVIRON) if (name ~ /^[A-Za-z_][A-Za-z_0-9]*$/) print name }' 2>/dev/null); do
    case ' PATH PWD @handed@ ' in *" $variable "*) ;; *) unset "$variable" ;; esac
done
base=$(pwd)
kept=limits
apart=
if [ "$(id -u)" = 0 ]; then set -- @root@; else set -- @user@; fi
for flags in "$@"; do
    if unshare $flags -f --kill-child=KILL -- true 2>/dev/null; then
        apart="unshare $flags -f --kill-child=KILL --"
        break
    fi
done
case " $apart " in *' -p '*) kept="$kept process-namespace" ;; esac
case " $apart " in *' -n '*) kept="$kept no-network" ;; esac
if [ -n "$apart" ] && [ "$(id -u)" != 0 ] && prlimit --nproc=64 -- true 2>/dev/null; then
    apart="$apart prlimit --nproc=@processes@ --"
    kept="$kept process-count"
fi
cd files || exit 75
unset OLDPWD
began=$(date +%s)
if command -v @program@ >/dev/null 2>&1; then
    timeout -s KILL @seconds@ $apart sh -c @limited@ sh @cpu@ @kib@ @blocks@ ../unlimited '' \
        env HOME="$base/home" TMPDIR="$base/tmp" LANG=C.UTF-8 @set@ @program@ @arguments@ \
        <../stdin >../stdout 2>../stderr
    code=$?
    took=$(($(date +%s) - began))
    ended="exited $code"
    if [ "$code" = 137 ] && [ "$took" -ge @seconds@ ]; then ended=timed-out; fi
    if [ -e ../unlimited ]; then ended=unlimited; fi
else
    took=0
    ended=no-command
fi
cd "$base" || exit 75
printf 'name %s\nended %s\nseconds %s\nkept %s\n' "$name" "$ended" "$took" "$kept" >exit.part && mv exit.part exit
"#;

#[cfg(test)]
mod tests {
    use super::quoted;
    use std::process::Command;

    #[test]
    fn a_word_comes_through_a_shell_as_it_is() {
        for word in ["", "plain", "it's", "a b", "$HOME `id` \\ \"x\"", "'", "''", "line\nline", "@seconds@"] {
            let said = Command::new("sh").arg("-c").arg(format!("printf %s {}", quoted(word))).output().unwrap();
            assert_eq!(String::from_utf8(said.stdout).unwrap(), word);
        }
    }
}
