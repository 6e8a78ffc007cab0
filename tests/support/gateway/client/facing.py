"""A loop for the APIs without a thread: what is called in it drives a cluster in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

import pytest
from twisted.internet.defer import Deferred, maybeDeferred

from mqgateway.gateway.client.loop import Loop
from tests.support.gateway.client.cluster import Cluster


class InlinePool:
    """Has no threads."""

    def __init__(self) -> None:
        self.stopped = False

    def wrap(self, function: Callable[..., Any]) -> Callable[..., Deferred[Any]]:
        return lambda *args: maybeDeferred(function, *args)

    def stop(self) -> None:
        self.stopped = True


class HandLoop(Loop):
    """Stands for the shared loop."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.reactor = cluster.net  # type: ignore[assignment]
        cluster.net.callFromThread = lambda function, *args: function(*args)  # type: ignore[attr-defined]
        self.clock = cluster.clock
        self.disk = cluster.disk
        self.worker = None
        self.turn = None
        self.pools: list[InlinePool] = []

    def submit(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Future[Any]:
        outcome: Future[Any] = Future()
        try:
            outcome.set_result(self.cluster.run(maybeDeferred(function, *args, **kwargs)))
        except Exception as error:
            outcome.set_exception(error)
        return outcome

    def call(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return self.submit(function, *args, **kwargs).result()

    def post(self, work: Callable[[], object]) -> None:
        work()

    def pool(self, threads: int, name: str) -> InlinePool:  # type: ignore[override]
        self.pools.append(InlinePool())
        return self.pools[-1]


@contextmanager
def faced(monkeypatch: pytest.MonkeyPatch, **chosen: Any) -> Iterator[Cluster]:
    """A cluster whose clients' APIs run in it."""
    with Cluster(**chosen) as cluster:
        loop = HandLoop(cluster)
        monkeypatch.setattr(Loop, "shared", lambda: loop)
        yield cluster


def here(cluster: Cluster, **given: Any) -> dict[str, Any]:
    """Settings of a client in the cluster that reads from the first offset."""
    settings = cluster.settings(given)
    del settings["namesrv_addr"]
    return settings


def run(monkeypatch: pytest.MonkeyPatch, work: Callable[[Cluster], Awaitable[None]], **chosen: Any) -> None:
    """Run a coroutine function on an asyncio loop of its own, with a cluster beside it."""

    async def main() -> None:
        with faced(monkeypatch, **chosen) as cluster:
            cluster.make_topic("T", queues=1)
            await work(cluster)

    asyncio.run(main())


async def until(cluster: Cluster, condition: Callable[[], object]) -> None:
    """Let both kinds of time pass until something holds."""
    for _ in range(200):
        if condition():
            return
        cluster.settle(0.5)
        await asyncio.sleep(0)
    raise AssertionError("it did not come about")
