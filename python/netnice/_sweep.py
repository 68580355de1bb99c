# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs of scenarios: on this machine, or on any executor."""

from __future__ import annotations

import functools
import math
import os
import pickle
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Union

from ._control import by_flow
from ._executors import Engine, ExecutorLike, FutureLike
from ._native import Directory, Runs, Scenario, run_batch, run_local
from ._results import Results

if TYPE_CHECKING:
    from ._control import ControlClass, Controls

    #: The number of a point, and a seed.
    RunKey = tuple[int, int]
    #: The number of a scenario, and one of its runs.
    Key = tuple[int, RunKey]
    #: An executor, or a function that makes one, again after the first was lost.
    AnyExecutor = Union[ExecutorLike, Callable[[], ExecutorLike]]
    AnyScenario = Union[Scenario, Mapping[str, Any], str, os.PathLike[str]]


class RunsLostError(RuntimeError):
    """The executor lost runs again and again, or cannot be reached any more; finished ones are kept in ``out``."""


def simulate(
    scenario: AnyScenario,
    seeds: int | Sequence[int] | None = None,
    *,
    jobs: int | None = None,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    parquet: bool = False,
    series: Literal["text", "parquet"] | None = None,
    executor: AnyExecutor | None = None,
    controls: Controls | None = None,
    progress: bool | Callable[[int, int], object] = False,
) -> Results:
    """Run a scenario with each of its seeds, and each point of its sweep.

    ``scenario`` is a `Scenario`, the path of a file, or a dictionary of fields; ``seeds`` a number n for 1 to n, or a
    list, instead of the scenario's. ``jobs`` is the number of runs at a time on this machine, as many as it has
    processors by default. ``out`` is a directory that keeps each finished run, as ``netnice sim --out`` does; with
    ``resume`` finished runs found there are reused. ``series`` says how it keeps time series: as ``"text"``, the
    default up to a million samples of all runs, or as ``"parquet"``, a file for each run in ``series/``. ``progress``
    is ``True`` for a line on stderr, or a function that is called with the numbers of finished and of all runs.

    ``controls`` is a class with the methods of `Control`, which then governs all flows over TCP, or a dictionary of
    such classes by the name of flows. Such runs are slow, go one after the other on this machine, whatever ``jobs``
    says, and cannot be kept in ``out``: nothing would tell them from those of other code. An exception in a control
    ends the runs and is raised as it is; from an executor as `RuntimeError` with the traceback as text.

    Raises `ScenarioError` for a scenario with mistakes, `FileExistsError` if ``out`` holds results and ``resume`` is
    false, `RuntimeError` if a run fails.
    """
    return sweep(
        scenario,
        None,
        seeds,
        jobs=jobs,
        out=out,
        resume=resume,
        parquet=parquet,
        series=series,
        executor=executor,
        controls=controls,
        progress=progress,
    )


def sweep(
    scenario: AnyScenario,
    axes: Mapping[str, Sequence[Any]] | None = None,
    seeds: int | Sequence[int] | None = None,
    *,
    executor: AnyExecutor | None = None,
    batch_s: float = 2.0,
    retries: int = 3,
    jobs: int | None = None,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    parquet: bool = False,
    series: Literal["text", "parquet"] | None = None,
    controls: Controls | None = None,
    progress: bool | Callable[[int, int], object] = False,
) -> Results:
    """Run a scenario at each point of a grid, with each seed.

    ``axes`` has the values of parameters, or of fields by their path: ``{"links.bottleneck.rate": ["5mbit",
    "10mbit"]}``; they add to the scenario's own sweep. With ``executor`` runs go to a ``concurrent.futures.Executor``,
    a ``dask.distributed.Client``, a `RayExecutor`, or anything with ``submit``; several go together in tasks of about
    ``batch_s`` seconds. It may be a function that makes an executor, which is called again when the first is lost.
    A lost task is repeated at most ``retries`` times. The results have the same bytes as on this machine.

    The rest is as for `simulate`.
    """
    scenario = _scenario(scenario)
    if axes:
        scenario = scenario.with_sweep(dict(axes))
    if seeds is not None:
        scenario = scenario.with_settings({"seeds": seeds})
    classes = None if controls is None else by_flow(controls, scenario)
    if classes is not None and out is not None:
        msg = "runs with a control in Python cannot be kept in `out`: its code is no part of what identifies results"
        raise ValueError(msg)
    directory = None if out is None else Directory(scenario, out, resume, list(sys.argv), series)
    total = len(scenario.runs)
    report = progress_by(progress, total)
    keys = scenario.runs
    kept = None
    if directory is not None:
        kept, keys = finished(directory)
    before = total - len(keys)
    if executor is None and classes is not None:
        # Python's lock leaves nothing to win with threads; on the caller's thread Ctrl-C ends a call that does not.
        texts = []
        for key in keys:
            texts += run_batch(scenario, [key], classes)
            report(len(texts))
        runs = Runs.from_bytes(scenario, texts)
    elif executor is None:
        runs = run_local(scenario, keys, jobs or os.cpu_count() or 1, directory, lambda count: report(before + count))
        if kept is not None and len(kept):
            runs = _joined(scenario, kept, runs)
    else:
        work = Work(scenario, directory.store if directory is not None else None, kept=True)
        found = Remote([work], executor, batch_s, retries, classes).run(
            [(0, key) for key in keys], lambda count: report(before + count)
        )
        texts = [(key, text) for (_, key), text in found.items()]
        if kept is not None:
            texts += [(key, kept.json(index)) for index, key in enumerate(kept.keys)]
        runs = Runs.from_bytes(scenario, texts)
    if directory is not None:
        directory.write_tables(runs, parquet)
    return Results(scenario, runs)


