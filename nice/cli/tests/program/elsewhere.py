# SPDX-License-Identifier: MIT OR Apache-2.0
"""Hands sockets made here to processes in a cgroup, and prints the controls they have.

Arguments: the path of the cgroup, and the way in which a process there gets a socket.
"""

import os
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path

cgroup, way = Path(sys.argv[1]), sys.argv[2]
PATIENCE_S = 15


def control(one: socket.socket) -> str:
    return one.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(bytes(1)).decode()


def within(directory: Path, work: Callable[[], None]) -> int:
    """Forks a process that enters a cgroup and does some work."""
    child = os.fork()
    if child:
        return child
    try:
        (directory / "cgroup.procs").write_text("0")
        work()
    finally:
        os._exit(0)


def wait_for(one: socket.socket, changes_from: str) -> str:
    end = time.monotonic() + PATIENCE_S
    while control(one) == changes_from and time.monotonic() < end:
        time.sleep(0.05)
    return control(one)


def forever() -> None:
    time.sleep(3600)


def tell(*words: str) -> None:
    print(*words, flush=True)


def connection(listener: socket.socket) -> socket.socket:
    clients.append(socket.create_connection(("127.0.0.1", listener.getsockname()[1])))
    return listener.accept()[0]


clients = []
usual = control(socket.socket())
listener = socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True)

if way == "listening":
    child = within(cgroup, forever)
    tell(wait_for(listener, usual))
    tell(control(connection(listener)))
    os.kill(child, 9)
    os.waitpid(child, 0)
    sys.stdin.readline()
    tell(wait_for(listener, "netnice"))
    tell(control(connection(listener)))
elif way == "connection":
    # As inetd does: its standard input is the connection, and it becomes another program.
    given, other = connection(listener), connection(listener)

    def serve() -> None:
        os.dup2(given.fileno(), 0)
        os.execvp("sleep", ["sleep", "3600"])

    child = within(cgroup, serve)
    tell(wait_for(given, usual))
    tell(control(other))
    os.kill(child, 9)
elif way == "passed":
    # To a process that has been there for long.
    here, there = socket.socketpair()

    def receive() -> None:
        socket.recv_fds(there, 1, 1)
        forever()

    child = within(cgroup, receive)
    time.sleep(2)
    given = connection(listener)
    socket.send_fds(here, [b"x"], [given.fileno()])
    tell(wait_for(given, usual))
    os.kill(child, 9)
elif way == "below":
    # The nearest cgroup decides.
    given, last = connection(listener), connection(listener)
    children = [within(cgroup / "near", forever)]
    time.sleep(2)
    tell(control(given))
    children.append(within(cgroup, forever))
    tell(wait_for(last, usual))
    for child in children:
        os.kill(child, 9)
elif way == "released":
    # Somebody removes low priority from it, and another process of the cgroup gets it.
    given = connection(listener)
    children = [within(cgroup, forever)]
    tell(wait_for(given, usual), str(children[0]))
    sys.stdin.readline()
    children.append(within(cgroup, forever))
    time.sleep(2)
    tell(control(given))
    for child in children:
        os.kill(child, 9)
