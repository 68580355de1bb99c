# SPDX-License-Identifier: MIT OR Apache-2.0
"""A transfer over UDP with a congestion control, as QUIC has one, for live_udp.rs: both ends, and the outcome as JSON.

udp.py serve                    answers on UDP port 4433, serves the rival on TCP port 8000, and pages on port 8001
udp.py down|up SECONDS          one transfer; prints a line once it is connected, then its rate in each second, in Mb/s
udp.py run|plain WAY NETNICE    alone, beside pages, beside a rival, and after it; with or without `run`
udp.py attach WAY NETNICE       in an attached cgroup, beside a rival, and after `detach`
udp.py killed WAY NETNICE       what is left of the queues when the process that sets their rates is killed
udp.py floor WAY NETNICE        in a cgroup with a floor of 4 Mb/s, beside a rival; then TCP joins it in the cgroup
udp.py nothing WAY NETNICE      whether a command without UDP has a process for it
udp.py two WAY NETNICE          two transfers at once, in a cgroup each

Each packet is acknowledged by a small one. Nothing is sent again: what is acknowledged counts.
"""

import contextlib
import json
import math
import os
import pathlib
import signal
import socket
import statistics
import struct
import subprocess
import sys
import threading
import time

import utp

PACKET = struct.Struct("!BQ")
DATA, ACK, REQUEST = 0x40, 0x41, 0x42  # first bytes as of QUIC's short header
SIZE = 1200
TRAIN = 10
UDP_SEGMENT = 103  # of linux/udp.h
PORT = 4433
BETA = 0.7  # as of CUBIC's
REORDERED = 3


class Sender:
    """The sending end: slow start, then a packet per round trip, and three tenths less after a loss."""

    def __init__(self) -> None:
        self.cwnd, self.ssthresh, self.recovery = 10.0, 1e9, 0
        self.next, self.acknowledged = 0, 0
        self.flying: dict[int, float] = {}
        self.rtt, self.progress = 0.1, time.monotonic()

    def take(self, number: int) -> None:
        sent = self.flying.pop(number, None)
        now = time.monotonic()
        if sent is None:
            return
        self.rtt += (now - sent - self.rtt) / 8
        self.acknowledged += SIZE
        self.progress = now
        self.cwnd += 1 if self.cwnd < self.ssthresh else 1 / self.cwnd
        lost = [one for one in self.flying if one < number - REORDERED]
        for one in lost:
            del self.flying[one]
        if lost and max(lost) >= self.recovery:
            self.cwnd = self.ssthresh = max(self.cwnd * BETA, 2)
            self.recovery = self.next

    def pump(self, udp: socket.socket, address: tuple) -> None:
        now = time.monotonic()
        if self.flying and now - self.progress > max(0.5, 3 * self.rtt):
            self.ssthresh, self.cwnd, self.progress = max(self.cwnd / 2, 2), 2.0, now
            self.flying.clear()
        while (room := math.ceil(self.cwnd) - len(self.flying)) > 0:
            train = range(self.next, self.next + min(room, TRAIN))
            try:
                udp.sendto(b"".join(PACKET.pack(DATA, one).ljust(SIZE, b"\0") for one in train), address)
            except (BlockingIOError, ConnectionError):
                return
            self.flying |= dict.fromkeys(train, now)
            self.next = train.stop


def socket_of_trains(port: int) -> socket.socket:
    """Open a socket whose packets the kernel makes of longer ones, as QUIC's implementations do (GSO)."""
    udp = utp.udp_socket(port)
    udp.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, SIZE)
    return udp


def acknowledge(udp: socket.socket, packet: bytes, address: tuple) -> None:
    with contextlib.suppress(BlockingIOError, ConnectionError):
        udp.sendto(PACKET.pack(ACK, PACKET.unpack_from(packet)[1]), address)


def serve() -> None:
    threading.Thread(target=utp.serve_rival, daemon=True).start()
    threading.Thread(target=serve_pages, daemon=True).start()
    udp = socket_of_trains(PORT)
    senders: dict[tuple, Sender] = {}
    heard: dict[tuple, float] = {}
    while True:
        for packet, address in utp.received(udp):
            kind, number = PACKET.unpack_from(packet)
            heard[address] = time.monotonic()
            if kind == REQUEST:
                senders.setdefault(address, Sender())
            elif kind == ACK and address in senders:
                senders[address].take(number)
            elif kind == DATA:
                acknowledge(udp, packet, address)
        for address, sender in list(senders.items()):
            sender.pump(udp, address)
            if time.monotonic() - heard[address] > 10:
                del senders[address]


def serve_pages() -> None:
    server = socket.create_server(("::", 8001), family=socket.AF_INET6, dualstack_ipv6=True, backlog=16)
    while True:
        with server.accept()[0] as connection, contextlib.suppress(OSError):
            connection.recv(64)
            connection.sendall(bytes(10_000))


def page_times(seconds: float) -> list[float]:
    """Fetch a page every 0.3 s; return the times in ms."""
    found = []
    end = time.monotonic() + seconds
    while (begun := time.monotonic()) < end:
        with socket.create_connection((os.environ["NETNICE_FAR"], 8001), timeout=10) as connection:
            connection.sendall(b"page")
            while connection.recv(1 << 16):
                pass
        found.append((time.monotonic() - begun) * 1e3)
        time.sleep(max(0.0, begun + 0.3 - time.monotonic()))
    return found


