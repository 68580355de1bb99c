# SPDX-License-Identifier: MIT OR Apache-2.0
"""Transfers of a group above a floor, beside others.

serve                               takes and gives data, behind the link
transfer WAY CONNECTIONS CONTROL    prints what its connections moved, in bits per second
beside NETNICE WAY CONNECTIONS      prints {"low", "other"}: a group above 2 Mb/s beside a CUBIC flow
watch SECONDS...                    prints the control of an open connection that sends, after so many seconds each
until NETNICE                       `watch` until an hour that comes in 6 s
send BYTES                          sends so many bytes
again NETNICE BYTES                 prints what has been moved before `send` is killed, and when it has begun again
restarted NETNICE BYTES             the same where all processes are killed, and what its end leaves
by NETNICE TIME BYTES               prints {"seconds", "stderr"}: `send` with a deadline, beside a CUBIC flow
"""

import fcntl
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import termios
import threading
import time
from pathlib import Path

HOST = "10.77.0.2"
PORTS = {"up": 5001, "down": 5002}
WARM_UP_S = 6
MEASURED_S = 10
BYTES_ACKED = 120  # offset in struct tcp_info (linux/tcp.h)


def serve() -> None:
    def answer(connection: socket.socket, way: str) -> None:
        try:
            if way == "up":
                while connection.recv(1 << 16):
                    pass
            else:
                while True:
                    connection.send(bytes(1 << 16))
        except OSError:
            connection.close()

    def listen(way: str) -> None:
        listener = socket.create_server((HOST, PORTS[way]), backlog=100)
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=answer, args=(connection, way), daemon=True).start()

    threading.Thread(target=listen, args=("up",), daemon=True).start()
    listen("down")


def transfer(way: str, connections: int, control: str, measured_s: int) -> None:
    moved: dict[socket.socket, int] = {}

    def acknowledged(connection: socket.socket) -> int:
        info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, BYTES_ACKED + 8)
        return struct.unpack_from("Q", info, BYTES_ACKED)[0]

    def move(connection: socket.socket) -> None:
        while True:
            if way == "up":
                connection.send(bytes(1 << 16))
                moved[connection] = acknowledged(connection)
            else:
                moved[connection] = moved.get(connection, 0) + len(connection.recv(1 << 16))

    for _ in range(connections):
        connection = socket.create_connection((HOST, PORTS[way]))
        if control:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
        threading.Thread(target=move, args=(connection,), daemon=True).start()
    time.sleep(WARM_UP_S)
    before, since = sum(moved.values()), time.monotonic()
    time.sleep(measured_s)
    print((sum(moved.values()) - before) * 8 / (time.monotonic() - since), flush=True)
    os._exit(0)


def beside(netnice: str, way: str, connections: str) -> None:
    own = [sys.executable, __file__, "transfer", way]
    time.sleep(0.5)
    low = [netnice, "run", "--require", "--at-least", "2mbit", "--", *own, connections, ""]
    running = {
        name: subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        for name, command in {"low": low, "other": [*own, "1", "cubic"]}.items()
    }
    print(json.dumps({name: float(one.communicate()[0]) for name, one in running.items()}))


def watch(*seconds: str) -> None:
    connection = socket.create_connection((HOST, PORTS["up"]))
    controls = []
    begun = time.monotonic()
    for second in map(float, seconds):
        while time.monotonic() < begun + second:
            connection.send(bytes(1 << 16))
        control = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
        controls.append(control.split(b"\0")[0].decode())
    print(json.dumps(controls))


def until(netnice: str) -> None:
    time.sleep(0.5)
    own = [sys.executable, __file__, "watch", "3", "12"]
    subprocess.run([netnice, "run", "--require", "--until", "+6s", "--", *own], check=True)


def send(size: str) -> None:
    with socket.create_connection((HOST, PORTS["up"])) as connection:
        connection.sendall(bytes(int(size)))
        connection.shutdown(socket.SHUT_WR)
        while struct.unpack("i", fcntl.ioctl(connection, termios.TIOCOUTQ, bytes(4)))[0] > 0:
            time.sleep(0.05)


def by(netnice: str, deadline: str, size: str) -> None:
    time.sleep(0.5)
    own = [sys.executable, __file__]
    with subprocess.Popen([*own, "transfer", "up", "1", "cubic", "1000"], stdout=subprocess.DEVNULL) as other:
        begun = time.monotonic()
        command = [netnice, "run", "--require", "--by", deadline, "--size", f"{size}B", "--", *own, "send", size]
        done = subprocess.run(command, check=True, stderr=subprocess.PIPE, text=True)
        print(json.dumps({"seconds": time.monotonic() - begun, "stderr": done.stderr}))
        other.kill()


def moved(netnice: str, size: str) -> int:
    status = subprocess.run([netnice, "status", "--json"], check=True, capture_output=True)
    deadlines = json.loads(status.stdout)["deadlines"]
    return sum(one["bytes_moved"] for one in deadlines if one["bytes"] == int(size))


def again(netnice: str, size: str) -> None:
    time.sleep(0.5)
    own = [sys.executable, __file__, "send", size]
    deadline = time.strftime("%H:%M", time.localtime(time.time() + 120))
    seen = []
    for least in (4_000_000, 1):
        command = [netnice, "run", "--require", "--by", deadline, "--size", f"{size}B", "--", *own]
        with subprocess.Popen(command) as running:
            while (bytes_moved := moved(netnice, size)) < least:
                time.sleep(0.1)
            seen.append(bytes_moved)
            running.kill()
        time.sleep(1)
    print(json.dumps(seen))


def kill_background(size: str) -> None:
    """Kills the processes in the background of the run whose command line has these bytes."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            name, line = ((process / file).read_text() for file in ("comm", "cmdline"))
        except OSError:
            continue
        if name.startswith("nn-") and f"{size}B" in line:
            os.kill(int(process.name), signal.SIGKILL)


def restarted(netnice: str, size: str) -> None:
    def records() -> list[str]:
        # One that is being written has another name.
        found = Path("/run/netnice-deadlines").glob("*")
        return [record.name for record in found if record.read_text().startswith(f"{size}\n")]

    time.sleep(0.5)
    own = [sys.executable, __file__, "send", size]
    deadline = time.strftime("%H:%M", time.localtime(time.time() + 120))
    command = [netnice, "run", "--require", "--by", deadline, "--size", f"{size}B", "--", *own]
    with subprocess.Popen(command) as running:
        while (first := moved(netnice, size)) < int(size) // 4:
            time.sleep(0.1)
        kill_background(size)
        running.kill()
    left = records()
    with subprocess.Popen(command) as running:
        # Until then it may be the record of the killed one, or none.
        lowest = first
        while (second := moved(netnice, size)) <= first and running.poll() is None:
            lowest = min(lowest, second or first)
            time.sleep(0.1)
    time.sleep(2)
    print(json.dumps({"moved": [first, second], "lowest": lowest, "left": len(left), "after_end": records()}))


if __name__ == "__main__":
    mode, *rest = sys.argv[1:]
    if mode == "serve":
        serve()
    elif mode == "transfer":
        transfer(rest[0], int(rest[1]), rest[2], int(rest[3]) if rest[3:] else MEASURED_S)
    else:
        modes = [beside, watch, until, send, by, again, restarted]
        {one.__name__: one for one in modes}[mode](*rest)
