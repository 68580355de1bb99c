// SPDX-License-Identifier: MIT OR Apache-2.0
//! Man pages and completions, from a program's own definitions.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::{Arg, Command, ValueHint};
use clap_complete::{Generator, Shell};
use clap_mangen::Man;

/// Makes the directory `name` below `directory`.
///
/// # Errors
/// If it cannot be made.
pub fn below(directory: &Path, name: &str) -> Result<PathBuf> {
    let directory = directory.join(name);
    fs::create_dir_all(&directory).with_context(|| format!("making {}", directory.display()))?;
    Ok(directory)
}

/// Writes a man page for the program and for each command that its help lists to man/ below `directory`, and completions
/// to completions/.
///
/// # Errors
/// If a file cannot be written.
pub fn write(program: &Command, directory: &Path) -> Result<()> {
    let man = below(directory, "man")?;
    // Without `help` as a command, whose page would say nothing.
    let mut command = program.clone().disable_help_subcommand(true);
    command.build();
    write_pages(&command, &man)?;
    let completions = below(directory, "completions")?;
    let name = program.get_name();
    for shell in [Shell::Bash, Shell::Fish, Shell::Zsh] {
        let mut text = Vec::new();
        clap_complete::generate(shell, &mut program.clone(), name, &mut text);
        let text = String::from_utf8(text).context("completions are no text")?;
        let file = completions.join(shell.file_name(name));
        fs::write(&file, with_arguments(program, shell, text))
            .with_context(|| format!("writing {}", file.display()))?;
    }
    Ok(())
}

/// Writes the pages of a command and of those below it.
fn write_pages(command: &Command, directory: &Path) -> Result<()> {
    for below in command.get_subcommands().filter(|one| !one.is_hide_set()) {
        write_pages(below, directory)?;
    }
    let page = Man::new(command.clone());
    let file = directory.join(page.get_filename());
    let mut text = Vec::new();
    page.render(&mut text)
        .and_then(|()| {
            fs::write(
                &file,
                with_synopsis(command, &String::from_utf8_lossy(&text)),
            )
        })
        .with_context(|| format!("writing {}", file.display()))
}

/// Puts a synopsis into a page that has the options' values too, which that of `clap_mangen` lacks.
fn with_synopsis(command: &Command, page: &str) -> String {
    const HEADING: &str = ".SH SYNOPSIS\n";
    let Some((before, rest)) = page.split_once(HEADING) else {
        return page.to_owned();
    };
    let after = rest.find(".SH ").map_or("", |at| &rest[at..]);
    let name = command.get_bin_name().unwrap_or(command.get_name());
    let mut words = vec![format!("\\fB{}\\fR", escaped(name))];
    let shown = || command.get_arguments().filter(|one| !one.is_hide_set());
    words.extend(shown().filter(|one| !one.is_positional()).map(option));
    words.extend(shown().filter(|one| one.is_positional()).map(positional));
    if command.has_subcommands() {
        words.push("\\fICOMMAND\\fR".to_owned());
    }
    format!("{before}{HEADING}{}\n{after}", words.join(" "))
}

/// An option in a synopsis: `[--log FILE]`.
fn option(option: &Arg) -> String {
    // Such as `--log <FILE>`, `--size-of <PATH>...` or `--search[=<FILE>]`.
    let text = option.to_string();
    let (name, value) = text.split_at(text.find([' ', '[']).unwrap_or(text.len()));
    let short = option.get_short().map(|short| format!("-{short}"));
    let short = short.filter(|short| short != name);
    let short = short.map_or(String::new(), |short| {
        format!("\\fB{}\\fR|", escaped(&short))
    });
    let text = format!("{short}\\fB{}\\fR{}", escaped(name), values(value));
    match option.is_required_set() {
        true => text,
        false => format!("[{text}]"),
    }
}

/// An argument without a name: `[--] COMMAND...`.
fn positional(argument: &Arg) -> String {
    let names = argument.get_value_names().unwrap_or_default().join(" ");
    let several = argument
        .get_num_args()
        .is_some_and(|number| number.max_values() > 1);
    let dots = if several { "..." } else { "" };
    let text = format!("\\fI{}\\fR{dots}", escaped(&names));
    let text = match argument.is_trailing_var_arg_set() {
        true => format!("[\\-\\-] {text}"),
        false => text,
    };
    match argument.is_required_set() {
        true => text,
        false => format!("[{text}]"),
    }
}

/// Values as `<FILE>`, slanted in place of the angles.
fn values(text: &str) -> String {
    escaped(text).replace('<', "\\fI").replace('>', "\\fR")
}

fn escaped(text: &str) -> String {
    text.replace('-', "\\-")
}

/// A command whose last arguments are another command, with arguments of its own.
struct Wrapper<'a> {
    name: &'a str,
    /// Its options that take a value, and those that take more.
    valued: Vec<String>,
    many: Vec<String>,
}

