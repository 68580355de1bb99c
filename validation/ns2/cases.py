# SPDX-License-Identifier: MIT OR Apache-2.0
"""What is run by both ns-2 and netnice's simulator, and what is compared.

A case is a script for ns-2 with its options, and a scenario of the same for the simulator. Both results are turned into
the same figures by name.
"""

import json
import pathlib
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field, replace

HERE = pathlib.Path(__file__).resolve().parent
REFERENCE = HERE / "reference.json"
SEEDS = range(1, 13)

# All packets have 1000 bytes of data and 40 of headers in both.
WIRE_PER_DATA = 1040 / 1000

Figures = dict[str, float]


@dataclass(frozen=True)
class Case:
    """One scenario, run by both."""

    name: str
    script: str
    options: dict[str, object]
    scenario: str
    of_ns2: Callable[["Case", dict], Figures]
    of_netnice: Callable[["Case", dict], Figures]
    settings: dict[str, str] = field(default_factory=dict)
    """What a sweep of the scenario has set for this case."""

    def run_ns2(self, seed: int) -> Figures:
        """The figures of one run of ns-2."""
        command = ["ns", str(HERE / self.script), "-seed", str(seed)]
        for name, value in self.options.items():
            command += [f"-{name}", str(value)]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        return self.of_ns2(self, json.loads(output))


def group_figures(flows: list[dict], rate: float, seconds: float) -> Figures:
    """Figures of flows that differ in nothing but their draws, by the name of their group."""
    groups: dict[str, list[dict]] = {}
    for flow in flows:
        groups.setdefault(flow["group"], []).append(flow)
    figures = {}
    for name, members in groups.items():
        goodput = sum(flow["goodput_bps"] for flow in members)
        sent = sum(flow["sent"] for flow in members)
        figures[f"{name}: throughput, % of link"] = 100 * goodput * WIRE_PER_DATA / rate
        figures[f"{name}: retransmitted, %"] = 100 * sum(flow["retransmitted"] for flow in members) / max(sent, 1)
        figures[f"{name}: RTOs per 100 s"] = 100 * sum(flow["timeouts"] for flow in members) / len(members) / seconds
        figures[f"{name}: mean cwnd, packets"] = sum(flow["mean_cwnd"] for flow in members) / len(members)
    return figures


def dumbbell_ns2(case: Case, run: dict) -> Figures:
    flows = [flow | {"group": flow["flow"].lower()} for flow in run["flows"]]
    seconds = float(case.options["seconds"]) - float(case.options["warmup"])
    figures = group_figures(flows, float(case.options["rate"]), seconds)
    figures["queue, packets"] = run["mean_queue_packets"]
    return figures


def queue_of(run: dict, link: str) -> dict:
    return next(queue for queue in run["queues"] if queue["link"] == link)


def dumbbell_netnice(case: Case, run: dict) -> Figures:
    flows = [
        flow | {"sent": flow["packets_sent"], "retransmitted": flow["retransmissions"]}
        for flow in run["flows"]
        if flow["transport"] == "tcp"
    ]
    figures = group_figures(flows, float(case.options["rate"]), run["measured_s"])
    figures["queue, packets"] = queue_of(run, "bottleneck")["mean_packets"]
    return figures


def repaired_ns2(case: Case, run: dict) -> Figures:
    flows = {"flows": [flow | {"flow": "tcp"} for flow in run["flows"]]}
    return dumbbell_ns2(case, run | flows) | {"dropped, %": 100 * run["drop_share"]}


def repaired_netnice(case: Case, run: dict) -> Figures:
    queue = queue_of(run, "bottleneck")
    drops = sum(drop["packets"] for drop in queue["drops"])
    return dumbbell_netnice(case, run) | {"dropped, %": 100 * drops / queue["arrived"]}


PHASES = ("start-up", "congested", "recovery", "over-provisioned")


def red_figures(phases: list[list[float]]) -> Figures:
    """`phases` holds throughputs of the six flows and the constant rate, in bit/s on the wire."""
    figures = {}
    for name, (tcp0, tcp1, tcp2, tcp3, tcp4, tcp5, constant) in zip(PHASES, phases, strict=True):
        longer = [tcp0, tcp2] if name == PHASES[3] else [tcp0, tcp1, tcp2]
        figures[f"{name}: TCP of 80 ms, Mb/s"] = sum(longer) / len(longer) / 1e6
        figures[f"{name}: TCP of 30 ms, Mb/s"] = (tcp3 + tcp4 + tcp5) / 3 / 1e6
        if name == PHASES[1]:
            figures[f"{name}: constant rate, Mb/s"] = constant / 1e6
    return figures


def red_ns2(_: Case, run: dict) -> Figures:
    return red_figures([[rate * WIRE_PER_DATA for rate in row[:6]] + [row[6]] for row in run["phases_bps"]])


def red_netnice(_: Case, run: dict) -> Figures:
    flows = {flow["name"]: flow for flow in run["flows"]}
    rows = []
    for index, _phase in enumerate(PHASES):
        tcp = [flows[f"tcp{number}"]["phases"][index]["goodput_bps"] * WIRE_PER_DATA for number in range(6)]
        rows.append([*tcp, flows["cbr"]["phases"][index]["throughput_bps"]])
    return red_figures(rows)


