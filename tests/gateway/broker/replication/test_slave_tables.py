"""A slave knows what its master knows."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.defer import Deferred, fail, succeed

from mqgateway.engine.lenient_json import dumps, loads
from mqgateway.engine.options import BrokerRole
from mqgateway.gateway.broker.acting.services import restore_topics
from mqgateway.gateway.broker.replication.slave_tables import SlaveTables
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.remoting.exchange import PeerGone
from tests.support.gateway.broker.group import Group
from tests.support.gateway.broker.helpers import MemoryBroker, plain_message

ANSWERS: dict[int, Any] = {
    RequestCode.GET_ALL_TOPIC_CONFIG: {
        "dataVersion": {"counter": 9, "timestamp": 1},
        "topicConfigTable": {"N": {"topicName": "N", "readQueueNums": 2, "writeQueueNums": 2, "perm": 6}},
        "mappingDataVersion": {"counter": 5, "timestamp": 1},
        "topicQueueMappingDetailMap": {"N": {"topic": "N", "bname": "broker-a", "totalQueues": 1}},
    },
    RequestCode.GET_ALL_CONSUMER_OFFSET: {
        "dataVersion": {"counter": 3, "timestamp": 1},
        "offsetTable": {"T@G": {0: 0}, "odd": {0: 1}},
    },
    RequestCode.GET_ALL_DELAY_OFFSET: {"dataVersion": {"counter": 2}, "offsetTable": {3: 7}},
    RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG: {
        "dataVersion": {"counter": 4},
        "forbiddenTable": {"G": {"T": 1}},
        "subscriptionGroupTable": {"G": {"groupName": "G", "retryMaxTimes": 3}},
    },
    RequestCode.GET_ALL_MESSAGE_REQUEST_MODE: {
        "messageRequestModeMap": {"T": {"G": {"mode": "POP", "popShareQueueNum": 2}}}
    },
}


class Scene:
    """A slave's tables, and a master that answers as a test wants."""

    def __init__(self) -> None:
        self.memory = MemoryBroker(store_options={"broker_role": BrokerRole.SLAVE})
        self.answers = dict(ANSWERS)
        self.asked: list[int] = []
        self.tables = SlaveTables(self.memory.broker, self.ask, "10.0.0.2:10911")
        self.tables.master_address = "10.0.0.1:10911"

    def ask(self, address: str, command: RemotingCommand) -> Deferred[RemotingCommand]:
        assert address == "10.0.0.1:10911"
        self.asked.append(command.code)
        answer = self.answers[command.code]
        if isinstance(answer, Exception):
            return fail(answer)
        if isinstance(answer, int):
            return succeed(RemotingCommand.response(answer, remark="no", request=command))
        return succeed(RemotingCommand.response(0, body=dumps(answer), request=command))

    def round(self) -> None:
        self.memory.clock.advance(10_000)
        self.tables.tick()


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_all_tables_are_copied(scene: Scene) -> None:
    scene.round()
    broker = scene.memory.broker
    assert broker.tables.topics.names() == ["N"]
    assert broker.tables.topics.data_version.counter == 9
    assert broker.tables.mappings.table["N"].total_queues == 1
    group = broker.tables.groups.get("G")
    assert group is not None and group.retry_max_times == 3
    assert broker.tables.groups.forbidden("G", "T") == 1
    assert broker.tables.offsets.query("G", "T", 0) == 0
    assert broker.tables.offsets.data_version.counter == 3
    assert broker.delays.offsets == {3: 7}
    mode = broker.tables.request_modes.get("T", "G")
    assert mode is not None and mode.share == 2


def test_adopted_tables_are_written_to_files(scene: Scene) -> None:
    scene.round()
    scene.memory.broker.delays.persist()
    read = scene.memory.disk.read_bytes
    assert list(loads(read("/store/config/topics.json"))["topicConfigTable"]) == ["N"]
    assert loads(read("/store/config/delayOffset.json"))["offsetTable"] == {3: 7}
    assert "G" in loads(read("/store/config/subscriptionGroup.json"))["subscriptionGroupTable"]
    assert "T" in loads(read("/store/config/messageRequestMode.json"))["messageRequestModeMap"]


