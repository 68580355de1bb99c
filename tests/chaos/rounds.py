# SPDX-License-Identifier: MIT OR Apache-2.0
"""What chaos does in a round: a call of netnice, and a death or a fault in the middle of it."""

import os
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from world import CGROUPS, WORK, BrokenPromiseError, Killed, World, cgroups

PREFIX = str(WORK / "prefix")
OTHER_PREFIX = str(WORK / "other-prefix")
SCENARIO = """
name = "chaos"
duration = "2s"
seeds = 1

[[links]]
name = "bottleneck"
from = "left"
to = "right"
rate = "5mbit"
delay = "5ms"
queue = "20p"

[[flows]]
name = "bulk"
from = "left"
to = "right"
congestion_control = "netnice"
"""
MODES = ("netnice", "guard", "both", "all")


def settled_control(world: World, wanted: str, seconds: float = 10) -> None:
    """All connections have the control that was promised."""
    deadline = time.monotonic() + seconds
    while True:
        controls = world.controls()
        if controls and set(controls) == {wanted}:
            return
        if time.monotonic() > deadline:
            raise BrokenPromiseError(f"connections have {controls or 'ended'} where {wanted} was promised")
        time.sleep(0.02)


def first_control(world: World) -> str:
    """The control of the first connection, once there is one: without KVM a client takes long to start."""
    deadline = time.monotonic() + 120
    while not (controls := world.controls()):
        if time.monotonic() > deadline:
            raise BrokenPromiseError("a client without netnice makes no connection")
        time.sleep(0.01)
    return controls[0]


def surviving(world: World) -> None:
    """A command that outlives what was killed has connections, and all of them have the control."""
    deadline = time.monotonic() + 10
    while world.roles().get("command") and time.monotonic() < deadline:
        controls = world.controls()
        if controls:
            if set(controls) != {"netnice"}:
                raise BrokenPromiseError(f"a command under netnice has connections with {controls}")
            return
        time.sleep(0.02)


def short_run(world: World, command: list[str], longest: float, modes: tuple[str, ...] = MODES) -> Killed:
    world.start(command)
    world.pause(longest)
    return world.kill(world.rng.choice(modes))


def run_as_root(world: World) -> Killed:
    """`run`"""
    killed = short_run(world, world.command("run", "--", *world.client()), 0.25)
    surviving(world)
    return killed


def run_verbose(world: World) -> Killed:
    """`run -v`"""
    killed = short_run(world, world.command("run", "-v", "--", *world.client()), 0.3)
    surviving(world)
    return killed


def run_as_user(world: World) -> Killed:
    """`run -v`, as a user"""
    install(world)
    killed = short_run(world, world.command("run", "-v", "--", *world.client(), user=True), 0.15)
    if "nn-supervisor" not in killed[1]:
        surviving(world)
    elif any(control != "netnice" for control in world.controls()):
        raise BrokenPromiseError(f"without its supervisor a command has connections with {world.controls()}")
    world.end_all()
    uninstall(world)
    return killed


def many_runs(world: World) -> Killed:
    """six `run` at a time"""
    for _ in range(6):
        world.start(world.command("run", "--", *world.client()))
        world.pause(0.02)
    world.pause(0.3)
    killed = world.kill(world.rng.choice(MODES))
    surviving(world)
    return killed


def attach_and_detach(world: World) -> Killed:
    """`attach`, `detach`"""
    cgroup = CGROUPS / f"chaos-{os.getpid()}"
    cgroup.mkdir(exist_ok=True)
    try:
        world.start(["sh", "-c", f'echo 0 >{cgroup}/cgroup.procs; exec "$@"', "-", *world.client()])
        usual = first_control(world)
        first = short_run(world, world.command("attach", str(cgroup)), 0.2, ("netnice",))
        expect(world, 0, "attach", str(cgroup))
        settled_control(world, "netnice")
        second = short_run(world, world.command("detach", str(cgroup)), 0.05, ("netnice",))
        code, said = world.call("detach", str(cgroup))
        if code != 0 and "low priority" not in said and "attached" not in said:
            raise BrokenPromiseError(f"detach fails: {said}")
        settled_control(world, usual)
        return first[0] + second[0], ", ".join(filter(None, (first[1], second[1])))
    finally:
        world.end_all()
        remove_cgroup(cgroup)


