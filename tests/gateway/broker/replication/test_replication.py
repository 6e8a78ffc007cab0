"""A master and its slaves, whole, from the name server to the log."""

from __future__ import annotations

import pytest
from twisted.internet.error import CannotListenError

from mqgateway.engine.ha.role import RoleKind
from mqgateway.engine.options import BrokerRole, FlushDiskType
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.headers import EndTransactionRequestHeader
from tests.support.gateway.broker.group import Group, Member
from tests.support.gateway.broker.helpers import send_header

ASYNC, SYNC, SLAVE = BrokerRole


def pair(role: BrokerRole = ASYNC, **settings: object) -> tuple[Group, Member, Member]:
    """A master and a slave that follows it."""
    group = Group()
    master = group.master(role, **settings)
    return group, master, group.slave(**settings)


def send(master: Member) -> int | None:
    """The code of one send; None while it waits."""
    answer = master.ask(RequestCode.SEND_MESSAGE_V2, send_header("T", queue_id=0), b"x")
    return None if answer is None else answer.code


def test_slave_replicates_its_master() -> None:
    group, master, slave = pair()
    master.send(100, body=b"x" * 100)
    group.wait(1)
    assert slave.log() == master.log()
    assert len(master.log()) > 8192
    assert slave.bodies() == master.bodies()


def test_late_slave_gets_the_newest_file() -> None:
    group = Group()
    master = group.master()
    master.send(100, body=b"x" * 100)
    slave = group.slave()
    group.wait(1)
    assert slave.store.raw.min_offset > 0
    assert master.log().endswith(slave.log())


@pytest.mark.parametrize("who", ["master", "slave"])
def test_late_slave_gets_the_whole_log_if_configured(who: str) -> None:
    group = Group()
    master = group.master(ha_copy_whole_log=who == "master")
    master.send(100, body=b"x" * 100)
    slave = group.slave(ha_copy_whole_log=who == "slave")
    group.wait(6)
    assert slave.log() == master.log()
    assert slave.bodies() == master.bodies()


def test_runtime_info_has_both_offsets() -> None:
    """As `mqadmin haStatus` shows it."""
    group, master, slave = pair()
    master.send(3)
    group.wait(2)
    end = master.store.raw.position
    status = master.ha_status()
    (connection,) = status["haConnectionInfo"]
    assert (status["master"], status["inSyncSlaveNums"], status["masterCommitLogMaxOffset"]) == (True, 1, end)
    assert (connection["slaveAckOffset"], connection["diff"], connection["inSync"]) == (end, 0, True)
    assert connection["addr"] == "10.0.0.2:50000"
    of_slave = slave.ha_status()["haClientRuntimeInfo"]
    assert (of_slave["masterAddr"], of_slave["maxOffset"]) == ("10.0.0.1:10912", end)
    assert of_slave["lastReadTimestamp"] <= group.clock.millis()


def test_slave_resumes_after_the_loss_of_its_master() -> None:
    group, master, slave = pair()
    master.send(3)
    master.stop()
    assert not slave.service.group.replication.follows
    master.begin(ASYNC, 0)
    master.send(3)
    group.wait(10)
    assert slave.log() == master.log()
    assert slave.problem == ""


def test_slave_resumes_after_its_own_absence() -> None:
    group, master, slave = pair()
    master.send(3)
    slave.kill()
    master.send(3)
    slave.begin(SLAVE, 1)
    group.wait(1)
    assert slave.log() == master.log()
    assert slave.bodies() == master.bodies()


def test_roles_change_hands() -> None:
    """The master stops cleanly, its slave becomes master, and it comes back as slave."""
    group, master, slave = pair()
    master.send(5)
    master.stop()
    slave.stop()
    slave.begin(ASYNC, 0)
    slave.send(5)
    master.begin(SLAVE, 1)
    group.wait(1)
    assert master.log() == slave.log()
    assert len(master.bodies()) == 10


def test_a_master_that_stops_waits_until_its_slaves_have_everything() -> None:
    group, master, slave = pair()
    server = master.service.group.replication.server
    server.connections[0].pauseProducing()
    master.send(3)
    master.service.stop()
    group.wait(1)
    assert server.connections
    server.connections[0].resumeProducing()
    group.wait(1)
    assert not server.connections
    assert slave.bodies() == [b"hello"] * 3


def test_slaves_also_get_what_a_master_writes_as_it_stops() -> None:
    """Which half messages have ended is written down in batches; the last batch comes with the stop."""
    group, master, slave = pair()
    half = send_header("T", {"TRAN_MSG": "true", "PGROUP": "PG", "UNIQ_KEY": "K1"}, queue_id=0, sys_flag=4)
    answer = master.ask(RequestCode.SEND_MESSAGE_V2, half, b"x")
    assert answer is not None and answer.code == 0
    offset = int(answer.ext_fields["msgId"][-16:], 16)
    end = EndTransactionRequestHeader(
        producer_group="PG",
        tran_state_table_offset=int(answer.ext_fields["queueOffset"]),
        commit_log_offset=offset,
        commit_or_rollback=8,
        msg_id="K1",
        transaction_id="K1",
    )
    master.ask(RequestCode.END_TRANSACTION, end)
    group.wait(0.2)
    before = master.store.raw.position
    master.stop()
    group.wait(1)
    assert master.store.raw.position > before
    assert slave.log() == master.log()


def test_diverged_log_is_not_changed() -> None:
    group, master, slave = pair()
    master.send(3)
    master.stop()
    slave.stop()
    slave.begin(ASYNC, 0)
    slave.send(1, body=b"only here")
    slave.stop()
    before = slave.log()
    master.begin(ASYNC, 0)
    master.send(1, body=b"only there")
    slave.begin(SLAVE, 1)
    group.wait(6)
    assert "has another record" in slave.problem
    assert slave.log() == before


