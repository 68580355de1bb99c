# SPDX-License-Identifier: MIT OR Apache-2.0
"""Congestion controls written in Python."""

from __future__ import annotations

import os
import subprocess
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from test_sweep import pool

import netnice
from netnice import ControlAck, ControlLoss, ControlWindow

if TYPE_CHECKING:
    from collections.abc import Callable

#: Reno (RFC 5681) with whole packets, in C and below in Python.
RENO_H = Path(__file__).with_name("reno.h")


class Reno:
    """The same steps as in ``reno.h``."""

    def __init__(self) -> None:
        self.acked = 0

    def on_ack(self, ack: ControlAck, window: ControlWindow) -> None:
        if not ack.cwnd_limited:
            return
        if window.cwnd < window.ssthresh:
            window.cwnd += ack.acked
            return
        self.acked += ack.acked
        if self.acked >= window.cwnd:
            self.acked -= window.cwnd
            window.cwnd += 1

    def on_loss(self, loss: ControlLoss) -> int:
        return max(loss.cwnd // 2, 2)

    def on_timeout(self, loss: ControlLoss) -> int:
        return max(loss.in_flight // 2, 2)


class Timid(Reno):
    """Reno that never has more than four packets in flight."""

    def on_ack(self, ack: ControlAck, window: ControlWindow) -> None:
        super().on_ack(ack, window)
        window.cwnd = min(window.cwnd, 4)


@pytest.fixture
def scenario() -> netnice.Scenario:
    """Return two flows with losses, and the samples of their windows."""
    line = netnice.link("a", "b", name="line", rate="5mbit", delay="10ms", queue="15p", loss="0.1%")
    return netnice.Scenario(
        name="control",
        duration="20s",
        seeds=2,
        sampling={"interval": "100ms"},
        links=[line],
        flows=[netnice.flow("one", "a", "b"), netnice.flow("two", "a", "b", start="1s")],
    )


def without_names(results: netnice.Results) -> list[bytes]:
    """Return the runs' bytes without the name of the control."""
    names = (b'"congestion_control":"Reno"', b'"congestion_control":"%s"' % os.fsencode(RENO_H))
    texts = []
    for _, text in results.json():
        found = [name for name in names if name in text]
        assert len(found) == 1
        texts.append(text.replace(found[0], b"", -1))
    return texts


def test_it_gives_the_bytes_of_the_same_control_in_c(scenario: netnice.Scenario) -> None:
    scenario = scenario.with_settings({"links.line.loss": "3%"})
    python = netnice.simulate(scenario, controls=Reno)
    path = {f"flows.{flow}.congestion_control": str(RENO_H) for flow in ("one", "two")}
    c = netnice.simulate(scenario.with_settings(path))
    flows = python.flows.to_arrow()
    assert set(flows["congestion_control"].to_pylist()) == {"Reno"}
    # Losses, and what follows them, are a part of what is compared.
    assert min(flows["recoveries"].to_pylist()) > 5
    assert sum(flows["timeouts"].to_pylist()) > 0
    assert without_names(python) == without_names(c)
    assert list(python.json()) == list(netnice.simulate(scenario, controls=Reno).json())


def test_it_is_close_to_the_simulators_reno(scenario: netnice.Scenario) -> None:
    def mean(results: netnice.Results) -> float:
        goodputs: list[float] = results.flows.to_arrow()["goodput_bps"].to_pylist()
        return sum(goodputs) / len(goodputs)

    scenario = scenario.with_settings(seeds=8)
    ours, built_in = mean(netnice.simulate(scenario, controls=Reno)), mean(netnice.simulate(scenario))
    assert 0.9 < ours / built_in < 1.1
    assert mean(netnice.simulate(scenario, controls=Timid)) < 0.9 * built_in


def test_it_governs_the_flows_that_it_is_given(scenario: netnice.Scenario) -> None:
    flows = netnice.simulate(scenario, seeds=1, controls={"two": Timid}).flows.to_arrow().to_pylist()
    by_name = {flow["flow"]: flow for flow in flows}
    assert by_name["one"]["congestion_control"] == "reno"
    assert by_name["two"]["congestion_control"] == "Timid"
    assert by_name["two"]["mean_cwnd"] < 4.01 < by_name["one"]["mean_cwnd"]
    with pytest.raises(ValueError, match="there are no flows `three` over TCP; there are one, two"):
        netnice.simulate(scenario, controls={"three": Timid})


def broken(call: str, fail: Callable[[], object]) -> type[Reno]:
    """Return Reno with a mistake in one of its methods."""
    return type("Broken", (Reno,), {call: lambda *_: fail()})


def raised_here() -> None:
    raise ZeroDivisionError("on this line")


@pytest.mark.parametrize("call", ["__init__", "on_ack", "on_loss"])
def test_an_exception_names_its_line(scenario: netnice.Scenario, call: str) -> None:
    with pytest.raises(ZeroDivisionError, match="on this line") as error:
        netnice.simulate(scenario, controls=broken(call, raised_here))
    names = [frame.name for frame in traceback.extract_tb(error.tb)]
    assert names[-1] == "raised_here"
    with ThreadPoolExecutor(1) as threads, pytest.raises(RuntimeError, match="line [0-9]+, in raised_here"):
        netnice.simulate(scenario, controls=broken(call, raised_here), executor=threads)


def test_values_of_a_wrong_type_are_refused(scenario: netnice.Scenario) -> None:
    with pytest.raises(TypeError, match=r"Broken\.on_loss\(loss\) must return ssthresh, a whole number .* not 2\.5"):
        netnice.simulate(scenario, controls=broken("on_loss", lambda: 2.5))

    class Half(Reno):
        def on_ack(self, ack: ControlAck, window: ControlWindow) -> None:
            window.cwnd = window.cwnd * 1.5  # type: ignore[assignment]

    with pytest.raises(TypeError) as error:
        netnice.simulate(scenario, controls=Half)
    assert traceback.extract_tb(error.tb)[-1].line == "window.cwnd = window.cwnd * 1.5  # type: ignore[assignment]"
    with pytest.raises(TypeError, match=r"has no method on_ack\(ack, window\)"):
        netnice.simulate(scenario, controls=object)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="need a class or a function"):
        netnice.simulate(scenario, controls={"one": Reno()})  # type: ignore[dict-item]


def test_runs_are_not_kept(scenario: netnice.Scenario, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="cannot be kept in `out`"):
        netnice.simulate(scenario, controls=Reno, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_it_travels_to_other_processes(scenario: netnice.Scenario) -> None:
    here = netnice.simulate(scenario, controls=Reno)
    with pool() as executor:
        there = netnice.simulate(scenario, controls=Reno, executor=executor)
    assert list(here.json()) == list(there.json())


def test_an_interrupt_ends_a_call_without_end(tmp_path: Path) -> None:
    program = """
import netnice, signal, sys
class Endless:
    def on_ack(self, ack, window):
        signal.raise_signal(signal.SIGINT)
        while True:
            pass
    on_loss = on_timeout = lambda self, loss: 2
scenario = netnice.Scenario(
    name="endless", duration="5s", links=[netnice.link("a", "b", rate="1mbit")], flows=[netnice.flow("f", "a", "b")],
)
try:
    netnice.simulate(scenario, controls=Endless)
except KeyboardInterrupt:
    print("interrupted")
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False, timeout=120)
    assert done.stdout == "interrupted\n", done.stderr
