# SPDX-License-Identifier: MIT OR Apache-2.0
"""Figures of results by matplotlib."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import numpy as np

from ._native import student_t_975

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from ._frame import Frame
    from ._native import Scenario

    Array = NDArray[np.float64]

Kind = Literal["auto", "series", "sweep", "cdf", "seeds"]

#: The palette of Okabe and Ito without its yellow, which is too light for a thin line: told apart by the colour-blind.
PALETTE = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000"]

#: Size of labels in points, and the height of one as a part of the axes'.
LABEL_SIZE, LABEL_HEIGHT = 10, 0.055
#: Labels that have room above the curves of a distribution.
MOST_ABOVE = 4

#: Columns of `Results.flows` for the distributions of quantities.
FLOW_COLUMNS = {
    "goodput": ("goodput_bps", "bit/s"),
    "throughput": ("throughput_bps", "bit/s"),
    "mean_cwnd": ("mean_cwnd", "packets"),
    "mean_rtt": ("rtt_mean_s", "s"),
    "p95_rtt": ("rtt_p95_s", "s"),
    "mean_one_way_delay": ("one_way_delay_mean_s", "s"),
    "p95_one_way_delay": ("one_way_delay_p95_s", "s"),
    "completion": ("completion_s", "s"),
    "retransmissions": ("retransmissions", "packets"),
    "timeouts": ("timeouts", ""),
}

SCALES = {
    "bit/s": [(1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1.0, "bit/s")],
    "s": [(1.0, "s"), (1e-3, "ms"), (1e-6, "µs")],
}


class Tables(Protocol):
    """The tables that figures draw; `netnice.Results` documents the members."""

    scenario: Scenario

    @property
    def seeds(self) -> list[int]: ...
    @property
    def figures(self) -> Frame: ...
    @property
    def flows(self) -> Frame: ...
    @property
    def series(self) -> Frame: ...


class Line(NamedTuple):
    """A label, and for each seed its values at ``x``."""

    label: str
    x: Array
    #: A row for each seed; NaN where a seed has no value.
    values: Array


def plot(
    results: Tables,
    quantity: str,
    *,
    kind: Kind,
    of: str | list[str] | None,
    x: str | None,
    ax: Axes | None,
) -> Axes:
    """Draw a figure; see `Results.plot`."""
    import matplotlib.pyplot as plt

    chosen = {of} if isinstance(of, str) else None if of is None else set(of)
    axes = results.scenario.axes
    if kind == "auto":
        kind = _kind(results, quantity, axes)
    if ax is None:
        _, ax = plt.subplots(figsize=(7, 4), layout="constrained")
    if kind == "series":
        _draw_series(ax, results, quantity, chosen)
    elif kind == "sweep":
        if not axes:
            msg = 'the scenario has no sweep; use kind="seeds", "series" or "cdf"'
            raise ValueError(msg)
        x = x or axes[-1]
        if x not in axes:
            msg = f"the sweep has no axis {x!r}; there are {', '.join(axes)}"
            raise ValueError(msg)
        _draw_sweep(ax, results, quantity, chosen, x)
    elif kind == "cdf":
        _draw_cdf(ax, results, quantity, chosen)
    elif kind == "seeds":
        _draw_seeds(ax, results, quantity, chosen)
    else:
        msg = f'kind is "auto", "series", "sweep", "cdf" or "seeds", not {kind!r}'
        raise ValueError(msg)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _kind(results: Tables, quantity: str, axes: list[str]) -> Kind:
    figures = results.figures.to_arrow()
    if quantity in set(figures["quantity"].to_pylist()) | set(figures["of"].to_pylist()):
        return "sweep" if axes else "seeds"
    return "series"


def colours(count: int) -> list[Any]:
    """Return as many different colours."""
    if count <= len(PALETTE):
        return list(PALETTE[:count])
    import matplotlib as mpl

    return [mpl.colormaps["turbo"](0.05 + 0.9 * index / (count - 1)) for index in range(count)]


def confidence(values: Array) -> tuple[Array, Array]:
    """Return the mean of each column and the half width of its 95 % interval (Student's t), without NaN."""
    present = ~np.isnan(values)
    count = present.sum(axis=0)
    total = np.where(present, values, 0.0).sum(axis=0)
    mean = np.divide(total, count, out=np.full(count.shape, np.nan), where=count > 0)
    squares = np.where(present, (values - mean) ** 2, 0.0).sum(axis=0)
    deviation = np.sqrt(np.divide(squares, count - 1, out=np.full(count.shape, np.nan), where=count > 1))
    quantile = {int(n): student_t_975(int(n) - 1) if n > 1 else np.nan for n in np.unique(count)}
    width = np.array([quantile[int(n)] for n in count.flat]).reshape(count.shape)
    return mean, width * deviation / np.sqrt(np.maximum(count, 1))


def _unit(values: Iterable[Array], unit: str) -> tuple[float, str]:
    """Return what to divide by, and the unit of the quotient."""
    largest = max((float(np.nanmax(np.abs(part), initial=0.0)) for part in values if part.size), default=0.0)
    for scale, name in SCALES.get(unit, []):
        if largest >= scale:
            return scale, name
    return 1.0, unit


def _words(quantity: str) -> str:
    names = {"rtt": "RTT", "p95": "95 % of", "cwnd": "cwnd", "ssthresh": "ssthresh"}
    words = [names.get(word, word) for word in quantity.split("_")]
    text = " ".join(words)
    return text if text.startswith(("RTT", "cwnd", "ssthresh")) else text[:1].upper() + text[1:]


def _axis_label(quantity: str, unit: str) -> str:
    return f"{_words(quantity)} ({unit})" if unit else _words(quantity)


def _title(ax: Axes, results: Tables, note: str, *, y: float | None = None) -> None:
    seeds = len(results.seeds)
    ax.set_title(
        f"{results.scenario.name}: {seeds} seed{'' if seeds == 1 else 's'}{note}",
        loc="left",
        fontsize=10,
        y=y,
        wrap=True,
    )


def _nothing(results: Tables, quantity: str, there: Iterable[str], chosen: set[str] | None, of: Iterable[str]) -> str:
    names = sorted(set(there))
    if quantity not in names:
        hint = "" if names else "; time series need `sampling` in the scenario"
        return (
            f'"{results.scenario.name}" has no quantity {quantity!r} of this kind; there are {", ".join(names)}{hint}'
        )
    return f"{quantity!r} is not there of {', '.join(sorted(chosen or []))}; it is of {', '.join(sorted(set(of)))}"


def _label_ends(ax: Axes, ends: Sequence[tuple[str, float, float, Any]]) -> None:
    """Write labels beside the ends of lines, moved apart where they would overlap."""
    if not ends:
        return
    ax.figure.canvas.draw()
    to_axes = ax.transData + ax.transAxes.inverted()
    height = min(LABEL_HEIGHT, 1 / len(ends))
    size = LABEL_SIZE * height / LABEL_HEIGHT
    places = [[float(to_axes.transform((at, value))[1]), label, colour] for label, at, value, colour in ends]
    places.sort(key=lambda place: place[0])
    for before, place in zip(places, places[1:]):
        place[0] = max(place[0], before[0] + height)
    over = places[-1][0] - (1 - height / 2)
    if over > 0:
        places[-1][0] -= over
        for before, place in zip(reversed(places[:-1]), reversed(places)):
            before[0] = min(before[0], place[0] - height)
    for y, label, colour in places:
        ax.annotate(
            label,
            (1.0, y),
            xytext=(6, 0),
            xycoords="axes fraction",
            textcoords="offset points",
            color=colour,
            fontsize=size,
            va="center",
            annotation_clip=False,
        )


def _draw_lines(ax: Axes, lines: Sequence[Line], scale: float, *, marker: str = "") -> None:
    """Draw each seed, the mean and its confidence band, with the label at the end of each line."""
    ends = []
    for line, colour in zip(lines, colours(len(lines))):
        values = line.values / scale
        mean, half_width = confidence(values)
        many = len(values) > 1
        if many:
            alpha = max(0.06, min(0.4, 4 / len(values)))
            if marker:
                spread = np.tile(line.x, (len(values), 1))
                ax.plot(spread, values, marker, color=colour, alpha=alpha, markersize=4, markeredgewidth=0)
            else:
                ax.plot(line.x, values.T, color=colour, alpha=alpha, linewidth=0.6)
            low = mean - half_width
            if np.nanmin(values) >= 0:
                low = np.maximum(low, 0)
            ax.fill_between(line.x, low, mean + half_width, color=colour, alpha=0.25, linewidth=0)
        ax.plot(line.x, mean, color=colour, linewidth=1.8, marker=marker or None, markersize=5)
        there = np.flatnonzero(~np.isnan(mean))
        if there.size:
            ends.append((line.label, float(line.x[there[-1]]), float(mean[there[-1]]), colour))
    ax.margins(x=0.03 if marker else 0.01)
    _label_ends(ax, ends)


def _points(table: Any, axes: Sequence[str]) -> list[tuple[Any, ...]]:
    """Return the swept values of each row."""
    return list(zip(*(table[axis].to_pylist() for axis in axes))) if axes else [()] * len(table)


def _point_label(name: str, axes: Sequence[str], point: Sequence[Any]) -> str:
    return ", ".join([name] + [f"{axis.split('.')[-1]} = {value}" for axis, value in zip(axes, point)])


def _draw_series(ax: Axes, results: Tables, quantity: str, chosen: set[str] | None) -> None:
    import pyarrow.compute as pc

    table = results.series.to_arrow()
    axes = results.scenario.axes
    of_quantity = table.filter(pc.equal(table["quantity"].cast("string"), quantity))
    lines: dict[tuple[Any, ...], list[tuple[Array, Array]]] = defaultdict(list)
    unit = ""
    # A series is a batch, and a filter keeps batches apart.
    for batch in of_quantity.to_batches():
        if not batch.num_rows:
            continue
        first = {name: batch[name][0].as_py() for name in [*axes, "of", "unit"]}
        values = batch["value"].to_numpy()
        # Idle queues are drawn on request only.
        if first["of"] in chosen if chosen is not None else np.nanmax(np.abs(values)) > 0:
            unit = first["unit"]
            point = tuple(first[axis] for axis in axes)
            key = (first["of"], *point)
            lines[key].append((batch["time_s"].to_numpy(), values))
    if not lines:
        raise ValueError(
            _nothing(
                results,
                quantity,
                pc.unique(table["quantity"].cast("string")).to_pylist(),
                chosen,
                pc.unique(of_quantity["of"].cast("string")).to_pylist(),
            )
        )
    drawn = []
    for (name, *swept), seeds in lines.items():
        longest = max((times for times, _ in seeds), key=len)
        grid = np.full((len(seeds), len(longest)), np.nan)
        for row, (_, samples) in zip(grid, seeds):
            row[: len(samples)] = samples
        drawn.append(Line(_point_label(name, axes, swept), longest, grid))
    scale, unit = _unit((line.values for line in drawn), unit)
    _draw_lines(ax, drawn, scale)
    ax.set_xlabel("Time (s)")
    ax.set_ylabel(_axis_label(quantity, unit))
    _title(ax, results, ", their mean and its 95 % confidence")


def _figures(
    results: Tables, quantity: str, chosen: set[str] | None
) -> tuple[dict[tuple[Any, ...], list[float]], str, str]:
    """Return values by name and point, seed by seed, with their unit and the quantity's name."""
    table = results.figures.to_arrow()
    axes = results.scenario.axes
    values: dict[tuple[Any, ...], list[float]] = defaultdict(list)
    unit, names = "", set()
    rows = zip(
        *(table[name].to_pylist() for name in ("subject", "of", "quantity", "unit", "value")), _points(table, axes)
    )
    # A figure of the scenario is chosen by its own name.
    own = {row[1] for row in zip(table["subject"].to_pylist(), table["of"].to_pylist()) if row[0] == "figure"}
    for subject, of, kind, its_unit, value, point in rows:
        wanted = (subject == "figure" and of == quantity) if quantity in own else kind == quantity
        # A class repeats what its flows say.
        if wanted and (subject != "class" or (chosen is not None and of in chosen)):
            names.add(of)
            if chosen is None or of in chosen:
                unit = its_unit
                key = (of, *point)
                values[key].append(value)
    if not values:
        raise ValueError(_nothing(results, quantity, [*set(table["quantity"].to_pylist()), *own], chosen, names))
    return values, unit, quantity


def _draw_sweep(ax: Axes, results: Tables, quantity: str, chosen: set[str] | None, x: str) -> None:
    axes = results.scenario.axes
    values, unit, name = _figures(results, quantity, chosen)
    place = axes.index(x)
    ticks = list(dict.fromkeys(point[1 + place] for point in values))
    numbers = all(isinstance(tick, (int, float)) for tick in ticks)
    at = {tick: float(tick) if numbers else float(index) for index, tick in enumerate(ticks)}
    if numbers:
        ticks.sort()
    others = [axis for axis in axes if axis != x]
    lines: dict[str, dict[Any, list[float]]] = defaultdict(dict)
    for (of, *point), seeds in values.items():
        rest = [value for axis, value in zip(axes, point) if axis != x]
        lines[_point_label(of, others, rest)][point[place]] = seeds
    drawn = []
    for label, by_tick in lines.items():
        here = [tick for tick in ticks if tick in by_tick]
        grid = np.full((max(map(len, by_tick.values())), len(here)), np.nan)
        for column, tick in enumerate(here):
            grid[: len(by_tick[tick]), column] = by_tick[tick]
        drawn.append(Line(label, np.array([at[tick] for tick in here]), grid))
    scale, unit = _unit((line.values for line in drawn), unit)
    _draw_lines(ax, drawn, scale, marker="o")
    if not numbers:
        ax.set_xticks([at[tick] for tick in ticks], [str(tick) for tick in ticks])
    ax.set_xlabel(x)
    ax.set_ylabel(_axis_label(name, unit))
    _title(ax, results, " for each point, means and their 95 % confidence")


def _draw_seeds(ax: Axes, results: Tables, quantity: str, chosen: set[str] | None) -> None:
    axes = results.scenario.axes
    values, unit, name = _figures(results, quantity, chosen)
    rows = {_point_label(of, axes, point): np.array([seeds]).T for (of, *point), seeds in values.items()}
    scale, unit = _unit(rows.values(), unit)
    # The same each time, and apart enough to see how many there are.
    jitter = np.random.default_rng(0)
    for place, (column, colour) in enumerate(zip(rows.values(), colours(len(rows)))):
        mean, half_width = confidence(column / scale)
        spread = place + jitter.uniform(-0.15, 0.15, len(column))
        alpha = max(0.15, min(0.7, 12 / len(column)))
        ax.plot(column[:, 0] / scale, spread, "o", color=colour, alpha=alpha, markersize=4, markeredgewidth=0)
        width = np.nan_to_num(half_width)
        ax.errorbar(mean, [place + 0.3], xerr=width, fmt="D", color=colour, capsize=4, markersize=5)
    ax.set_yticks(range(len(rows)), list(rows))
    for tick, colour in zip(ax.get_yticklabels(), colours(len(rows))):
        tick.set_color(colour)
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.set_xlabel(_axis_label(name, unit))
    _title(ax, results, ", mean and its 95 % confidence")


def _draw_cdf(ax: Axes, results: Tables, quantity: str, chosen: set[str] | None) -> None:
    axes = results.scenario.axes
    table = results.flows.to_arrow()
    column, unit = FLOW_COLUMNS.get(quantity, (quantity, ""))
    if column not in table.column_names:
        raise ValueError(_nothing(results, quantity, FLOW_COLUMNS, chosen, []))
    groups: dict[tuple[Any, ...], list[float]] = defaultdict(list)
    names = ("group", "phase", "seed", column)
    rows = zip(*(table[name].to_pylist() for name in names), _points(table, axes))
    seeds = set()
    for group, phase, seed, value, point in rows:
        if not phase and value is not None and (chosen is None or group in chosen):
            key = (group, *point)
            groups[key].append(value)
            seeds.add(seed)
    if not groups:
        raise ValueError(_nothing(results, quantity, [quantity], chosen, table["group"].to_pylist()))
    samples = {_point_label(of, axes, point): np.sort(np.array(all_)) for (of, *point), all_ in groups.items()}
    scale, unit = _unit(samples.values(), unit)
    # With one flow in each run this is the Dvoretzky-Kiefer-Wolfowitz inequality with Massart's constant, for the whole
    # distribution. Flows of one run depend on each other: with several it is Hoeffding's, for each point of the curve.
    half = np.sqrt(np.log(2 / 0.05) / (2 * len(seeds)))
    ends = []
    for (label, values), colour in zip(samples.items(), colours(len(samples))):
        count = len(values)
        steps = np.concatenate([values[:1], values]) / scale
        share = np.arange(count + 1) / count
        low, high = np.clip(share - half, 0, 1), np.clip(share + half, 0, 1)
        ax.fill_between(steps, low, high, step="post", color=colour, alpha=0.2, linewidth=0)
        ax.step(steps, share, where="post", color=colour, linewidth=1.8)
        ends.append((float(steps[-1]), label, colour))
    ends.sort(key=lambda end: end[0])
    ax.set_ylim(0, 1)
    ax.set_xlabel(_axis_label(quantity, unit))
    ax.set_ylabel("Share of flows and seeds")
    title = ", distribution with its 95 % confidence band"
    if len(ends) > MOST_ABOVE:
        # The curve that ends farthest to the right comes first.
        _label_ends(ax, [(label, at, 1.0, colour) for at, label, colour in ends])
        _title(ax, results, title)
        return
    # Each label stands above the end of its curve, at a height of its own where ends are near each other.
    for index, (at, label, colour) in enumerate(reversed(ends)):
        ax.annotate(
            label,
            (at, 1.0),
            xytext=(0, 3 + 13 * index),
            textcoords="offset points",
            color=colour,
            ha="right",
            annotation_clip=False,
        )
    # Above the labels, which are above the curves.
    _title(ax, results, title, y=1.0 + LABEL_HEIGHT * len(ends))