def test_a_slave_that_is_ahead_does_not_follow() -> None:
    group, master, slave = pair()
    master.send(3)
    master.stop()
    slave.stop()
    slave.begin(ASYNC, 0)
    slave.send(2)
    slave.stop()
    master.begin(ASYNC, 0)
    slave.begin(SLAVE, 1)
    group.wait(6)
    assert "we have what it does not have" in slave.problem
    assert master.service.group.replication.server.connections == []


def test_a_send_waits_for_the_slave() -> None:
    group, master, _ = pair(SYNC, in_sync_replicas=2)
    assert send(master) == 0
    master.service.group.replication.server.connections[0].pauseProducing()
    assert send(master) is None
    master.service.group.replication.server.connections[0].resumeProducing()
    group.wait(0.5)
    assert [answer.code for answer in master.talker.take()] == [0]


def test_send_without_slaves_is_stored_but_reported_as_not_replicated() -> None:
    group = Group()
    master = group.master(SYNC, in_sync_replicas=2)
    assert send(master) is None
    group.wait(4)
    assert [answer.code for answer in master.talker.take()] == [12]
    assert master.bodies() == [b"x"]


def test_send_can_opt_out_of_waiting() -> None:
    master = Group().master(SYNC, in_sync_replicas=2)
    header = send_header("T", properties={"WAIT": "false"})
    assert master.code(RequestCode.SEND_MESSAGE_V2, header, b"x") == 0


def test_half_messages_are_waited_for_too() -> None:
    """They wake no reader."""
    _, master, _ = pair(SYNC, in_sync_replicas=2)
    header = send_header("T", properties={"TRAN_MSG": "true", "PGROUP": "PG", "UNIQ_KEY": "K"}, sys_flag=4)
    assert master.code(RequestCode.SEND_MESSAGE_V2, header, b"x") == 0


def test_send_without_enough_slaves_is_refused_before_the_put() -> None:
    master = Group().master(SYNC, in_sync_replicas=2, min_in_sync_replicas=2)
    answer = master.ask(RequestCode.SEND_MESSAGE_V2, send_header("T"), b"x")
    assert answer is not None
    assert (answer.code, answer.remark) == (1, "in-sync replicas not enough")
    assert master.bodies() == []


def test_send_waits_for_disk_and_slave() -> None:
    """With SYNC_FLUSH everywhere an acknowledged message is on both disks."""
    group, master, slave = pair(SYNC, in_sync_replicas=2, flush_disk_type=FlushDiskType.SYNC_FLUSH)
    assert send(master) == 0
    assert slave.store.flushed_offset == master.store.flushed_offset == master.store.raw.position
    slave.kill()
    assert send(master) is None
    group.wait(4)
    assert [answer.code for answer in master.talker.take()] == [12]


def test_broker_that_never_waits_for_slaves_only_dispatches() -> None:
    _, master, _ = pair()
    assert master.service.group.replication.after_read == master.service.broker.store.dispatch


def test_port_in_use_is_an_error_only_if_configured() -> None:
    group = Group()
    master = group.master()

    def taken(*_: object) -> None:
        raise CannotListenError("", 10912, OSError("in use"))

    replication = master.service.group.replication
    replication.server.listen = taken  # type: ignore[method-assign]
    replication.listen("", 10912)
    master.service.broker.store_options.ha_listen_port = 10912
    with pytest.raises(CannotListenError):
        replication.listen("", 10912)


def test_a_new_master_address_is_followed() -> None:
    group, _, slave = pair()
    group.wait(1)
    slave.service.group.replication.on_master("10.0.0.1:12911", "10.0.0.1:12912")
    group.wait(1)
    assert not slave.service.group.replication.follows
    slave.service.group.replication.on_master("10.0.0.1:10911", "10.0.0.1:10912")
    group.wait(1)
    assert slave.service.group.replication.follows


def test_roles_are_swapped_at_run_time() -> None:
    group, master, slave = pair(ha_copy_whole_log=True)
    master.send(3)
    group.wait(14)
    roles = [member.service.broker.role for member in (master, slave)]
    roles[0].become(RoleKind.FENCED)
    roles[1].become(RoleKind.MASTER, epoch=1)
    roles[0].become(RoleKind.SLAVE, broker_id=1, epoch=1)
    group.wait(40)
    slave.send(3)
    group.wait(1)
    assert master.service.group.replication.follows
    assert slave.service.group.replication.client is None
    assert master.log() == slave.log()
    assert slave.bodies() == master.bodies() == [b"hello"] * 6
    assert send(master) == 2


def test_tables_requested_as_a_slave_are_not_adopted_by_a_master() -> None:
    group, _, slave = pair()
    replication = slave.service.group.replication
    tables, client = replication.tables, replication.client
    assert tables is not None and client is not None
    taken: list[bytes] = []
    tables._adopt = dict.fromkeys(tables._adopt, taken.append)
    tables._last_round = None
    tables.tick()
    slave.service.broker.role.become(RoleKind.MASTER, epoch=1)
    group.wait(5)
    assert taken == []
    assert (client.connection, replication.tables) == (None, None)


def test_a_fenced_master_still_serves_its_slaves() -> None:
    group, master, slave = pair()
    master.send(2)
    master.service.broker.role.become(RoleKind.FENCED)
    group.wait(6)
    assert slave.bodies() == master.bodies() == [b"hello"] * 2
