# SPDX-License-Identifier: MIT OR Apache-2.0
"""``reproduce`` and ``judge`` on executors."""

from __future__ import annotations

import concurrent.futures
import json
import multiprocessing
from pathlib import Path
from typing import Any

import pytest
from test_sweep import Losing, files

import netnice

RENO_H = Path(__file__).with_name("reno.h")

#: A short experiment.
EXPERIMENT = "FF-T4"


def values(outcomes: dict[str, Any]) -> list[Any]:
    """Return what does not depend on how long it took."""
    found: list[Any] = outcomes["outcomes"]
    return found


def test_reproduce_gives_the_same_on_an_executor(tmp_path: Path) -> None:
    here = netnice.reproduce(EXPERIMENT, out=tmp_path / "here")
    executor = Losing({1, 4})
    there = netnice.reproduce([EXPERIMENT], out=tmp_path / "there", executor=executor)
    assert values(here) == values(there)
    (outcome,) = values(here)
    assert outcome["id"] == EXPERIMENT
    assert files(tmp_path / "here" / "studies") == files(tmp_path / "there" / "studies")
    with pytest.raises(FileExistsError, match="resume=True"):
        netnice.reproduce(EXPERIMENT, out=tmp_path / "there")
    lost = next((tmp_path / "there" / "studies").glob("*/runs/point-00000-seed-1.json"))
    before = lost.read_bytes()
    lost.unlink()
    again = Losing(set())
    assert values(netnice.reproduce(EXPERIMENT, out=tmp_path / "there", resume=True, executor=again)) == values(here)
    assert sum(again.batches) == 1
    assert lost.read_bytes() == before
    with pytest.raises(ValueError, match="there is no experiment XX; there are"):
        netnice.reproduce("XX", out=tmp_path / "other")


def test_judge_gives_the_same_on_an_executor(tmp_path: Path) -> None:
    few: dict[str, Any] = {"paths": ["base"], "rivals": ["cubic"], "quick": True}
    here = netnice.judge("tcplp", out=tmp_path / "here", **few)
    executor = Losing({0})
    there = netnice.judge(["tcplp"], out=tmp_path / "there", executor=executor, **few)
    assert [cell["figures"] for cell in here["cells"]] == [cell["figures"] for cell in there["cells"]]
    assert {cell["rival"] for cell in here["cells"]} == {"cubic", "none"}
    assert files(tmp_path / "here" / "runs") == files(tmp_path / "there" / "runs")
    assert json.loads((tmp_path / "there" / "judgement.json").read_text()) == there
    assert "<html" in (tmp_path / "there" / "judgement.html").read_text()
    with pytest.raises(FileExistsError, match="resume=True"):
        netnice.judge("tcplp", out=tmp_path / "there", **few)
    with pytest.raises(ValueError, match="there is no path"):
        netnice.judge(paths=["nowhere"], out=tmp_path / "other")


def test_judge_takes_a_control_in_a_file(tmp_path: Path) -> None:
    header = tmp_path / "mine.h"
    header.write_text(RENO_H.read_text())
    few: dict[str, Any] = {"paths": ["base"], "rivals": ["cubic"], "quick": True}
    with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as executor:
        judgement = netnice.judge([str(header)], out=tmp_path / "out", executor=executor, **few)
    assert judgement["controls"] == ["mine.h"]
    shares = {cell["rival"]: cell["figures"].get("share") for cell in judgement["cells"]}
    assert 0.1 < shares["cubic"]["mean"] < 0.6
    assert (tmp_path / "out" / "scenarios" / "mine.h").read_text() == header.read_text()
    header.write_text("#error not yet")
    with pytest.raises(netnice.ScenarioError, match=r"mine\.h:1:"):
        netnice.judge(str(header), out=tmp_path / "other", **few)
