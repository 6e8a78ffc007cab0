"""The coordinator over a broker: its start and its time."""

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.ha.role import RoleKind
from mqgateway.gateway.broker.replication.write_gate import closed_gate
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode as E
from mqgateway.gateway.kafka.codec.messages.find_coordinator_request import FindCoordinatorRequest
from mqgateway.gateway.kafka.codec.messages.heartbeat_request import HeartbeatRequest
from mqgateway.gateway.kafka.codec.messages.list_groups_request import ListGroupsRequest
from mqgateway.gateway.kafka.coordination import Coordination, group_settings
from mqgateway.gateway.kafka.coordinator.records import Committed, OffsetKey, offset_key, offset_value
from mqgateway.gateway.kafka.coordinator.records_log import MemoryRecordsLog
from mqgateway.gateway.kafka.coordinator.settings import GroupSettings
from tests.gateway.kafka.api.test_groups import join_request, stable
from tests.gateway.kafka.api.test_offsets import commit, fetch
from tests.support.gateway.kafka.broker import KafkaBroker


def test_log_is_read_and_its_offsets_are_in_the_table_of_the_broker() -> None:
    kafka = KafkaBroker()
    log = MemoryRecordsLog()
    committed = Committed(9, 0, "", kafka.clock.millis(), topic_id=kafka.topic_id("orders"))
    log.append([(offset_key(OffsetKey("g", "orders", 0)), offset_value(committed))])
    coordination = Coordination(kafka.operations, kafka.topics, log)
    assert coordination.coordinator.is_loaded
    assert kafka.broker.tables.offsets.query("g", "orders", 0) == 9


class SlowClock(ManualClock):
    """A clock on which each look takes 30 ms."""

    def monotonic(self) -> float:
        self.advance(30)
        return super().monotonic()


def test_long_log_is_read_in_several_ticks() -> None:
    kafka = KafkaBroker()
    log = MemoryRecordsLog()
    for offset in range(2000):
        key = offset_key(OffsetKey("g", "orders", offset % 4))
        log.append([(key, offset_value(Committed(offset, 0, "", 1)))])
    kafka.operations.clock = SlowClock(kafka.clock.millis())
    coordination = Coordination(kafka.operations, kafka.topics, log)
    assert not coordination.coordinator.is_loaded
    for _ in range(20):
        coordination.tick()
    assert coordination.coordinator.is_loaded
    assert kafka.broker.tables.offsets.query("g", "orders", 3) == 1999


def become(kafka: KafkaBroker, kind: RoleKind) -> None:
    """Change the role of a broker, as replication does."""
    kafka.broker.store.gate = None if kind is RoleKind.MASTER else closed_gate(kind)
    kafka.broker.role.become(kind, broker_id=None if kind is RoleKind.MASTER else 1)


def test_slave_makes_no_topic_for_a_client_that_searches_for_the_coordinator() -> None:
    kafka = KafkaBroker()
    become(kafka, RoleKind.SLAVE)
    kafka.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=("g",)))
    assert not any(topic.is_internal for topic in kafka.topics)


def test_slave_is_no_coordinator_and_reads_the_groups_once_it_is_master() -> None:
    kafka = KafkaBroker()
    member = stable(kafka)
    assert commit(kafka, member_id=member, generation_id_or_member_epoch=1)[0] == E.NONE
    [waiting] = [kafka.send(join_request("other"), 3)]
    become(kafka, RoleKind.SLAVE)
    assert [answer.error_code for answer in waiting] == [E.NOT_COORDINATOR]
    heartbeat = HeartbeatRequest("g", 1, member)
    kafka.pass_time(1000)
    assert kafka.ask(heartbeat).error_code == E.NOT_COORDINATOR
    assert kafka.ask(join_request(), 9).error_code == E.NOT_COORDINATOR
    assert set(commit(kafka)) == {E.NOT_COORDINATOR}
    assert not kafka.ask(ListGroupsRequest()).groups
    found = kafka.ask(FindCoordinatorRequest("g", 0), 3)
    assert found.error_code == E.COORDINATOR_NOT_AVAILABLE
    kafka.broker.tables.offsets.remove("g", "my|topic")
    become(kafka, RoleKind.MASTER)
    kafka.pass_time(200)
    assert kafka.ask(heartbeat).error_code == E.NONE
    assert fetch(kafka)[0] == (0, 11, "note", E.NONE)


def test_defaults_of_groups_are_those_of_the_coordinator() -> None:
    kafka = KafkaBroker()
    assert group_settings(kafka.operations.options) == GroupSettings()


def test_settings_of_groups_are_obeyed() -> None:
    options = {
        "kafka_group_min_session_timeout_millis": 20_000,
        "kafka_group_share_max_size": 2,
        "kafka_offset_metadata_max_bytes": 3,
    }
    kafka = KafkaBroker(options=options)
    assert group_settings(kafka.operations.options).share_max_size == 2
    assert kafka.ask(join_request(), 3).error_code == E.INVALID_SESSION_TIMEOUT
    assert commit(kafka) == [E.OFFSET_METADATA_TOO_LARGE, E.NONE, E.OFFSET_METADATA_TOO_LARGE]
