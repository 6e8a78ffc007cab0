"""The broker as a whole, asked without a command."""

import pytest

from mqgateway.engine.ha.role import RoleKind
from mqgateway.engine.options import Setting
from mqgateway.gateway.broker.admin import broker as operations
from mqgateway.gateway.broker.errors import OperationError, Reason
from tests.support.gateway.broker.admin import AdminBroker


@pytest.fixture
def memory() -> AdminBroker:
    return AdminBroker()


def test_settings_are_changed_and_counted(memory: AdminBroker) -> None:
    operations.update_settings(memory.broker, [Setting("autoCreateTopicEnable", "false")], 5)
    shown = operations.settings(memory.broker)
    assert "autoCreateTopicEnable=false" in shown.properties.splitlines()
    assert shown.version.counter == 1


@pytest.mark.parametrize(
    ("key", "reason"),
    [("rocketmqHome", Reason.NO_PERMISSION), ("storePathRootDir", Reason.INVALID_PARAMETER)],
)
def test_some_settings_cannot_be_changed(memory: AdminBroker, key: str, reason: Reason) -> None:
    with pytest.raises(OperationError) as refused:
        operations.update_settings(memory.broker, [Setting(key, "x")], 5)
    assert refused.value.reason is reason


def test_figures_are_texts(memory: AdminBroker) -> None:
    memory.add_topic("T")
    memory.fill("T", 3)
    figures = operations.runtime_info(memory.broker)
    assert (figures["msgPutTotalTodayNow"], figures["brokerActive"]) == ("3", "true")


def test_current_role_is_shown(memory: AdminBroker) -> None:
    for kind, broker_id, shown in (
        (RoleKind.MASTER, 0, ("ASYNC_MASTER", "0")),
        (RoleKind.SLAVE, 3, ("SLAVE", "3")),
        (RoleKind.ACTING, 3, ("SLAVE", "3")),
        (RoleKind.FENCED, 3, ("SLAVE", "3")),
        (RoleKind.MASTER, 0, ("ASYNC_MASTER", "0")),
    ):
        memory.broker.role.become(kind, broker_id=broker_id)
        lines = operations.settings(memory.broker).properties.splitlines()
        assert [line for line in lines if line.startswith(("brokerRole=", "brokerId="))] == [
            f"brokerId={shown[1]}",
            f"brokerRole={shown[0]}",
        ]


def test_count_is_returned_by_name_and_key(memory: AdminBroker) -> None:
    memory.add_topic("T")
    memory.fill("T", 2)
    assert operations.count(memory.broker, "TOPIC_PUT_NUMS", "T").value == 2
    with pytest.raises(OperationError) as refused:
        operations.count(memory.broker, "TOPIC_PUT_NUMS", "U")
    assert refused.value.message == "The stats <TOPIC_PUT_NUMS> <U> not exist"


def test_queues_of_deleted_topics_are_removed(memory: AdminBroker) -> None:
    memory.add_topic("T")
    memory.fill("T", 1)
    memory.broker.tables.topics.delete("T")
    operations.clean_unused_topics(memory.broker)
    assert memory.broker.store.queues() == {}


def test_expired_files_are_deleted_at_any_hour() -> None:
    memory = AdminBroker(store_options={"mapped_file_size_commit_log": 4096, "delete_when": "99"})
    memory.add_topic("T", queues=1)
    memory.fill("T", 40)
    memory.clock.advance(100 * 3_600_000)
    for _ in range(3):
        operations.delete_expired_files(memory.broker)
        memory.wait(1000)
    assert memory.broker.store.min_physical_offset > 0
