# SPDX-License-Identifier: MIT OR Apache-2.0
"""What is run by both ns-3 and netnice's simulator, and what is compared.

A case is the options of queues.cc, and what queues.toml is set to for the same.
"""

from dataclasses import dataclass

SEEDS = range(1, 7)

Figures = dict[str, float]

# Bits of data in a packet of TCP, and their share in one of UDP, which has smaller headers.
DATA_BITS = 8000
DATA_PER_UDP = 1000 / 1012


@dataclass(frozen=True)
class Case:
    """One scenario, run by both."""

    name: str
    ns3: dict[str, object]
    netnice: dict[str, object]


def figures(case: Case, tcp_bps: float, udp_bps: float, queue: dict[str, float]) -> Figures:
    """The figures that are compared; goodput is that of 10 Mb/s, whose packets are 1040 bytes with 1000 of data."""
    table = {}
    if case.netnice["flows"]:
        table["TCP: goodput, Mb/s"] = tcp_bps / 1e6
    if case.netnice.get("constant_rates"):
        table["constant rate: goodput, Mb/s"] = udp_bps / 1e6
    if case.netnice["flows"]:
        # Packets of data that reached a receiver twice, of those that the bottleneck sent.
        sent_bps = (queue["arrived"] - queue["dropped"]) / queue["seconds"] * DATA_BITS
        table["TCP: received twice, %"] = 100 * (1 - (tcp_bps + udp_bps * DATA_PER_UDP) / sent_bps)
    table["dropped, %"] = 100 * queue["dropped"] / queue["arrived"]
    if "ecn" in case.name:
        table["marked, %"] = 100 * queue["marked"] / queue["arrived"]
    table["mean wait, ms"] = queue["wait_mean_s"] * 1000
    table["95 % of waits below, ms"] = queue["wait_p95_s"] * 1000
    return table


def of_ns3(case: Case, run: dict) -> Figures:
    return figures(case, run["tcp_goodput_bps"], run["udp_goodput_bps"], run)


def of_netnice(case: Case, run: dict) -> Figures:
    queue = next(queue for queue in run["queues"] if queue["link"] == "bottleneck")
    goodput = {
        transport: sum(flow["goodput_bps"] for flow in run["flows"] if flow["transport"] == transport)
        for transport in ("tcp", "udp")
    }
    counts = {
        "arrived": queue["arrived"],
        "dropped": sum(drop["packets"] for drop in queue["drops"]),
        "marked": queue["marked"],
        "seconds": run["measured_s"],
        "wait_mean_s": queue["waiting"]["mean_s"],
        "wait_p95_s": queue["waiting"]["p95_s"],
    }
    return figures(case, goodput["tcp"], goodput["udp"], counts)


# Traffic: TCP flows, and the constant rate in Mb/s.
LOADS = {
    "11.7 Mb/s constant": (0, 11.7),
    "1 TCP": (1, 0),
    "5 TCP": (5, 0),
    "50 TCP": (50, 0),
    "5 TCP, 3 Mb/s constant": (5, 3),
}

# Disciplines: ns-3's name and attributes, and ours. What ns-3 has no attribute for, queues.cc sets.
DISCIPLINES = {
    "drop-tail": ("Fifo", "MaxSize=60p", '"60p"'),
    "CoDel": ("CoDel", "MaxSize=1000p", '{ discipline = "codel" }'),
    "FQ-CoDel": (
        "FqCoDel",
        "Quantum=1514,UseEcn=false",
        '{ discipline = "fq_codel", ecn = false }',
    ),
    "PIE": (
        "Pie",
        "MaxSize=1000p,MaxBurstAllowance=150ms,UseDerandomization=true",
        '{ discipline = "pie" }',
    ),
}
WITH_ECN = {
    "CoDel, ecn": ("CoDel", "MaxSize=1000p,UseEcn=true", '{ discipline = "codel", ecn = true }'),
    "FQ-CoDel, ecn": ("FqCoDel", "Quantum=1514,UseEcn=true", '{ discipline = "fq_codel" }'),
    "PIE, ecn": (
        "Pie",
        "MaxSize=1000p,MaxBurstAllowance=150ms,UseDerandomization=true,UseEcn=true",
        '{ discipline = "pie", ecn = true }',
    ),
}


def case(name: str, load: str, discipline: tuple[str, str, str], ecn: bool = False) -> Case:
    kind, attributes, ours = discipline
    flows, megabits = LOADS[load]
    return Case(
        f"{name}: {load}",
        {
            "discipline": f"ns3::{kind}QueueDisc",
            "attributes": attributes,
            "flows": flows,
            "udp": megabits * 1e6,
            "ecn": str(ecn).lower(),
        },
        {
            "flows": flows,
            "hosts": max(flows, 1),
            "constant_rates": int(megabits > 0),
            "rate": f"{megabits or 1}mbit",
            "ecn": str(ecn).lower(),
            "links.bottleneck.queue": ours,
        },
    )


# A bucket of 15 kB that fills at 10 Mb/s, before 100 Mb/s: a packet behind the discipline waits for 83 us. In ns-3 the
# packet that waits for tokens is still in the queue.
def shaped(load: str) -> Case:
    plain = case("shaper", load, ("Tbf", "Rate=10Mbps,Burst=15000,MaxSize=100p", '"99p"'))
    return Case(
        plain.name,
        plain.ns3 | {"device": 100e6},
        plain.netnice
        | {
            "links.bottleneck.shaper": '{ burst = "15000B", peak_rate = "100mbit" }',
            "links.bottleneck.delay": '"20083us"',
            "links.bottleneck.reverse": '{ delay = "20ms", queue = "100000p", shaper = { burst = "15000B" } }',
        },
    )


# The router of RFC 8257: all packets beyond 20 in the queue are marked.
MARKS_BEYOND_20 = (
    "Red",
    "MaxSize=200p,MinTh=20,MaxTh=20,QW=1,UseEcn=true,UseHardDrop=false,Gentle=false,Wait=false,MeanPktSize=1040",
    '{ discipline = "red", limit = "200p", min_threshold = "20p", max_threshold = "20p", weight = 1.0,'
    ' ecn = "mark_always", gentle = false, wait = false }',
)
DEEP = ("Fifo", "MaxSize=300p", '"300p"')


def sender(name: str, load: str, control: str, ours: str, discipline: tuple[str, str, str], ecn: bool) -> Case:
    plain = case(name, load, discipline, ecn)
    return Case(
        plain.name,
        plain.ns3 | {"control": f"ns3::{control}"},
        plain.netnice | {"flows.tcp.congestion_control": ours},
    )


CASES = [
    *(case(name, load, DISCIPLINES[name]) for name in DISCIPLINES for load in LOADS),
    *(case(name, load, WITH_ECN[name], ecn=True) for name in WITH_ECN for load in ("5 TCP", "50 TCP")),
    *(shaped(load) for load in LOADS),
    *(sender("DCTCP, ecn", load, "TcpDctcp", "dctcp", MARKS_BEYOND_20, True) for load in ("1 TCP", "5 TCP", "50 TCP")),
    sender("BBR", "1 TCP", "TcpBbr", "bbr", DEEP, False),
    sender("BBR", "5 TCP", "TcpBbr", "bbr", DEEP, False),
]