def renice(world: World) -> Killed:
    """`renice`, `renice --off`"""
    client = world.start(world.client())
    usual, pid = first_control(world), str(client.pid)
    modes = ("netnice", "both")
    first = short_run(world, world.command("renice", "--pid", pid), 0.2, modes)
    expect(world, 0, "renice", "--pid", pid)
    settled_control(world, "netnice")
    second = short_run(world, world.command("renice", "--off", "--pid", pid), 0.05, modes)
    code, said = world.call("renice", "--off", "--pid", pid)
    if code != 0 and "low priority" not in said:
        raise BrokenPromiseError(f"renice --off fails: {said}")
    settled_control(world, usual)
    return first[0] + second[0], ", ".join(filter(None, (first[1], second[1])))


def install_and_uninstall(world: World) -> Killed:
    """`install`, `uninstall`, two each at a time"""
    killed = 0
    for _ in range(2):
        for command in ("install", "uninstall"):
            world.start(world.command(command, "--prefix", PREFIX))
            world.pause(0.03)
    world.pause(0.2)
    pids = world.roles().get("netnice", [])
    for pid in world.rng.sample(pids, (len(pids) + 1) // 2):
        with suppress(ProcessLookupError):
            os.kill(pid, 9)
            killed += 1
    deadline = time.monotonic() + 30
    while "netnice" in world.roles():
        if time.monotonic() > deadline:
            raise BrokenPromiseError("`install` beside `uninstall` does not end")
        time.sleep(0.01)
    uninstall(world)
    remaining = sorted(entry.name for entry in Path(PREFIX, "bin").glob("*"))
    if remaining:
        raise BrokenPromiseError(f"`uninstall` leaves {', '.join(remaining)} in bin")
    return killed, "netnice"


def link(world: World) -> Killed:
    """`link`"""
    command = ("link", "-q", "--rate", "20mbit", "--delay", "2ms", "--far", "sleep 60 & sleep 60", "--", "sleep", "60")
    return short_run(world, world.command(*command), 0.6)


def demo(world: World) -> Killed:
    """`demo`"""
    return short_run(world, world.command("demo", "--seconds", "2"), 8, ("netnice", "guard", "both"))


def lab(world: World) -> Killed:
    """`lab`"""
    scenario = WORK / "scenario.toml"
    return short_run(world, world.command("lab", "-q", str(scenario)), 3, ("netnice", "guard", "both"))


def watch(world: World) -> Killed:
    """`status --watch`"""
    world.start(world.command("run", "--", *world.client()))
    killed = short_run(world, world.command("status", "--watch"), 1.2, ("netnice",))
    surviving(world)
    return killed


def cgroup_removed(world: World) -> Killed:
    """`run`, its cgroup killed and removed"""
    world.start(world.command("run", "--", *world.client()))
    deadline = time.monotonic() + 2
    removed = 0
    while time.monotonic() < deadline and not removed:
        for cgroup in cgroups():
            world.pause(0.1)
            with suppress(OSError):
                (cgroup / "cgroup.kill").write_text("1")
            removed += remove_cgroup(cgroup)
    return removed, "all in the cgroup"


def attached_removed(world: World) -> Killed:
    """`attach`, the cgroup removed"""
    cgroup = CGROUPS / f"chaos-{os.getpid()}"
    cgroup.mkdir(exist_ok=True)
    world.start(world.command("attach", str(cgroup)))
    world.pause(0.2)
    remove_cgroup(cgroup)
    return world.kill("netnice")


def replaced(world: World) -> Killed:
    """connections while another version replaces the control"""
    install(world)
    world.start(world.command("run", "--", *world.client()))
    settled_control(world, "netnice")
    pid = world.start(world.command("install", "--prefix", OTHER_PREFIX, other=True)).pid
    world.pause(0.3)
    killed = 0
    with suppress(ProcessLookupError):
        os.kill(pid, 9)
        killed = 1
    expect(world, 0, "install", "--prefix", OTHER_PREFIX, other=True)
    settled_control(world, "netnice")
    world.start(world.command("run", "-v", "--", *world.client(), user=True, other=True))
    deadline = time.monotonic() + 10
    while len(world.controls()) < 2:
        if time.monotonic() > deadline:
            raise BrokenPromiseError("beside another version no connection comes about")
        time.sleep(0.02)
    settled_control(world, "netnice")
    more = world.kill(world.rng.choice(("netnice", "both")))
    world.end_all()
    uninstall(world)
    return killed + more[0], "netnice"


def two_versions(world: World) -> Killed:
    """`run` of two versions at a time"""
    world.start(world.command("run", "-v", "--", *world.client()))
    world.pause(0.1)
    world.start(world.command("run", "-v", "--", *world.client(), other=True))
    world.pause(0.3)
    killed = world.kill(world.rng.choice(MODES))
    surviving(world)
    return killed


def expect(world: World, wanted: int, *arguments: str, other: bool = False) -> None:
    code, said = world.call(*arguments, other=other)
    if code != wanted:
        raise BrokenPromiseError(f"`netnice {' '.join(arguments)}` ends with {code}: {said.strip()}")


def install(world: World) -> None:
    expect(world, 0, "install", "--prefix", PREFIX)


def uninstall(world: World) -> None:
    expect(world, 0, "uninstall", "--prefix", PREFIX)


def remove_cgroup(cgroup: Path) -> bool:
    """Removes a cgroup once it is empty; whether that was done here."""
    for _ in range(200):
        try:
            cgroup.rmdir()
            return True
        except FileNotFoundError:
            return False
        except OSError:
            time.sleep(0.01)
    raise BrokenPromiseError(f"{cgroup} is not empty")


def fault(prepare: Callable[[], None]) -> Callable[[World], Killed]:
    """A round in which /run is at fault while each command is called."""

    def round_(world: World) -> Killed:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "faulty", "/run"], check=True)
        try:
            prepare()
            said = ""
            for command, user in [
                (("run", "--", "true"), False),
                (("run", "-v", "--", "true"), True),
                (("renice", "--pid", str(os.getpid())), False),
                (("install", "--prefix", PREFIX), False),
                (("link", "-q", "--", "true"), False),
                (("status",), False),
                (("uninstall", "--prefix", PREFIX), False),
            ]:
                code, said = world.call(*command, user=user, seconds=20)
                panicked = "panicked" in said or code not in (0, 1, 2)
                if panicked or (code != 0 and len(said.strip().splitlines()) != 1):
                    raise BrokenPromiseError(f"`netnice {' '.join(command)}` ends with {code}: {said.strip()!r}")
            world.settle(5)
        finally:
            while subprocess.run(["umount", "-l", "/run/netnice/bpf"], capture_output=True).returncode == 0:
                pass
            subprocess.run(["mount", "-o", "remount,rw", "/run"], check=True)
            subprocess.run(["umount", "-l", "/run"], check=True)
        return 0, ""

    return round_


