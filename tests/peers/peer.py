# SPDX-License-Identifier: MIT OR Apache-2.0
"""A TCP of our own behind a TUN device, with a bottleneck before it: it receives, and lies as it is asked to.

    this kernel ==> TUN ==> queue, rate, delay ==> receiver ==> TUN ==> this kernel

It serves any number of connections. Those to port HONEST are received by the rules, those to LIAR by the lie's.
"""

import fcntl
import heapq
import os
import random
import select
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass, field

ADDRESS, KERNEL = "10.99.0.2", "10.99.0.1"
HONEST, LIAR = 1000, 2000
RATE_BYTES = 6_000_000 // 8
QUEUE_PACKETS = 50  # 100 ms at that rate
DELAY_S = 0.04
SEGMENT = 1448
WINDOW_SCALE = 7
WINDOW = 1 << 20
FIN, SYN, RST, ACK = 1, 2, 4, 16
WRAP = 1 << 32

TUNSETIFF = 0x400454CA
IFF_TUN_NO_PI = 0x1001


def after(a: int, b: int) -> bool:
    """Whether sequence number `a` comes after `b` (RFC 9293, section 3.4)."""
    return 0 < (a - b) % WRAP < WRAP // 2


def checksum(data: bytes) -> int:
    """The Internet checksum (RFC 1071)."""
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    total = (total >> 16) + (total & 0xFFFF)
    return ~(total + (total >> 16)) & 0xFFFF


@dataclass
class Segment:
    """What of a segment from the kernel matters here."""

    source: int
    port: int
    sequence: int
    acknowledgement: int
    flags: int
    length: int
    tsval: int | None
    size: int


def parse(packet: bytes) -> Segment | None:
    if packet[0] >> 4 != 4 or packet[9] != 6:
        return None
    header = (packet[0] & 15) * 4
    total = struct.unpack_from("!H", packet, 2)[0]
    source, port, sequence, acknowledgement, offset, flags = struct.unpack_from("!HHIIBB", packet, header)
    end = header + (offset >> 4) * 4
    tsval, at = None, header + 20
    while at < end:
        kind = packet[at]
        if kind == 0:
            break
        if kind == 8:
            tsval = struct.unpack_from("!I", packet, at + 2)[0]
        at += 1 if kind == 1 else packet[at + 1]
    return Segment(source, port, sequence, acknowledgement, flags, total - end, tsval, total)


@dataclass
class Connection:
    """The receiving side of one connection."""

    source: int
    port: int
    next: int  # of the kernel's sequence numbers, the first that has not arrived
    tsecr: int = 0
    timestamps: bool = True
    early: list[tuple[int, int]] = field(default_factory=list)
    arrived: int = 0  # segments with data
    acks: int = 0
    due: float | None = None  # when a held acknowledgement has to leave
    acknowledged: int = 0  # the latest acknowledgement
    opened: float = 0  # when the SYN arrived
    began: int = 0  # the SYN's TSval


@dataclass
class Lie:
    """How a receiver departs from the rules; each member has the honest answer as its default."""

    timestamps: bool = True
    tsval: Callable[[Connection, float], int] = lambda _, now: int(now * 1000)
    window: Callable[[Connection, float], int] = lambda _, __: WINDOW
    every: int = 1  # segments per acknowledgement
    hold_s: float = 0.1  # after which it leaves all the same
    parts: int = 1  # acknowledgements per segment
    optimistic: bool = False  # acknowledges what has only reached the queue, or was dropped there
    sack: Callable[[Connection, list[tuple[int, int]]], list[tuple[int, int]]] = lambda _, blocks: blocks


RANDOM = random.Random(1)


def garbage(connection: Connection, _: list[tuple[int, int]]) -> list[tuple[int, int]]:
    blocks = []
    for _ in range(3):
        begin = (connection.next + RANDOM.randrange(-50_000, 100_000)) % WRAP
        blocks.append((begin, (begin + RANDOM.randrange(1, 20_000)) % WRAP))
    return blocks


def interrupted(connection: Connection, now: float) -> int:
    """A window that closes for 0.1 to 0.5 s and opens for 0.5 to 1 s, and says so only if asked.

    Of fixed times some would meet the sender's persist timer, which doubles from its RTO on, and others miss it each
    time: they differ from connection to connection.
    """
    times = random.Random(connection.source)
    window, until = WINDOW, connection.opened + 1
    while until < now:
        window, until = WINDOW - window, until + (times.uniform(0.1, 0.5) if window else times.uniform(0.5, 1))
    return window


