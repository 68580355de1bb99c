// SPDX-License-Identifier: MIT OR Apache-2.0
//! `netnice generate`: the files that a package needs beside the program, all from the program's own definitions.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Args, CommandFactory};
use netnice_terminal::generate;

use super::install;
use crate::Netnice;

/// Write man pages, completions and the systemd unit, for packagers.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Write to man/, completions/ and systemd/ below this directory, which is created if missing
    directory: PathBuf,
    /// Directory of the installation: the unit calls the program in its bin
    #[arg(long, default_value = "/usr", value_name = "DIRECTORY")]
    prefix: PathBuf,
}

/// Writes the files.
pub fn run(arguments: &Arguments) -> Result<ExitCode> {
    let program = install::program(&arguments.prefix)?;
    generate::write(&Netnice::command(), &arguments.directory)?;
    let unit = generate::below(&arguments.directory, "systemd")?.join(install::UNIT_NAME);
    fs::write(&unit, install::unit(&program))
        .with_context(|| format!("writing {}", unit.display()))?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn every_listed_command_has_a_man_page_and_completions() {
        let directory = written();
        let read = |name: &str| fs::read_to_string(directory.path().join(name)).unwrap();
        let completions = read("completions/netnice.bash");
        for command in Netnice::command().get_subcommands() {
            let name = command.get_name();
            let page = directory.path().join(format!("man/netnice-{name}.1"));
            assert_eq!(page.exists(), !command.is_hide_set(), "{name}");
            if !command.is_hide_set() {
                assert!(completions.contains(name), "{name}");
            }
        }
        assert!(read("man/netnice-run.1").contains("control"));
        assert!(read("systemd/netnice.service").contains("\"/usr/bin/netnice\" register"));
    }

    /// Writes the files, and returns their directory.
    fn written() -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        let arguments = Arguments {
            directory: directory.path().to_owned(),
            prefix: "/usr".into(),
        };
        run(&arguments).unwrap();
        directory
    }

    #[test]
    fn a_synopsis_has_values_and_what_may_be_repeated() {
        let directory = written();
        let synopsis = |name: &str| {
            let page = directory.path().join(format!("man/{name}.1"));
            let page = fs::read_to_string(page).unwrap();
            let (_, rest) = page.split_once(".SH SYNOPSIS\n").unwrap();
            let line = rest.lines().next().unwrap();
            assert!(
                rest.starts_with(&format!("{line}\n.SH DESCRIPTION")),
                "{name}"
            );
            line.replace("\\fB", "")
                .replace("\\fI", "")
                .replace("\\fR", "")
                .replace('\\', "")
        };
        let run = synopsis("netnice-run");
        assert!(
            run.starts_with("netnice run [-v|--verbose] [--json]"),
            "{run}"
        );
        for part in [
            "[--log FILE] ",
            "[--size-of PATH...] ",
            "[--udp yes|no|refuse] ",
        ] {
            assert!(run.contains(part), "{part}: {run}");
        }
        assert!(run.ends_with(" [-h|--help] [--] COMMAND..."), "{run}");
        assert!(!run.contains("--rate"), "{run}");
        for (name, end) in [
            ("netnice-link", " [[--] COMMAND...]"),
            ("netnice-renice", " [PID]"),
            ("netnice-probe", " URL..."),
            ("netnice", " COMMAND"),
        ] {
            let synopsis = synopsis(name);
            assert!(synopsis.ends_with(end), "{synopsis}");
        }
    }

    /// What bash offers for the last of these words, without bash-completion.
    fn offered(completions: &Path, words: &[&str]) -> Vec<String> {
        let script = "source \"$1\"; shift; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); name=$(complete -p netnice); \
             name=${name#*-F }; ${name%% *} netnice \"${COMP_WORDS[COMP_CWORD]}\" \"${COMP_WORDS[COMP_CWORD - 1]}\" \
             2>/dev/null; printf '%s\\n' \"${COMPREPLY[@]}\"";
        let output = std::process::Command::new("bash")
            .args(["--norc", "-c", script, "bash"])
            .arg(completions)
            .args(words)
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn bash_completes_the_command_and_names_that_attach_knows() {
        let directory = written();
        let completions = directory.path().join("completions/netnice.bash");
        for (words, has, has_not) in [
            ("run -- env", "env", "--json"),
            ("run env", "env", "--json"),
            (
                "run --json --log FILE --control tcplp -- env",
                "env",
                "--json",
            ),
            ("run --size-of /a /b -- env", "env", "--json"),
            ("run --by = +4h env", "env", "--json"),
            ("run --js", "--json", "env"),
            ("run --control tcp", "tcplp", "tcpdump"),
            ("attach dock", "docker", "--json"),
            ("attach --persist k3", "k3s", "--json"),
            ("detach oll", "ollama", "--json"),
            ("stat", "status", "--json"),
        ] {
            let words: Vec<&str> = ["netnice"].into_iter().chain(words.split(' ')).collect();
            let offered = offered(&completions, &words);
            let contains = |word: &str| offered.iter().any(|one| one == word);
            assert!(
                contains(has) && !contains(has_not),
                "{words:?}: {offered:?}"
            );
        }
    }

    #[test]
    fn fish_and_zsh_complete_the_command_and_names_that_attach_knows() {
        let directory = written();
        let read = |name: &str| {
            fs::read_to_string(directory.path().join("completions").join(name)).unwrap()
        };
        let (fish, zsh) = (read("netnice.fish"), read("_netnice"));
        assert!(zsh.contains(":_cmdambivalent'"), "{zsh}");
        assert!(fish.contains(
            "using_subcommand run\" -x -a \"(__fish_complete_subcommand --fcs-skip=2 - --log "
        ));
        for (shell, names) in [
            (zsh, "(docker containerd "),
            (fish, "subcommand attach\" -a \"docker"),
        ] {
            assert!(shell.contains(names), "{shell}");
        }
    }
}
