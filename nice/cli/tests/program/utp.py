# SPDX-License-Identifier: MIT OR Apache-2.0
"""A transfer over uTP (BEP 29) for live_utp.rs: both ends, and what came of it as one line of JSON.

utp.py serve                    answers on UDP port 6881, and serves the rival on TCP port 8000
utp.py down|up SECONDS          one transfer; prints a line once it is connected, then its rate in each second, in Mb/s
utp.py rival down|up SECONDS    the same over TCP, by cubic
utp.py run NETNICE              a download by IPv6 under `run`: alone, beside the rival, and after it
utp.py attach NETNICE           an upload by IPv4 in an attached cgroup: alone, beside the rival, and after `detach`
utp.py floor NETNICE down|up    a transfer under `run --at-least 2mbit` beside the rival
utp.py told NETNICE             what `run --json` says of a short download, with --udp yes and no

The sender's own control is that of Reno, which takes what it can get: what yields is governed by the window.
"""

import contextlib
import json
import os
import pathlib
import select
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable

DATA, STATE, SYN = 0, 2, 4
HEADER = struct.Struct("!BBHIIIHH")
SIZE = 1382  # bytes of data in a packet, as in libutp's
WINDOW = 1 << 20
RTO = 1.0


def micros(clock: int) -> int:
    return time.clock_gettime_ns(clock) // 1000 & 0xFFFFFFFF


def ahead(number: int, of: int) -> int:
    return (number - of + 0x8000 & 0xFFFF) - 0x8000


class Peer:
    """One end of a connection."""

    def __init__(self, udp: socket.socket, address: tuple, outgoing: int, clock: int) -> None:
        self.udp, self.address, self.outgoing, self.clock = udp, address, outgoing, clock
        self.endless = self.connected = False
        self.next, self.acknowledged = 1, 0  # of what is sent
        self.arrived: int | None = None  # the newest packet without a gap before it
        self.beyond: set[int] = set()
        self.flying: dict[int, float] = {}  # when each packet was sent
        self.again: list[int] = []  # what was lost
        self.cwnd, self.ssthresh, self.recovery = 4.0, 1e9, 0
        self.window, self.difference, self.moved = WINDOW, 0, 0
        self.heard = self.progress = time.monotonic()

    def put(self, kind: int, number: int, data: bytes = b"") -> None:
        extension = b""
        if self.beyond:
            bits = sum(1 << ahead(one, self.arrived) - 2 for one in self.beyond if 2 <= ahead(one, self.arrived) < 258)
            extension = bytes([0, 32]) + bits.to_bytes(32, "little")
        header = HEADER.pack(
            kind << 4 | 1, bool(extension), self.outgoing, micros(self.clock), self.difference, WINDOW, number & 0xFFFF,
            (self.arrived or 0) & 0xFFFF,
        )  # fmt: skip
        with contextlib.suppress(BlockingIOError, ConnectionError):
            self.udp.sendto(header + extension + data, self.address)

    def send(self, number: int, data: bytes = bytes(SIZE)) -> None:
        self.flying[number] = time.monotonic()
        self.put(DATA, number, data)

    def pump(self) -> None:
        now = time.monotonic()
        if self.flying and now - self.progress > RTO:
            self.ssthresh, self.cwnd, self.progress = max(self.cwnd / 2, 2), 2.0, now
            self.again = list(self.flying)
            self.flying.clear()
        while (self.again or self.endless) and (len(self.flying) + 1) * SIZE <= min(self.cwnd * SIZE, self.window):
            if self.again:
                self.send(self.again.pop(0))
            else:
                self.send(self.next)
                self.next = self.next + 1 & 0xFFFF

    def take(self, packet: bytes) -> None:
        kind, extension, _, stamp, _, self.window, number, acknowledged = HEADER.unpack_from(packet)
        self.difference = micros(self.clock) - stamp & 0xFFFFFFFF
        self.heard = time.monotonic()
        if kind >> 4 == SYN or self.arrived is None:
            self.arrived = number if kind >> 4 == SYN else number - 1 & 0xFFFF
            self.connected = True
        selective = packet[22 : 22 + packet[21]] if extension else b""
        self.acknowledge(acknowledged, int.from_bytes(selective, "little"))
        if kind >> 4 == DATA:
            self.arrive(number, packet[20 + (2 + len(selective) if extension else 0) :])

    def arrive(self, number: int, data: bytes) -> None:
        if data.startswith(b"send"):
            self.endless = True
        if ahead(number, self.arrived) > 0 and number not in self.beyond:
            self.moved += len(data)
            self.beyond.add(number)
        while self.arrived + 1 & 0xFFFF in self.beyond:
            self.arrived = self.arrived + 1 & 0xFFFF
            self.beyond.remove(self.arrived)
        self.put(STATE, self.next)

    def acknowledge(self, number: int, selective: int) -> None:
        bits = [bit for bit in range(selective.bit_length()) if selective >> bit & 1]
        beyond = {number + 2 + bit & 0xFFFF for bit in bits}
        full = len(self.flying) + 2 > self.cwnd
        for one in [one for one in self.flying if ahead(one, number) <= 0 or one in beyond]:
            del self.flying[one]
            self.moved += SIZE
            self.progress = time.monotonic()
            if full:
                self.cwnd += 1 if self.cwnd < self.ssthresh else 1 / self.cwnd
        self.again = [one for one in self.again if ahead(one, number) > 0 and one not in beyond]
        if bits:
            self.lose(number, bits[-1] + 2)

    def lose(self, number: int, top: int) -> None:
        """Send again what packets sent three later have overtaken, and halve the window once per round trip."""
        late = time.monotonic() - 0.2
        for one in [one for one, sent in self.flying.items() if ahead(one, number) <= top - 3 and sent < late]:
            if ahead(one, self.recovery) >= 0:
                self.cwnd = self.ssthresh = max(self.cwnd / 2, 2)
                self.recovery = self.next
            del self.flying[one]
            self.again.append(one)


