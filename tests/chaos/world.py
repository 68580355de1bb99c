# SPDX-License-Identifier: MIT OR Apache-2.0
"""The machine as chaos sees it: namespaces of its own, what netnice may leave there, and traffic."""

import ctypes
import os
import random
import signal
import socket
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path

NAMES = ("netnice", "netnice-lab", "nn-guard", "nn-sockets", "nn-supervisor", "nn-udp")
MOUNTS = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
CGROUPS = next((Path(mount[1]) for mount in MOUNTS if mount[2] == "cgroup2"), Path("/nowhere"))
WORK = Path("/tmp/chaos")
# Sends a little all the time, and ends when its connection does.
CLIENT = """
import socket, sys, time
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
while True:
    s.sendall(bytes(2000))
    time.sleep(0.01)
"""
PYTHON = "/usr/bin/python3"
USER = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]

State = dict[str, set[str]]
Killed = tuple[int, str]


def bpf_ids(next_id: int) -> set[str]:
    """Numbers of the kernel's BPF programs (11) or maps (12), as bpf(2) lists them."""
    libc = ctypes.CDLL(None, use_errno=True)
    found: set[str] = set()
    attr = (ctypes.c_uint32 * 3)()
    while libc.syscall(321 if os.uname().machine == "x86_64" else 280, next_id, ctypes.byref(attr), 12) == 0:
        found.add(str(attr[1]))
        attr[0] = attr[1]
    return found


def processes() -> dict[int, str]:
    """Number and name of each process that lives here, but for this program."""
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) in (1, os.getpid()):
            continue
        try:
            stat = (entry / "stat").read_text()
        except OSError:
            continue
        name = stat[stat.index("(") + 1 : stat.rindex(")")]
        if stat[stat.rindex(")") + 2] not in "ZX":
            found[int(entry.name)] = name
    return found


def cgroups() -> list[Path]:
    """The cgroups that netnice has made."""
    found = []
    for path, directories, _ in os.walk(CGROUPS):
        found += [Path(path) / name for name in directories if name.startswith(("netnice-run-", "netnice-pid-"))]
    return found


def state() -> State:
    """All that netnice may leave."""
    controls = Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()
    mounts = Path("/proc/self/mounts").read_text().splitlines()
    places = [entry for place in ("/run", "/tmp") for entry in Path(place).iterdir()]
    return {
        "process": {f"{name} {pid}" for pid, name in processes().items()},
        "cgroup": {str(path) for path in cgroups()},
        "file": {str(entry) for entry in places if entry != WORK and entry.name != "mount"},
        "mount": {line for line in mounts if "netnice" in line},
        "control": set(controls),
        "network device": {name for _, name in socket.if_nameindex()},
        "BPF program": bpf_ids(11),
        "BPF map": bpf_ids(12),
    }


class World:
    """One run of chaos: the programs, a server to send to, and what was there before."""

    def __init__(self, netnice: Path, other: Path | None, rng: random.Random) -> None:
        self.netnice, self.other, self.rng = netnice, other, rng
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=100)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()
        self.pending: set[str] = set()
        self.before = state()

    def serve(self) -> None:
        while True:
            connection, _ = self.listener.accept()
            threading.Thread(target=self.drain, args=(connection,), daemon=True).start()

    @staticmethod
    def drain(connection: socket.socket) -> None:
        try:
            while connection.recv(1 << 16):
                pass
        except OSError:
            pass
        connection.close()

    def command(self, *arguments: str, user: bool = False, other: bool = False) -> list[str]:
        """A call of netnice, as root or as nobody, of this version or of the other."""
        program = self.other if other and self.other else self.netnice
        return [*(USER if user else []), str(program), *arguments]

    def client(self) -> list[str]:
        return [PYTHON, "-ISc", CLIENT, str(self.port)]

    @staticmethod
    def start(command: list[str]) -> subprocess.Popen[str]:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            cwd="/",
            start_new_session=True,
        )

    def call(self, *arguments: str, user: bool = False, other: bool = False, seconds: float = 60) -> tuple[int, str]:
        """Calls netnice to its end: exit code and stderr; a call that does not end is an error."""
        process = self.start(self.command(*arguments, user=user, other=other))
        try:
            _, said = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            raise BrokenPromiseError(f"`netnice {' '.join(arguments)}` does not end") from None
        return process.returncode, said

    def controls(self) -> list[str]:
        """The congestion control of each connection to the server."""
        listed = subprocess.run(
            ["ss", "-HtniO", "state", "established", f"( dport = :{self.port} )"],
            capture_output=True,
            text=True,
            check=True,
        )
        known = ("netnice", "tcplp", "cubic", "reno", "bbr")
        lines = listed.stdout.splitlines()
        return [next((word for word in line.split() if word in known), "unknown") for line in lines]

    def left(self) -> State:
        """What was not there before."""
        now = state()
        found = {kind: items - self.before[kind] - self.pending for kind, items in now.items()}
        return {kind: items for kind, items in found.items() if items}

    def settle(self, seconds: float) -> State:
        """What is left once nothing of netnice's runs any more that might clear it, or after `seconds`."""
        deadline = time.monotonic() + seconds
        quiet = 0
        while True:
            left = self.left()
            if not left or time.monotonic() > deadline:
                return left
            # The kernel frees programs and maps after a grace period.
            quiet = 0 if {"process", "BPF program", "BPF map"} & left.keys() else quiet + 1
            if quiet > 5:
                return left
            time.sleep(0.03)

    def roles(self) -> dict[str, list[int]]:
        """The processes that netnice and its commands have here, by what they are for."""
        found: dict[str, list[int]] = {}
        for pid, name in processes().items():
            role = name if name in NAMES else "command"
            found.setdefault(role, []).append(pid)
        return found

    def kill(self, mode: str) -> tuple[int, str]:
        """Kills by `mode`; how many processes that were, and which."""
        roles = self.roles()
        wanted = {
            "netnice": ["netnice", "netnice-lab"],
            "guard": ["nn-guard", "nn-supervisor"],
            "both": list(NAMES),
            "all": [*NAMES, "command"],
        }[mode]
        victims = [(role, pid) for role in wanted for pid in roles.get(role, [])]
        self.rng.shuffle(victims)
        killed = []
        for role, pid in victims:
            try:
                os.kill(pid, signal.SIGKILL)
                killed.append(role)
            except ProcessLookupError:
                continue
            if self.rng.random() < 0.3:
                time.sleep(self.rng.uniform(0, 0.003))
        return len(killed), ", ".join(sorted(killed))

    def end_all(self) -> None:
        """Ends the commands, those too that netnice is yet to start, until only what clears up is left."""
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            roles = self.roles()
            for pid in roles.get("command", []):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            if not roles.get("command") and not roles.get("netnice"):
                return
            time.sleep(0.02)
        for pid in self.roles().get("netnice", []):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)

    def pause(self, longest: float) -> float:
        seconds = self.rng.uniform(0, longest)
        time.sleep(seconds)
        return seconds


class BrokenPromiseError(Exception):
    """A promise that was not kept."""
