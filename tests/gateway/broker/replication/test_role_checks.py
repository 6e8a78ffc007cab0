"""Answers of a slave with and without a connected master."""

from __future__ import annotations

import pytest

from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import RemotingCommand
from tests.support.gateway.broker.group import Group, Member
from tests.support.gateway.broker.helpers import send_header

SUBSCRIBES, SUSPENDS = 4, 2
BUSY = "[REJECTREQUEST]system busy, start flow control for a while"


class Scene:
    """A master with three messages, and a slave that has them."""

    def __init__(self, **settings: object) -> None:
        self.group = Group()
        self.master: Member = self.group.master()
        self.slave: Member = self.group.slave(**{"slave_read_enable": True, **settings})
        self.master.send(3)
        self.group.wait(14)

    def without_master(self) -> Scene:
        self.master.stop()
        return self


def suggested(answer: RemotingCommand | None) -> tuple[int, str, str]:
    assert answer is not None
    fields = answer.ext_fields
    return answer.code, fields["suggestWhichBrokerId"], fields["nextBeginOffset"]


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_slave_refuses_sends(scene: Scene) -> None:
    answer = scene.slave.ask(RequestCode.SEND_MESSAGE_V2, send_header("T"), b"x")
    assert answer is not None
    assert (answer.code, answer.remark) == (2, BUSY)


def test_slave_serves_pulls_only_if_configured() -> None:
    answer = Scene(slave_read_enable=False).slave.pull()
    assert answer is not None
    assert (answer.code, answer.remark) == (2, BUSY)


def test_readers_are_sent_back_to_the_master(scene: Scene) -> None:
    assert suggested(scene.slave.pull(0)) == (0, "0", "3")


def test_reader_at_the_end_of_a_queue_goes_to_the_master_at_once(scene: Scene) -> None:
    assert suggested(scene.slave.pull(3, SUBSCRIBES | SUSPENDS)) == (20, "0", "3")


def test_without_the_master_readers_wait_here(scene: Scene) -> None:
    scene.without_master()
    assert scene.slave.pull(3, SUBSCRIBES | SUSPENDS) is None
    assert suggested(scene.slave.pull(0)) == (0, "0", "3")


def test_readers_return_to_a_returned_master(scene: Scene) -> None:
    scene.without_master()
    assert scene.slave.pull(3, SUBSCRIBES | SUSPENDS) is None
    talker = scene.slave.talker
    scene.master.begin(scene.master.store._options.broker_role, 0)
    scene.group.wait(8)
    (answer,) = talker.take()
    assert suggested(answer) == (20, "0", "3")


def test_offsets_are_not_corrected_on_a_slave_that_may_lag(scene: Scene) -> None:
    scene.without_master()
    assert suggested(scene.slave.pull(900)) == (20, "0", "900")


def test_offsets_are_corrected_if_configured() -> None:
    scene = Scene(offset_check_in_slave=True).without_master()
    assert suggested(scene.slave.pull(900)) == (21, "0", "3")


def test_readers_are_sent_to_the_master_unless_they_lag_far(
    scene: Scene,
) -> None:
    broker = scene.slave.service.broker
    group = broker.tables.groups.get("G") or SubscriptionGroupConfig("G")
    group.broker_id = group.which_broker_when_consume_slowly = 1
    broker.tables.groups.put(group)
    assert suggested(scene.slave.pull(0)) == (0, "0", "3")
    assert suggested(scene.slave.pull(3, SUBSCRIBES | SUSPENDS)) == (20, "0", "3")
    scene.without_master()
    assert suggested(scene.slave.pull(0)) == (0, "1", "3")
