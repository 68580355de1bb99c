# SPDX-License-Identifier: MIT OR Apache-2.0
"""How the programs beside this one time a simulator, and how they compile one of validation/ns3."""

import os
import pathlib
import statistics
import subprocess
import time
from collections.abc import Sequence

HERE = pathlib.Path(__file__).resolve().parent
NS3_LIBRARIES = ["applications", "internet", "point-to-point", "traffic-control", "network", "core"]

# A run so short takes the time of its set-up.
SETUP_SECONDS = 0.001


def measured(command: list[str], output: str = os.devnull) -> tuple[float, float, float]:
    """Processor seconds, peak memory in MB and wall seconds of a command, whose output goes to a file."""
    began = time.monotonic()
    pid = os.posix_spawnp(
        command[0],
        command,
        os.environ,
        file_actions=[(os.POSIX_SPAWN_OPEN, 1, output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)],
    )
    _, status, usage = os.wait4(pid, 0)
    if status != 0:
        raise SystemExit(f"failed: {' '.join(command)}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, time.monotonic() - began


def spread(values: Sequence[float]) -> str:
    return f"{statistics.median(values):.3g} [{min(values):.3g} .. {max(values):.3g}]"


def ns3_compiler(name: str, program: str) -> list[str]:
    """The command that compiles validation/ns3/NAME.cc."""
    libraries = [f"-lns3-{library}" for library in NS3_LIBRARIES]
    return ["g++", "-std=c++17", "-O2", "-o", program, str(HERE / "ns3" / f"{name}.cc"), *libraries]


def build_ns3(directory: str, name: str) -> str | None:
    """The program compiled from validation/ns3/NAME.cc, if ns-3 is there."""
    program = f"{directory}/{name}"
    try:
        built = subprocess.run(ns3_compiler(name, program), capture_output=True, check=False)
    except FileNotFoundError:
        return None
    return program if built.returncode == 0 else None