def finished(directory: Directory) -> tuple[Runs, list[RunKey]]:
    """Return the runs that are there, and the keys of those that are left."""
    kept, left, stale = directory.finished()
    for reason in stale:
        warnings.warn(f"{reason}; the run is made again", stacklevel=outside())
    return kept, left


def _scenario(scenario: AnyScenario) -> Scenario:
    if isinstance(scenario, Scenario):
        return scenario
    if isinstance(scenario, Mapping):
        return Scenario.from_dict(dict(scenario))
    return Scenario.from_toml(scenario)


def _joined(scenario: Scenario, *parts: Runs) -> Runs:
    return Runs.from_bytes(scenario, [(key, part.json(index)) for part in parts for index, key in enumerate(part.keys)])


def outside() -> int:
    """Return the level of the first caller outside this package, for warnings."""
    level = 1
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__package__") == __package__:
        frame = frame.f_back
        level += 1
    return level


def progress_by(progress: bool | Callable[[int, int], object], total: int) -> Callable[[int], object]:
    if callable(progress):
        return lambda finished: progress(finished, total)
    if not progress:
        return lambda finished: None

    def line(finished: int) -> None:
        end = "\n" if finished == total else ""
        print(f"\r{finished} of {total} runs", end=end, file=sys.stderr, flush=True)

    return line


@functools.lru_cache(maxsize=2)
def _unpickled(scenario: bytes) -> Scenario:
    """Return the scenario, which is parsed once on each worker."""
    unpickled: Scenario = pickle.loads(scenario)  # noqa: S301
    return unpickled


def _work(
    scenario: bytes, keys: list[RunKey], classes: dict[str, ControlClass] | None = None
) -> tuple[float, list[tuple[RunKey, bytes]], str]:
    """Do some runs on a worker: the seconds that they took, their bytes, and the error that ended them or nothing.

    An error of a run is a value, so that whatever is raised is the executor's.
    """
    began = time.monotonic()
    results: list[tuple[RunKey, bytes]] = []
    for key in keys:
        try:
            results += run_batch(_unpickled(scenario), [key], classes)
        except Exception as error:
            if classes is None and not isinstance(error, (RuntimeError, ValueError)):
                raise
            text = (
                str(error) if classes is None else "".join(traceback.format_exception(None, error, error.__traceback__))
            )
            return time.monotonic() - began, results, text
    return time.monotonic() - began, results, ""


class Work(NamedTuple):
    """A scenario whose runs are wanted."""

    scenario: Scenario
    #: Takes the bytes of each finished run.
    store: Callable[[RunKey, bytes], object] | None
    #: The bytes are wanted at the end as well.
    kept: bool


