# SPDX-License-Identifier: MIT OR Apache-2.0
"""Results of runs, as tables and figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._frame import Frame

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.axes import Axes

    from ._native import Runs, Scenario
    from ._plot import Kind


class Results:
    """The results of some runs of a scenario, in the order of its sweep and seeds."""

    def __init__(self, scenario: Scenario, runs: Runs) -> None:
        self.scenario = scenario
        self._runs = runs

    def __len__(self) -> int:
        return len(self._runs)

    def __repr__(self) -> str:
        return f'<netnice.Results of "{self.scenario.name}": {len(self)} of {len(self.scenario.runs)} runs>'

    @property
    def seeds(self) -> list[int]:
        """The seeds of the runs, in ascending order."""
        return sorted({seed for _, seed in self._runs.keys})

    @property
    def summary(self) -> Frame:
        """Each quantity's mean over the seeds, with the half width of its 95 % confidence interval, by point."""
        return Frame(self._runs.table("summary"))

    @property
    def figures(self) -> Frame:
        """Each quantity of each run: those whose means over the seeds `summary` has."""
        return Frame(self._runs.table("figures"))

    @property
    def flows(self) -> Frame:
        """Each flow of each run, over the whole run (``phase`` is empty) and in each phase."""
        return Frame(self._runs.table("flows"))

    @property
    def queues(self) -> Frame:
        """Each queue of each run, with a row for each cause of drops."""
        return Frame(self._runs.table("queues"))

    @property
    def colours(self) -> Frame:
        """Packets by colour at each queue: how many arrived and how many were dropped. Green is IN, yellow OUT."""
        return Frame(self._runs.table("colours"))

    @property
    def transfers(self) -> Frame:
        """Arriving transfers by class of sizes."""
        return Frame(self._runs.table("transfers"))

    @property
    def completion_times(self) -> Frame:
        """Distributions of the completion times of arriving transfers: of each bin the largest time in seconds, the
        transfers in it, and the share of all transfers that are no slower."""
        return Frame(self._runs.table("completion_times"))

    @property
    def calls(self) -> Frame:
        """Calls: losses, lateness, delays in seconds and the mean opinion score of each."""
        return Frame(self._runs.table("calls"))

    @property
    def videos(self) -> Frame:
        """Videos: mean bit rate, switches, stalls and start-up of each."""
        return Frame(self._runs.table("videos"))

    @property
    def response_times(self) -> Frame:
        """Response times of web objects in seconds, by size, of each run."""
        return Frame(self._runs.table("response_times"))

    @property
    def pages(self) -> Frame:
        """Load times of web pages in seconds, of each run; of flows whose application gives its ``multiplexing``."""
        return Frame(self._runs.table("pages"))

    @property
    def series(self) -> Frame:
        """All samples of all time series: times in seconds, values in ``unit``; NaN where there was none.

        The scenario's ``sampling`` says at which interval and of what.
        """
        return Frame(self._runs.table("series"))

    @property
    def events(self) -> int:
        """Events that the simulator handled in all runs."""
        return self._runs.events

    def json(self) -> Iterator[tuple[tuple[int, int], bytes]]:
        """Yield point and seed of each run, and the bytes of its file in ``runs/`` of a directory of results."""
        for index, key in enumerate(self._runs.keys):
            yield key, self._runs.json(index)

    def plot(
        self,
        quantity: str = "goodput",
        *,
        kind: Kind = "auto",
        of: str | list[str] | None = None,
        x: str | None = None,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw a quantity with all seeds and 95 % confidence, and return matplotlib's axes.

        ``kind`` is one of:

        - ``"series"``: a time series (``cwnd`` in packets, ``goodput`` in Mbit/s, ``queue_delay`` in ms …): a thin
          line for each seed, their mean, and the band of its confidence;
        - ``"sweep"``: over the values of the axis ``x``: a dot for each seed, the means, and the band;
        - ``"cdf"``: the distribution over flows and seeds, with a band of 95 % confidence that assumes no form of it:
          for the whole curve where each run has one such flow (Dvoretzky-Kiefer-Wolfowitz inequality), else for each
          of its points (Hoeffding's inequality over the seeds);
        - ``"seeds"``: a dot for each seed, the mean, and its interval;
        - ``"auto"``: ``"sweep"`` for a scenario with a sweep, ``"series"`` for a quantity that has samples and no
          figure for the whole run, else ``"seeds"``.

        ``of`` chooses flows or links by name, or several; without it time series that are always 0 are left out.
        """
        from ._plot import plot

        return plot(self, quantity, kind=kind, of=of, x=x, ax=ax)