def udp_socket(port: int) -> socket.socket:
    udp = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    udp.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    udp.bind(("::", port))
    udp.setblocking(False)
    return udp


def received(udp: socket.socket) -> list[tuple[bytes, tuple]]:
    found = []
    select.select([udp], [], [], 0.005)
    with contextlib.suppress(BlockingIOError, ConnectionError):
        while len(found) < 64:
            found.append(udp.recvfrom(2048))
    return found


def serve() -> None:
    threading.Thread(target=serve_rival, daemon=True).start()
    udp = udp_socket(6881)
    peers: dict[tuple, Peer] = {}
    while True:
        for packet, address in received(udp):
            kind, _, connection = HEADER.unpack_from(packet)[:3]
            key = (address, connection + (kind >> 4 == SYN) & 0xFFFF)
            if kind >> 4 == SYN:
                # Another clock than the other end's.
                peers[key] = Peer(udp, address, connection, time.CLOCK_REALTIME)
            if key in peers:
                peers[key].take(packet)
                if kind >> 4 == SYN:
                    peers[key].put(STATE, peers[key].next)
        for key, peer in list(peers.items()):
            peer.pump()
            if time.monotonic() - peer.heard > 3:
                del peers[key]


def serve_rival() -> None:
    server = socket.create_server(("::", 8000), family=socket.AF_INET6, dualstack_ipv6=True, backlog=16)
    while True:
        threading.Thread(target=answer_rival, args=(server.accept()[0],), daemon=True).start()


def answer_rival(connection: socket.socket) -> None:
    with connection, contextlib.suppress(OSError):
        request = connection.recv(8, socket.MSG_WAITALL).strip()
        if request == b"errors":
            connection.sendall(b"%d" % checksum_errors())
        while request == b"down":
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
            connection.sendall(bytes(1 << 16))
        while request == b"up" and connection.recv(1 << 16):
            pass


def checksum_errors() -> int:
    """Return how many packets over UDP had a wrong checksum, in this network namespace."""
    four = [line.split() for line in pathlib.Path("/proc/net/snmp").read_text().splitlines() if line.startswith("Udp:")]
    six = dict(line.split() for line in pathlib.Path("/proc/net/snmp6").read_text().splitlines())
    return int(four[1][four[0].index("InCsumErrors")]) + int(six["Udp6InCsumErrors"])


def tell(seconds: int, moved: Callable[[], int], step: Callable[[], None]) -> None:
    """Print the rate in each second."""
    print("connected", flush=True)
    for _ in range(seconds):
        before, start = moved(), time.monotonic()
        while (now := time.monotonic()) < start + 1:
            step()
        print((moved() - before) * 8e-6 / (now - start), flush=True)


def transfer(way: str, seconds: int) -> None:
    host = os.environ["NETNICE_FAR6"] if way == "down" else "::ffff:" + os.environ["NETNICE_FAR"]
    udp = udp_socket(6882)
    number = int.from_bytes(os.urandom(2), "big")
    peer = Peer(udp, (host, 6881, 0, 0), number + 1 & 0xFFFF, time.CLOCK_MONOTONIC)
    while not peer.connected:
        peer.outgoing = number
        peer.put(SYN, 1)
        peer.outgoing = number + 1 & 0xFFFF
        for packet, _ in received(udp) + received(udp) + received(udp):
            peer.take(packet)
    peer.next = peer.recovery = 2
    if way == "down":
        peer.send(2, b"send")
        peer.next = 3
    peer.endless = way == "up"

    def step() -> None:
        for packet, _ in received(udp):
            peer.take(packet)
        peer.pump()

    tell(seconds, lambda: peer.moved, step)


