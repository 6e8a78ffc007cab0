"""Brokers under a controller: they start, follow, die, come back and change their roles."""

from __future__ import annotations

import pytest

from mqgateway.engine.ha import epoch_feed, epoch_follow
from mqgateway.engine.ha.role import RoleKind
from mqgateway.gateway.codec.bodies import TopicRouteData
from mqgateway.gateway.codec.bodies.heartbeat import ConsumerData, HeartbeatData, SubscriptionData
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import RemotingCommand, encode_command
from mqgateway.gateway.codec.headers import GetRouteInfoRequestHeader
from tests.support.gateway.broker.controlled import BrokerSet, Replica
from tests.support.gateway.broker.group import NAME_SERVER
from tests.support.gateway.broker.helpers import pull_header
from tests.support.gateway.remoting.pair import Talker

MASTER, SLAVE, FENCED = RoleKind.MASTER, RoleKind.SLAVE, RoleKind.FENCED


def addresses(brokers: BrokerSet) -> dict[int, str]:
    """Return the addresses in the name servers by id."""
    talker = Talker()
    brokers.net.meet(NAME_SERVER, talker, ("192.168.1.1", brokers.next_port()))
    header = GetRouteInfoRequestHeader(topic="T")
    talker.transport.write(
        encode_command(RemotingCommand.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, header))
    )
    brokers.net.settle()
    (answer,) = talker.take()
    (data,) = TopicRouteData.decode(answer.body).broker_datas
    return data.broker_addrs


def same_logs(*replicas: Replica) -> bool:
    first, *others = [one.log() for one in replicas]
    return all(other == first for other in others)


def test_first_replica_becomes_master_and_others_follow() -> None:
    brokers = BrokerSet()
    master, slave = brokers.pair()
    master.send(5)
    brokers.wait(1)
    assert slave.bodies() == [b"hello"] * 5
    assert same_logs(master, slave)
    assert addresses(brokers) == {0: "10.0.0.1:11911", 2: "10.0.0.1:12911"}
    assert slave.disk.read_bytes("/store/brokerIdentity") == b"DefaultCluster#b1#2"
    assert master.disk.read_bytes("/store/epochFileCheckpoint").endswith(b"\n1-0\n")
    assert slave.disk.read_bytes("/store/epochFileCheckpoint").endswith(b"\n1-0\n")


def test_broker_without_its_controller_serves_no_client() -> None:
    brokers = BrokerSet()
    brokers.stop_controller()
    replica = brokers.join(1)
    assert replica.kind is FENCED
    assert replica.try_to_send() == 14
    brokers.start_controller()
    brokers.wait(8)
    assert replica.leads


def consumer_of(replica: Replica) -> Talker:
    """A member of a group that has said so to this broker."""
    talker = Talker()
    replica.group.net.meet(replica.port, talker, ("192.168.1.1", replica.group.next_port()))
    data = ConsumerData(
        group_name="g",
        consume_type="CONSUME_PASSIVELY",
        message_model="CLUSTERING",
        consume_from_where="CONSUME_FROM_LAST_OFFSET",
        unit_mode=False,
        subscription_data_set=[SubscriptionData(topic="T", sub_string="*", sub_version=1)],
    )
    heartbeat = HeartbeatData(client_id="c", producer_data_set=[], consumer_data_set=[data])
    talker.transport.write(
        encode_command(RemotingCommand.request(RequestCode.HEART_BEAT, body=heartbeat.encode()))
    )
    return talker


def test_succession_is_notified_to_consumers() -> None:
    brokers = BrokerSet()
    master, slave = brokers.pair()
    consumer = consumer_of(slave)
    brokers.wait(1)
    consumer.take()
    master.kill()
    brokers.wait(2)
    assert slave.leads
    (reported_epoch,) = consumer.take()
    assert reported_epoch.code == RequestCode.NOTIFY_CONSUMER_IDS_CHANGED
    assert reported_epoch.ext_fields == {"consumerGroup": "g"}


