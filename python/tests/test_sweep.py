# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs on this machine and on executors."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas
import pytest
from conftest import TWO_RENO

import netnice

if TYPE_CHECKING:
    from collections.abc import Mapping

RATES = {"links.bottleneck.rate": ["2mbit", "5mbit"]}


def files(directory: Path) -> dict[str, str]:
    """Return the checksums of a directory's files, but for those that say how they were made."""
    skipped = {"manifest.json", "SHA256SUMS"}
    return {
        str(path.relative_to(directory)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(directory.rglob("*"))
        if path.is_file() and path.name not in skipped
    }


def pool() -> ProcessPoolExecutor:
    """Return two worker processes that share nothing with this one."""
    return ProcessPoolExecutor(2, mp_context=get_context("spawn"))


def test_executors_give_the_same_bytes(scenario: netnice.Scenario, tmp_path: Path) -> None:
    here = netnice.sweep(scenario, RATES, jobs=1, out=tmp_path / "here")
    with ThreadPoolExecutor(2) as threads:
        there = netnice.sweep(scenario, RATES, executor=threads, out=tmp_path / "there")
    assert list(here.json()) == list(there.json())
    assert files(tmp_path / "here") == files(tmp_path / "there")
    assert len(here) == 8


def die(*_: Any, **__: Any) -> None:
    """Kill the worker in the middle of a task."""
    os.kill(os.getpid(), signal.SIGKILL)


class Dying(ProcessPoolExecutor):
    """Loses a worker in its third task.

    One that is killed from outside may be writing its result, and then Python's executor waits for the rest for ever.
    """

    def __init__(self) -> None:
        super().__init__(2, mp_context=get_context("spawn"))
        self.tasks = 0

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.tasks += 1
        return super().submit(die if self.tasks == 3 else fn, *args, **kwargs)


def test_a_killed_worker_loses_nothing(scenario: netnice.Scenario) -> None:
    scenario = scenario.with_settings({"duration": "60s"})
    made: list[ProcessPoolExecutor] = []

    def make() -> ProcessPoolExecutor:
        made.append(pool() if made else Dying())
        return made[-1]

    results = netnice.sweep(scenario, RATES, seeds=8, executor=make, batch_s=0.05)
    for executor in made:
        executor.shutdown()
    assert len(made) >= 2
    assert list(results.json()) == list(netnice.sweep(scenario, RATES, seeds=8).json())


class Losing(Executor):
    """Loses the tasks with these numbers, from 0."""

    def __init__(self, lost: set[int]) -> None:
        self.lost, self.count, self.batches = lost, 0, []  # type: ignore[var-annotated]

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        number, self.count = self.count, self.count + 1
        self.batches.append(len(args[1]))
        if number in self.lost:
            future.set_exception(ConnectionError("the worker is gone"))
        else:
            future.set_result(fn(*args, **kwargs))
        return future


def test_lost_tasks_are_repeated(scenario: netnice.Scenario) -> None:
    results = netnice.simulate(scenario, executor=Losing({0, 2}))
    assert list(results.json()) == list(netnice.simulate(scenario).json())


def test_tasks_lost_again_and_again_are_an_error(scenario: netnice.Scenario) -> None:
    with pytest.raises(netnice.RunsLostError, match="4 times"):
        netnice.simulate(scenario, executor=Losing(set(range(100))))


def test_short_runs_go_together(scenario: netnice.Scenario) -> None:
    executor = Losing(set())
    netnice.simulate(scenario, seeds=200, executor=executor)
    assert max(executor.batches) > 5
    assert sum(executor.batches) == 200


class Polled:
    """An executor whose futures cannot call back, as submitit's jobs."""

    class Job:
        def __init__(self, value: Any) -> None:
            self.value = value

        def done(self) -> bool:
            return True

        def result(self) -> Any:
            return self.value

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Polled.Job:
        return Polled.Job(fn(*args, **kwargs))


def test_futures_that_cannot_call_back_are_polled(scenario: netnice.Scenario) -> None:
    results = netnice.simulate(scenario, executor=Polled())
    assert list(results.json()) == list(netnice.simulate(scenario).json())


def test_the_error_of_a_run_is_not_repeated(scenario: netnice.Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def fail(*args: object) -> None:
        calls.append(args)
        raise RuntimeError("the run failed")

    monkeypatch.setattr("netnice._sweep.run_batch", fail)
    with pytest.raises(RuntimeError, match="the run failed"):
        netnice.simulate(scenario, executor=Losing(set()))
    assert calls


def test_dask_gives_the_same_bytes(scenario: netnice.Scenario) -> None:
    distributed = pytest.importorskip("distributed")
    cluster = distributed.LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None)
    with cluster, distributed.Client(cluster) as client:
        results = netnice.sweep(scenario, RATES, executor=client)
    assert list(results.json()) == list(netnice.sweep(scenario, RATES).json())


def test_dask_knows_all_settings_for_sweeps() -> None:
    pytest.importorskip("distributed")
    import dask.config
    import yaml

    def names(settings: Mapping[str, Any], above: str = "") -> set[str]:
        return {
            name
            for key, value in settings.items()
            for name in (names(value, f"{above}{key}.") if isinstance(value, dict) else {above + key})
        }

    # Dask takes names that it does not know without a word.
    known = set().union(*map(names, dask.config.defaults))
    wanted = names(yaml.safe_load(Path(netnice.DASK_CONFIG).read_text()))
    assert wanted
    assert wanted <= known


def test_results_are_kept_and_reused(scenario: netnice.Scenario, tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = netnice.simulate(scenario, out=out)
    with pytest.raises(FileExistsError, match="resume=True"):
        netnice.simulate(scenario, out=out)
    before = files(out)
    (out / "runs" / "point-00000-seed-2.json").unlink()
    (out / "runs" / "point-00000-seed-3.json").write_text("{}\n")
    counts: list[int] = []
    with pytest.warns(UserWarning, match="seed-3"):
        again = netnice.simulate(scenario, out=out, resume=True, jobs=1, progress=lambda n, _: counts.append(n))
    assert counts == [3, 4]
    assert list(again.json()) == list(first.json())
    assert files(out) == before
    with pytest.raises(FileExistsError, match="of other settings .*; choose another directory"):
        netnice.simulate(scenario.with_settings(duration="2s"), out=out, resume=True)


def test_series_may_be_parquet_files(scenario: netnice.Scenario, tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = netnice.simulate(scenario, out=out, series="parquet")
    table = first.series.to_pandas()
    # Files have no value where there is none or an infinite one.
    table["value"] = table["value"].replace(float("inf"), float("nan"))
    read = pandas.read_parquet(out / "series").sort_values("seed", kind="stable", ignore_index=True)
    assert len(read) > 0
    pandas.testing.assert_frame_equal(read, table, check_dtype=False, check_categorical=False, check_exact=True)
    assert not (out / "series.csv").exists()
    (out / "series" / "point-00000-seed-2.parquet").unlink()
    counts: list[int] = []
    with pytest.warns(UserWarning, match="seed-2.parquet"):
        again = netnice.simulate(scenario, out=out, resume=True, progress=lambda n, _: counts.append(n))
    assert counts == [len(scenario.runs)]
    assert list(again.json()) == list(first.json())
    with pytest.raises(FileExistsError, match="leave out `series`"):
        netnice.simulate(scenario, out=out, resume=True, series="text")
    with pytest.raises(ValueError, match='not "csv"'):
        netnice.simulate(scenario, out=tmp_path / "other", series="csv")  # type: ignore[arg-type]


def test_seeds_may_be_any_order(scenario: netnice.Scenario) -> None:
    results = netnice.simulate(scenario, seeds=[9, 2, 5])
    assert [seed for (_, seed), _ in results.json()] == [9, 2, 5]


def test_a_simulation_frees_the_interpreter_lock() -> None:
    long = netnice.Scenario.from_toml(TWO_RENO, {"duration": "600s", "seeds": 1})
    ticks = 0
    done = threading.Event()

    def simulate() -> None:
        netnice.simulate(long, jobs=1)
        done.set()

    thread = threading.Thread(target=simulate)
    thread.start()
    while not done.is_set():
        ticks += 1
        time.sleep(0.001)
    thread.join()
    # With the lock held this thread would get a turn a few times only.
    assert ticks > 20


def test_an_interrupt_keeps_finished_runs(tmp_path: Path) -> None:
    program = f"""
import netnice, os, signal
def interrupt(finished, total):
    if finished == 2:
        os.kill(os.getpid(), signal.SIGINT)
scenario = netnice.Scenario.from_toml({str(TWO_RENO)!r}, {{"duration": "20s", "warm_up": "2s", "seeds": 5000}})
try:
    netnice.simulate(scenario, out={str(tmp_path / "out")!r}, progress=interrupt)
except KeyboardInterrupt:
    print("interrupted")
"""
    # Elsewhere than here, where `import netnice` would find the sources.
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "interrupted\n"
    kept = len(list((tmp_path / "out" / "runs").iterdir()))
    assert 2 <= kept < 5000
