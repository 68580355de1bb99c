# SPDX-License-Identifier: MIT OR Apache-2.0
"""What the tests share."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import pytest

import netnice

mpl.use("Agg")

#: Two Reno flows over a link of 10 Mbit/s.
TWO_RENO = Path(__file__).parents[2] / "scenarios" / "two_reno.toml"
#: So short that a run takes some milliseconds.
SHORT = {"duration": "3s", "warm_up": "1s"}


@pytest.fixture
def scenario() -> netnice.Scenario:
    """Return a short scenario with four seeds."""
    return netnice.Scenario.from_toml(TWO_RENO, {**SHORT, "seeds": 4})


@pytest.fixture(scope="session")
def results() -> netnice.Results:
    """Return the results of a short sweep."""
    return netnice.sweep(
        netnice.Scenario.from_toml(TWO_RENO, SHORT),
        {"links.bottleneck.rate": ["5mbit", "10mbit"]},
        seeds=3,
    )
