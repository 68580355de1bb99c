# SPDX-License-Identifier: MIT OR Apache-2.0
"""Types of the compiled half."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

__version__: str

#: ssthresh of a connection that has none, in packets.
NO_SSTHRESH: int

_S = TypeVar("_S", bound="Scenario")

class ScenarioError(ValueError): ...

class ControlAck:
    """An ACK that allows the window to grow: outside fast recovery, with new data acknowledged."""

    @property
    def now_us(self) -> int:
        """Time in microseconds; wraps after 71 minutes."""
    @property
    def rtt_us(self) -> int:
        """Round trip of the newest packet acknowledged, in microseconds; 0 if unknown."""
    @property
    def smoothed_rtt_us(self) -> int:
        """Smoothed round trip (RFC 6298) in microseconds; 0 before the first sample."""
    @property
    def minimum_rtt_us(self) -> int:
        """Smallest round trip of the connection in microseconds; 0 before the first sample."""
    @property
    def acked(self) -> int:
        """Packets that this ACK has acknowledged."""
    @property
    def in_flight(self) -> int:
        """Packets sent, neither acknowledged nor deemed lost."""
    @property
    def cwnd_limited(self) -> bool:
        """The window, not the program, limits the connection."""

class ControlWindow:
    """The window in packets, to be set by a control."""

    cwnd: int
    ssthresh: int

class ControlLoss:
    """A loss or an ECN mark, or an RTO."""

    @property
    def now_us(self) -> int:
        """Time in microseconds; wraps after 71 minutes."""
    @property
    def cwnd(self) -> int:
        """Congestion window in packets, before it is reduced."""
    @property
    def in_flight(self) -> int:
        """Packets sent and not yet acknowledged."""

class Scenario:
    def __new__(cls, **fields: Any) -> Scenario: ...
    @classmethod
    def from_dict(
        cls,
        fields: Mapping[str, Any],
        *,
        directory: str | os.PathLike[str] | None = None,
        allow_control_files: bool = False,
    ) -> Scenario: ...
    @classmethod
    def from_toml(
        cls,
        path: str | os.PathLike[str],
        settings: Mapping[str, Any] | None = None,
        *,
        allow_control_files: bool = False,
    ) -> Scenario: ...
    @classmethod
    def from_text(
        cls,
        text: str,
        settings: Mapping[str, Any] | None = None,
        *,
        file: str = "scenario.toml",
        directory: str | os.PathLike[str] | None = None,
        allow_control_files: bool = False,
    ) -> Scenario: ...
    def with_settings(self, settings: Mapping[str, Any] | None = None, /, **more: Any) -> Scenario: ...
    def with_sweep(self, axes: Mapping[str, Sequence[Any]]) -> Scenario: ...
    def explain(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def duration_s(self) -> float: ...
    @property
    def file(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def settings(self) -> list[tuple[str, str]]: ...
    @property
    def hash(self) -> str: ...
    @property
    def axes(self) -> list[str]: ...
    @property
    def points(self) -> list[dict[str, str]]: ...
    @property
    def tcp_flows(self) -> list[str]: ...
    @property
    def seeds(self) -> list[int]: ...
    @property
    def runs(self) -> list[tuple[int, int]]: ...

class Table:
    @property
    def columns(self) -> list[str]: ...
    def __len__(self) -> int: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

class Runs:
    @staticmethod
    def from_bytes(scenario: Scenario, runs: list[tuple[tuple[int, int], bytes]]) -> Runs: ...
    @property
    def keys(self) -> list[tuple[int, int]]: ...
    @property
    def axes(self) -> list[str]: ...
    @property
    def events(self) -> int: ...
    def __len__(self) -> int: ...
    def json(self, index: int) -> bytes: ...
    def table(self, name: str) -> Table: ...

class Directory:
    def __new__(
        cls,
        scenario: Scenario,
        path: str | os.PathLike[str],
        resume: bool,
        command: list[str],
        series: str | None = None,
    ) -> Directory: ...
    def finished(self) -> tuple[Runs, list[tuple[int, int]], list[str]]: ...
    def store(self, key: tuple[int, int], text: bytes) -> None: ...
    def write_tables(self, runs: Runs, parquet: bool = False) -> None: ...

class Reproduction:
    def __new__(cls, ids: list[str], full: bool) -> Reproduction: ...
    def studies(self) -> list[tuple[str, Scenario]]: ...
    def outcomes(self, out: str | os.PathLike[str], command: list[str], jobs: int, wall_s: float) -> str: ...

class Judge:
    def __new__(
        cls,
        controls: list[str],
        paths: list[str],
        rivals: list[str],
        quick: bool,
        seeds: int,
        out: str | os.PathLike[str],
    ) -> Judge: ...
    def cases(self) -> list[tuple[str, Scenario]]: ...
    def begin(self, resume: bool) -> list[tuple[int, int]]: ...
    def store(self, case: int, seed: int, text: bytes) -> None: ...
    def judgement(self, command: list[str]) -> str: ...

def run_local(
    scenario: Scenario,
    keys: list[tuple[int, int]],
    jobs: int,
    directory: Directory | None = None,
    progress: Callable[[int], object] | None = None,
) -> Runs: ...
def run_batch(
    scenario: Scenario, keys: list[tuple[int, int]], controls: Mapping[str, Callable[[], object]] | None = None
) -> list[tuple[tuple[int, int], bytes]]: ...
def student_t_975(degrees_of_freedom: int) -> float: ...
