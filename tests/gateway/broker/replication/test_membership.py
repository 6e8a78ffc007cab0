"""A slave that acts for its master, whole: from the name server to the messages that come out elsewhere."""

from __future__ import annotations

import pytest
from twisted.internet.defer import Deferred

from mqgateway.engine.lenient_json import loads
from mqgateway.gateway.codec.bodies import KVTable
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.headers import PopMessageRequestHeader
from tests.support.gateway.broker.acting import ASYNC, GONE, SLAVE, Scene
from tests.support.gateway.broker.group import Group, Member
from tests.support.gateway.broker.helpers import send_header

pytestmark = pytest.mark.usefixtures("short_wheel")


def brokers(scene: Scene) -> dict[str, dict[int, str]]:
    """Return the brokers in the name server."""
    tables = scene.group.name_server.namesrv.tables
    return {name: dict(data.broker_addrs) for name, data in tables.brokers.items()}


def test_slave_acts_while_its_master_is_lost() -> None:
    scene = Scene()
    assert brokers(scene)["b1"] == {0: "10.0.0.1:10911", 1: "10.0.0.1:11911"}
    assert not scene.acts
    scene.lose_master()
    assert brokers(scene)["b1"] == {1: "10.0.0.1:11911"}
    assert scene.acts
    scene.return_master()
    assert not scene.acts
    assert scene.slave.service.group.replication.follows
    assert brokers(scene)["b1"].keys() == {0, 1}


def test_master_that_stops_cleanly_is_replaced_at_once() -> None:
    """The name server tells its slave (905), which need not ask."""
    scene = Scene(sync_broker_member_group_period=3_600_000)
    scene.master.stop()
    scene.group.wait(1)
    assert scene.acts


def test_delayed_message_is_delivered_by_another_broker_on_time_and_once() -> None:
    scene = Scene()
    scene.send(b"before", DELAY="1")
    scene.group.wait(2)
    scene.send(b"later", DELAY="5")
    scene.lose_master()
    assert scene.other.bodies() == []
    scene.group.wait(60)
    assert scene.other.bodies() == [b"later"]
    assert scene.master.disk is not None
    scene.return_master()
    scene.group.wait(70)
    assert scene.master.bodies() == [b"before"]
    assert scene.slave.log() == scene.master.log()


def test_timers_continue_elsewhere() -> None:
    scene = Scene()
    now = scene.group.clock.millis()
    for seconds in (2, 40, 300):
        scene.send(b"%d" % seconds, TIMER_DELIVER_MS=str(now + seconds * 1000))
    scene.group.wait(4)
    assert scene.master.bodies() == [b"2"]
    scene.lose_master()
    scene.group.wait(40)
    assert scene.other.bodies() == [b"40"]
    scene.return_master()
    scene.group.wait(300)
    assert scene.master.bodies() == [b"2", b"300"]
    assert scene.other.bodies() == [b"40"]


def test_open_transactions_move_to_another_broker() -> None:
    scene = Scene(transaction_check_interval=10_000)
    assert scene.send(b"half", TRAN_MSG="true", PGROUP="PG") == 0
    scene.group.wait(1)
    scene.lose_master()
    scene.group.wait(20)
    halves = scene.other.bodies("RMQ_SYS_TRANS_HALF_TOPIC")
    assert halves == [b"half"]
    scene.return_master()
    assert scene.master.service.broker.transactions._halves.settled.progress == 1


def test_messages_wait_for_the_master_without_another_broker() -> None:
    scene = Scene()
    scene.send(b"later", DELAY="3")
    scene.other.stop()
    scene.lose_master()
    scene.group.wait(30)
    scene.return_master()
    scene.group.wait(5)
    assert scene.master.bodies() == [b"later"]


def test_without_escape_a_slave_delivers_nothing() -> None:
    scene = Scene(enable_remote_escape=False)
    scene.lose_master()
    assert scene.slave.service.group.membership.group.acts
    assert not scene.acts


def test_offsets_that_were_committed_to_the_slave_reach_the_master() -> None:
    scene = Scene()
    scene.master.send(5)
    scene.group.wait(1)
    scene.lose_master()
    scene.slave.commit(4)
    scene.return_master()
    assert scene.master.committed() == 4


def test_readers_stay_with_an_acting_slave_until_the_master_returns() -> None:
    scene = Scene()
    scene.master.send(3)
    scene.group.wait(1)
    found = scene.slave.pull()
    assert found is not None and found.ext_fields["suggestWhichBrokerId"] == "0"
    scene.lose_master()
    found = scene.slave.pull()
    assert found is not None and found.code == 0
    waiting = scene.slave.pull(3, 4 | 2)
    assert waiting is None
    talker = scene.slave.talker
    scene.return_master()
    (released,) = talker.take()
    assert released.ext_fields["suggestWhichBrokerId"] == "0"


def test_acting_slave_refuses_sends() -> None:
    scene = Scene()
    scene.lose_master()
    answer = scene.slave.ask(RequestCode.SEND_MESSAGE_V2, send_header("T"), b"x")
    assert answer is not None and answer.code == 14
    answer = scene.slave.ask(RequestCode.GET_BROKER_RUNTIME_INFO)
    assert answer is not None
    assert KVTable.decode(answer.body).table["brokerActive"] == "true"


def test_a_master_that_is_cut_off_from_the_name_servers_is_not_replaced() -> None:
    """Its stream is alive: it does its work, and its slave would do it once more."""
    scene = Scene()
    scene.slave.service.group.membership.noticed(1, "10.0.0.1:11911", "")
    assert scene.slave.service.group.membership.group.acts
    assert not scene.acts


