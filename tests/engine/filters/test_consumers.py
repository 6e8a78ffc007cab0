"""Filters of groups: versions, death and return, the file."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.filters import ConsumerFilters, FilterData
from mqgateway.engine.lenient_json import loads
from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.testing.crash_disk import CrashDisk

PATH = "/store/config/consumerFilter.json"
DAY = 86_400_000


class GroupMeta(NamedTuple):
    """A subscription in a heartbeat."""

    topic: str
    sub_string: str | None
    sub_version: int = 1
    expression_type: str | None = "SQL92"


class World:
    """A table of filters, its clock and its disk."""

    def __init__(self, **options: Any) -> None:
        self.clock = ManualClock()
        self.disk = CrashDisk(millis=self.clock.millis)
        self.options = BrokerOptions(**options)
        self.filters = self.again()

    def again(self) -> ConsumerFilters:
        """Return the table after a restart."""
        self.filters = ConsumerFilters(self.options, self.disk, PATH, self.clock)
        self.filters.load()
        return self.filters

    def text(self, topic: str = "t", group: str = "g") -> str | None:
        """Return the stored expression, or None."""
        data = self.filters.get(topic, group)
        return None if data is None else data.expression.text

    def data(self, topic: str = "t", group: str = "g") -> FilterData:
        """Return the stored entry, which must exist."""
        data = self.filters.get(topic, group)
        assert data is not None
        return data


@pytest.fixture
def world() -> World:
    return World()


def test_an_expression_is_registered(world: World) -> None:
    world.filters.register(
        "g", [GroupMeta("t", "a > 5", 7), GroupMeta("u", "x || y", 7, "TAG"), GroupMeta("v", "")]
    )
    data = world.data()
    assert (data.topic, data.group, data.expression.text, data.client_version) == ("t", "g", "a > 5", 7)
    assert (data.born_time, data.is_dead, data.bits) == (world.clock.millis(), False, (22, 87, 58))
    assert world.filters.get("u", "g") is None
    assert world.filters.get("t", "h") is None
    assert len(world.filters) == 1


@pytest.mark.parametrize(
    ("version", "expected"), [(8, "a > 6"), (7, "a > 5"), (6, "a > 5")], ids=["newer", "same", "older"]
)
def test_the_newest_version_counts(world: World, version: int, expected: str) -> None:
    world.filters.register("g", [GroupMeta("t", "a > 5", 7)])
    world.filters.register("g", [GroupMeta("t", "a > 6", version)])
    assert world.text() == expected


def test_the_same_expression_keeps_its_age(world: World) -> None:
    """Messages stored since then have its bits."""
    world.filters.register("g", [GroupMeta("t", "a > 5", 7)])
    born = world.data().born_time
    world.clock.advance(1000)
    world.filters.register("g", [GroupMeta("t", "a > 5", 8)])
    assert (world.data().born_time, world.data().client_version) == (born, 8)
    world.filters.register("g", [GroupMeta("t", "a > 6", 9)])
    assert world.data().born_time == world.clock.millis()


def test_invalid_expression_replaces_old_one(world: World) -> None:
    world.filters.register("g", [GroupMeta("t", "a > 5", 7)])
    world.filters.register("g", [GroupMeta("t", "a >", 8)])
    assert world.text() is None
    assert "line 1, column 4" in world.filters.refusal("t", "g")
    world.filters.register("g", [GroupMeta("t", "a > 6", 9)])
    assert (world.text(), world.filters.refusal("t", "g")) == ("a > 6", "")


def test_a_refusal_is_forgotten_with_the_group(world: World) -> None:
    world.filters.register("g", [GroupMeta("t", "a > 5", 1, "XPATH")])
    assert world.filters.refusal("t", "g") == "expressions of type XPATH are not known"
    world.filters.unregister("g")
    assert world.filters.refusal("t", "g") == ""


def test_a_refusal_is_forgotten_with_the_subscription(world: World) -> None:
    """Otherwise a group that subscribes to one topic after the other would fill the memory."""
    for number in range(3):
        world.filters.register("g", [GroupMeta(f"t{number}", "a >", 1)])
    assert [bool(world.filters.refusal(f"t{number}", "g")) for number in range(3)] == [False, False, True]


def test_a_topic_that_is_given_up_dies_and_lives_again(world: World) -> None:
    world.filters.register("g", [GroupMeta("t", "a > 5", 7), GroupMeta("u", "a > 5", 7)])
    world.filters.register("g", [GroupMeta("t", "a > 5", 7)])
    assert (world.data("t").is_dead, world.data("u").is_dead) == (False, True)
    world.filters.register("g", [GroupMeta("t", "a > 5", 7), GroupMeta("u", "a > 5", 7)])
    assert not world.data("u").is_dead


@pytest.mark.parametrize(("version", "dead"), [(7, False), (6, True), (8, False)])
def test_a_group_that_returns_finds_its_expression(world: World, version: int, dead: bool) -> None:
    world.filters.register("g", [GroupMeta("t", "a > 5", 7)])
    world.filters.unregister("g")
    world.filters.unregister("nobody")
    assert world.data().is_dead
    world.filters.register("g", [GroupMeta("t", "a > 5", version)])
    assert world.data().is_dead is dead


def test_dead_entry_is_removed_after_a_day(world: World) -> None:
    world.filters.register("g", [GroupMeta("t", "a > 5")])
    world.filters.register("h", [GroupMeta("t", "a > 5")])
    world.filters.unregister("g")
    world.clock.advance(DAY - 1)
    world.filters.clean()
    assert len(world.filters) == 2
    world.clock.advance(1)
    world.filters.clean()
    assert [data.group for data in world.filters] == ["h"]


def test_the_table_is_limited_and_the_dead_make_room() -> None:
    world = World(max_filter_data=2)
    for group in ("g", "h"):
        world.filters.register(group, [GroupMeta("t", "a > 5")])
    world.filters.register("i", [GroupMeta("t", "a > 5")])
    assert world.filters.get("t", "i") is None
    assert "maxFilterData" in world.filters.refusal("t", "i")
    world.filters.unregister("h")
    world.filters.register("i", [GroupMeta("t", "a > 5")])
    assert {data.group for data in world.filters} == {"g", "i"}


def test_the_file_is_the_standards(world: World) -> None:
    world.filters.register("g", [GroupMeta("t", "a > 5", 7)])
    world.filters.persist()
    assert loads(world.disk.read_bytes(PATH)) == {
        "filterDataByTopic": {
            "t": {
                "groupFilterData": {
                    "g": {
                        "bloomFilterData": {"bitNum": 112, "bitPos": [22, 87, 58]},
                        "bornTime": world.clock.millis(),
                        "clientVersion": 7,
                        "consumerGroup": "g",
                        "dead": False,
                        "deadTime": 0,
                        "expression": "a > 5",
                        "expressionType": "SQL92",
                        "topic": "t",
                    }
                },
                "topic": "t",
            }
        }
    }


def test_the_file_is_written_when_something_changed(world: World) -> None:
    world.filters.persist()
    assert not world.disk.exists(PATH)
    world.filters.register("g", [GroupMeta("t", "a > 5")])
    world.filters.persist()
    written = world.disk.read_bytes(PATH)
    world.disk.unlink(PATH)
    world.filters.persist()
    assert not world.disk.exists(PATH)
    world.filters.unregister("g")
    world.filters.persist()
    assert world.disk.read_bytes(PATH) != written


def test_after_a_restart_all_are_dead_since_half_a_minute_until_heard_of(world: World) -> None:
    world.filters.register("g", [GroupMeta("t", "a > 5", 7)])
    world.clock.advance(60_000)
    world.filters.register("h", [GroupMeta("t", "b > 5", 7)])
    world.filters.persist()
    world.clock.advance(10_000)
    world.again()
    now = world.clock.millis()
    assert (world.data().dead_time, world.data("t", "h").dead_time) == (now - 30_000, now - 10_000)
    assert world.data().expression.matches({"a": "6"})
    world.filters.register("g", [GroupMeta("t", "a > 5", 7)])
    assert not world.data().is_dead


def test_with_bit_maps_of_another_size_the_file_is_ignored(world: World) -> None:
    world.filters.register("g", [GroupMeta("t", "a > 5")])
    world.filters.persist()
    world.options.expect_consumer_num_use_filter = 64
    assert len(world.again()) == 0


def test_an_expression_in_the_file_that_cannot_be_read_is_left_out(world: World) -> None:
    world.filters.register("g", [GroupMeta("t", "a > 5")])
    world.filters.register("h", [GroupMeta("t", "b > 5")])
    world.filters.persist()
    text = world.disk.read_bytes(PATH)
    world.disk.open(PATH, create=True).write(0, text.replace(b"a > 5", b"a > ("))
    world.again()
    assert [data.group for data in world.filters] == ["h"]


def test_a_file_that_is_no_table_is_kept_and_said(world: World, caplog: pytest.LogCaptureFixture) -> None:
    world.disk.makedirs("/store/config")
    world.disk.open(PATH, create=True).write(0, b"{oh")
    world.again()
    assert [data.group for data in world.filters] == []
    assert world.disk.read_bytes(PATH + ".broken") == b"{oh"
    assert "no usable table" in caplog.text and "Filters come back" in caplog.text


def test_retried_messages_are_chosen_by_their_original_topic(world: World) -> None:
    world.filters.register("g", [GroupMeta("t", "a > 5")])
    for properties, expected in (
        ({"RETRY_TOPIC": "t", "a": "6"}, True),
        ({"RETRY_TOPIC": "t", "a": "5"}, False),
        ({"RETRY_TOPIC": "u", "a": "5"}, True),
        ({}, True),
    ):
        assert world.filters.matches_retried("g", properties) is expected