class Remote:
    """Runs on an executor, each exactly once in the results. A task has runs of one scenario."""

    #: Seconds without an executor that takes tasks, after which it counts as lost.
    PATIENCE_S = 60.0

    def __init__(
        self,
        works: Sequence[Work],
        executor: AnyExecutor,
        batch_s: float,
        retries: int,
        classes: dict[str, ControlClass] | None = None,
    ) -> None:
        self._works = works
        self._blobs = [pickle.dumps(work.scenario) for work in works]
        self._make = executor if callable(executor) and not hasattr(executor, "submit") else None
        self._engine = Engine(self._make() if self._make else executor)
        self._arguments = () if classes is None else (classes,)
        self._batch_s = batch_s
        self._retries = retries
        self._found: dict[Key, bytes] = {}
        self._tasks: dict[FutureLike, list[Key]] = {}
        self._lost: dict[Key, int] = {}
        # Seconds of one run of each scenario, and runs that this is the mean of.
        self._run_s = [0.0 for _ in works]
        self._measured = [0 for _ in works]

    def run(self, keys: list[Key], report: Callable[[int], object]) -> dict[Key, bytes]:
        """Make the runs, and return the bytes of each; of those that are not wanted at the end, none."""
        waiting = list(reversed(keys))
        try:
            while waiting or self._tasks:
                self._refill(waiting)
                for future in self._engine.wait(1.0):
                    batch = self._tasks.pop(future, None)
                    if batch is not None:
                        waiting += reversed(self._finish(future, batch))
                        report(len(self._found))
        except BaseException:
            self._engine.cancel(self._tasks)
            raise
        return self._found

    def _refill(self, waiting: list[Key]) -> None:
        """Keep each worker one task ahead."""
        until = time.monotonic() + self.PATIENCE_S
        while waiting:
            try:
                workers = self._engine.workers()
                if len(self._tasks) >= 2 * workers:
                    return
                batch = self._batch(waiting, workers)
                try:
                    keys = [key for _, key in batch]
                    future = self._engine.submit(_work, self._blobs[batch[0][0]], keys, *self._arguments)
                except BaseException:
                    waiting += reversed(batch)
                    raise
                self._tasks[future] = batch
            except Exception as error:
                if time.monotonic() > until:
                    raise self._given_up(f"takes no more tasks: {error}", len(waiting)) from error
                if self._make is None and not hasattr(self._engine._executor, "scheduler_info"):
                    raise self._given_up(f"takes no more tasks: {error}", len(waiting)) from error
                # The tasks of the lost executor are lost with it.
                for batch in self._tasks.values():
                    waiting += reversed(batch)
                self._tasks.clear()
                time.sleep(0.5)
                if self._make is not None:
                    try:
                        self._engine = Engine(self._make())
                    except Exception as again:
                        if time.monotonic() > until:
                            raise self._given_up(f"cannot be made again: {again}", len(waiting)) from again

    def _batch(self, waiting: list[Key], workers: int) -> list[Key]:
        """Take the runs of the next task: few at the end, so that all workers end together."""
        number = waiting[-1][0]
        most = 1
        if self._measured[number]:
            full = math.ceil(self._batch_s / max(self._run_s[number], 1e-6))
            # But no shorter than an eighth, as each task costs the executor some milliseconds.
            most = min(full, max(math.ceil(full / 8), math.ceil(len(waiting) / (2 * workers))))
        batch = [waiting.pop()]
        while waiting and len(batch) < most and waiting[-1][0] == number:
            batch.append(waiting.pop())
        return batch

    def _finish(self, future: FutureLike, batch: list[Key]) -> list[Key]:
        """Take a task's results, and return the runs that it has lost."""
        try:
            seconds, results, failed = future.result()
        except KeyboardInterrupt:
            raise
        # A future that was cancelled with its scheduler raises a BaseException in some engines.
        except BaseException as error:
            for key in batch:
                self._lost[key] = self._lost.get(key, 0) + 1
            worst = max(self._lost[key] for key in batch)
            if worst > self._retries:
                keys = [key for _, key in batch]
                raise self._given_up(f"has lost the runs {keys} {worst} times: {error!r}", len(batch)) from error
            return batch
        number = batch[0][0]
        work = self._works[number]
        for key, text in results:
            if work.store is not None:
                work.store(key, text)
            self._found[number, key] = text if work.kept else b""
        if failed:
            raise RuntimeError(failed)
        before = self._measured[number]
        self._measured[number] += len(batch)
        self._run_s[number] = (self._run_s[number] * before + seconds) / self._measured[number]
        return []

    def _given_up(self, reason: str, left: int) -> RunsLostError:
        stored = any(work.store for work in self._works)
        kept = "kept in the directory of `out`: go on with resume=True" if stored else "lost without `out`"
        return RunsLostError(
            f"the executor {reason}; {len(self._found)} runs are finished and {kept}; {left} or more are left"
        )
