# SPDX-License-Identifier: MIT OR Apache-2.0
"""Debian with systemd as process 1, in namespaces on the running kernel: boots in seconds.

It has what `machine.Machine` has, but the kernel is the host's. When it ends, what pins and mounts held ends with it,
as at a reboot; the host's page cache survives `power_off`, unlike that of a machine without power.
"""

import os
import shutil
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from machine import PROJECT, WORK, GuestError, Result

BOOT_SECONDS = 120
END_SECONDS = 60
CONTROLS = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
# Major and minor number (the kernel's Documentation/admin-guide/devices.txt). The console is one that swallows all.
DEVICES = {
    "null": "1 3",
    "zero": "1 5",
    "full": "1 7",
    "random": "1 8",
    "urandom": "1 9",
    "tty": "5 0",
    "console": "1 3",
    "net/tun": "10 200",
}
# Runs in the new namespaces as their first process, and becomes systemd.
FIRST = """
set -e
cd "$1"
mount --make-rprivate /
mount -t overlay -o "lowerdir=$2,upperdir=upper,workdir=work" root root
mount -t proc proc root/proc
# The host's settings are not this system's, but for those of its own network.
mount --bind root/proc/sys root/proc/sys
mount --bind root/proc/sys/net root/proc/sys/net
mount -o remount,bind,ro root/proc/sys
mount -t sysfs -o ro sysfs root/sys
mount -t cgroup2 cgroup2 root/sys/fs/cgroup
mount -t tmpfs -o mode=755 dev root/dev
mkdir root/dev/net root/dev/pts root/dev/shm
# Nodes of its own: systemd changes the owner and mode of some, and of the host's if they were bound here.
{devices}
mount -t devpts -o newinstance,ptmxmode=666 devpts root/dev/pts
ln -s pts/ptmx root/dev/ptmx
ln -s /proc/self/fd root/dev/fd
mount --bind share root/mnt
cd root
pivot_root . .
umount -l .
cd /
ip link set lo up
exec env -i container=netnice PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --log-target=journal
"""


class Container:
    """One system; its files survive `power_off`, and `start` boots it again."""

    slowness = 1

    def __init__(self, name: str) -> None:
        self.work = WORK / name
        self.share = self.work / "share"
        self.upper = self.work / "upper"
        self.process: subprocess.Popen[bytes] | None = None
        self.init = 0
        self.controls = set(CONTROLS.read_text().split())
        mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
        hierarchy = next((Path(mount[1]) for mount in mounts if mount[2] == "cgroup2"), None)
        if hierarchy is None:
            raise GuestError("cgroup2 is not mounted here")
        self.cgroup = hierarchy / f"netnice-test-{os.getpid()}"

    def __enter__(self) -> "Container":
        subprocess.run([PROJECT / "tests/vm/image"], check=True)
        shutil.rmtree(self.work, ignore_errors=True)
        for name in ("upper", "work", "root", "share"):
            (self.work / name).mkdir(parents=True)
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.power_off()

    def start(self) -> None:
        """Boots, and returns once systemd has started all units."""
        self.cgroup.mkdir(exist_ok=True)
        enter = f'echo 0 >{self.cgroup}/cgroup.procs; exec unshare -mpniuC --fork --kill-child sh -c "$1" - "$2" "$3"'
        nodes = (f"mknod -m 666 root/dev/{name} c {numbers}" for name, numbers in DEVICES.items())
        script = FIRST.format(devices="\n".join(nodes))
        with (self.work / "console").open("ab") as console:
            self.process = subprocess.Popen(
                ["sh", "-c", enter, "-", script, str(self.work), str(WORK / "root")],
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=console,
                start_new_session=True,
            )
        deadline = time.monotonic() + BOOT_SECONDS
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        while self.process.poll() is None and time.monotonic() < deadline:
            with suppress(OSError, GuestError, IndexError):
                self.init = int(children.read_text().split()[0])
                state = self.run("systemctl", "is-system-running", "--wait", check=False).output.strip()
                if state in ("running", "degraded"):
                    return
            time.sleep(0.2)
        self.power_off()
        raise GuestError(f"systemd does not start; see {self.work}/console")

    def inside(self, *command: str) -> list[str]:
        """A command line that enters the namespaces, and a cgroup beside those of systemd."""
        cgroup = "/sys/fs/cgroup/test.scope"
        enter = f'mkdir -p {cgroup} && echo 0 >{cgroup}/cgroup.procs && exec "$@"'
        environment = ["env", "-i", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root"]
        return ["nsenter", "-at", str(self.init), "--", *environment, "sh", "-c", enter, "-", *command]

    def spawn(self, *command: str) -> subprocess.Popen[str]:
        """Starts a command, and returns its process on the host."""
        return subprocess.Popen(
            self.inside(*command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def run(self, *command: str, check: bool = True, seconds: float = 300) -> Result:
        """Runs a command to its end."""
        process = self.spawn(*command)
        try:
            output, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            raise GuestError(f"`{' '.join(command)}` does not end within {seconds} s") from None
        if check and process.returncode != 0:
            raise GuestError(f"`{' '.join(command)}` ends with {process.returncode}: {output.strip()}")
        return Result(process.returncode, output)

    def shell(self, script: str, check: bool = True, seconds: float = 300) -> str:
        """Runs a script of the shell; its output."""
        return self.run("/bin/bash", "-c", script, check=check, seconds=seconds).output

    def reboot(self) -> None:
        """Shuts down in order, and boots again."""
        assert self.process
        # SIGRTMIN+4 asks systemd to power off (man 1 systemd).
        os.kill(self.init, signal.SIGRTMIN + 4)
        try:
            self.process.wait(90)
        except subprocess.TimeoutExpired:
            raise GuestError(f"the system does not shut down; see {self.work}/console") from None
        self.power_off()
        self.start()

    def power_off(self) -> None:
        """Kills all processes at once."""
        if self.process:
            with suppress(OSError):
                (self.cgroup / "cgroup.kill").write_text("1")
            self.process.kill()
            self.process.wait()
            self.process = None
        deadline = time.monotonic() + END_SECONDS
        while time.monotonic() < deadline:
            with suppress(OSError):
                for path, _, _ in os.walk(self.cgroup, topdown=False):
                    Path(path).rmdir()
                # The kernel unregisters what pins held some time after; on a machine without power nothing is left.
                if set(CONTROLS.read_text().split()) <= self.controls:
                    return
            time.sleep(0.05)
        left = set(CONTROLS.read_text().split()) - self.controls
        if left:
            raise GuestError(f"{END_SECONDS} s after the system's end the kernel has {', '.join(sorted(left))}")