def pages(seconds: float) -> float:
    return statistics.median(page_times(seconds))


def transfer(way: str, seconds: int) -> None:
    host = os.environ["NETNICE_FAR6"] if way == "down" else "::ffff:" + os.environ["NETNICE_FAR"]
    address = (host, PORT, 0, 0)
    udp = socket_of_trains(0)
    sender = Sender()
    moved = [0]

    def step() -> None:
        for packet, peer in utp.received(udp):
            kind, number = PACKET.unpack_from(packet)
            if kind == ACK:
                sender.take(number)
            else:
                moved[0] += len(packet)
                acknowledge(udp, packet, peer)
        if way == "up":
            sender.pump(udp, address)

    if way == "down":
        udp.sendto(PACKET.pack(REQUEST, 0), address)
    utp.tell(seconds, (lambda: sender.acknowledged) if way == "up" else (lambda: moved[0]), step)


def begun(way: str, seconds: int, *before: str) -> subprocess.Popen:
    return utp.start(*before, sys.executable, __file__, way, str(seconds))


def measure(way: str, before: list[str]) -> None:
    found = {"page_alone": pages(4)}
    low = begun(way, 43, *before)
    time.sleep(15)
    found["page"] = pages(6)
    other = utp.start(sys.executable, utp.__file__, "rival", way, "12")
    low_rates, said = utp.ended(low)
    rates, _ = utp.ended(other)
    found |= {"alone": utp.mean(low_rates[7:15]), "beside": utp.mean(low_rates[26:33]), "rates": low_rates}
    found |= {"after": utp.mean(low_rates[38:43]), "rival": utp.mean(rates[5:12])}
    print(json.dumps(found | {"told": json.loads(said.splitlines()[-1]) if said else None}))


def plain(way: str, _netnice: str) -> None:
    measure(way, [])


def run(way: str, netnice: str) -> None:
    measure(way, [netnice, "run", "--json", "--"])


def floor(way: str, netnice: str) -> None:
    cgroup = os.environ["CGROUP"]
    subprocess.run([netnice, "attach", cgroup, "--at-least", "4mbit"], check=True, stdout=subprocess.DEVNULL)
    inside = utp.within(cgroup)
    low = begun(way, 26, *inside)
    time.sleep(3)
    other = utp.start(sys.executable, utp.__file__, "rival", way, "22")
    time.sleep(11)
    joins = utp.start(*inside, sys.executable, utp.__file__, "rival", way, "11")
    low_rates, rates, joined = (utp.ended(one)[0] for one in (low, other, joins))
    found = {"udp": utp.mean(low_rates[7:14]), "udp_beside": utp.mean(low_rates[17:25]), "rival": utp.mean(rates[4:21])}
    print(json.dumps(found | {"tcp": utp.mean(joined[3:]), "rates": [low_rates, rates, joined]}))


def nothing(_way: str, netnice: str) -> None:
    command = subprocess.Popen([netnice, "run", "--", "sleep", "3"])
    time.sleep(2)
    print(json.dumps({"queues": queues(), "processes": len(keepers())}))
    command.wait()


def two(way: str, netnice: str) -> None:
    both = [begun(way, 8, netnice, "run", "--") for _ in range(2)]
    rates = [utp.mean(utp.ended(one)[0][4:]) for one in both]
    print(json.dumps({"slower": min(rates), "sum": sum(rates)}))


def attach(way: str, netnice: str) -> None:
    cgroup = os.environ["CGROUP"]
    subprocess.run([netnice, "attach", cgroup], check=True, stdout=subprocess.DEVNULL)
    low = begun(way, 20, *utp.within(cgroup))
    time.sleep(8)
    other = utp.start(sys.executable, utp.__file__, "rival", way, "12")
    time.sleep(6)
    subprocess.run([netnice, "detach", cgroup], check=True, stdout=subprocess.DEVNULL)
    low_rates, rates = utp.ended(low)[0], utp.ended(other)[0]
    found = {"beside": utp.mean(low_rates[11:14]), "after": utp.mean(low_rates[17:]), "rival": utp.mean(rates[3:6])}
    print(json.dumps(found))


def queues() -> int:
    return sum(name.startswith("nnudp") for _, name in socket.if_nameindex())


def keepers() -> list[int]:
    """Return the processes that govern UDP in this network namespace."""
    here = pathlib.Path("/proc/self/ns/net").readlink()
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            name = (entry / "comm").read_text().strip()
            if name == "nn-udp" and (entry / "ns/net").readlink() == here:
                found.append(int(entry.name))
    return found


def killed(way: str, netnice: str) -> None:
    low = begun(way, 10, netnice, "run", "--")
    time.sleep(5)
    found = {"queues": queues()}
    for pid in keepers():
        os.kill(pid, signal.SIGKILL)
    end = time.monotonic() + 3
    while queues() and time.monotonic() < end:
        time.sleep(0.05)
    found["left"] = queues()
    low_rates, _ = utp.ended(low)
    print(json.dumps(found | {"after": utp.mean(low_rates[7:])}))


if __name__ == "__main__":
    name, *rest = sys.argv[1:]
    if name in ("down", "up"):
        transfer(name, int(rest[0]))
    else:
        globals()[name](*rest)
