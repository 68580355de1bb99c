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


def figures(case: Case, goodput: Figures, queue: Figures) -> Figures:
    """The figures that are compared, by the goodputs in bit/s of `tcp`, the `last` of these, `second` and `udp`.

    A link of 10 Mb/s carries 9.615 Mb/s of data by packets of 1040 bytes.
    """
    table = {}
    if case.netnice["flows"]:
        table["TCP: goodput, Mb/s"] = goodput["tcp"] / 1e6
    if case.netnice.get("second"):
        table["second control: goodput, Mb/s"] = goodput["second"] / 1e6
    if "delay_step" in case.netnice:
        table["longest RTT: goodput, Mb/s"] = goodput["last"] / 1e6
    if case.netnice.get("constant_rates"):
        table["constant rate: goodput, Mb/s"] = goodput["udp"] / 1e6
    if case.netnice["flows"]:
        # Packets of data that reached a receiver twice, of those that the bottleneck sent.
        sent_bps = (queue["arrived"] - queue["dropped"]) / queue["seconds"] * DATA_BITS
        data_bps = goodput["tcp"] + goodput["second"] + goodput["udp"] * DATA_PER_UDP
        table["TCP: received twice, %"] = 100 * (1 - data_bps / sent_bps)
    table["dropped, %"] = 100 * queue["dropped"] / queue["arrived"]
    if "ecn" in case.name:
        table["marked, %"] = 100 * queue["marked"] / queue["arrived"]
    table["mean wait, ms"] = queue["wait_mean_s"] * 1000
    table["95 % of waits below, ms"] = queue["wait_p95_s"] * 1000
    return table


# Columns of a table with a row for each case, and the figures in them.
COLUMNS = {
    "goodput, Mb/s": (
        "TCP: goodput, Mb/s",
        "second control: goodput, Mb/s",
        "longest RTT: goodput, Mb/s",
        "constant rate: goodput, Mb/s",
    ),
    "received twice, %": ("TCP: received twice, %",),
    **{name: (name,) for name in ("dropped, %", "marked, %", "mean wait, ms")},
    "95 % below, ms": ("95 % of waits below, ms",),
}


def of_ns3(case: Case, run: dict) -> Figures:
    return figures(case, {name: run[f"{name}_goodput_bps"] for name in ("tcp", "last", "second", "udp")}, run)


