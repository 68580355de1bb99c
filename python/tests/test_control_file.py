# SPDX-License-Identifier: MIT OR Apache-2.0
"""Congestion controls in C files."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

import netnice

LEDBAT = Path(__file__).parents[2] / "lab" / "examples" / "ledbat.h"


def scenario(directory: Path, **change: Any) -> netnice.Scenario:
    """Return LEDBAT alone on a line with a long queue."""
    fields = {
        "name": "alone",
        "duration": "60s",
        "warm_up": "30s",
        "links": [netnice.link("a", "b", name="line", rate="10mbit", delay="20ms", queue="400p")],
        "flows": [netnice.flow("backup", "a", "b", congestion_control="./mine.h")],
        **change,
    }
    return netnice.Scenario.from_dict(fields, directory=directory, allow_control_files=True)


def test_ledbat_holds_its_target(tmp_path: Path) -> None:
    (tmp_path / "mine.h").write_text(LEDBAT.read_text())
    queues = netnice.simulate(scenario(tmp_path)).queues.to_arrow().to_pylist()
    (line,) = [queue for queue in queues if queue["link"] == "line"]
    assert line["utilisation"] > 0.99
    # RFC 6817: the queueing delay approaches TARGET, here 60 ms.
    assert 0.055 < line["wait_mean_s"] < 0.065


def test_the_file_is_a_part_of_the_scenario(tmp_path: Path) -> None:
    (tmp_path / "mine.h").write_text(LEDBAT.read_text())
    first = scenario(tmp_path)
    blob = pickle.dumps(first)
    assert pickle.loads(blob) == first
    (tmp_path / "mine.h").write_text(LEDBAT.read_text().replace("60000U ", "30000U "))
    assert scenario(tmp_path) != first
    with pytest.raises(ValueError, match="differ on this machine"):
        pickle.loads(blob)


def test_mistakes_have_the_line_of_the_file(tmp_path: Path) -> None:
    text = LEDBAT.read_text().replace("window->cwnd++", "window->cwmd++")
    (tmp_path / "mine.h").write_text(text)
    line = text[: text.index("cwmd")].count("\n") + 1
    with pytest.raises(netnice.ScenarioError, match=rf"mine\.h:{line}:"):
        scenario(tmp_path)


def test_a_loop_without_end_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "mine.h").write_text(LEDBAT.read_text().replace("window->cwnd++;", "while (1) window->cwnd++;"))
    with pytest.raises(RuntimeError, match=r"mine\.h took more than a million steps"):
        netnice.simulate(scenario(tmp_path))


def test_code_is_not_run_without_leave(tmp_path: Path) -> None:
    (tmp_path / "mine.h").write_text(LEDBAT.read_text())
    text = scenario(tmp_path).text
    (tmp_path / "theirs.toml").write_text(text)
    refused = "is code, which would run with your rights.*allow_control_files=True"
    with pytest.raises(netnice.ScenarioError, match=refused):
        netnice.Scenario.from_toml(tmp_path / "theirs.toml")
    with pytest.raises(netnice.ScenarioError, match=refused):
        netnice.Scenario.from_text(text, directory=tmp_path)
    allowed = netnice.Scenario.from_toml(tmp_path / "theirs.toml", allow_control_files=True)
    # A leave given once holds for scenarios made of this one.
    assert len(allowed.with_sweep({"links.line.delay": ["1ms", "2ms"]}).points) == 2
    named = allowed.with_settings({"flows.backup.congestion_control": "reno"})
    control = {"flows.backup.congestion_control": "./mine.h"}
    settings = netnice.Scenario.from_text(named.text.replace("./mine.h", "reno"), control, directory=tmp_path)
    assert pickle.loads(pickle.dumps(settings)) == settings
