"""A whole broker that stores batches of thousands of messages, while others send and read."""

import pytest

from mqgateway.engine.options import FlushDiskType
from mqgateway.engine.store.large_batch import PART_WEIGHT
from mqgateway.engine.store.record import decode
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.headers import DeleteTopicRequestHeader
from tests.fuzz.world import BROKER_PORT, Speaker, World
from tests.support.gateway.broker.helpers import batch_body, send_header
from tests.support.topics import topic_header

COUNT = 50 * PART_WEIGHT
BATCH = batch_body(*[(b"%d" % number, {"TAGS": "t"}) for number in range(COUNT)])


def sent(speaker: Speaker, body: bytes, *, batch: bool = False) -> int:
    header = send_header("T", queue_id=0, batch=batch)
    return speaker.send(
        RequestCode.SEND_BATCH_MESSAGE if batch else RequestCode.SEND_MESSAGE_V2, header, body
    )


def a_turn(world: World) -> None:
    """Carry bytes once, and make one of the calls that are due."""
    for pair in world.net.pairs:
        pair.pump()
    due = [call for call in world.net.getDelayedCalls() if call.getTime() <= world.net.seconds()]
    if due:
        world.net.calls.remove(due[0])
        due[0].called = 1
        due[0].func(*due[0].args, **due[0].kw)


def answered(speaker: Speaker, opaque: int) -> RemotingCommand:
    (answer,) = [command for command in speaker.take() if command.opaque == opaque]
    return answer


def made(world: World) -> tuple[Speaker, Speaker]:
    """Two connections, and the topic T with one queue."""
    one, other = world.meet(BROKER_PORT), world.meet(BROKER_PORT)
    one.ask(RequestCode.UPDATE_AND_CREATE_TOPIC, topic_header("T", queues=1))
    return one, other


@pytest.mark.parametrize("flush", list(FlushDiskType))
def test_others_are_served_meanwhile_and_all_is_read(flush: FlushDiskType) -> None:
    with World(flush_disk_type=flush) as world:
        one, other = made(world)
        large = sent(one, BATCH, batch=True)
        small = []
        for number in range(2):
            small.append(sent(other, b"small %d" % number))
            a_turn(world)
        assert world.broker.store.max_physical_offset < len(BATCH), "all was stored in one turn"
        world.settle(1)
        answer = answered(one, large)
        first = int(answer.ext_fields["queueOffset"])
        assert answer.code == 0 and first > 0, "nobody got ahead"
        assert len(other.take()) == len(small)
        store = world.broker.store
        assert store.max_offset("T", 0) == COUNT + len(small) and not store.is_behind
        ((record, _),) = store.records("T", 0, first + COUNT - 1, 1)
        assert decode(record).body == b"%d" % (COUNT - 1)


def test_a_topic_that_is_deleted_meanwhile_gets_no_batch() -> None:
    with World() as world:
        one, other = made(world)
        large = sent(one, BATCH, batch=True)
        a_turn(world)
        gone = other.send(RequestCode.DELETE_TOPIC_IN_BROKER, DeleteTopicRequestHeader(topic="T"))
        a_turn(world)
        world.settle(1)
        assert answered(other, gone).code == 0
        assert answered(one, large).code != 0
        assert "T" not in world.broker.store.queues()


def test_a_broker_that_stops_has_stored_all_it_answered() -> None:
    with World() as world:
        one, _ = made(world)
        sent(one, BATCH, batch=True)
        while world.broker.store.max_physical_offset < len(BATCH):
            a_turn(world)
        assert world.broker.store.is_behind
        world.restart_broker()
        assert world.broker.store.max_offset("T", 0) == COUNT