def test_a_master_comes_online_only_when_its_slave_follows() -> None:
    scene = Scene()
    scene.lose_master()
    scene.slave.service.group.replication.client.ha_address = ""
    scene.slave.service.group.replication.follow = lambda *_: None  # type: ignore[method-assign]
    scene.slave.service.group.membership._follow = lambda *_: None
    scene.master.begin(ASYNC, 0)
    scene.group.wait(10)
    assert brokers(scene)["b1"].keys() == {1}
    assert not scene.master.service.group.services.is_on
    scene.group.wait(60)
    assert brokers(scene)["b1"].keys() == {0, 1}, "it cannot wait for ever"
    assert scene.master.service.group.membership.coming.left_out == ["10.0.0.1:11911"]


def test_a_slave_comes_online_only_when_it_follows() -> None:
    scene = Scene()
    scene.slave.stop()
    scene.master.send(3)
    scene.slave.begin(SLAVE, 1)
    scene.group.wait(5)
    assert brokers(scene)["b1"].keys() == {0, 1}
    assert scene.slave.bodies() == [b"hello"] * 3


def test_members_exchange_replication_addresses() -> None:
    scene = Scene()
    answer = scene.master.ask(RequestCode.EXCHANGE_BROKER_HA_INFO)
    assert answer is not None
    assert answer.ext_fields["masterHaAddress"] == "10.0.0.1:10912"
    assert answer.ext_fields["masterAddress"] == "10.0.0.1:10911"
    answer = scene.slave.ask(RequestCode.EXCHANGE_BROKER_HA_INFO)
    assert answer is not None
    assert (answer.code, answer.ext_fields) == (0, {})


@pytest.mark.parametrize("compatible", [True, False])
def test_members_are_queried_in_both_versions(compatible: bool) -> None:
    scene = Scene(compatible_with_old_name_srv=compatible)
    scene.group.wait(40)
    assert brokers(scene)["b1"].keys() == {0, 1}, "heartbeats keep them there"
    group = scene.slave.service.group.membership.group
    assert (group.alive, group.min_address) == (2, "10.0.0.1:10911")
    replicas = scene.master.service.broker.produce.durability.replicas
    assert replicas.alive == 2
    scene.slave.kill()
    scene.group.wait(25)
    assert replicas.alive == 1


def test_broker_without_the_setting_is_online_at_once() -> None:
    group = Group()
    master = group.master()
    membership = master.service.group.membership
    assert membership.is_online
    membership.noticed(1, "10.0.0.1:11911", "")
    assert membership.group.min_id == 0
    assert master.service.group.services.is_on


def test_failed_takeover_of_a_slave_is_retried() -> None:
    scene = Scene()
    timers = scene.slave.service.broker.timers

    def fails(_: object) -> None:
        raise OSError("no room")

    timers.take_over = fails  # type: ignore[method-assign]
    scene.lose_master()
    assert not scene.acts
    del timers.take_over  # type: ignore[method-assign]
    scene.group.wait(1)
    assert scene.acts


def test_acting_slave_keeps_its_own_delay_offsets() -> None:
    scene = Scene()
    scene.send(b"later", DELAY="5")
    scene.group.wait(1)
    scene.lose_master()
    scene.group.wait(60)
    answer = scene.slave.ask(RequestCode.GET_ALL_DELAY_OFFSET)
    assert answer is not None
    assert loads(answer.body)["offsetTable"] == {5: 1}


def test_a_second_slave_does_not_act() -> None:
    scene = Scene(total_replicas=3)
    second = Member(scene.group, 12911, SLAVE, 2, **scene.settings)
    scene.group.wait(15)
    scene.lose_master()
    assert scene.acts
    assert not second.service.group.services.is_on
    scene.slave.stop()
    scene.group.wait(GONE)
    assert second.service.group.services.is_on


def test_a_broker_that_stops_before_it_is_online_is_never_registered() -> None:
    scene = Scene()
    scene.lose_master()
    scene.master.begin(ASYNC, 0)
    assert not scene.master.service.group.membership.is_online
    scene.master.stop()
    scene.group.wait(10)
    assert brokers(scene)["b1"].keys() == {1}
    assert not scene.master.service.group.membership.is_online


def test_popped_and_unacknowledged_message_is_redelivered_by_another_broker() -> None:
    """Its checkpoint is sent to the other broker, which reads the message from the acting slave."""
    scene = Scene()
    scene.other.service.broker.tables.groups.find("G")
    scene.master.send(body=b"popped")
    header = PopMessageRequestHeader(
        consumer_group="G",
        topic="T",
        queue_id=0,
        max_msg_nums=8,
        invisible_time=40_000,
        poll_time=0,
        init_mode=0,
        exp_type="TAG",
        exp="*",
    )
    assert scene.master.code(RequestCode.POP_MESSAGE, header) == 0
    scene.group.wait(1)
    scene.lose_master()
    scene.group.wait(40)
    assert scene.other.bodies("%RETRY%G_T") == [b"popped"]
    scene.return_master()
    scene.group.wait(30)
    assert scene.master.store.max_offset("%RETRY%G_T", 0) == 0


def test_acting_slave_copies_no_tables() -> None:
    """A master that is there again, but not registered yet, is behind it."""
    scene = Scene()
    scene.lose_master()
    tables = scene.slave.service.group.replication.tables
    assert tables is not None
    asked: list[object] = []

    def ask(address: str, command: object) -> Deferred[RemotingCommand]:
        asked.append(command)
        return Deferred()

    tables._ask = ask
    scene.group.wait(20)
    assert asked == []
