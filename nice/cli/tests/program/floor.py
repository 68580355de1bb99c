# SPDX-License-Identifier: MIT OR Apache-2.0
"""Transfers of a group above a floor, beside others.

serve                               takes and gives data, behind the link
transfer WAY CONNECTIONS CONTROL    prints what its connections moved, in bits per second
beside NETNICE WAY CONNECTIONS      prints {"low", "other"}: a group above 2 Mb/s beside a CUBIC flow
"""

import json
import os
import socket
import struct
import subprocess
import sys
import threading
import time

HOST = "10.77.0.2"
PORTS = {"up": 5001, "down": 5002}
WARM_UP_S = 8
MEASURED_S = 15
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


def transfer(way: str, connections: int, control: str) -> None:
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
    time.sleep(MEASURED_S)
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


if __name__ == "__main__":
    mode, *rest = sys.argv[1:]
    if mode == "serve":
        serve()
    elif mode == "transfer":
        transfer(rest[0], int(rest[1]), rest[2])
    else:
        beside(*rest)