impl<'a> Wrapper<'a> {
    fn all(program: &'a Command) -> impl Iterator<Item = Self> {
        let wraps = |command: &&Command| {
            let mut arguments = command.get_arguments();
            arguments.any(|one| one.get_value_hint() == ValueHint::CommandWithArguments)
        };
        program.get_subcommands().filter(wraps).map(|command| {
            let with = |is_wanted: fn(usize) -> bool| {
                let options = command.get_arguments().filter(move |one| {
                    let takes = one.get_action().takes_values() && !one.is_positional();
                    takes && is_wanted(one.get_num_args().map_or(1, |number| number.max_values()))
                });
                let names = options.flat_map(|one| {
                    let short = one.get_short().map(|short| format!("-{short}"));
                    let long = one.get_long().map(|long| format!("--{long}"));
                    short.into_iter().chain(long)
                });
                names.collect()
            };
            Self {
                name: command.get_name(),
                valued: with(|most| most <= 1),
                many: with(|most| most > 1),
            }
        })
    }
}

/// Adds to completions what those of `clap_complete` for other shells than zsh lack: the command that a command runs, and for fish
/// arguments without a name.
fn with_arguments(program: &Command, shell: Shell, completions: String) -> String {
    let name = program.get_name();
    let wrappers: Vec<Wrapper<'_>> = Wrapper::all(program).collect();
    match shell {
        Shell::Bash if !wrappers.is_empty() => {
            let cases = wrappers.iter().map(|one| {
                let (valued, many) = (one.valued.join(" "), one.many.join(" "));
                format!(
                    "        {}) valued=' {valued} ' many=' {many} ' ;;\n",
                    one.name
                )
            });
            let function = BASH
                .replace("CASES", cases.collect::<String>().trim_end())
                .replace("NAME", name);
            let own = format!("complete -F _{name} ");
            let called = format!("complete -F _{name}_or_command ");
            let completions = completions.replace(&own, &called);
            let (before, after) = completions
                .rsplit_once("\nif [[")
                .unwrap_or((&completions, ""));
            format!("{before}\n{function}\nif [[{after}")
        }
        Shell::Fish => {
            let within = |command| {
                format!("complete -c {name} -n \"__fish_{name}_using_subcommand {command}\"")
            };
            let commands = wrappers.iter().map(|one| {
                let options = [&one.valued[..], &one.many].concat().join(" ");
                // Two words are passed over: the program and this command. What follows `-` takes a value; the function's own
                // separator, `--`, would take one, too.
                format!(
                    "{} -x -a \"(__fish_complete_subcommand --fcs-skip=2 - {options})\"\n",
                    within(one.name)
                )
            });
            let values = program.get_subcommands().filter_map(|command| {
                let values = command.get_positionals().flat_map(Arg::get_possible_values);
                let values: Vec<String> = values.map(|one| one.get_name().to_owned()).collect();
                let is_any = !values.is_empty();
                is_any.then(|| {
                    format!(
                        "{} -a \"{}\"\n",
                        within(command.get_name()),
                        values.join(" ")
                    )
                })
            });
            completions + &commands.chain(values).collect::<String>()
        }
        _ => completions,
    }
}

/// Completes the words from the command on as if they stood alone, by bash-completion if that is there.
const BASH: &str = r#"
_NAME_or_command() {
    local at=2 last="${COMP_WORDS[COMP_CWORD]}" valued many
    case "${COMP_WORDS[1]}" in
CASES
        *) _NAME "$@"; return ;;
    esac
    while ((at < COMP_CWORD)); do
        if [[ ${COMP_WORDS[at]} == -- ]]; then
            ((++at))
            last=
            break
        elif [[ ${COMP_WORDS[at]} != -* ]]; then
            break
        elif [[ ${COMP_WORDS[at + 1]} == = ]]; then
            ((at += 3))
        elif [[ $valued == *" ${COMP_WORDS[at]} "* ]]; then
            ((at += 2))
        elif [[ $many == *" ${COMP_WORDS[at]} "* ]]; then
            ((++at))
            while ((at <= COMP_CWORD)) && [[ ${COMP_WORDS[at]} != -* ]]; do ((++at)); done
        else
            ((++at))
        fi
    done
    if ((at > COMP_CWORD)) || [[ $at -eq $COMP_CWORD && $last == -* ]]; then
        _NAME "$@"
    elif declare -F _comp_command_offset >/dev/null; then
        _comp_command_offset "$at"
    elif declare -F _command_offset >/dev/null; then
        _command_offset "$at"
    elif ((at == COMP_CWORD)); then
        COMPREPLY=($(compgen -c -- "${COMP_WORDS[COMP_CWORD]}"))
    else
        COMPREPLY=($(compgen -f -- "${COMP_WORDS[COMP_CWORD]}"))
    fi
}
"#;
