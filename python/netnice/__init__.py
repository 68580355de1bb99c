# SPDX-License-Identifier: MIT OR Apache-2.0
"""netnice's packet-level simulator of TCP.

A run is a function of a scenario and a seed: it gives the same bytes on every machine.

    import netnice

    scenario = netnice.Scenario.from_toml("scenarios/two_reno.toml")
    results = netnice.simulate(scenario, seeds=20)
    results.flows.to_pandas()
    results.plot("goodput")

Rates are in bit/s, times in seconds, windows in packets, sizes in bytes; names of columns and axes of figures say so.
"""

from ._batch import judge, reproduce
from ._build import flow, link, node
from ._control import Control
from ._executors import DASK_CONFIG, RayExecutor
from ._frame import Frame
from ._native import NO_SSTHRESH, ControlAck, ControlLoss, ControlWindow, Scenario, ScenarioError, __version__
from ._results import Results
from ._sweep import RunsLostError, simulate, sweep

__all__ = [
    "DASK_CONFIG",
    "NO_SSTHRESH",
    "Control",
    "ControlAck",
    "ControlLoss",
    "ControlWindow",
    "Frame",
    "RayExecutor",
    "Results",
    "RunsLostError",
    "Scenario",
    "ScenarioError",
    "__version__",
    "flow",
    "judge",
    "link",
    "node",
    "reproduce",
    "simulate",
    "sweep",
]
