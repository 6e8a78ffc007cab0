"""Pops from a slave that acts for its master: another broker keeps the checkpoints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mqgateway.engine.ha.role import RoleKind
from mqgateway.engine.pop import Receipt
from mqgateway.gateway.codec.bodies.pop import BatchAck, BatchAckMessageRequestBody, bit_set
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.headers import (
    AckMessageRequestHeader,
    ChangeInvisibleTimeRequestHeader,
    ChangeInvisibleTimeResponseHeader,
    NotificationRequestHeader,
    NotificationResponseHeader,
    PopMessageRequestHeader,
    PopMessageResponseHeader,
)
from tests.support.gateway.broker.acting import ASYNC, Scene
from tests.support.gateway.broker.group import Member

pytestmark = pytest.mark.usefixtures("short_wheel")

RETRY = "%RETRY%G_T"
INVISIBLE = 15_000
AFTER = 22
"""Seconds after which what was not acknowledged is there again."""


def pop(member: Member, *, seconds: float = 0.2, **fields: Any) -> RemotingCommand | None:
    """One pop of up to three messages."""
    usual: dict[str, Any] = {
        "consumer_group": "G",
        "topic": "T",
        "queue_id": 0,
        "max_msg_nums": 3,
        "invisible_time": INVISIBLE,
        "poll_time": 0,
        "init_mode": 0,
        "born_time": member.group.clock.millis(),
    }
    return member.ask(RequestCode.POP_MESSAGE, PopMessageRequestHeader(**usual | fields), seconds=seconds)


def receipts(answer: RemotingCommand | None) -> list[tuple[int, Receipt]]:
    """Return the offset and the receipt of each popped message."""
    assert answer is not None
    assert answer.code == 0, answer.remark
    header = PopMessageResponseHeader.decode(answer.ext_fields)
    start = int(header.start_offset_info.split(" ")[2])
    offsets = [int(each) for each in header.msg_offset_info.split(" ")[2].split(",")]
    receipt = Receipt(start, header.pop_time, header.invisible_time, header.revive_qid, "0", "b1")
    return [(offset, receipt) for offset in offsets]


def acknowledge(member: Member, offset: int, receipt: Receipt) -> int:
    header = AckMessageRequestHeader(
        consumer_group="G", topic="T", queue_id=0, extra_info=receipt.of_message(0, offset), offset=offset
    )
    answer = member.ask(RequestCode.ACK_MESSAGE, header, seconds=0.2)
    assert answer is not None
    return answer.code


@pytest.fixture
def scene() -> Scene:
    """The master had nine messages, and is gone."""
    scene = Scene()
    for number in range(9):
        scene.send(b"%d" % number)
    scene.group.wait(1)
    return scene


def again(scene: Scene) -> list[bytes]:
    """Return the bodies that the other broker has for the group."""
    return scene.other.bodies(RETRY)


def test_slave_delivers_nothing_while_its_master_is_online(scene: Scene) -> None:
    answer = pop(scene.slave)
    assert answer is not None and answer.code == ResponseCode.SYSTEM_BUSY
    assert acknowledge(scene.slave, 0, Receipt(0, 1, INVISIBLE, 0, "0", "b1")) == ResponseCode.SYSTEM_BUSY


def test_unacknowledged_message_is_redelivered_by_the_other_broker(scene: Scene) -> None:
    scene.lose_master()
    before = scene.slave.log()
    first, second = receipts(pop(scene.slave)), receipts(pop(scene.slave))
    assert [offset for offset, _ in first + second] == [0, 1, 2, 3, 4, 5]
    for offset, receipt in (first[0], first[2], second[1]):
        assert acknowledge(scene.slave, offset, receipt) == 0
    assert again(scene) == []
    scene.group.wait(AFTER)
    assert again(scene) == [b"1", b"3", b"5"]
    assert scene.slave.log() == before


def test_batch_is_acknowledged(scene: Scene) -> None:
    scene.lose_master()
    popped = receipts(pop(scene.slave)), receipts(pop(scene.slave))
    acks = [
        BatchAck("G", "T", "0", one[0][1].start_offset, 0, 0, one[0][1].pop_time, INVISIBLE, bit_set([0, 2]))
        for one in popped
    ]
    answer = scene.slave.ask(
        RequestCode.BATCH_ACK_MESSAGE, None, BatchAckMessageRequestBody("b1", acks).encode(), 0.2
    )
    assert answer is not None and answer.code == 0
    scene.group.wait(AFTER)
    assert again(scene) == [b"1", b"4"]


def test_invisible_time_is_changed(scene: Scene) -> None:
    scene.lose_master()
    offset, receipt = receipts(pop(scene.slave, max_msg_nums=1))[0]
    header = ChangeInvisibleTimeRequestHeader(
        consumer_group="G",
        topic="T",
        queue_id=0,
        extra_info=receipt.of_message(0, offset),
        offset=offset,
        invisible_time=2 * INVISIBLE,
    )
    answer = scene.slave.ask(RequestCode.CHANGE_MESSAGE_INVISIBLETIME, header, seconds=0.2)
    assert answer is not None and answer.code == 0
    changed = ChangeInvisibleTimeResponseHeader.decode(answer.ext_fields)
    assert changed.invisible_time == 2 * INVISIBLE
    scene.group.wait(AFTER)
    assert again(scene) == []
    scene.group.wait(INVISIBLE / 1000)
    assert again(scene) == [b"0"]


def test_message_delivered_by_the_master_is_acknowledged_at_the_slave(scene: Scene) -> None:
    """Its checkpoint is delivered to the broker that gets the slave's acknowledgements."""
    popped = receipts(pop(scene.master, invisible_time=60_000))
    scene.group.wait(1)
    scene.lose_master()
    for offset, receipt in popped[:2]:
        assert acknowledge(scene.slave, offset, receipt) == 0
    scene.group.wait(60)
    assert again(scene) == [b"2"]