def of_netnice(case: Case, run: dict) -> Figures:
    queue = next(queue for queue in run["queues"] if queue["link"] == "bottleneck")
    goodputs = {name: [] for name in ("tcp", "second", "udp")}
    for flow in run["flows"]:
        goodputs[flow["name"].partition("[")[0]].append(flow["goodput_bps"])
    goodput = {name: sum(values) for name, values in goodputs.items()}
    goodput["last"] = goodputs["tcp"][-1] if goodputs["tcp"] else 0
    counts = {
        "arrived": queue["arrived"],
        "dropped": sum(drop["packets"] for drop in queue["drops"]),
        "marked": queue["marked"],
        "seconds": run["measured_s"],
        "wait_mean_s": queue["waiting"]["mean_s"],
        "wait_p95_s": queue["waiting"]["p95_s"],
    }
    return figures(case, goodput, counts)


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
# RED with the same weight of an arrival. ns-3 has ns-2's `ns1_compat_` the wrong way round: true is its absence.
# Unless it is given ns-3 computes the least max_p.
RED = "MaxSize=60p,MinTh=5,MaxTh=15,LInterm=10,QW=0.002,MeanPktSize=1040,LinkBandwidth=10Mbps,Ns1Compat=true"
OUR_RED = 'discipline = "red", limit = "60p", min_threshold = "5p", max_threshold = "15p", weight = 0.002'
DISCIPLINES |= {
    "RED": ("Red", RED, f"{{ {OUR_RED} }}"),
    "adaptive RED": ("Red", f"{RED},AdaptMaxP=true,Bottom=0.01", f"{{ {OUR_RED}, adaptive = true }}"),
    # CAKE without tins and hosts. Its quantum is 1/4096 s at the rate, as in Linux.
    "CAKE, FqCobalt": (
        "FqCobalt",
        "Quantum=305,EnableSetAssociativeHash=true,UseEcn=false",
        '{ discipline = "cake", tins = "besteffort", isolation = "flows" }',
    ),
}
# Those that differ in some loads only.
SPECIAL = {
    "RED, not gentle": ("Red", f"{RED},Gentle=false", f"{{ {OUR_RED}, gentle = false }}"),
    "adaptive RED, not gentle": (
        "Red",
        f"{RED},AdaptMaxP=true,Bottom=0.01,Gentle=false",
        f"{{ {OUR_RED}, adaptive = true, gentle = false }}",
    ),
    # Drops by BLUE as well, since the queue overflows.
    "COBALT, 60 packets": (
        "Cobalt",
        "MaxSize=60p,UseEcn=false",
        '{ discipline = "cake", tins = "besteffort", isolation = "flows", limit = "60p" }',
    ),
}
SPECIAL_LOADS = {
    "RED, not gentle": ("11.7 Mb/s constant", "5 TCP", "50 TCP"),
    "adaptive RED, not gentle": ("11.7 Mb/s constant", "5 TCP"),
    "COBALT, 60 packets": ("11.7 Mb/s constant",),
}
WITH_ECN = {
    "CoDel, ecn": ("CoDel", "MaxSize=1000p,UseEcn=true", '{ discipline = "codel", ecn = true }'),
    "FQ-CoDel, ecn": ("FqCoDel", "Quantum=1514,UseEcn=true", '{ discipline = "fq_codel" }'),
    "PIE, ecn": (
        "Pie",
        "MaxSize=1000p,MaxBurstAllowance=150ms,UseDerandomization=true,UseEcn=true",
        '{ discipline = "pie", ecn = true }',
    ),
    "CAKE, FqCobalt, ecn": (
        "FqCobalt",
        "Quantum=305,EnableSetAssociativeHash=true,UseEcn=true",
        '{ discipline = "cake", tins = "besteffort", isolation = "flows" }',
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
            "links.bottleneck.delay": '"20383us"',
            "links.bottleneck.reverse": '{ delay = "20300us", queue = "100000p", shaper = { burst = "15000B" } }',
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
# Five flows of BBR fill 300 packets as they begin.
LOSSLESS = ("Fifo", "MaxSize=2000p", '"2000p"')


# What differs from the rest, as settings of ns-3 and ours. A control that creeps to its queue gets more time.
LONG = ({"seconds": 120, "warmup": 60}, {"duration": "120s", "warm_up": "60s"})
# Packets of 1052 bytes, of which ns-3's device holds one.
TIMESTAMPS = (
    {"timestamps": "true"},
    {
        "timestamps": "true",
        "packet_size": "1052B",
        "header_size": "52B",
        "links.bottleneck.delay": "21142us",
    },
)
# Round trips of 48.6, 88.6, 128.6, 168.6 and 208.6 ms.
DIFFERENT_RTTS = ({"delay_step": 20}, {"delay_step": "20ms"})
# Windows of 240 packets and more, for which HighSpeed TCP was made.
FAST = (
    {"rate": 50e6},
    {"links.bottleneck.rate": "50mbit", "links.bottleneck.delay": "20466us"},
)
Both = tuple[dict[str, object], dict[str, object]]


def with_settings(plain: Case, *settings: Both) -> Case:
    """The case with further settings of ns-3 and ours."""
    ns3, netnice = dict(plain.ns3), dict(plain.netnice)
    for theirs, ours in settings:
        ns3 |= theirs
        netnice |= ours
    return Case(plain.name, ns3, netnice)


def control(theirs: str, ours: str) -> Both:
    return {"control": theirs}, {"flows.tcp.congestion_control": ours}


def beside_reno(theirs: str, ours: str) -> Both:
    """One more flow, of another control."""
    return (
        {"second": 1, "second_control": theirs},
        {"second": 1, "flows.second.congestion_control": ours},
    )


def sender(name: str, load: str, theirs: str, ours: str, discipline: tuple[str, str, str], *settings: Both) -> Case:
    return with_settings(case(name, load, discipline, "ecn" in name), control(theirs, ours), *settings)


PRR = ({"recovery": "ns3::TcpPrrRecovery"}, {"flows.tcp.tcp.prr": "true"})
LEDBAT = ("FromWindow::TcpLedbat", "ledbat")
WITHOUT_SLOW_START = ({"defaults": "ns3::TcpLedbat::SSParam=no"}, {})
LOW_PRIORITY = ("FromWindow::TcpLp", "tcplp")
SSTHRESH_OF_20 = (
    {"defaults": "ns3::TcpSocket::InitialSlowStartThreshold=20000"},
    {"defaults.flows.tcp.initial_ssthresh": 20},
)
BBR = ("ns3::TcpBbr", "bbr")
HIGH_SPEED = ("FromWindow::TcpHighSpeed", "highspeed")
SHALLOW = DISCIPLINES["drop-tail"]

CASES = [
    *(case(name, load, DISCIPLINES[name]) for name in DISCIPLINES for load in LOADS),
    *(case(name, load, SPECIAL[name]) for name, loads in SPECIAL_LOADS.items() for load in loads),
    *(case(name, load, WITH_ECN[name], ecn=True) for name in WITH_ECN for load in ("5 TCP", "50 TCP")),
    *(shaped(load) for load in LOADS),
    *(sender("DCTCP, ecn", load, "ns3::TcpDctcp", "dctcp", MARKS_BEYOND_20) for load in ("1 TCP", "5 TCP", "50 TCP")),
    sender("BBR", "1 TCP", *BBR, DEEP),
    sender("BBR", "5 TCP", *BBR, DEEP),
    sender("BBR, 2000 packets", "5 TCP", *BBR, LOSSLESS),
    sender("BBR, 2000 packets, RTT of 48 to 208 ms", "5 TCP", *BBR, LOSSLESS, DIFFERENT_RTTS),
    *(sender("HighSpeed, 50 Mb/s", load, *HIGH_SPEED, DEEP, FAST) for load in ("1 TCP", "5 TCP")),
    *(with_settings(case("PRR", load, SHALLOW), PRR) for load in ("1 TCP", "5 TCP", "50 TCP")),
    *(sender("LEDBAT", load, *LEDBAT, DEEP, TIMESTAMPS, WITHOUT_SLOW_START, LONG) for load in ("1 TCP", "5 TCP")),
    with_settings(
        case("Reno beside LEDBAT", "1 TCP", DEEP), beside_reno(*LEDBAT), TIMESTAMPS, WITHOUT_SLOW_START, LONG
    ),
    sender("TCP-LP", "1 TCP", *LOW_PRIORITY, SHALLOW, TIMESTAMPS),
    *(
        sender("TCP-LP, ssthresh 20", load, *LOW_PRIORITY, SHALLOW, TIMESTAMPS, SSTHRESH_OF_20)
        for load in ("1 TCP", "5 TCP")
    ),
    with_settings(
        case("Reno beside TCP-LP, ssthresh 20", "1 TCP", SHALLOW),
        beside_reno(*LOW_PRIORITY),
        TIMESTAMPS,
        SSTHRESH_OF_20,
    ),
]
