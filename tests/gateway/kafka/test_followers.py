"""Consumers that read from a follower in their rack: two brokers under a controller, real bytes (KIP-392)."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from mqgateway.engine.options.kafka import LEADER_SELECTOR, RACK_AWARE_SELECTOR
from mqgateway.gateway.broker.operations import Use
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.describe_cluster_request import DescribeClusterRequest
from mqgateway.gateway.kafka.codec.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from tests.support.gateway.broker.controlled import Replica
from tests.support.gateway.kafka.client import KafkaClient
from tests.support.gateway.kafka.members import KafkaSet
from tests.support.gateway.kafka.requests import (
    NAME_ONLY,
    batch_of_values,
    fetch_request,
    fetched,
    produce_request,
    produced,
    values_in,
)
from tests.support.gateway.kafka.transactions import TxnProducer

LEADERS_RACK, OTHER_RACK = "r1", "r2"
MINUTE = 60_000


class Racks(NamedTuple):
    """A leader and a follower in two racks, with topics `a` and `b` of one partition."""

    brokers: KafkaSet
    leader: Replica
    follower: Replica

    @property
    def at_leader(self) -> KafkaClient:
        """A client that is connected to the leader."""
        return self.brokers.client(1)

    @property
    def at_follower(self) -> KafkaClient:
        """A client that is connected to the follower."""
        return self.brokers.client(2)

    def send(self, *values: bytes, topic: str = "a") -> None:
        """Produce a batch."""
        data = batch_of_values(*values, now=self.brokers.clock.millis())
        assert produced(self.at_leader, produce_request(topic, data)).error_code == 0

    def copy(self) -> None:
        """Wait until the follower serves all that is confirmed."""
        self.brokers.wait(3)


def racks(**settings: Any) -> Racks:
    """Return two brokers in two racks; `settings` are those of the leader."""
    selector = {"kafka_replica_selector_class": RACK_AWARE_SELECTOR}
    brokers = KafkaSet()
    leader = brokers.join(1, kafka_rack=LEADERS_RACK, **selector | settings)
    follower = brokers.join(2, kafka_rack=OTHER_RACK)
    brokers.make_topic(leader, "a")
    brokers.make_topic(leader, "b")
    found = Racks(brokers, leader, follower)
    found.send(b"one", b"two")
    found.copy()
    return found


@pytest.fixture(scope="module")
def pair() -> Racks:
    """Return two brokers with two records in topic `a`; tests change nothing."""
    return racks()


def in_rack(rack: str, offset: int = 0, **more: Any) -> FetchRequest:
    """Return a request of a consumer in a rack."""
    return fetch_request("a", offset, rack_id=rack, **more)


def test_leader_sends_a_consumer_to_the_follower_in_its_rack(pair: Racks) -> None:
    answer = fetched(pair.at_leader, in_rack(OTHER_RACK, max_wait=MINUTE))
    assert (answer.error_code, answer.preferred_read_replica, values_in(answer)) == (0, 2, [])
    assert (answer.high_watermark, answer.last_stable_offset, answer.log_start_offset) == (2, 2, 0)
    answer = fetched(pair.at_follower, in_rack(OTHER_RACK))
    assert (answer.error_code, answer.preferred_read_replica, answer.high_watermark) == (0, -1, 2)
    assert values_in(answer) == [(0, b"one"), (1, b"two")]


def test_leader_sends_a_consumer_at_the_end_to_the_follower(pair: Racks) -> None:
    assert fetched(pair.at_leader, in_rack(OTHER_RACK, 2, max_wait=MINUTE)).preferred_read_replica == 2


@pytest.mark.parametrize("rack", ["", LEADERS_RACK, "r3"])
def test_leader_serves_consumers_without_a_follower_in_their_rack(pair: Racks, rack: str) -> None:
    answer = fetched(pair.at_leader, in_rack(rack))
    assert (answer.preferred_read_replica, len(values_in(answer))) == (-1, 2)


@pytest.mark.parametrize("offset", [-1, 3])
def test_leader_answers_offsets_that_no_replica_has(pair: Racks, offset: int) -> None:
    answer = fetched(pair.at_leader, in_rack(OTHER_RACK, offset, max_wait=MINUTE))
    assert (answer.error_code, answer.preferred_read_replica) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1)


def test_versions_without_racks_read_from_the_leader(pair: Racks) -> None:
    assert len(values_in(fetched(pair.at_leader, fetch_request("a", 0), 10))) == 2
    refused = fetched(pair.at_follower, fetch_request("a", 0), 10)
    assert refused.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


@pytest.mark.parametrize("rack", ["", LEADERS_RACK])
def test_follower_sends_consumers_of_other_racks_to_the_leader(pair: Racks, rack: str) -> None:
    answer = fetched(pair.at_follower, in_rack(rack, max_wait=MINUTE))
    assert answer.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_follower_checks_the_epoch_of_the_leader(pair: Racks) -> None:
    def code(epoch: int) -> int:
        request = in_rack(OTHER_RACK)
        request.topics[0].partitions[0].current_leader_epoch = epoch
        found: int = fetched(pair.at_follower, request).error_code
        return found

    assert code(1) == ErrorCode.NONE
    assert (code(0), code(2)) == (ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.UNKNOWN_LEADER_EPOCH)


def test_follower_says_that_an_offset_before_its_log_is_out_of_range(pair: Racks) -> None:
    assert fetched(pair.at_follower, in_rack(OTHER_RACK, -1)).error_code == ErrorCode.OFFSET_OUT_OF_RANGE


def test_session_names_the_follower_again_although_nothing_has_changed(pair: Racks) -> None:
    client, request = pair.at_leader, in_rack(OTHER_RACK)
    request.session_epoch = 0
    first = client.ask(request, NAME_ONLY)
    again = FetchRequest(max_wait_ms=MINUTE, session_id=first.session_id, session_epoch=1, rack_id=OTHER_RACK)
    [topic] = client.ask(again, NAME_ONLY).responses
    assert first.session_id and topic.partitions[0].preferred_read_replica == 2


def test_cluster_is_described_with_racks(pair: Racks) -> None:
    nodes = pair.at_follower.ask(DescribeClusterRequest()).brokers
    assert [(one.broker_id, one.rack) for one in nodes] == [(1, LEADERS_RACK), (2, OTHER_RACK)]


@pytest.mark.parametrize("selector", ["", LEADER_SELECTOR])
def test_leader_without_a_selector_of_racks_serves_every_consumer(selector: str) -> None:
    found = racks(kafka_replica_selector_class=selector)
    assert len(values_in(fetched(found.at_leader, in_rack(OTHER_RACK)))) == 2


def waiting(client: KafkaClient, request: FetchRequest) -> Callable[[float], Any]:
    """Send a request that has to wait; return a function that returns the answer within some seconds."""
    client.write(client.frame(request, NAME_ONLY))
    assert client.frames(1, 0.05) == []  # time passes ten times as fast

    def answer(seconds: float) -> Any:
        [frame] = client.frames(1, seconds)
        return client.decoded(request, frame, NAME_ONLY)

    return answer


def test_follower_waits_for_records_that_the_leader_has_confirmed() -> None:
    found = racks()
    at_end = waiting(found.at_follower, in_rack(OTHER_RACK, 2, max_wait=MINUTE))
    beyond = waiting(found.at_follower, in_rack(OTHER_RACK, 3, max_wait=MINUTE))
    found.send(b"three", b"four")
    [topic] = at_end(1).responses
    assert values_in(topic.partitions[0]) == [(2, b"three"), (3, b"four")]
    [topic] = beyond(1).responses
    assert topic.partitions[0].error_code == 0 and topic.partitions[0].high_watermark == 4


def test_follower_that_does_not_get_an_offset_in_time_sends_the_consumer_back() -> None:
    found = racks()
    answer = waiting(found.at_follower, in_rack(OTHER_RACK, 3, max_wait=10_000))
    [topic] = answer(3).responses
    assert topic.partitions[0].error_code == ErrorCode.OFFSET_NOT_AVAILABLE


def test_records_of_another_partition_are_no_reason_to_leave_the_follower() -> None:
    found = racks()
    request = in_rack(OTHER_RACK, 0)
    ahead = FetchPartition(0, fetch_offset=7, partition_max_bytes=1 << 20)
    request.topics = [*request.topics, FetchTopic("b", partitions=[ahead])]
    answers = {
        topic.topic: topic.partitions[0] for topic in found.at_follower.ask(request, NAME_ONLY).responses
    }
    assert len(values_in(answers["a"])) == 2
    assert (answers["b"].error_code, answers["b"].high_watermark) == (0, 0)


def test_reader_of_committed_records_has_aborted_transactions_from_the_follower() -> None:
    found = racks()
    scene: Any = SimpleNamespace(
        client=lambda name: found.at_leader,
        settle=found.brokers.wait,
        server=SimpleNamespace(clock=found.brokers.clock),
    )
    producer = TxnProducer(scene).begun()
    assert producer.send("a", b"x").error_code == producer.send("a", b"y").error_code == 0
    found.send(b"after")
    found.copy()

    def committed() -> Any:
        return fetched(found.at_follower, in_rack(OTHER_RACK, 0, isolation_level=1))

    answer = committed()
    assert (answer.high_watermark, answer.last_stable_offset) == (5, 2)
    assert values_in(answer) == [(0, b"one"), (1, b"two")]
    assert producer.end(False) == ErrorCode.NONE
    found.copy()
    answer = committed()
    assert answer.last_stable_offset == answer.high_watermark == 6
    assert [one.first_offset for one in answer.aborted_transactions] == [2]


def test_leader_keeps_a_consumer_once_the_follower_is_lost() -> None:
    found = racks()
    found.follower.kill()
    found.brokers.wait(12)
    assert len(values_in(fetched(found.at_leader, in_rack(OTHER_RACK)))) == 2


def test_follower_refuses_consumers_once_its_leader_is_silent() -> None:
    found = racks()
    found.brokers.kill_controller()
    found.leader.kill()
    assert fetched(found.at_follower, in_rack(OTHER_RACK)).error_code == 0
    found.brokers.wait(12)
    answer = fetched(found.at_follower, in_rack(OTHER_RACK))
    assert answer.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_leader_does_not_send_consumers_to_a_log_that_begins_after_their_offset() -> None:
    found = racks()
    operations = found.leader.service.operations
    permit = operations.gate.internal(Use.PULL)
    end = found.leader.store.max_physical_offset
    found.send(b"three")
    has = [operations.batches.is_in_log(permit, "a", 0, offset, end) for offset in (0, 1, 2, 3, 4)]
    assert has == [False, False, True, True, False]
    whole = [operations.batches.is_in_log(permit, "a", 0, offset, 0) for offset in (-1, 0, 3, 4)]
    assert whole == [False, True, True, False]


def test_follower_that_drains_sends_consumers_to_the_leader_and_leaves_the_metadata() -> None:
    found = racks()
    found.follower.service.broker.options.drain_timeout_millis = MINUTE
    drained: list[Any] = []
    found.follower.service.drain().addBoth(drained.append)
    assert drained == []
    answer = fetched(found.at_follower, in_rack(OTHER_RACK))
    assert answer.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    for number in (1, 2):
        metadata = found.brokers.metadata(number, "a")
        assert [one.node_id for one in metadata.brokers] == [1]
    assert fetched(found.at_leader, in_rack(OTHER_RACK)).preferred_read_replica == -1
    found.brokers.wait(0.5)
    assert drained == [None]


def test_topics_that_rocketmq_made_are_read_from_the_follower_too() -> None:
    found = racks()
    found.leader.create("T")
    found.leader.send(1, body=b"hello")
    found.copy()
    found.brokers.wait(12)
    request = fetch_request("T", 0, rack_id=OTHER_RACK)
    assert fetched(found.at_leader, request).preferred_read_replica == 2
    assert values_in(fetched(found.at_follower, request)) == [(0, b"hello")]
