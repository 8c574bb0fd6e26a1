//! Completes words on the command line for shells, with values from the daemon.
//!
//! The scripts of `brain completions` run `brain` with [`SHELL_VARIABLE`] set. Commands and options
//! come from the definition of the command line. Slugs, tags, sources, types, jobs and clients come
//! from a running daemon; no daemon is started. A failure completes nothing and prints nothing,
//! because the user is typing.

use std::{ffi::OsString, io};

use brain_protocol::{Complete, CompletionKind};
use clap::{Args, Command};
use clap_complete::{
    engine::{ArgValueCompleter, CompletionCandidate},
    env::{Bash, EnvCompleter, Fish, Zsh},
};

use crate::{
    command::{Row, SharedFlags},
    context::Context,
    output::Outcome,
};

/// The variable with the name of the shell that asks for completions.
pub(crate) const SHELL_VARIABLE: &str = "BRAIN_COMPLETE";

/// Returns the completions for the words in `args`, as the scripts write them: `brain -- WORDS`.
/// `rows` is the table of commands.
pub(crate) fn complete(shell: &str, args: &[OsString], rows: &[Row]) -> Outcome {
    let words: Vec<OsString> =
        args.iter().skip_while(|arg| *arg != "--").skip(1).cloned().collect();
    let mut out = Vec::new();
    // Without a command line or with an unknown shell, nothing is completed.
    if !words.is_empty() && write_completions(shell, words, rows, &mut out).is_err() {
        out.clear();
    }
    Outcome::text(String::from_utf8_lossy(&out).into_owned())
}

fn write_completions(
    shell: &str,
    words: Vec<OsString>,
    rows: &[Row],
    out: &mut Vec<u8>,
) -> io::Result<()> {
    let mut command = completion_tree(&words, rows);
    match shell {
        "bash" => Bash.write_complete(&mut command, words, None, out),
        "fish" => Fish.write_complete(&mut command, words, None, out),
        "zsh" => Zsh.write_complete(&mut command, words, None, out),
        _ => Ok(()),
    }
}

/// Returns clap's tree for completing `words`. The user waits for it at each key press, so only the
/// command in `words` has its arguments, and values from the daemon.
fn completion_tree(words: &[OsString], rows: &[Row]) -> Command {
    let root = SharedFlags::augment_args(Command::new("brain")).disable_help_subcommand(true);
    root.subcommands(rows.iter().map(|row| {
        let command = row.command();
        match words.iter().skip(1).any(|word| row.is_named(word)) {
            true => add_values((row.build)(command)),
            false => command,
        }
    }))
}

/// Adds the daemon's values to the arguments of a command. The kind of values follows from the
/// argument's `value_name` (`SLUG`, `TAG` and others).
fn add_values(command: Command) -> Command {
    let verb = command.get_name().to_owned();
    command.mut_args(|arg| {
        let name = arg.get_value_names().and_then(<[_]>::first).map_or("", |name| name.as_str());
        let Some(kind) = completion_kind(&verb, name) else { return arg };
        arg.add(ArgValueCompleter::new(move |word: &std::ffi::OsStr| {
            word.to_str().map_or_else(Vec::new, |text| candidates(kind, text))
        }))
    })
}

fn completion_kind(verb: &str, value_name: &str) -> Option<CompletionKind> {
    Some(match (verb, value_name) {
        ("sources", "NAME") => CompletionKind::Source,
        ("clients", "NAME") => CompletionKind::Client,
        // Here, TYPE is the type of a grant, not of a page.
        ("clients", "TYPE") => return None,
        (_, "SLUG" | "FROM" | "TO" | "INTO" | "OLD") => CompletionKind::Page,
        (_, "SOURCE") => CompletionKind::Source,
        (_, "TAG") => CompletionKind::Tag,
        (_, "TYPE") => CompletionKind::Type,
        (_, "JOB") => CompletionKind::Job,
        (_, "CLIENT") => CompletionKind::Client,
        _ => return None,
    })
}

fn candidates(kind: CompletionKind, text: &str) -> Vec<CompletionCandidate> {
    let context = Context { no_start: true, quiet: true, ..Context::default() };
    let reply = context.call_running(Complete { kind, text: text.to_owned() });
    let values = reply.map_or_else(|_| Vec::new(), |reply| reply.values);
    let candidate = |it: brain_protocol::CompletionValue| {
        let description = (!it.description.is_empty()).then(|| it.description.into());
        CompletionCandidate::new(it.value).help(description)
    };
    values.into_iter().map(candidate).collect()
}

/// Returns the script for a shell whose completions come from this program; `None` for other
/// shells, whose scripts clap generates without values from the daemon.
///
/// # Errors
/// If clap cannot write the script.
pub(crate) fn script(shell: &str) -> io::Result<Option<Vec<u8>>> {
    let mut script = Vec::new();
    match shell {
        "bash" => script.extend_from_slice(BASH.as_bytes()),
        "fish" => Fish.write_registration(SHELL_VARIABLE, NAME, NAME, NAME, &mut script)?,
        "zsh" => Zsh.write_registration(SHELL_VARIABLE, NAME, NAME, NAME, &mut script)?,
        _ => return Ok(None),
    }
    Ok(Some(script))
}

/// The name of this program.
const NAME: &str = "brain";

/// Bash splits words at `:` and `=`, which are in `source:slug` and `--tag=work`. The script joins
/// them for `brain`, and removes the part up to the last `:` or `=` from the completions.
const BASH: &str = r#"_brain() {
    local IFS=$'\013' words=() word glue=no i
    for ((i = 0; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if [[ $i -gt 1 && ( $word == [:=]* || $glue == yes ) ]]; then
            words[${#words[@]}-1]+=$word
        else
            words+=("$word")
        fi
        glue=no
        [[ $word == *[:=] ]] && glue=yes
    done
    local current=${words[${#words[@]}-1]}
    COMPREPLY=( $( \
        _CLAP_IFS="$IFS" \
        _CLAP_COMPLETE_INDEX="$((${#words[@]} - 1))" \
        BRAIN_COMPLETE=bash \
        brain -- "${words[@]}" 2>/dev/null \
    ) )
    local before=${current%"${current##*[:=]}"}
    if [[ -n $before ]]; then
        for i in "${!COMPREPLY[@]}"; do
            COMPREPLY[i]=${COMPREPLY[i]#"$before"}
        done
    fi
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[:=/] ]]; then
        compopt -o nospace 2>/dev/null
    fi
}
complete -o bashdefault -F _brain brain
"#;