def test_dead_master_is_replaced_and_follows_on_return() -> None:
    brokers = BrokerSet()
    master, slave = brokers.pair()
    master.send(5)
    master.kill()
    brokers.wait(2)
    assert slave.leads
    assert addresses(brokers)[0] == "10.0.0.1:12911"
    slave.send(5, body=b"later")
    assert slave.bodies() == [b"hello"] * 5 + [b"later"] * 5
    master.again()
    brokers.wait(8)
    assert (master.kind, slave.in_sync) == (SLAVE, {1, 2})
    slave.send(1, body=b"both")
    brokers.wait(1)
    assert same_logs(master, slave)
    assert master.service.broker.role.state.epoch == 2


def test_message_of_only_the_dead_master_is_truncated() -> None:
    """It was never acknowledged."""
    brokers = BrokerSet()
    master, slave = brokers.pair()
    master.send(3)
    slave.host.is_cut = True
    assert master.try_to_send(b"alone") is None
    longer = master.store.max_physical_offset
    master.kill()
    slave.host.is_cut = False
    brokers.wait(4)
    assert slave.leads
    slave.send(1, body=b"new")
    master.again()
    brokers.wait(10)
    assert longer > 0
    assert master.bodies() == [b"hello"] * 3 + [b"new"]
    slave.send(1, body=b"both")
    brokers.wait(1)
    assert same_logs(master, slave)
    assert slave.in_sync == {1, 2}


def test_unconfirmed_message_is_not_read_after_a_start() -> None:
    """It may be truncated when this broker follows the next master, which reuses its offset."""
    brokers = BrokerSet()
    master, slave = brokers.pair()
    master.send(3)
    # The checkpoint has how far the log is confirmed.
    brokers.wait(70)
    assert master.store._checkpoint.confirm_physical_offset == master.store.max_physical_offset
    slave.host.is_cut = True
    assert master.try_to_send(b"of mine alone") is None
    brokers.stop_controller()
    master.kill().again()
    assert master.kind is FENCED
    assert master.code(RequestCode.PULL_MESSAGE, pull_header(offset=3, sys_flag=4, subscription="*")) == 19
    assert master.bodies() == [b"hello"] * 3
    brokers.start_controller()
    slave.host.is_cut = False
    brokers.wait(40)
    assert slave.kind is not master.kind and same_logs(master, slave)
    assert master.bodies() == slave.bodies()


def test_restarted_master_waits_for_an_election() -> None:
    """The controller was away: what others have of the epoch may not be in this log any more."""
    brokers = BrokerSet()
    master, slave = brokers.pair()
    brokers.kill_controller()
    master.kill(seed=1)
    master.again()
    brokers.start_controller()
    brokers.wait(3)
    assert not master.leads
    brokers.wait(20)
    assert slave.leads
    assert master.kind is SLAVE
    assert slave.in_sync == {1, 2}


def test_an_operator_changes_the_master() -> None:
    brokers = BrokerSet()
    master, slave = brokers.pair()
    master.send(3)
    assert brokers.elect(2) == 0
    brokers.wait(3)
    assert (master.kind, slave.leads) == (SLAVE, True)
    assert slave.in_sync == {1, 2}
    assert slave.try_to_send() == 0
    assert master.try_to_send() == 2
    assert addresses(brokers) == {0: "10.0.0.1:12911", 1: "10.0.0.1:11911"}


def test_sends_wait_for_a_lost_slave_until_the_set_shrinks() -> None:
    brokers = BrokerSet()
    master, slave = brokers.pair()
    brokers.kill_controller()
    slave.kill()
    assert master.try_to_send(seconds=0.5) is None
    brokers.wait(2)
    assert master.try_to_send() == 14
    assert master.in_sync == {1, 2}
    brokers.start_controller()
    brokers.wait(8)
    assert master.in_sync == {1}
    assert master.try_to_send() == 0


def test_complete_set_survives_the_loss_of_all_controllers() -> None:
    brokers = BrokerSet()
    master, slave = brokers.pair()
    brokers.stop_controller()
    brokers.wait(30)
    assert master.try_to_send() == 0
    assert (master.kind, slave.kind) == (MASTER, SLAVE)