def clock_then_ours(connection: Connection, now: float) -> int:
    """The stamp of a clock for three seconds, and our own sent back from then on."""
    elapsed = now - connection.opened
    return connection.began + int(elapsed * 1000) if elapsed < 3 else connection.tsecr


LIES: dict[str, Lie] = {
    "honest": Lie(),
    "no timestamps": Lie(timestamps=False),
    "TSval random": Lie(tsval=lambda _, __: RANDOM.randrange(WRAP)),
    "TSval frozen": Lie(tsval=lambda _, __: 77),
    "TSval echoes ours": Lie(tsval=lambda connection, _: connection.tsecr),
    "TSval ours plus 5": Lie(tsval=lambda connection, _: connection.tsecr + 5),
    "TSval ours plus 5 to 7": Lie(tsval=lambda connection, _: connection.tsecr + RANDOM.randrange(5, 8)),
    "TSval ours after 3 s": Lie(tsval=clock_then_ours),
    "TSval runs backwards": Lie(tsval=lambda _, now: -int(now * 1000)),
    "TSval jumps by 10 s": Lie(tsval=lambda connection, now: int(now * 1000) + connection.acks // 50 * 10_000),
    "TSval 5 % fast": Lie(tsval=lambda _, now: int(now * 1050)),
    "TSval 5 % slow": Lie(tsval=lambda _, now: int(now * 950)),
    "window of two segments": Lie(window=lambda _, __: 2 * SEGMENT + 256),
    "window zero at times": Lie(window=interrupted),
    "window shrinks": Lie(window=lambda _, now: int(WINDOW * (1 - now % 1) / 16)),
    "ACK division by 8": Lie(parts=8),
    "optimistic ACKs": Lie(optimistic=True),
    "ACK for 16 segments": Lie(every=16),
    "ACK for 64 segments": Lie(every=64, hold_s=0.2),
    "SACK garbage": Lie(sack=garbage),
}


class Peer:
    """Bottleneck and receivers, driven by one thread."""

    def __init__(self, lie: Lie) -> None:
        self.tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(self.tun, TUNSETIFF, struct.pack("16sH22x", b"tun0", IFF_TUN_NO_PI))
        self.lie = lie
        self.connections: dict[int, Connection] = {}
        self.leaving: list[tuple[float, int, Segment]] = []  # those in the queue
        self.arriving: list[tuple[float, int, Segment]] = []
        self.free = 0.0
        self.count = 0
        self.first: dict[int, float] = {}  # by port, when its first packet left the queue
        self.passed: list[tuple[float, int, int]] = []  # time, port, bytes that have left the queue
        self.dropped = 0

    def serve(self, finished: Callable[[], bool]) -> None:
        while not finished():
            now = time.monotonic()
            next_events = [queue[0][0] for queue in (self.leaving, self.arriving) if queue]
            held = [one.due for one in self.connections.values() if one.due is not None]
            wait = min([*next_events, *held, now + 0.05]) - now
            readable, _, _ = select.select([self.tun], [], [], max(0, wait))
            if readable:
                self.read()
            self.advance(time.monotonic())

    def read(self) -> None:
        for _ in range(64):
            try:
                packet = os.read(self.tun, 2048)
            except BlockingIOError:
                return
            segment = parse(packet)
            if segment is None:
                continue
            now = time.monotonic()
            self.advance(now)
            self.enter(segment, now)

    def enter(self, segment: Segment, now: float) -> None:
        liar = segment.port == LIAR
        if liar and self.lie.optimistic and segment.length and segment.source in self.connections:
            connection = self.connections[segment.source]
            end = (segment.sequence + segment.length) % WRAP
            if after(end, connection.next):
                connection.next = end
            connection.tsecr = segment.tsval or 0
            self.acknowledge(connection, now, [])
        if len(self.leaving) >= QUEUE_PACKETS:
            self.dropped += 1
            return
        self.free = max(self.free, now) + segment.size / RATE_BYTES
        self.count += 1
        heapq.heappush(self.leaving, (self.free, self.count, segment))

    def advance(self, now: float) -> None:
        while self.leaving and self.leaving[0][0] <= now:
            at, number, segment = heapq.heappop(self.leaving)
            self.passed.append((at, segment.port, segment.size))
            self.first.setdefault(segment.port, at)
            heapq.heappush(self.arriving, (at + DELAY_S, number, segment))
        while self.arriving and self.arriving[0][0] <= now:
            _, _, segment = heapq.heappop(self.arriving)
            self.receive(segment, now)
        for connection in self.connections.values():
            if connection.due is not None and connection.due <= now:
                self.acknowledge(connection, now, connection.early)

    def receive(self, segment: Segment, now: float) -> None:
        lie = self.lie_of(segment.port)
        if segment.flags & RST:
            self.connections.pop(segment.source, None)
            return
        if segment.flags & SYN:
            new = Connection(segment.source, segment.port, (segment.sequence + 1) % WRAP)
            new.timestamps = lie.timestamps and segment.tsval is not None
            new.tsecr = segment.tsval or 0
            new.acknowledged = new.next
            new.opened = now
            new.began = new.tsecr
            self.connections[segment.source] = new
            options = struct.pack("!BBHBBBBBB", 2, 4, SEGMENT + 12, 3, 3, WINDOW_SCALE, 4, 2, 1)
            self.send(new, SYN | ACK, 0, new.next, 65535, options, now)
            return
        connection = self.connections.get(segment.source)
        if connection is None:
            return
        if segment.length == 0:
            # A probe of a window that was zero (RFC 9293, section 3.8.6.1).
            if after(connection.next, segment.sequence):
                self.acknowledge(connection, now, connection.early)
            return
        connection.arrived += 1
        end = (segment.sequence + segment.length) % WRAP
        in_order = not after(segment.sequence, connection.next)
        # Of the first segment that is not acknowledged yet (RFC 7323, section 4.3).
        if not after(segment.sequence, connection.acknowledged) and segment.tsval is not None:
            connection.tsecr = segment.tsval
        before = connection.next
        self.take(connection, segment.sequence, end)
        hold = in_order and not connection.early and lie.every > 1 and connection.arrived % lie.every
        if hold:
            connection.due = connection.due or now + lie.hold_s
            return
        if lie.parts > 1 and after(connection.next, before):
            step = max(1, (connection.next - before) % WRAP // lie.parts)
            goal = connection.next
            for part in range(1, lie.parts):
                connection.next = (before + part * step) % WRAP
                self.acknowledge(connection, now, [])
            connection.next = goal
        self.acknowledge(connection, now, connection.early)

    @staticmethod
    def take(connection: Connection, begin: int, end: int) -> None:
        """Takes a segment in, and with it what had arrived early."""
        if after(begin, connection.next):
            connection.early.append((begin, end))
            connection.early.sort(key=lambda block: (block[0] - connection.next) % WRAP)
            merged: list[tuple[int, int]] = []
            for block in connection.early:
                if merged and not after(block[0], merged[-1][1]):
                    last = merged[-1]
                    merged[-1] = (last[0], block[1] if after(block[1], last[1]) else last[1])
                else:
                    merged.append(block)
            connection.early = merged
            return
        if after(end, connection.next):
            connection.next = end
        while connection.early and not after(connection.early[0][0], connection.next):
            _, last = connection.early.pop(0)
            if after(last, connection.next):
                connection.next = last

    def lie_of(self, port: int) -> Lie:
        return self.lie if port == LIAR else LIES["honest"]

    def acknowledge(self, connection: Connection, now: float, early: list[tuple[int, int]]) -> None:
        lie = self.lie_of(connection.port)
        connection.due = None
        connection.acks += 1
        connection.acknowledged = connection.next
        window = lie.window(connection, now)
        blocks = lie.sack(connection, early[-3:])
        options = b""
        if blocks:
            options = struct.pack("!BBBB", 1, 1, 5, 2 + 8 * len(blocks))
            options += b"".join(struct.pack("!II", *block) for block in blocks)
        self.send(connection, ACK, 1, connection.next, window >> WINDOW_SCALE, options, now)

    def send(
        self,
        connection: Connection,
        flags: int,
        sequence: int,
        acknowledgement: int,
        window: int,
        options: bytes,
        now: float,
    ) -> None:
        if connection.timestamps:
            tsval = self.lie_of(connection.port).tsval(connection, now) % WRAP
            options = struct.pack("!BBBBII", 1, 1, 8, 10, tsval, connection.tsecr) + options
        options += b"\1" * (-len(options) % 4)
        offset = (5 + len(options) // 4) << 4
        tcp = struct.pack(
            "!HHIIBBHHH",
            connection.port,
            connection.source,
            sequence,
            acknowledgement,
            offset,
            flags,
            min(window, 65535),
            0,
            0,
        )
        tcp += options
        addresses = bytes(map(int, f"{ADDRESS}.{KERNEL}".split(".")))
        total = checksum(addresses + struct.pack("!HH", 6, len(tcp)) + tcp)
        tcp = tcp[:16] + struct.pack("!H", total) + tcp[18:]
        ip = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(tcp), 0, 0, 64, 6, 0) + addresses
        ip = ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:]
        os.write(self.tun, ip + tcp)
