"""Ends of half messages: all of them, in order, and none twice."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from unittest.mock import Mock

import pytest

from mqgateway.engine.options import TlsOptions
from mqgateway.gateway.client.errors import Unreachable
from mqgateway.pipeline.brokers import new_producer_client
from mqgateway.pipeline.ending import Ending
from mqgateway.pipeline.errors import SinkError
from mqgateway.pipeline.verdicts import Places, Transaction, Verdict, places
from tests.fuzz.world import BROKER_PORT
from tests.support.gateway.client.cluster import requests_seen
from tests.support.gateway.client.facing import faced
from tests.support.pipeline.transactions import World, ends


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    with faced(monkeypatch) as cluster:
        cluster.make_topic("T", queues=4)
        yield World(cluster)


def ending(world: World) -> Ending:
    client = new_producer_client(world.options, TlsOptions())
    world.cluster._to_close.append(client.close)
    return Ending(world.options, client)


def verdict(sent: tuple[Places, ...]) -> Verdict:
    return Verdict(Transaction("q", 0), "spark-rocketmq-sink", 5, sent)


def test_all_rows_are_seen_once(world: World) -> None:
    bodies = sorted(f"{number}" for number in range(30))
    sent = world.sent(bodies)
    ending(world).commit(verdict(sent), again=False)
    assert world.visible() == bodies and world.open_halves == 0


def test_an_order_is_kept(world: World) -> None:
    """One end a queue at a time, in the order that the rows came in."""
    ordered = World(world.cluster, order_column="id")
    sent = ordered.sent([f"{number}" for number in range(12)], id="x")
    seen = requests_seen(world.cluster)
    ending(ordered).commit(verdict(sent), again=False)
    [queue] = [number for number in range(4) if world.cluster.stored("T", number)]
    assert world.cluster.stored("T", queue) == [f"{number}".encode() for number in range(12)]
    offsets = [int(one.ext_fields["tranStateTableOffset"]) for one in seen if ends([one])]
    assert offsets == sorted(offsets) and len(offsets) == 12


def test_visible_message_is_not_ended_again(world: World) -> None:
    """Apache's broker would show it a second time."""
    first, second = world.sent(["a", "b"]), world.sent(["c"])
    ending(world).commit(verdict(first), again=False)
    seen = requests_seen(world.cluster)
    ending(world).commit(verdict(first + second), again=True)
    assert world.visible() == ["a", "b", "c"] and ends(seen) == 1


def test_an_answer_that_was_lost_is_no_second_end(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    patient = World(world.cluster, num_retries=2)
    sent = patient.sent(["a"])
    result = ending(patient)
    expect = result._client.asking.expect

    async def lost(*args: Any, **chosen: Any) -> Any:
        await expect(*args, **chosen)
        raise Unreachable("the connection broke")

    monkeypatch.setattr(result._client, "asking", Mock(wraps=result._client.asking, expect=lost))
    seen = requests_seen(world.cluster)
    result.commit(verdict(sent), again=False)
    assert ends(seen) == 1 and world.visible() == ["a"]


def test_a_failure_says_what_was_not_ended(world: World, caplog: Any) -> None:
    sent = world.sent(["a"])
    result = ending(world)
    world.cluster.cut(BROKER_PORT)
    with pytest.raises(SinkError, match=r"transaction q/0: the half message at offset \d+ of the log of bro"):
        result.commit(verdict(sent), again=False)
    result.roll_back(sent, "spark-rocketmq-sink", "q/0")
    assert "half messages of q/0 remain" in caplog.text
    world.cluster.mend(BROKER_PORT)
    result.roll_back(sent, "spark-rocketmq-sink", "q/0")
    assert world.open_halves == 0 and world.visible() == []


def test_a_half_message_that_is_gone_fails(world: World) -> None:
    [place] = world.sent(["a"])
    [half] = place.halves()
    other = world.cluster.service.broker.store.max_physical_offset
    gone = (places(place.queue, [half.queue_offset], [other]),)
    with pytest.raises(SinkError, match="was not ended"):
        ending(world).commit(verdict(gone), again=True)
    strange = Verdict(Transaction("another", 0), "G", 5, (place,))
    with pytest.raises(SinkError, match="there is another message in its place"):
        ending(world).commit(strange, again=True)
