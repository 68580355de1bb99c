# SPDX-License-Identifier: MIT OR Apache-2.0
"""Programs of netnice-lab whose control `netnice` is compiled from another directory of policies, and runs of them."""

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
POLICIES = ROOT / "policies"
# Settings of scenarios/netnice_beside_cubic.toml: ends that recover from losses as Linux does.
LINUX = ["flows.netnice.tcp.recovery=linux", "flows.cubic.tcp.recovery=linux"]


class Linker:
    """Links netnice-lab, which `cargo build --release` has compiled, with policies of any directory."""

    def __init__(self) -> None:
        command = ["cargo", "rustc", "--locked", "--release", "-p", "netnice-lab", "--bin", "netnice-lab", "--"]
        command += ["-C", "save-temps", "--print", "link-args"]
        lines = self._lines(command)
        if not lines:
            # An earlier build is up to date, and then nothing is linked.
            (ROOT / "lab/cli/src/main.rs").touch()
            lines = self._lines(command)
        self._words = shlex.split(lines[-1])
        self._environment: dict[str, str] = {}
        while "=" in self._words[0] or self._words[0] in ("env", "-u"):
            word = self._words.pop(0)
            if word == "-u":
                self._words.pop(0)
            elif "=" in word:
                name, _, value = word.partition("=")
                self._environment[name] = value

    @staticmethod
    def _lines(command: list[str]) -> list[str]:
        built = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
        return [line for line in built.stdout.splitlines() if " -o " in line or '"-o"' in line]

    def link(self, changed: dict[str, str], directory: Path) -> Path:
        """Links the program in `directory`; `changed` has the texts of headers that replace the checkout's, by name."""
        policies = directory / "policy"
        shutil.copytree(POLICIES, policies)
        for header, text in changed.items():
            (policies / header).write_text(text)
        native = directory / "native.o"
        source = ROOT / "lab/congestion/src/native.c"
        subprocess.run(["cc", "-O2", "-g", "-fPIC", f"-I{policies}", "-c", source, "-o", native], check=True)
        program = directory / "netnice-lab"
        words = list(self._words)
        words[words.index("-o") + 1] = str(program)
        # Before the library, whose object of the same functions is then not needed.
        words.insert(1, str(native))
        subprocess.run(words, env=os.environ | self._environment, cwd=ROOT, check=True)
        return program


def simulate(program: Path, scenario: Path, seeds: int, settings: list[str], *options: str) -> list[dict]:
    """Runs a scenario with changes, and returns the points of its sweep."""
    command = [program, "sim", scenario, "--seeds", str(seeds), "--json", *options]
    for setting in settings:
        command += ["--set", setting]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode:
        sys.exit(f"{Path(sys.argv[0]).name}: {run.stderr.strip()}")
    return json.loads(run.stdout)["points"]