def test_nothing_is_delivered_without_a_stored_checkpoint(scene: Scene) -> None:
    scene.lose_master()
    scene.other.kill()
    answer = pop(scene.slave, seconds=4)
    assert answer is not None
    assert (answer.code, answer.remark) == (
        ResponseCode.SYSTEM_ERROR,
        "nothing can be delivered: no other broker has stored it",
    )
    scene.other.begin(ASYNC, 0)
    scene.group.wait(15)
    assert [offset for offset, _ in receipts(pop(scene.slave))] == [0, 1, 2]


def test_message_in_flight_is_not_delivered_to_another_consumer(scene: Scene) -> None:
    """The second waits until the first has its answer, and continues after it."""
    scene.lose_master()
    escape = scene.slave.service.group.services._escape
    assert escape is not None
    in_flight: list[Callable[[bool], None]] = []
    escape._send = lambda _, sent: in_flight.append(sent)
    talkers = []
    for _ in range(2):
        assert pop(scene.slave, poll_time=15_000) is None
        talkers.append(scene.slave.talker)
    assert len(in_flight) == 1
    in_flight[0](True)
    scene.group.wait(0)
    (first,) = talkers[0].take()
    assert [offset for offset, _ in receipts(first)] == [0, 1, 2]
    in_flight[1](True)
    scene.group.wait(0)
    (second,) = talkers[1].take()
    assert [offset for offset, _ in receipts(second)] == [3, 4, 5]


def test_returned_master_cancels_the_delivery(scene: Scene) -> None:
    scene.lose_master()
    service = scene.slave.service
    assert service.group.services._escape is not None
    in_flight: list[Callable[[bool], None]] = []
    service.group.services._escape._send = lambda _, sent: in_flight.append(sent)
    assert pop(scene.slave) is None
    service.broker.role.become(RoleKind.SLAVE)
    in_flight[0](True)
    scene.group.wait(0)
    (answer,) = scene.slave.talker.take()
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert service.broker.tables.offsets.query("G", "T", 0) == 0


def test_a_pop_waits_for_messages_until_its_time_is_up(scene: Scene) -> None:
    scene.lose_master()
    receipts(pop(scene.slave, max_msg_nums=32))
    assert pop(scene.slave, poll_time=5000) is None
    talker = scene.slave.talker
    scene.group.wait(5)
    assert [answer.code for answer in talker.take()] == [ResponseCode.POLLING_TIMEOUT]


def test_notification_reports_messages(scene: Scene) -> None:
    scene.lose_master()
    header = NotificationRequestHeader(consumer_group="G", topic="T", queue_id=-1, poll_time=0, born_time=0)
    answer = scene.slave.ask(RequestCode.NOTIFICATION, header)
    assert answer is not None
    assert NotificationResponseHeader.decode(answer.ext_fields).has_msg


def test_ordered_pop_does_not_wait_for_the_other_broker(scene: Scene) -> None:
    scene.lose_master()
    popped = receipts(pop(scene.slave, order=True, seconds=0))
    assert [offset for offset, _ in popped] == [0, 1, 2]
    for offset, receipt in popped:
        ordered = receipt._replace(revive_queue_id=999)
        assert acknowledge(scene.slave, offset, ordered) == 0
    assert [offset for offset, _ in receipts(pop(scene.slave, order=True, seconds=0))] == [3, 4, 5]


def test_master_continues_after_messages_popped_from_the_slave(scene: Scene) -> None:
    scene.lose_master()
    for offset, receipt in receipts(pop(scene.slave)):
        assert acknowledge(scene.slave, offset, receipt) == 0
    scene.return_master()
    assert [offset for offset, _ in receipts(pop(scene.master))] == [3, 4, 5]
    answer = pop(scene.slave)
    assert answer is not None and answer.code == ResponseCode.SYSTEM_BUSY
    scene.group.wait(AFTER)
    assert again(scene) == []
    assert scene.other.bodies() == []


def test_other_broker_keeps_its_own_offset_of_the_group(scene: Scene) -> None:
    """It is killed and reads its log: the check points there say how far the group is at another broker."""
    scene.lose_master()
    receipts(pop(scene.slave))
    scene.other.kill()
    scene.other.begin(ASYNC, 0)
    scene.group.wait(15)
    assert scene.other.service.broker.tables.offsets.query("G", "T", 0) == -1
