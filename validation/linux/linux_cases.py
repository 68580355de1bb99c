# SPDX-License-Identifier: MIT OR Apache-2.0
"""What is run by both Linux and netnice's simulator, and what is compared."""

from dataclasses import dataclass

Figures = dict[str, float]

RATE = 10e6
# Sizes of frames of Ethernet, which queues of Linux count: with TCP's timestamps, and with UDP's header.
FRAME = 1514
TCP_HEADERS = 66
UDP_HEADERS = 42
# Each packet of a connection with AccECN has its option (RFC 9768 section 3.2.3).
ACCECN_OPTION = 12
# Time of a frame at the bottleneck, which Linux's shapers let go at once, so that a delay has to stand for it.
FRAME_US = round(FRAME * 8 / RATE * 1e6)
DELAY_US = 40_000


@dataclass(frozen=True)
class Group:
    """Flows of one kind; host number n of the sources sends to host number n of the sinks."""

    name: str
    # A congestion control, or a constant rate in bits per second.
    sends: str | float
    count: int = 1
    hosts: tuple[int, ...] = (1,)
    # ECN: of a constant rate "", "ect0" or "ect1". DCTCP's packets become ECT(1) in the router, where "ect1" is given.
    ecn: str = ""
    dscp: int = 0

    def is_tcp(self) -> bool:
        return isinstance(self.sends, str)


@dataclass(frozen=True)
class Case:
    name: str
    groups: tuple[Group, ...]
    # Subcommands of tc: object, `add dev`, and these.
    tc: str
    # The simulator's discipline.
    queue: str
    # net.ipv4.tcp_ecn, and whether the simulated TCP flows have `accurate_ecn`.
    ecn: int = 0
    accurate: bool = False
    end_s: int = 20


# Simulated controls as Linux has them.
LINUX_CONTROLS = {
    "cubic": '{ name = "cubic", linux = true }',
    "reno": '{ name = "reno", linux = true }',
}

# The field ECN of UDP packets.
ECN_BITS = {"": 0, "ect1": 1, "ect0": 2}


def of_linux(case: Case, run: dict) -> Figures:
    groups = run["groups"]
    table: Figures = {}
    for group in case.groups:
        ours = groups[group.name.replace(" ", "_")]
        prefix = f"{group.name}: " if len(case.groups) > 1 else ""
        table[f"{prefix}goodput, Mb/s"] = 8 * ours["received_bytes"] / run["seconds"] / 1e6
        if prefix:
            table[f"{prefix}dropped, %"] = 100 * ours["dropped"] / ours["arrived"]
            table[f"{prefix}mean wait, ms"] = 1000 * ours["wait_mean_s"]
    return table | of_queue(
        case,
        *(sum(group[name] for group in groups.values()) for name in ("arrived", "dropped", "marked")),
        run["wait_mean_s"],
        run["wait_p95_s"],
    )


def of_netnice(case: Case, run: dict) -> Figures:
    table: Figures = {}
    for group in case.groups:
        flows = [flow for flow in run["flows"] if flow["group"] == group.name]
        prefix = f"{group.name}: " if len(case.groups) > 1 else ""
        table[f"{prefix}goodput, Mb/s"] = sum(flow["goodput_bps"] for flow in flows) / 1e6
        if prefix:
            delivered = sum(flow["packets_received"] for flow in flows)
            lost = sum(flow["packets_lost"] for flow in flows)
            table[f"{prefix}dropped, %"] = 100 * lost / (delivered + lost)
            delays = [(flow["one_way_delay"]["count"], flow["one_way_delay"]["mean_s"]) for flow in flows]
            mean = sum(count * delay for count, delay in delays) / sum(count for count, _ in delays)
            table[f"{prefix}mean wait, ms"] = 1000 * mean - FRAME_US / 1000
    queue = next(queue for queue in run["queues"] if queue["link"] == "bottleneck")
    dropped = sum(drop["packets"] for drop in queue["drops"])
    waiting = queue["waiting"]
    return table | of_queue(case, queue["arrived"], dropped, queue["marked"], waiting["mean_s"], waiting["p95_s"])


def of_queue(case: Case, arrived: int, dropped: int, marked: int, mean_s: float, p95_s: float) -> Figures:
    table = {"dropped, %": 100 * dropped / arrived}
    if case.ecn or any(group.ecn for group in case.groups):
        table["marked, %"] = 100 * marked / arrived
    return table | {"mean wait, ms": 1000 * mean_s, "95 % of waits below, ms": 1000 * p95_s}


