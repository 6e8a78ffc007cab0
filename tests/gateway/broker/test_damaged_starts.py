"""A whole broker starts on tables that were emptied or spoilt: what the log has is read, the rest is said."""

from __future__ import annotations

import pytest

from mqgateway.engine.options import BrokerRole
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.upkeep.table_check import TABLES
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.headers import DeleteTopicRequestHeader
from tests.gateway.broker.test_service import World
from tests.support.gateway.broker.helpers import pull_header, send_header

CONFIG = "/store/config"
COUNT = 30


def put(disk: CrashDisk, path: str, text: bytes) -> None:
    file = disk.open(path, create=True)
    file.truncate(0)
    file.write(0, text)


def stopped() -> World:
    """A broker that has kept messages of `orders` in four queues, and forgot a topic on purpose."""
    world = World().start()
    client = world.connect()
    client.create("early")
    client.create("gone")
    assert client.ask(RequestCode.SEND_MESSAGE_V2, send_header("gone"), b"x").code == 0
    client.create("orders", 4)
    for number in range(COUNT):
        answer = client.ask(
            RequestCode.SEND_MESSAGE_V2, send_header("orders", queue_id=number % 4), b"%d" % number
        )
        assert answer.code == 0
    header = DeleteTopicRequestHeader(topic="gone")
    assert client.ask(RequestCode.DELETE_TOPIC_IN_BROKER, header).code == 0
    return world.stop()


def readable(world: World) -> int:
    """Return the number of messages of `orders` that a consumer can pull."""
    client = world.connect()
    client.consume("G", "orders", "c1")
    total = 0
    for queue_id in range(4):
        answer = client.ask(RequestCode.PULL_MESSAGE, pull_header(topic="orders", queue_id=queue_id))
        assert answer.code == 0, answer.remark
        total += int(answer.ext_fields["maxOffset"])
    return total


@pytest.mark.parametrize("text", [b"", b"{}", b'{"topicConfigTable":{}}', b"\0" * 300, b"garbage"])
@pytest.mark.parametrize("both", [False, True])
def test_topics_whose_messages_are_in_the_log_are_never_unreadable(
    text: bytes, both: bool, caplog: pytest.LogCaptureFixture
) -> None:
    disk = stopped().disk
    put(disk, f"{CONFIG}/topics.json", text)
    if both:
        put(disk, f"{CONFIG}/topics.json.bak", text)
    world = World(disk.kill()).start()
    assert world.started == [None]
    assert readable(world) == COUNT
    topics = world.service.broker.tables.topics
    config = topics.get("orders")
    assert config is not None and (config.read_queue_nums, config.perm) == (4, 6)
    if both or text.startswith(b"{"):  # else the older copy has it
        assert topics.get("gone") is None
    assert world.route("orders")["queueDatas"][0]["readQueueNums"] == 4
    if topics.get("early") is None:
        assert "1 topics have messages and were in no table: repaired from the log: orders" in caplog.text
    again = World(world.stop().disk).start()
    assert readable(again) == COUNT


def test_an_older_table_gets_the_queues_that_have_messages() -> None:
    disk = stopped().disk
    old = disk.read_bytes(f"{CONFIG}/topics.json").replace(b'"readQueueNums":4', b'"readQueueNums":1')
    put(disk, f"{CONFIG}/topics.json.bak", old)
    put(disk, f"{CONFIG}/topics.json", b"")
    assert readable(World(disk.kill()).start()) == COUNT


def test_shrunk_topic_stays_shrunk() -> None:
    world = World(stopped().disk.kill()).start()
    world.connect().create("orders", 1)
    again = World(world.stop().disk).start()
    config = again.service.broker.tables.topics.get("orders")
    assert config is not None and config.read_queue_nums == 1


def test_damaged_tables_do_not_prevent_the_start(caplog: pytest.LogCaptureFixture) -> None:
    disk = stopped().disk
    names = [name for name in TABLES if name.endswith(".json") and not name.startswith("lmq")]
    for name in names:
        put(disk, f"{CONFIG}/{name}", b"\xff\xfe garbage")
        put(disk, f"{CONFIG}/{name}.bak", b"{")
    world = World(disk.kill()).start()
    assert world.started == [None]
    assert readable(world) == COUNT
    for name in names:
        assert disk.read_bytes(f"{CONFIG}/{name}.broken") == b"\xff\xfe garbage"
        assert f"{name}: " in caplog.text


def test_a_slave_waits_for_its_masters_table() -> None:
    disk = stopped().disk
    put(disk, f"{CONFIG}/topics.json", b"{}")
    world = World(disk.kill(), role=BrokerRole.SLAVE).start()
    assert world.service.broker.tables.topics.get("orders") is None


def test_lost_log_file_is_refused_without_changes() -> None:
    world = World().start()
    client = world.connect()
    client.create("orders")
    for _ in range(40):
        assert client.ask(RequestCode.SEND_MESSAGE_V2, send_header("orders"), b"x" * 8000).code == 0
    disk = world.stop().disk.kill()
    logs = disk.files("/store/commitlog")
    assert len(logs) >= 5
    disk.lose(logs[2])
    before = {path: disk.read_bytes(path) for path in disk.files("")}
    again = World(disk).start()
    (failure,) = again.started
    assert f"{logs[2]} is missing" in str(failure.value)
    assert {path: disk.read_bytes(path) for path in disk.files("")} == before
