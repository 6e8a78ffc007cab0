"""Consumption that fails: retry after the level's delay, then the dead-letter topic."""

from __future__ import annotations

import pytest

from compat_tests.support.driver import ClientError, PullConsumer, Received, message
from compat_tests.support.peers import Peer
from compat_tests.support.processes import wait_until

pytestmark = pytest.mark.overlap

FIRST_RETRY_MILLIS = 10_000
"""Delay level 3, at which retries begin."""


@pytest.mark.every_variant
def test_refused_message_comes_again(peer: Peer) -> None:
    """A second delivery after ten seconds, under its own topic, with its own id and one more attempt."""
    topic, group = peer.topic("again"), peer.name("again_readers")
    options = {"failFirst": 1, "maxReconsumeTimes": 3}
    with peer.producer() as producer, peer.push(group, {topic: "*"}, **options) as consumer:
        [result] = producer.send([message(topic, "again", tags="T", keys="k", properties={"p": "v"})])
        first, second = consumer.collect(2)
    assert first.unique_key == second.unique_key == result.msg_id
    assert (first.reconsume_times, second.reconsume_times) == (0, 1)
    assert (second.topic, second.body, second.tags, second.keys) == (topic, "again", "T", "k")
    assert second.properties["p"] == "v"
    assert second.properties["ORIGIN_MESSAGE_ID"] == result.offset_msg_id
    waited = second.store_timestamp - first.received_at
    assert FIRST_RETRY_MILLIS - 100 <= waited <= FIRST_RETRY_MILLIS + 5_000


def test_message_refused_for_good_is_a_dead_letter(peer: Peer) -> None:
    """After one retry it is in ``%DLQ%GROUP``, with the names it had before."""
    topic, group = peer.topic("dead"), peer.name("dead_readers")
    options = {"failFirst": 99, "maxReconsumeTimes": 1}
    with peer.producer() as producer, peer.push(group, {topic: "*"}, **options) as consumer:
        [result] = producer.send([message(topic, "dead", tags="T", properties={"p": "v"})])
        assert len(consumer.collect(2)) == 2
        with peer.pull(peer.name("undertaker")) as reader:
            wait_until(lambda: dead_letters(reader, group), 40, "a dead letter", 0.5)
            [dead] = dead_letters(reader, group)
        assert len(consumer.collect(2)) == 2
    assert (dead.topic, dead.body, dead.tags) == (f"%DLQ%{group}", "dead", "T")
    assert dead.unique_key == result.msg_id
    expected = {"p": "v", "TAGS": "T", "RETRY_TOPIC": topic, "ORIGIN_MESSAGE_ID": result.offset_msg_id}
    expected |= {"REAL_TOPIC": f"%RETRY%{group}", "REAL_QID": "0", "DELAY": "0", "WAIT": "false"}
    assert expected.items() <= dead.properties.items()
    added_on_the_way = {"UNIQ_KEY", "CLUSTER", "MSG_REGION", "TRACE_ON", "MIN_OFFSET", "MAX_OFFSET"}
    assert dead.properties.keys() - expected.keys() == added_on_the_way


def dead_letters(reader: PullConsumer, group: str) -> list[Received]:
    """Return the messages in the dead-letter topic of a group."""
    try:
        queues = reader.queues(f"%DLQ%{group}")
    except ClientError:
        return []
    return [one for queue in queues for one in reader.pull(queue, 0).messages]
