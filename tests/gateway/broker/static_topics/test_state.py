"""Which requests are about a static topic, and where its queues are."""

import pytest

from mqgateway.engine.static_topics.pieces import Piece
from mqgateway.gateway.broker.static_topics.state import Place, changed, static
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.headers import GetMaxOffsetRequestHeader
from mqgateway.gateway.remoting.call import Call, Reply, RequestError
from tests.support.gateway.broker.clusters import TOPIC, Cluster
from tests.support.gateway.broker.helpers import FakePeer


def call(topic: str = TOPIC, queue_id: int = 0, lo: bool | None = None) -> Call:
    header = GetMaxOffsetRequestHeader(topic=topic, queue_id=queue_id, lo=lo)
    return Call(RemotingCommand.request(30, header), header, b"", FakePeer(), 0)


PLAIN, MAPPED = Reply(remark="plain"), Reply(remark="mapped")
SERVE = static(lambda broker, call: PLAIN, lambda broker, call, place, plain: MAPPED, chooses=True)


def test_requests_for_queues_that_are_led_here_are_mapped() -> None:
    brokers = Cluster("a", "b")
    brokers.create("a", "b")
    broker = brokers["a"].broker
    assert SERVE(broker, call()) is MAPPED
    assert SERVE(broker, call(queue_id=-1)) is MAPPED
    assert SERVE(broker, call(topic="other")) is PLAIN
    assert SERVE(broker, call(lo=False)) is PLAIN
    assert SERVE(Cluster("a")["a"].broker, call()) is PLAIN
    for queue_id in (1, 2):
        with pytest.raises(RequestError) as refusal:
            SERVE(broker, call(queue_id=queue_id))
        assert refusal.value.code == 501


def test_a_place_knows_its_pieces() -> None:
    pieces = [Piece(0, 1, "a", 0, 0, 5), Piece(1, 0, "b", 100), Piece(2, 2, "a", -1)]
    place = Place(TOPIC, "a", 7, pieces)
    assert (place.leader, place.at(-1), place.at(100)) == (pieces[2], pieces[0], pieces[1])
    assert (place.after(pieces[0]), place.after(pieces[1])) == (pieces[1], None)
    assert (place.is_here(pieces[0]), place.is_here(pieces[1])) == (True, False)
    assert not place.is_plain
    assert Place(TOPIC, "a", 7, [Piece(0, 1, "a", 0)]).is_plain
    with pytest.raises(RequestError, match="where queue 7 begins"):
        Place(TOPIC, "a", 7, pieces[2:]).at(0)


def test_a_request_is_changed_in_a_copy() -> None:
    before = call()
    after = changed(before, queue_id=5)
    assert before.header == GetMaxOffsetRequestHeader(topic=TOPIC, queue_id=0)
    assert after.header == GetMaxOffsetRequestHeader(topic=TOPIC, queue_id=5)
    assert after.peer is before.peer