def scenario(case: Case, warm_up_s: int, seeds: int) -> str:
    """The case as a scenario of the simulator."""
    lines = [
        'name = "linux"',
        f'duration = "{case.end_s}s"',
        f'warm_up = "{warm_up_s}s"',
        f"seeds = {seeds}",
        "[[links]]",
        'name = "bottleneck"',
        'from = "left"',
        'to = "right"',
        f'rate = "{RATE:.0f}bit"',
        f"queue = {case.queue}",
        # Linux's link has a rate in one direction.
        f'reverse = {{ rate = "10gbit", delay = "{DELAY_US}us", queue = "100000p" }}',
    ]
    for host in sorted({host for group in case.groups for host in group.hosts}):
        lines += ["[[links]]", f'from = "source{host}"', 'to = "left"']
        lines += ["[[links]]", f'from = "sink{host}"', 'to = "right"']
    for group in case.groups:
        for host in group.hosts:
            lines += flow(case, group, host)
    return "\n".join(lines)


def flow(case: Case, group: Group, host: int) -> list[str]:
    name = group.name if len(group.hosts) == 1 else f"{group.name}/{host}"
    lines = [
        "[[flows]]",
        f'name = "{name}"',
        f'from = "source{host}"',
        f'to = "sink{host}"',
        f"count = {group.count}",
        f'packet_size = "{FRAME}B"',
        'start_spread = "1s"',
        f"dscp = {group.dscp}",
    ]
    if not group.is_tcp():
        ecn = f', ecn = "{group.ecn}"' if group.ecn else ""
        return [
            *lines,
            'transport = "udp"',
            f'header_size = "{UDP_HEADERS}B"',
            f'application = {{ kind = "cbr", rate = "{group.sends:.0f}bit"{ecn} }}',
        ]
    control = LINUX_CONTROLS.get(str(group.sends), f'"{group.sends}"')
    if group.ecn == "ect1":
        control = '"prague"'
    ecn = case.ecn in (1, 3) or group.sends == "dctcp"
    tcp = 'recovery = "linux", delayed_ack = true'
    tcp += ", ecn = true" * ecn + ", accurate_ecn = true" * case.accurate
    headers = TCP_HEADERS + ACCECN_OPTION * case.accurate
    return [*lines, f'header_size = "{headers}B"', f"congestion_control = {control}", f"tcp = {{ {tcp} }}"]


# The class of HTB has no burst to speak of: a packet leaves when the one before it has been sent. HTB holds no packet
# itself, where TBF takes one out of its queue in advance.
HTB = (
    "qdisc out root handle 1: htb default 1;"
    "class out parent 1: classid 1:1 htb rate 10mbit burst 200 cburst 200;"
    "qdisc out parent 1:1 handle 2: "
)
CAKE = ("qdisc out root cake bandwidth 10mbit", '{ discipline = "cake", linux = true }')
DUAL_PI2 = (HTB + "dualpi2", '{ discipline = "dual_pi2", linux = true }')
CODEL = (HTB + "codel", '{ discipline = "codel" }')
FQ_CODEL = (HTB + "fq_codel noecn", '{ discipline = "fq_codel", ecn = false, linux = true }')
# Its timer of 15 ms takes four ticks of 4 ms.
PIE = (HTB + "pie", '{ discipline = "pie", update = "16ms" }')
# Three quarters for AF11, by weights.
DRR = (
    HTB + "drr;"
    "class out parent 2: classid 2:1 drr quantum 4542;"
    "class out parent 2: classid 2:2 drr quantum 1514;"
    "qdisc out parent 2:1 pfifo limit 60;"
    "qdisc out parent 2:2 pfifo limit 60;"
    "filter out parent 2: protocol ip prio 1 u32 match ip dsfield 0x28 0xfc flowid 2:1;"
    "filter out parent 2: protocol ip prio 2 u32 match u32 0 0 flowid 2:2",
    '{ discipline = "weighted_drr", quantum = "1514B", classes = ['
    ' { dscp = ["AF11"], weight = 3, queue = "60p" }, { queue = "60p" }] }',
)
# Packets with ECT(0) that arrive at the router leave as ECT(1).
RELABEL = (
    ";qdisc in ingress;filter in ingress protocol ip prio 1 u32 match ip dsfield 2 3"
    " action pedit ex munge ip dsfield set 1 retain 3 pipe csum ip"
)

