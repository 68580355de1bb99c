# SPDX-License-Identifier: MIT OR Apache-2.0
"""A transfer at low priority for live_decisions.rs, beside a plain one that comes and goes.

decisions.py serve               takes what is sent after `send`, and sends without end after `receive`
decisions.py WAY SECONDS         moves data for so long; WAY is `send` or `receive`
decisions.py tell NETNICE LOG WAY [OPTION...]  prints the last line of `run --json --log LOG`, with a plain transfer
                                 from the fifth to the ninth of fourteen seconds
"""

import contextlib
import os
import socket
import subprocess
import sys
import threading
import time

PORT = 8000
SOME = bytes(1 << 16)


def move(connection: socket.socket, sends: bool, seconds: float) -> None:
    end = time.monotonic() + seconds
    connection.settimeout(0.1)
    while time.monotonic() < end:
        with contextlib.suppress(TimeoutError):
            if sends:
                connection.send(SOME)
            elif not connection.recv(1 << 20):
                return


def answer(connection: socket.socket) -> None:
    # The other end goes when it likes.
    with contextlib.suppress(OSError), connection:
        move(connection, connection.recv(1) == b"r", 60)


def serve() -> None:
    server = socket.create_server(("", PORT))
    while True:
        threading.Thread(target=answer, args=(server.accept()[0],), daemon=True).start()


def transfer(way: str, seconds: str) -> None:
    connection = socket.create_connection((os.environ["NETNICE_FAR"], PORT))
    connection.sendall(way[:1].encode())
    move(connection, way == "send", float(seconds))


def tell(netnice: str, log: str, way: str, *options: str) -> None:
    work = [sys.executable, __file__, way]
    run = [netnice, "run", "--json", "--direction", way, "--log", log, *options, "--", *work, "14"]
    low = subprocess.Popen(run, stderr=subprocess.PIPE, text=True)
    time.sleep(5)
    subprocess.run([*work, "4"], check=True)
    print(low.communicate()[1].splitlines()[-1])


if __name__ == "__main__":
    {"serve": serve, "tell": tell}.get(sys.argv[1], lambda *rest: transfer(sys.argv[1], *rest))(*sys.argv[2:])