def test_rounds_follow_the_interval(scene: Scene) -> None:
    scene.tables.tick()
    scene.tables.tick()
    assert len(scene.asked) == 5
    scene.memory.clock.advance(9_999)
    scene.tables.tick()
    assert len(scene.asked) == 5
    scene.memory.clock.advance(1)
    scene.tables.tick()
    assert len(scene.asked) == 10


@pytest.mark.parametrize("address", ["", "10.0.0.2:10911"])
def test_nothing_is_requested_without_a_master(scene: Scene, address: str) -> None:
    scene.tables.master_address = address
    scene.round()
    assert scene.asked == []


@pytest.mark.parametrize(
    "answer",
    [7, {"topicConfigTable": {"X": {"perm": 6}}, "dataVersion": {"counter": 1}}, [1]],
)
def test_failed_table_does_not_block_the_others(scene: Scene, answer: object) -> None:
    scene.answers[RequestCode.GET_ALL_TOPIC_CONFIG] = answer
    before = scene.memory.broker.tables.topics.names()
    scene.round()
    assert scene.memory.broker.tables.topics.names() == before
    assert scene.memory.broker.delays.offsets == {3: 7}


def test_loss_of_the_master_ends_the_round(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    scene.answers[RequestCode.GET_ALL_TOPIC_CONFIG] = PeerGone("gone")
    scene.round()
    scene.round()
    assert scene.asked == [RequestCode.GET_ALL_TOPIC_CONFIG] * 2
    assert sum("gone" in record.message for record in caplog.records) == 1
    scene.answers = ANSWERS
    scene.round()
    assert scene.memory.broker.tables.topics.names() == ["N"]


def test_slave_copies_topics_and_offsets() -> None:
    """And keeps what was committed to it while the master was away, until that has news."""
    group = Group()
    master = group.master()
    slave = group.slave()
    master.create("N")
    master.send(8)
    master.commit(2)
    group.wait(14)
    assert slave.service.broker.tables.topics.get("N") is not None
    assert slave.committed() == 2
    master.stop()
    slave.commit(5)
    master.begin(BrokerRole.ASYNC_MASTER, 0)
    group.wait(26)
    assert (master.committed(), slave.committed()) == (2, 5)
    master.commit(6)
    group.wait(12)
    assert slave.committed() == 6


def test_topic_deleted_by_the_master_loses_queues_and_offsets(scene: Scene) -> None:
    broker = scene.memory.broker
    scene.memory.add_topic("T")
    scene.memory.broker.store.gate = None
    scene.memory.send("T")
    broker.tables.offsets.commit("G", "T", 0, 1)
    scene.answers[RequestCode.GET_ALL_TOPIC_CONFIG] = ANSWERS[RequestCode.GET_ALL_TOPIC_CONFIG] | {
        "deletedTopics": {"T": {"logOffset": broker.store.max_physical_offset}}
    }
    scene.answers[RequestCode.GET_ALL_CONSUMER_OFFSET] = {"dataVersion": {"counter": 3, "timestamp": 1}}
    scene.round()
    assert "T" not in broker.store.queues()
    assert broker.tables.offsets.query("G", "T", 0) == -1
    assert broker.tables.topics.is_past("T", 0)


def test_new_master_does_not_restore_a_deleted_topic_whose_messages_arrived_late(scene: Scene) -> None:
    broker = scene.memory.broker
    broker.store.gate = None
    for name in ("T", "U"):
        broker.store.put(plain_message(name))
    broker.store.dispatch()
    end = broker.store.max_physical_offset
    broker.tables.topics.adopt(
        {"dataVersion": {"counter": 9}, "topicConfigTable": {}, "deletedTopics": {"T": {"logOffset": end}}}
    )
    restore_topics(broker)
    assert "T" not in broker.tables.topics and "T" not in broker.store.queues()
    assert "U" in broker.tables.topics
