# SPDX-License-Identifier: MIT OR Apache-2.0
"""Figures of two simulators beside each other: their spread over seeds, whether they agree, and the table of both."""

import math

Figures = dict[str, float]
Spread = dict[str, dict[str, float]]

# Figures are printed to four digits or so; what agrees to a thousandth agrees.
ROUNDING = 1e-3
# netnice's percentiles come from a histogram with 64 bins for each doubling.
PERCENTILE_ROUNDING = 1 / 64


def spread(runs: list[Figures]) -> Spread:
    """Mean, least and greatest of each figure over the runs that have it."""
    names = list(dict.fromkeys(name for run in runs for name in run))
    table = {}
    for name in names:
        values = [run[name] for run in runs if name in run]
        table[name] = {
            "mean": round(sum(values) / len(values), 5),
            "min": round(min(values), 5),
            "max": round(max(values), 5),
            "runs": len(values),
        }
    return table


def interval(values: list[float]) -> tuple[float, float]:
    """Mean and half of its 95 % confidence interval, by Student's t, of at least six values."""
    count = len(values)
    mean = sum(values) / count
    variance = sum((value - mean) ** 2 for value in values) / (count - 1)
    # The quantile by its expansion in 1 / degrees of freedom (Abramowitz and Stegun 26.7.5), to 1 % from five on.
    z, freedom = 1.959964, count - 1
    quantile = z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
    return mean, quantile * math.sqrt(variance / count)


def agrees(name: str, ours: dict[str, float], theirs: dict[str, float]) -> bool:
    """True if the mean of one lies within the least and the greatest value of the other."""
    rounding = PERCENTILE_ROUNDING if name.startswith("95 %") else ROUNDING

    def within(value: float, bounds: dict[str, float]) -> bool:
        slack = rounding * max(abs(bounds["min"]), abs(bounds["max"]))
        return bounds["min"] - slack <= value <= bounds["max"] + slack

    return within(ours["mean"], theirs) or within(theirs["mean"], ours)


def cell(figure: dict[str, float] | None) -> str:
    if figure is None:
        return "none"
    return f"{figure['mean']:.4g} [{figure['min']:.4g} .. {figure['max']:.4g}]"


class Table:
    """The table of two simulators, printed row by row; `*` marks figures that differ."""

    def __init__(self, other: str) -> None:
        self.compared = self.differing = 0
        print(f"| case | figure | {other} | netnice | |\n| --- | --- | --- | --- | --- |")

    def add(self, case: str, theirs: Spread, ours: Spread) -> None:
        for name in dict.fromkeys([*theirs, *ours]):
            same = name in ours and name in theirs and agrees(name, ours[name], theirs[name])
            self.row(case, name, cell(theirs.get(name)), cell(ours.get(name)), same)

    def add_intervals(self, case: str, theirs: list[Figures], ours: list[Figures]) -> None:
        """Means with 95 % confidence. Figures differ whose difference of means is outside its own interval."""
        for name in theirs[0]:
            columns = [[run[name] for run in runs if name in run] for runs in (theirs, ours)]
            if min(len(column) for column in columns) < 6:
                continue
            (their_mean, their_half), (our_mean, our_half) = map(interval, columns)
            same = abs(our_mean - their_mean) <= math.hypot(their_half, our_half) + ROUNDING * abs(their_mean)
            cells = [f"{mean:.4g} ± {half:.2g}" for mean, half in ((their_mean, their_half), (our_mean, our_half))]
            if their_mean:
                cells[1] += f" ({100 * (our_mean / their_mean - 1):+.1f} %)"
            self.row(case, name, *cells, same)

    def row(self, case: str, name: str, theirs: str, ours: str, same: bool) -> None:
        self.compared += 1
        self.differing += not same
        print("| " + " | ".join([case, name, theirs, ours, "" if same else "*"]) + " |", flush=True)

    def conclude(self) -> None:
        print(f"\n{self.compared - self.differing} of {self.compared} figures agree.")


def short(figure: dict[str, float]) -> str:
    """The mean, and the spread unless it is that of rounding."""
    low, high = figure["min"], figure["max"]
    return f"{figure['mean']:.4g}" if f"{low:.4g}" == f"{high:.4g}" else cell(figure)


class WideTable(Table):
    """A table with a row for each case, and in each cell the figures of a column: theirs / netnice's."""

    def __init__(self, other: str, columns: dict[str, tuple[str, ...]]) -> None:
        self.compared = self.differing = 0
        self.columns = columns
        print(f"| case ({other} / netnice) | " + " | ".join(columns) + " |")
        print("| --- |" + " --- |" * len(columns))

    def add(self, case: str, theirs: Spread, ours: Spread) -> None:
        cells = [case]
        for names in self.columns.values():
            figures = []
            for name in names:
                if name in theirs:
                    same = agrees(name, ours[name], theirs[name])
                    self.compared += 1
                    self.differing += not same
                    figures.append(f"{short(theirs[name])} / {short(ours[name])}" + ("" if same else " *"))
            cells.append("; ".join(figures))
        print("| " + " | ".join(cells) + " |", flush=True)