SIZE_CLASSES = (1024, 2048, 4096, 8192, 16384, 32768)


def response_name(below: int) -> str:
    return f"response to {below // 2} to {below} B, s"


def web_ns2(_: Case, run: dict) -> Figures:
    figures = {"link, % used": run["link_bps"] / 15000, "dropped, %": 100 * run["drop_share"]}
    if run["ftp_goodput_bps"] > 0:
        figures["FTP: throughput, % of link"] = run["ftp_goodput_bps"] * WIRE_PER_DATA / 15000
    for size in run["classes"]:
        if size["below_bytes"] in SIZE_CLASSES:
            figures[response_name(size["below_bytes"])] = size["mean_response_s"]
    return figures


def web_netnice(_: Case, run: dict) -> Figures:
    queue = queue_of(run, "bottleneck")
    drops = sum(drop["packets"] for drop in queue["drops"])
    figures = {"link, % used": 100 * queue["utilisation"], "dropped, %": 100 * drops / queue["arrived"]}
    ftp = [flow["goodput_bps"] for flow in run["flows"] if flow["group"] == "ftp"]
    if ftp:
        figures["FTP: throughput, % of link"] = ftp[0] * WIRE_PER_DATA / 15000
    (times,) = run["response_times"]
    for below in SIZE_CLASSES:
        bins = [size["response"] for size in times["bins"] if below // 2 <= size["from_bytes"] < below]
        count = sum(size["count"] for size in bins)
        if count:
            figures[response_name(below)] = sum(size["count"] * size["mean_s"] for size in bins) / count
    return figures


def dumbbell(name: str, scenario: str, settings: dict[str, str] | None = None, **options: object) -> Case:
    defaults = {"rate": 10e6, "limit": 150, "warmup": 20, "seconds": 220, "start": 1}
    return Case(
        name,
        "dumbbell.tcl",
        defaults | options,
        scenario,
        dumbbell_ns2,
        dumbbell_netnice,
        settings or {},
    )


def repaired(name: str, scenario: str, settings: dict[str, str], **options: object) -> Case:
    """A dumbbell that shows how senders recover from losses; the flows are called "tcp" in both."""
    case = dumbbell(name, scenario, settings, **options)
    return replace(case, of_ns2=repaired_ns2, of_netnice=repaired_netnice)


# The scenarios' names of recoveries, and ns-2's names of agents.
AGENTS = {"reno": "Reno", "newreno": "Newreno", "sack": "Sack1"}
SLOW = {"rate": 1.5e6, "limit": 23, "seconds": 520}

CASES = [
    dumbbell("one Reno, 10 Mb/s", "reno.toml"),
    dumbbell("one Reno, 1.5 Mb/s", "reno_1.5mbit.toml", **SLOW),
    dumbbell("two Reno, 10 Mb/s", "two_reno.toml", count=2),
    dumbbell("Vegas beside Reno, 10 Mb/s", "vegas.toml", forward="Vegas,Reno"),
    *(
        dumbbell(
            f"Reno, square wave of {period} s",
            "square_wave.toml",
            {"period": f"{period}s"},
            period=period,
            peak=6.666e6,
            warmup=40,
            seconds=240,
        )
        for period in (0.2, 0.8, 3.2, 12.8)
    ),
    dumbbell("Reno, ten reverse, 10 Mb/s", "reverse.toml", reverse=10),
    dumbbell("Reno, ten reverse, 1.5 Mb/s", "reverse_1.5mbit.toml", {"min_rto": "200ms"}, reverse=10, **SLOW),
    dumbbell(
        "Reno, ten reverse, 1.5 Mb/s, RTO of 1 s",
        "reverse_1.5mbit.toml",
        {"min_rto": "1s"},
        reverse=10,
        minrto=1,
        **SLOW,
    ),
    Case("RED in four phases", "red_phases.tcl", {}, "red_phases.toml", red_ns2, red_netnice),
    Case("web", "web.tcl", {"seconds": 120}, "web.toml", web_ns2, web_netnice),
    Case("web beside Reno", "web.tcl", {"seconds": 120, "ftp": "Reno"}, "web_ftp.toml", web_ns2, web_netnice),
    *(
        repaired(
            f"{AGENTS[recovery]}, {100 * loss:g} % lost, {delay} ms",
            "loss.toml",
            {"recovery": recovery, "delay": f"{delay}ms", "loss": f"{100 * loss:g}%"},
            forward=AGENTS[recovery],
            delay=delay / 1000,
            loss=loss,
        )
        for recovery in ("newreno", "sack")
        for delay, loss in ((20, 0.005), (20, 0.04), (50, 0.04))
    ),
    *(
        repaired(
            f"20 {AGENTS[recovery]}, 30 to 220 ms",
            "round_trips.toml",
            {"recovery": recovery},
            forward=AGENTS[recovery],
            count=20,
            step=0.005,
            delay=0.01,
            accessdelay=0.0025,
            limit=100,
            seconds=120,
        )
        for recovery in ("reno", "sack")
    ),
    *(
        repaired(
            f"RED, 10 {AGENTS[recovery]}",
            "red.toml",
            {"recovery": recovery},
            forward=AGENTS[recovery],
            count=10,
            red="10,30",
            limit=100,
            seconds=120,
        )
        for recovery in ("reno", "newreno")
    ),
]
