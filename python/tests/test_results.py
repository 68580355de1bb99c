# SPDX-License-Identifier: MIT OR Apache-2.0
"""Results as tables and figures."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from conftest import SHORT, TWO_RENO

import netnice
from netnice import _plot

if TYPE_CHECKING:
    from collections.abc import Iterator

TABLES = ["summary", "figures", "flows", "queues", "series"]


@pytest.fixture(autouse=True)
def _closed_figures() -> Iterator[None]:
    yield
    plt.close("all")


@pytest.mark.parametrize("name", TABLES)
def test_libraries_agree_on_each_table(results: netnice.Results, name: str) -> None:
    frame: netnice.Frame = getattr(results, name)
    arrow = frame.to_arrow()
    assert arrow.column_names == frame.columns
    assert len(frame) > 0
    arrow.validate(full=True)
    for other in (frame.to_pandas(), frame.to_pandas(dtype_backend="pyarrow"), frame.to_polars()):
        assert list(other.columns) == frame.columns
        assert len(other) == len(frame)
    numbers = [field.name for field in arrow.schema if pa.types.is_floating(field.type)]
    for column in numbers:
        expected = arrow[column].to_numpy()
        np.testing.assert_array_equal(frame.to_pandas()[column].to_numpy(), expected)
        np.testing.assert_array_equal(frame.to_polars()[column].cast(pl.Float64).to_numpy(), expected)


def test_tables_say_what_the_runs_say(results: netnice.Results) -> None:
    flows = results.flows.to_pandas()
    series = results.series.to_pandas()
    for (point, seed), text in results.json():
        run = json.loads(text)
        rate = results.scenario.points[point]["links.bottleneck.rate"]
        rows = flows[(flows["links.bottleneck.rate"] == rate) & (flows["seed"] == seed)]
        assert list(rows["goodput_bps"]) == [flow["goodput_bps"] for flow in run["flows"]]
        here = series[(series["links.bottleneck.rate"] == rate) & (series["seed"] == seed)]
        assert len(here) == sum(len(one["value"]) for one in run["series"])
        first = run["series"][0]
        mine = here[(here["of"] == first["of"]) & (here["quantity"] == first["quantity"])]
        assert list(mine["time_s"]) == first["time_s"]
        np.testing.assert_array_equal(mine["value"].to_numpy(), np.array(first["value"], dtype=float))


def test_samples_are_not_copied(results: netnice.Results) -> None:
    def addresses() -> list[int]:
        column = results.series.to_arrow()["value"]
        return [chunk.buffers()[1].address for chunk in column.chunks]

    assert len(addresses()) > 1
    assert addresses() == addresses()
    frame = results.series.to_pandas(dtype_backend="pyarrow")
    chunks = pa.chunked_array(frame["value"].array.__arrow_array__()).chunks
    assert [chunk.buffers()[1].address for chunk in chunks] == addresses()


def test_samples_outlive_the_results() -> None:
    column = netnice.simulate(TWO_RENO_SHORT, seeds=1).series.to_arrow()["value"]
    again = netnice.simulate(TWO_RENO_SHORT, seeds=1).series.to_arrow()["value"]
    np.testing.assert_array_equal(column.to_numpy(), again.to_numpy())


TWO_RENO_SHORT = netnice.Scenario.from_toml(TWO_RENO, SHORT)


def test_swept_numbers_are_numbers() -> None:
    results = netnice.sweep(TWO_RENO_SHORT, {"flows.reno.tcp.initial_window": [2, 10]}, seeds=1)
    for frame in (results.flows, results.series):
        assert set(frame.to_arrow()["flows.reno.tcp.initial_window"].to_pylist()) == {2, 10}


def test_an_unknown_backend_is_refused(results: netnice.Results) -> None:
    with pytest.raises(ValueError, match='"numpy" or "pyarrow"'):
        results.flows.to_pandas(dtype_backend="cudf")


def test_confidence_is_that_of_the_summary(results: netnice.Results) -> None:
    summary = results.summary.to_pandas()
    figures = results.figures.to_pandas()
    keys = ["links.bottleneck.rate", "subject", "of", "quantity"]
    groups = {key: group["value"].to_numpy() for key, group in figures.groupby(keys)}
    assert len(groups) == len(summary)
    for row in summary.itertuples(index=False):
        mean, half_width = _plot.confidence(groups[tuple(row[:4])][:, None])
        assert mean[0] == pytest.approx(row.mean, nan_ok=True)
        if row.runs > 1:
            assert half_width[0] == pytest.approx(row.half_width_95, nan_ok=True)


@pytest.mark.parametrize(
    ("quantity", "kind", "ylabel", "xlabel"),
    [
        ("goodput", "auto", "Goodput (Mbit/s)", "links.bottleneck.rate"),
        ("goodput", "seeds", None, "Goodput (Mbit/s)"),
        ("goodput", "cdf", "Share of flows and seeds", "Goodput (Mbit/s)"),
        ("cwnd", "auto", "cwnd (packets)", "Time (s)"),
        ("queue_delay", "series", "Queue delay (ms)", "Time (s)"),
    ],
)
def test_axes_have_units(
    results: netnice.Results, quantity: str, kind: _plot.Kind, ylabel: str | None, xlabel: str
) -> None:
    ax = results.plot(quantity, kind=kind)
    assert ax.get_xlabel() == xlabel
    if ylabel:
        assert ax.get_ylabel() == ylabel


def test_every_seed_is_drawn(results: netnice.Results) -> None:
    ax = results.plot("cwnd", kind="series", of="reno[0]")
    # Two points of three seeds, and a mean for each point.
    assert len(ax.get_lines()) == 2 * 3 + 2
    assert [text.get_text() for text in ax.texts] == ["reno[0], rate = 5mbit", "reno[0], rate = 10mbit"]


def test_labels_do_not_overlap(results: netnice.Results) -> None:
    ax = results.plot("cwnd", kind="series")
    heights = sorted(text.get_window_extent().y0 for text in ax.texts)
    assert all(b - a > 10 for a, b in zip(heights, heights[1:]))


def test_labels_leave_the_title_free(results: netnice.Results) -> None:
    ax = results.plot("goodput", kind="cdf")
    ax.figure.canvas.draw()
    (title,) = (text for text in ax.findobj(mpl.text.Text) if "confidence" in text.get_text())
    assert ax.texts
    assert all(text.get_window_extent().y1 <= title.get_window_extent().y0 for text in ax.texts)


@pytest.mark.parametrize("kind", ["cdf", "seeds", "sweep"])
def test_many_labels_stay_apart_from_all_else(kind: _plot.Kind) -> None:
    scenario = netnice.Scenario.from_toml(TWO_RENO, SHORT)
    axes = {
        "links.bottleneck.rate": [f"{rate}mbit" for rate in range(2, 10)],
        "flows.reno.congestion_control": ["reno", "cubic"],
    }
    ax = netnice.sweep(scenario, axes, seeds=2).plot("goodput", kind=kind, x="links.bottleneck.rate")
    ax.figure.canvas.draw()
    (title,) = (text for text in ax.findobj(mpl.text.Text) if "confidence" in text.get_text())
    plotted, whole = ax.get_window_extent(), ax.figure.bbox
    # The curves keep a third of the figure's width, and most of its height.
    assert plotted.width > whole.width / 3
    assert plotted.height > whole.height / 2
    boxes = [text.get_window_extent() for text in [*ax.texts, title]]
    assert not any(a.overlaps(b) for index, a in enumerate(boxes) for b in boxes[:index])
    assert all(box.x1 <= whole.x1 + 1 and box.y1 <= whole.y1 + 1 for box in boxes)


@pytest.mark.parametrize("count", [1, 7, 8, 40])
def test_colours_do_not_repeat(count: int) -> None:
    import matplotlib as mpl

    assert len({mpl.colors.to_hex(colour) for colour in _plot.colours(count)}) == count


def test_what_cannot_be_drawn_is_named(results: netnice.Results) -> None:
    with pytest.raises(ValueError, match="has no quantity 'cwn' of this kind; there are .*cwnd"):
        results.plot("cwn")
    with pytest.raises(ValueError, match="it is of reno"):
        results.plot("cwnd", of="cubic")
    with pytest.raises(ValueError, match="the sweep has no axis 'x'; there are links.bottleneck.rate"):
        results.plot("goodput", x="x")


def test_frames_are_shown_in_notebooks(results: netnice.Results) -> None:
    html = results.flows._repr_html_()
    assert "goodput_bps" in html
    assert f"10 of {len(results.flows)} rows" in html
