# SPDX-License-Identifier: MIT OR Apache-2.0
"""Scenarios: read, built, changed, and refused."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from conftest import SHORT, TWO_RENO

import netnice

if TYPE_CHECKING:
    from pathlib import Path

FIELDS: dict[str, Any] = {
    "name": "built",
    "duration": "2s",
    "seeds": [3, 5],
    "links": [netnice.link("a", "b", name="wire", rate="10mbit", delay="5ms", queue="50p")],
    "flows": [netnice.flow("up", "a", "b", congestion_control={"name": "cubic", "beta": 0.8})],
}


def test_a_file_is_read_with_settings() -> None:
    scenario = netnice.Scenario.from_toml(TWO_RENO, {**SHORT, "seeds": [7, 9]})
    assert scenario.name == "two_reno"
    assert scenario.duration_s == 3.0
    assert scenario.seeds == [7, 9]
    assert scenario.runs == [(0, 7), (0, 9)]
    assert "10 Mb/s" in scenario.explain() or "bottleneck" in scenario.explain()


def test_all_ways_to_build_agree() -> None:
    by_keywords = netnice.Scenario(**FIELDS)
    assert by_keywords == netnice.Scenario.from_dict(FIELDS)
    # The text that it makes is a scenario file.
    assert netnice.Scenario.from_text(by_keywords.text).hash == by_keywords.hash
    assert by_keywords.seeds == [3, 5]
    flows = netnice.simulate(by_keywords).flows.to_arrow()
    assert set(flows["congestion_control"].to_pylist()) == {"cubic"}


def test_numbers_of_numpy_are_numbers() -> None:
    fields = {**FIELDS, "seeds": np.arange(1, 4), "flows": [netnice.flow("up", "a", "b", count=np.int64(2))]}
    scenario = netnice.Scenario(**fields)
    assert scenario.seeds == [1, 2, 3]
    assert len(netnice.simulate(scenario, seeds=1).flows) == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"links": [netnice.link("a", "b", rate="10mbt")]},
            "scenario: links[0].rate: rate `10mbt` has the unknown unit",
        ),
        ({"flows": [netnice.flow("up", "a", "z")]}, "flows[0].to"),
        ({"durations": "1s"}, "durations"),
        ({"flows": [netnice.flow("up", "a", "b", congestion_control="illinois")]}, "illinois"),
    ],
)
def test_mistakes_are_named_by_field(change: dict[str, Any], message: str) -> None:
    with pytest.raises(netnice.ScenarioError) as error:
        netnice.Scenario(**{**FIELDS, **change})
    assert message in str(error.value)


def test_mistakes_in_a_text_are_named_by_line() -> None:
    text = netnice.Scenario(**FIELDS).text.replace("5ms", "5")
    with pytest.raises(netnice.ScenarioError, match=r"mine\.toml:\d+:\d+: links\[0\]\.delay: "):
        netnice.Scenario.from_text(text, file="mine.toml")


def test_a_value_of_no_scenario_is_refused() -> None:
    with pytest.raises(TypeError, match=r"`duration`: object is no value of a scenario"):
        netnice.Scenario(**{**FIELDS, "duration": object()})


def test_axes_add_to_the_sweep_of_the_file() -> None:
    text = netnice.Scenario(**FIELDS).text + '\n[sweep]\nlinks.wire.rate = ["1mbit", "2mbit"] # kept\n'
    scenario = netnice.Scenario.from_text(text)
    more = scenario.with_sweep({"links.wire.delay": ["1ms", "2ms", "3ms"]})
    assert "# kept" in more.text
    assert more.axes == ["links.wire.rate", "links.wire.delay"]
    assert len(more.points) == 6
    other = scenario.with_sweep({"links.wire.rate": ["7mbit"]})
    assert other.points == [{"links.wire.rate": "7mbit"}]


def test_a_scenario_moves_between_processes(tmp_path: Path) -> None:
    (tmp_path / "trace.txt").write_text("0 1500\n1 1500\n")
    source = {"application": {"kind": "trace", "file": "trace.txt"}, "transport": "udp"}
    fields = {**FIELDS, "flows": [netnice.flow("up", "a", "b", **source)]}
    scenario = netnice.Scenario.from_dict(fields, directory=tmp_path)
    moved = pickle.loads(pickle.dumps(scenario))
    assert moved == scenario
    (tmp_path / "trace.txt").write_text("0 1500\n")
    with pytest.raises(ValueError, match="differ on this machine"):
        pickle.loads(pickle.dumps(scenario))