def full() -> None:
    with suppress(OSError), Path("/run/filler").open("wb") as filler:
        while True:
            filler.write(bytes(4096))
            filler.flush()


def read_only() -> None:
    subprocess.run(["mount", "-o", "remount,ro", "/run"], check=True)


def dangling() -> None:
    Path("/run/netnice").symlink_to("/run/nowhere/at/all")


def not_a_directory() -> None:
    Path("/run/netnice").write_text("no directory\n")


def garbage() -> None:
    for home in (Path("/run/netnice/cgroups"), Path("/run/netnice-guards")):
        home.mkdir(parents=True)
        (home / "1").mkdir()
        os.mkfifo(home / "2")
        (home / "3").symlink_to("/etc/passwd")
        with (home / "4").open("wb") as huge:
            huge.truncate(3 << 30)
        (home / "5").write_bytes(b"\xff\x00made attached 5 6\n" * 50)
        (home / "6").write_text("made 1 /\n")
        (home / "7").write_text("made 7 /../../etc\n")
    Path("/run/netnice/installed").mkdir()


FAULTS: dict[str, Callable[[World], Killed]] = {
    "/run full": fault(full),
    "/run read-only": fault(read_only),
    "/run/netnice a dangling link": fault(dangling),
    "/run/netnice a file": fault(not_a_directory),
    "garbage in /run/netnice": fault(garbage),
}
ROUNDS: dict[str, Callable[[World], Killed]] = {
    round_.__doc__ or "": round_
    for round_ in (
        run_as_root,
        run_verbose,
        run_as_user,
        many_runs,
        attach_and_detach,
        renice,
        install_and_uninstall,
        link,
        demo,
        lab,
        watch,
        cgroup_removed,
        attached_removed,
        replaced,
        two_versions,
    )
}
