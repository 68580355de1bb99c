# SPDX-License-Identifier: MIT OR Apache-2.0
"""Engines that do work elsewhere, behind one interface."""

from __future__ import annotations

import concurrent.futures
import os
import queue
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


#: Path of settings with which Dask's processes take less processor time: the value of ``DASK_CONFIG`` for each of them.
DASK_CONFIG = str(Path(__file__).with_name("dask.yaml"))


class FutureLike(Protocol):
    """The part of a future that is used."""

    def done(self) -> bool:
        """Return whether there is a result or an error."""

    def result(self) -> Any:
        """Return the result, or raise the error."""


class ExecutorLike(Protocol):
    """The part of ``concurrent.futures.Executor`` that is used; ``submitit`` and ``dask`` have it as well."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> FutureLike:
        """Start ``fn`` elsewhere."""


class RayExecutor(concurrent.futures.Executor):
    """Ray as an executor: each task is a Ray task on one CPU.

    ``options`` are those of ``ray.remote``. Ray has to be initialised (``ray.init()``).
    """

    def __init__(self, **options: Any) -> None:
        self._options: dict[str, Any] = {"num_cpus": 1, "max_retries": 3, **options}

    def submit(
        self,
        fn: Callable[..., Any],
        /,
        *args: Any,
        **kwargs: Any,
    ) -> concurrent.futures.Future[Any]:
        """Start ``fn`` as a Ray task."""
        import ray

        future: concurrent.futures.Future[Any] = (
            ray.remote(fn).options(**self._options).remote(*args, **kwargs).future()
        )
        return future

    def workers(self) -> int:
        """Return the number of tasks that run at a time."""
        import ray

        return max(1, int(ray.cluster_resources().get("CPU", 1) / self._options["num_cpus"]))


class Engine:
    """Tasks on an executor: their ends arrive in one place."""

    #: Time between two looks at futures that cannot call back, in seconds.
    POLL_S = 0.05

    def __init__(self, executor: Any) -> None:
        self._executor = executor
        self._done: queue.SimpleQueue[FutureLike] = queue.SimpleQueue()
        self._polled: set[FutureLike] = set()
        self._counted = (0, -1e9)
        # Dask's client submits by itself; equal calls are one task unless ``pure`` is false.
        self._options = {"pure": False} if hasattr(executor, "scheduler_info") else {}

    def submit(self, fn: Callable[..., Any], *args: Any) -> FutureLike:
        """Start a task."""
        future: FutureLike = self._executor.submit(fn, *args, **self._options)
        if hasattr(future, "add_done_callback"):
            future.add_done_callback(self._done.put)
        else:
            self._polled.add(future)
        return future

    def wait(self, timeout_s: float) -> list[FutureLike]:
        """Return tasks that have ended, after at most ``timeout_s`` seconds."""
        ended: list[FutureLike] = []
        until = time.monotonic() + timeout_s
        while not ended:
            ended = [future for future in self._polled if future.done()]
            self._polled.difference_update(ended)
            left = until - time.monotonic()
            if left <= 0:
                break
            try:
                if not ended:
                    ended.append(self._done.get(timeout=min(left, self.POLL_S) if self._polled else left))
                while True:
                    ended.append(self._done.get_nowait())
            except queue.Empty:
                pass
        return ended

    def cancel(self, futures: Iterable[FutureLike]) -> None:
        """Cancel tasks that have not begun."""
        for future in futures:
            cancel = getattr(future, "cancel", None)
            if cancel is not None:
                cancel()

    def workers(self) -> int:
        """Return the number of tasks that run at a time."""
        count, at = self._counted
        # The workers of a cluster come and go.
        if time.monotonic() - at > 2:
            count = self._count()
            self._counted = (count, time.monotonic())
        return count

    def _count(self) -> int:
        executor = self._executor
        if hasattr(executor, "scheduler_info"):
            return max(1, int(sum(executor.nthreads().values())))
        if hasattr(executor, "workers") and callable(executor.workers):
            return int(executor.workers())
        return int(getattr(executor, "_max_workers", None) or os.cpu_count() or 1)