OVERLOAD = (Group("constant", 12e6),)
AF11, CS1, EF = 10, 8, 46


def tcp(control: str, count: int) -> tuple[Group, ...]:
    return (Group("tcp", control, count),)


CASES = [
    Case("CAKE: 12 Mb/s constant", OVERLOAD, *CAKE),
    *(Case(f"CAKE: {count} CUBIC", tcp("cubic", count), *CAKE) for count in (1, 2, 10)),
    Case("CAKE: 10 Reno", tcp("reno", 10), *CAKE),
    *(Case(f"CAKE, ecn: {count} CUBIC", tcp("cubic", count), *CAKE, ecn=1) for count in (1, 10)),
    Case("CAKE, AccECN: 10 CUBIC", tcp("cubic", 10), *CAKE, ecn=3, accurate=True),
    Case(
        "CAKE: hosts with 1 and 4 CUBIC",
        (Group("one", "cubic"), Group("four", "cubic", 4, (2,))),
        *CAKE,
    ),
    Case("CAKE: bulk and best effort", (Group("bulk", "cubic", dscp=CS1), Group("best effort", "cubic")), *CAKE),
    Case("CAKE: voice of 1 Mb/s, 5 CUBIC", (Group("voice", 1e6, dscp=EF), Group("tcp", "cubic", 5)), *CAKE),
    Case("CAKE: voice of 4 Mb/s, 5 CUBIC", (Group("voice", 4e6, dscp=EF), Group("tcp", "cubic", 5)), *CAKE),
    Case("CAKE: 3 Mb/s constant, 5 CUBIC", (Group("constant", 3e6), Group("tcp", "cubic", 5)), *CAKE),
    Case("DualPI2: 12 Mb/s constant", OVERLOAD, *DUAL_PI2),
    *(Case(f"DualPI2: {count} CUBIC", tcp("cubic", count), *DUAL_PI2) for count in (1, 2, 10)),
    Case("DualPI2: 10 Reno", tcp("reno", 10), *DUAL_PI2),
    *(Case(f"DualPI2, ecn: {count} CUBIC", tcp("cubic", count), *DUAL_PI2, ecn=1) for count in (1, 10)),
    Case("DualPI2: 3 Mb/s constant, 5 CUBIC", (Group("constant", 3e6), Group("tcp", "cubic", 5)), *DUAL_PI2),
    Case("DualPI2: 1 DCTCP", (Group("dctcp", "dctcp", ecn="ect1"),), DUAL_PI2[0] + RELABEL, DUAL_PI2[1], ecn=1),
    Case(
        "DualPI2: 1 DCTCP, 1 CUBIC with ecn",
        (Group("dctcp", "dctcp", ecn="ect1"), Group("cubic", "cubic", hosts=(2,))),
        DUAL_PI2[0] + RELABEL.replace("dsfield 2 3", "dsfield 2 3 match ip src 10.0.0.1/32"),
        DUAL_PI2[1],
        ecn=1,
    ),
    Case("CoDel: 12 Mb/s constant", OVERLOAD, *CODEL),
    *(Case(f"CoDel: {count} CUBIC", tcp("cubic", count), *CODEL) for count in (1, 10)),
    Case("FQ-CoDel: 12 Mb/s constant", OVERLOAD, *FQ_CODEL),
    *(Case(f"FQ-CoDel: {count} CUBIC", tcp("cubic", count), *FQ_CODEL) for count in (1, 10)),
    Case("FQ-CoDel: 3 Mb/s constant, 5 CUBIC", (Group("constant", 3e6), Group("tcp", "cubic", 5)), *FQ_CODEL),
    Case("PIE: 12 Mb/s constant", OVERLOAD, *PIE),
    *(Case(f"PIE: {count} CUBIC", tcp("cubic", count), *PIE) for count in (1, 10)),
    Case("DRR, 3 to 1: 2 CUBIC each", (Group("three", "cubic", 2, dscp=AF11), Group("one", "cubic", 2)), *DRR),
    Case("DRR, 3 to 1: 10 Mb/s constant each", (Group("three", 10e6, dscp=AF11), Group("one", 10e6)), *DRR),
]