def rival(way: str, seconds: int) -> None:
    connection = socket.create_connection((os.environ["NETNICE_FAR"], 8000))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"cubic")
    connection.sendall(way.ljust(8).encode())
    connection.settimeout(0.05)
    total = [0]

    def read() -> None:
        with contextlib.suppress(TimeoutError):
            total[0] += len(connection.recv(1 << 20))

    def write() -> None:
        with contextlib.suppress(TimeoutError):
            connection.send(bytes(1 << 14))

    def acknowledged() -> int:
        # tcpi_bytes_acked of struct tcp_info (linux/tcp.h)
        return struct.unpack_from("Q", connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 192), 120)[0]

    tell(seconds, *((lambda: total[0], read) if way == "down" else (acknowledged, write)))


def start(*command: str) -> subprocess.Popen:
    """Start a transfer, and return once it is connected."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    process.stdout.readline()
    return process


def ended(process: subprocess.Popen) -> tuple[list[float], str]:
    output, said = process.communicate()
    if process.returncode:
        sys.exit(said)
    return [float(line) for line in output.split()], said


def errors() -> int:
    with socket.create_connection((os.environ["NETNICE_FAR"], 8000)) as connection:
        connection.sendall(b"errors  ")
        return checksum_errors() + int(connection.recv(16))


def utp_of(netnice: str, cgroup: str) -> list[dict]:
    """What `status` shows of uTP in a cgroup."""
    status = json.loads(subprocess.check_output([netnice, "status", "--json"]))
    return [one for one in status["utp"] if one["cgroup"].split("/")[-1] == cgroup.split("/")[-1]]


def mean(rates: list[float]) -> float:
    return sum(rates) / len(rates)


def run(netnice: str) -> None:
    me = [sys.executable, __file__]
    # The command begins before uTP is governed.
    low = start(netnice, "run", "--", *me, "down", "16")
    time.sleep(6)
    other = start(*me, "rival", "down", "5")
    rates, _ = ended(other)
    shown = utp_of(netnice, f"netnice-run-{low.pid}")
    low_rates, _ = ended(low)
    found = {"alone": mean(low_rates[3:6]), "beside": mean(low_rates[8:11]), "after": mean(low_rates[14:16])}
    found |= {"rival": mean(rates[2:]), "errors": errors(), "shown": shown}
    print(json.dumps(found))


def within(cgroup: str) -> list[str]:
    """Return the words before a command that have it run in a cgroup."""
    return ["sh", "-c", f'echo $$ > {cgroup}/cgroup.procs; exec "$@"', "sh"]


def attach(netnice: str) -> None:
    me, cgroup = [sys.executable, __file__], os.environ["CGROUP"]
    subprocess.run([netnice, "attach", cgroup, "--udp", "yes"], check=True, stdout=subprocess.DEVNULL)
    enter = within(cgroup)
    low = start(*enter, *me, "up", "16")
    time.sleep(6)
    other = start(*me, "rival", "up", "10")
    time.sleep(5)
    shown = utp_of(netnice, cgroup)
    subprocess.run([netnice, "detach", cgroup], check=True, stdout=subprocess.DEVNULL)
    low_rates, _ = ended(low)
    rates, _ = ended(other)
    found = {"alone": mean(low_rates[3:6]), "beside": mean(low_rates[8:11]), "after": mean(low_rates[13:16])}
    found |= {"rival": mean(rates[2:5]), "errors": errors(), "shown": shown}
    print(json.dumps(found))


def floor(netnice: str, way: str) -> None:
    me = [sys.executable, __file__]
    low = start(netnice, "run", "--at-least", "2mbit", "--udp", "yes", "--", *me, way, "16")
    rates, _ = ended(start(*me, "rival", way, "14"))
    low_rates, _ = ended(low)
    print(json.dumps({"low": mean(low_rates[6:14]), "rival": mean(rates[6:])}))


def told(netnice: str) -> None:
    found = {}
    for udp in ("yes", "no"):
        low = start(netnice, "run", "--json", "--udp", udp, "--", sys.executable, __file__, "down", "2")
        found[udp] = json.loads(ended(low)[1].splitlines()[-1])
    print(json.dumps(found))


if __name__ == "__main__":
    name, *rest = sys.argv[1:]
    if name in ("down", "up"):
        transfer(name, int(rest[0]))
    else:
        globals()[name](*(int(word) if word.isdigit() else word for word in rest))
