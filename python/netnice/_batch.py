# SPDX-License-Identifier: MIT OR Apache-2.0
"""``netnice reproduce`` and ``netnice judge`` on any executor."""

from __future__ import annotations

import concurrent.futures
import contextlib
import functools
import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ._native import Directory, Judge, Reproduction
from ._sweep import Remote, Work, finished, progress_by

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ._sweep import AnyExecutor, Key


@contextlib.contextmanager
def _executor(executor: AnyExecutor | None, jobs: int | None) -> Iterator[AnyExecutor]:
    """Yield the executor, or threads of this process: runs do not hold the interpreter lock."""
    if executor is not None:
        yield executor
        return
    with concurrent.futures.ThreadPoolExecutor(jobs or os.cpu_count() or 1) as threads:
        yield threads


def reproduce(
    ids: Sequence[str] = (),
    *,
    full: bool = False,
    out: str | os.PathLike[str] = "reproduction",
    resume: bool = False,
    executor: AnyExecutor | None = None,
    jobs: int | None = None,
    batch_s: float = 2.0,
    retries: int = 3,
    progress: bool | Callable[[int, int], object] = False,
) -> dict[str, Any]:
    """Repeat tables and figures of the papers, as ``netnice reproduce`` does, and return the outcomes.

    ``ids`` are experiments such as ``"LP03-F11"``, or papers such as ``"LP03"``; all where none is given. ``full``
    makes as many and as long runs as the papers. Each finished run is kept in ``out``, from which ``netnice reproduce
    --no-run --out`` makes the report. ``executor``, ``batch_s``, ``retries``, ``jobs``, ``resume`` and ``progress``
    are as for `sweep`. The result is what ``outcomes.json`` has: a list ``outcomes`` with values and verdicts.

    Raises `ValueError` for an unknown experiment, `FileExistsError` if ``out`` holds runs and ``resume`` is false,
    `RunsLostError` if the executor loses runs again and again.
    """
    begun = time.monotonic()
    reproduction = Reproduction([ids] if isinstance(ids, str) else list(ids), full)
    studies = reproduction.studies()
    works: list[Work] = []
    keys: list[Key] = []
    total = 0
    for number, (name, scenario) in enumerate(studies):
        directory = Directory(scenario, Path(out) / "studies" / name, resume, list(sys.argv))
        total += len(scenario.runs)
        keys += [(number, key) for key in finished(directory)[1]]
        works.append(Work(scenario, directory.store, kept=False))
    report = progress_by(progress, total)
    before = total - len(keys)
    with _executor(executor, jobs) as engine:
        Remote(works, engine, batch_s, retries).run(keys, lambda count: report(before + count))
    text = reproduction.outcomes(out, list(sys.argv), jobs or os.cpu_count() or 1, time.monotonic() - begun)
    return cast("dict[str, Any]", json.loads(text))


def judge(
    controls: Sequence[str] = ("netnice",),
    *,
    paths: Sequence[str] = (),
    rivals: Sequence[str] = (),
    quick: bool = False,
    seeds: int | None = None,
    out: str | os.PathLike[str] = "judgement",
    resume: bool = False,
    executor: AnyExecutor | None = None,
    jobs: int | None = None,
    batch_s: float = 2.0,
    retries: int = 3,
    progress: bool | Callable[[int, int], object] = False,
) -> dict[str, Any]:
    """Judge controls on many paths, beside many rivals, as ``netnice judge`` does, and return the judgement.

    ``controls`` are names, or paths of C files such as ``"./mine.h"``, which all workers need at the same place.
    ``paths`` and ``rivals`` choose by name; all where none is given, fewer with ``quick``. ``seeds`` is the number of
    runs of each cell, 3, or 1 with ``quick``. What is measured of each run is kept in ``out``, with the judgement as
    JSON, HTML and Markdown. The rest is as for `reproduce`. The result is what ``judgement.json`` has: ``cells`` with
    their figures, and ``answers``.

    Raises `ValueError` for a path or rival that does not exist, `ScenarioError` for a control that does not exist or
    does not compile, `FileExistsError` if ``out`` holds runs and ``resume`` is false, `RunsLostError` if the executor
    loses runs again and again.
    """
    names = [controls] if isinstance(controls, str) else list(controls)
    if seeds is None:
        seeds = 1 if quick else 3
    plan = Judge(names, list(paths), list(rivals), quick, seeds, out)
    left = plan.begin(resume)
    cases = plan.cases()
    works = []
    for number, (_, scenario) in enumerate(cases):
        works.append(Work(scenario, functools.partial(_store, plan, number), kept=False))
    total = sum(len(scenario.runs) for _, scenario in cases)
    report = progress_by(progress, total)
    before = total - len(left)
    keys: list[Key] = [(case, (0, seed)) for case, seed in left]
    with _executor(executor, jobs) as engine:
        Remote(works, engine, batch_s, retries).run(keys, lambda count: report(before + count))
    return cast("dict[str, Any]", json.loads(plan.judgement(list(sys.argv))))


def _store(plan: Judge, case: int, key: tuple[int, int], text: bytes) -> None:
    plan.store(case, key[1], text)
