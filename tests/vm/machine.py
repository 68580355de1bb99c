# SPDX-License-Identifier: MIT OR Apache-2.0
"""A virtual machine with Debian and systemd, driven by QEMU's guest agent.

The guest agent's commands are those of QEMU's documentation, "QEMU Guest Agent Protocol Reference". The disk is an
overlay over the image that `image` makes, so that each machine begins with a fresh Debian. The directory `share` of a
machine is /mnt in the guest.
"""

import base64
import json
import os
import shutil
import socket
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

PROJECT = Path(__file__).resolve().parents[2]
# As in `image`.
WORK = PROJECT / "target/vm" / os.environ.get("SUITE", "bookworm")
BOOT_SECONDS = 120


class GuestError(Exception):
    """The guest does not answer, or a command in it failed."""


@dataclass
class Result:
    """A finished command of the guest."""

    code: int
    output: str


class Machine:
    """One virtual machine; its disk survives `power_off`, and `start` boots it again."""

    def __init__(self, name: str, kernel: str = "", processors: int = 1) -> None:
        self.work = WORK / name
        self.share = self.work / "share"
        self.kernel = kernel
        self.processors = processors
        # PVM, a KVM without the processor's help, runs only kernels that are made for it.
        kvm = Path("/dev/kvm").exists() and not Path("/sys/module/kvm_pvm").exists()
        self.accelerator = "kvm" if kvm else "tcg"
        # By how much waiting is longer than on the host.
        self.slowness = 1 if kvm else 20
        self.process: subprocess.Popen[bytes] | None = None
        self.agent: socket.socket | None = None
        self.received = b""

    def __enter__(self) -> "Machine":
        subprocess.run([PROJECT / "tests/vm/image"], check=True)
        shutil.rmtree(self.work, ignore_errors=True)
        self.share.mkdir(parents=True)
        base = ["-b", str(WORK / "disk.img"), "-F", "raw"]
        overlay = str(self.work / "disk.qcow2")
        subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", *base, overlay], check=True)
        try:
            self.start()
        except BaseException:
            self.power_off()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.power_off()

    def start(self) -> None:
        """Boots, and returns once systemd has started all units."""
        path = self.work / "agent"
        path.unlink(missing_ok=True)
        # QEMU of Debian 12 cannot pass on all bits of this register where the host is itself a guest.
        processor = "host,arch-capabilities=off" if self.accelerator == "kvm" else "max"
        suffix = f"-{self.kernel}" if self.kernel else ""
        with (self.work / "console").open("ab") as console:
            self.process = subprocess.Popen(
                [
                    *("qemu-system-x86_64", "-accel", self.accelerator, "-cpu", processor, "-m", "1024"),
                    *("-smp", str(self.processors), "-nodefaults", "-display", "none", "-serial", "stdio"),
                    *("-kernel", str(WORK / f"vmlinuz{suffix}"), "-initrd", str(WORK / f"initrd{suffix}")),
                    *("-append", "root=/dev/vda rw console=ttyS0 loglevel=4 mitigations=off"),
                    *("-drive", f"file={self.work / 'disk.qcow2'},if=virtio,format=qcow2"),
                    *("-virtfs", f"local,path={self.share},mount_tag=share,security_model=none"),
                    *("-device", "virtio-serial", "-chardev", f"socket,path={path},server=on,wait=off,id=agent"),
                    *("-device", "virtserialport,chardev=agent,name=org.qemu.guest_agent.0"),
                ],
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=subprocess.STDOUT,
            )
        deadline = time.monotonic() + BOOT_SECONDS * self.slowness
        self.connect(path, deadline)
        self.wait_for_agent(deadline)
        self.run("systemctl", "is-system-running", "--wait", check=False)
        self.run("mount", "-t", "9p", "-o", "trans=virtio,msize=262144", "share", "/mnt")

    def connect(self, path: Path, deadline: float) -> None:
        self.agent = socket.socket(socket.AF_UNIX)
        while True:
            try:
                self.agent.connect(str(path))
                return
            except OSError:
                if time.monotonic() > deadline or self.process is None or self.process.poll() is not None:
                    raise GuestError(f"qemu does not start; see {self.work}/console") from None
                time.sleep(0.1)

    def wait_for_agent(self, deadline: float) -> None:
        """The agent answers late what was asked before it ran; answers are read up to that of the last request."""
        token = 0
        while time.monotonic() < deadline:
            token += 1
            with suppress(TimeoutError):
                answer = self.ask("guest-sync", 2, id=token)
                while answer != token:
                    answer = self.answer("guest-sync", 2)
                return
        raise GuestError(f"the guest's agent does not answer; see {self.work}/console")

    def ask(self, command: str, seconds: float, **arguments: object) -> object:
        """One request to the guest agent; its answer."""
        assert self.agent
        request = {"execute": command, "arguments": arguments}
        self.agent.sendall(json.dumps(request).encode() + b"\n")
        return self.answer(command, seconds)

    def answer(self, command: str, seconds: float) -> object:
        """The next answer of the guest agent."""
        assert self.agent
        self.agent.settimeout(seconds * self.slowness)
        while b"\n" not in self.received:
            part = self.agent.recv(1 << 16)
            if not part:
                raise GuestError(f"the machine ended; see {self.work}/console")
            self.received += part
        line, self.received = self.received.split(b"\n", 1)
        answer = json.loads(line)
        if "error" in answer:
            raise GuestError(f"{command}: {answer['error']['desc']}")
        return answer["return"]

    def spawn(self, *command: str) -> int:
        """Starts a command in the guest; returns its process id there."""
        environment = ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root"]
        answer = self.ask(
            "guest-exec", 30, path=command[0], arg=list(command[1:]), env=environment, **{"capture-output": True}
        )
        assert isinstance(answer, dict)
        return int(answer["pid"])

    def finished(self, pid: int) -> Result | None:
        """The result of a command, once it has ended; the agent forgets it then."""
        answer = self.ask("guest-exec-status", 30, pid=pid)
        assert isinstance(answer, dict)
        if not answer["exited"]:
            return None
        data = [base64.b64decode(answer.get(name, "")).decode(errors="replace") for name in ("out-data", "err-data")]
        return Result(int(answer.get("exitcode", 128 + answer.get("signal", 0))), "".join(data))

    def run(self, *command: str, check: bool = True, seconds: float = 300) -> Result:
        """Runs a command in the guest to its end."""
        pid = self.spawn(*command)
        seconds *= self.slowness
        deadline = time.monotonic() + seconds
        while (result := self.finished(pid)) is None:
            if time.monotonic() > deadline:
                raise GuestError(f"`{' '.join(command)}` does not end within {seconds} s")
            time.sleep(0.05)
        if check and result.code != 0:
            raise GuestError(f"`{' '.join(command)}` ends with {result.code}: {result.output.strip()}")
        return result

    def shell(self, script: str, check: bool = True, seconds: float = 300) -> str:
        """Runs a script of the shell in the guest; its output."""
        return self.run("/bin/bash", "-c", script, check=check, seconds=seconds).output

    def reboot(self) -> None:
        """Shuts down in order, and boots again."""
        assert self.process
        with suppress(GuestError, TimeoutError):
            # The agent does not answer this.
            self.ask("guest-shutdown", 5, mode="powerdown")
        try:
            self.process.wait(90 * self.slowness)
        except subprocess.TimeoutExpired:
            raise GuestError(f"the guest does not shut down; see {self.work}/console") from None
        self.power_off()
        self.start()

    def power_off(self) -> None:
        """As if the plug were pulled: what the guest has not written to its disk is lost."""
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None
        if self.agent:
            self.agent.close()
            self.agent = None
        self.received = b""