def test_isolated_master_acknowledges_nothing_before_an_election() -> None:
    """Not even a send that waits for no slave."""
    brokers = BrokerSet(all_ack_in_sync_state_set=False)
    master, slave = brokers.pair()
    assert master.try_to_send() == 0
    master.host.is_cut = True
    seen = []
    for _ in range(30):
        brokers.wait(0.5)
        seen.append((master.kind, slave.kind))
        assert not (master.leads and slave.leads)
    assert (FENCED, SLAVE) in seen
    assert seen[-1] == (FENCED, MASTER)
    master.host.is_cut = False
    brokers.wait(8)
    assert master.kind is SLAVE


def test_frozen_master_acknowledges_nothing() -> None:
    """Its sockets are full of sends when it wakes up; another one is elected."""
    brokers = BrokerSet(all_ack_in_sync_state_set=False)
    master, slave = brokers.pair()
    with master.host.frozen():
        brokers.wait(20)
        assert slave.leads
        waiting = master.ask_later()
    brokers.wait(0.5)
    (answer,) = waiting.take()
    assert answer.code == 14
    brokers.wait(8)
    assert master.kind is SLAVE
    assert same_logs(master, slave)


def test_frozen_slave_is_removed_from_the_set() -> None:
    brokers = BrokerSet()
    master, slave = brokers.pair()
    with slave.host.frozen():
        assert master.try_to_send(seconds=1) is None
        brokers.wait(30)
        assert master.in_sync == {1}
        assert master.try_to_send() == 0
    brokers.wait(10)
    assert master.in_sync == {1, 2}
    assert same_logs(master, slave)


def reported_epoch(replica: Replica) -> int:
    """Return the time that the controller waits for a replica."""
    liveness = replica.brokers.controller.controller._liveness
    number = replica.controlled.number
    return next(liveness.said(key).timeout for key in liveness if key.broker_id == number)


def test_frozen_master_is_replaced_soon() -> None:
    brokers = BrokerSet()
    master, slave = brokers.pair()
    assert (reported_epoch(master), reported_epoch(slave)) == (2500, 2500)
    with master.host.frozen():
        brokers.wait(1.5)
        assert slave.kind is SLAVE
        brokers.wait(2)
        assert slave.leads
        assert addresses(brokers)[0] == "10.0.0.1:12911"
    brokers.wait(5)
    assert master.kind is SLAVE


def test_frozen_slave_is_removed_within_seconds() -> None:
    brokers = BrokerSet()
    master, slave = brokers.pair()
    with slave.host.frozen():
        brokers.wait(2)
        assert master.in_sync == {1, 2}
        brokers.wait(1.5)
        assert master.in_sync == {1}


def test_master_of_rocketmq_replicas_has_a_longer_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    """They show up each 5 s, and it must know from them alone that it is master still."""
    monkeypatch.setattr(epoch_follow, "REPORT_MILLIS", 5000)
    monkeypatch.setattr(epoch_feed, "PROMPT_MILLIS", -1)
    brokers = BrokerSet()
    master, slave = brokers.pair()
    assert (reported_epoch(master), reported_epoch(slave)) == (10_000, 2500)
    brokers.stop_controller()
    for _ in range(30):
        brokers.wait(1)
        assert master.leads
    brokers.start_controller()
    with master.host.frozen():
        brokers.wait(8)
        assert slave.kind is SLAVE
        brokers.wait(4)
        assert slave.leads


def test_rocketmqs_timeout_can_be_configured() -> None:
    brokers = BrokerSet(prompt_heart_beat_timeout_mills=10_000)
    master, _ = brokers.pair()
    assert reported_epoch(master) == 10_000


@pytest.mark.parametrize("is_first", [True, False])
def test_log_without_a_controller_is_continued(is_first: bool) -> None:
    """A master and a slave of old come under a controller: their logs are one, and stay so."""
    brokers = BrokerSet()
    master, slave = brokers.pair()
    master.send(3)
    brokers.wait(1)
    for one in (master, slave):
        one.kill()
        one.disk.lose("/store/epochFileCheckpoint")
    brokers.forget()
    first, second = (master, slave) if is_first else (slave, master)
    first.again()
    brokers.wait(8)
    second.again()
    brokers.wait(8)
    assert first.leads
    first.send(1, body=b"new")
    brokers.wait(1)
    assert second.bodies() == [b"hello"] * 3 + [b"new"]
    assert same_logs(first, second)
