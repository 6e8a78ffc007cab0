"""Share partitions over a broker: where they begin, and what administrators see and change."""

from __future__ import annotations

import pytest
from twisted.python.failure import Failure

from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.coordinator.records_log import NotWritten
from mqgateway.gateway.kafka.share_coordination import duration_millis
from mqgateway.gateway.kafka.share_partitions.partition import ACCEPT, RELEASE
from mqgateway.gateway.kafka.share_partitions.records import ShareKey
from tests.gateway.kafka.api.test_metadata import create
from tests.gateway.kafka.api.test_share_fetch import acquired, fill, share_fetch, share_scene
from tests.support.gateway.kafka.requests import batch_of_values, produce_request, produced


@pytest.mark.parametrize(
    ("text", "millis"),
    [
        ("PT1S", 1000),
        ("P1DT2H3M4.5S", (((24 + 2) * 60 + 3) * 60 + 4) * 1000 + 500),
        ("PT0.0019S", 1),
        ("P2D", 2 * 86_400_000),
        ("", 0),
        ("1 day", 0),
    ],
)
def test_durations_are_read(text: str, millis: int) -> None:
    assert duration_millis(text) == millis


def test_a_new_group_begins_at_the_end_and_stays_there() -> None:
    with share_scene(auto_offset_reset="latest") as scene:
        client = scene.client()
        topic_id = create(client, "a")
        fill(scene, client, 2)
        assert acquired(client.ask(share_fetch(topic_id))) == []
        fill(scene, client, 2)
        assert acquired(client.ask(share_fetch(topic_id, 1))) == [(2, 3, 1)]


def test_a_new_group_begins_some_time_ago() -> None:
    with share_scene(auto_offset_reset="by_duration:PT1H") as scene:
        client = scene.client()
        topic_id = create(client, "a")
        now = scene.server.clock.millis()
        for age in (7200, 1800, 0):
            data = batch_of_values(b"%d" % age, now=now - age * 1000)
            assert produced(client, produce_request("a", data)).error_code == 0
        assert acquired(client.ask(share_fetch(topic_id, wait=2000))) == [(1, 2, 1)]


def test_administrators_see_and_change_offsets() -> None:
    with share_scene() as scene:
        client = scene.client()
        topic_id = create(client, "a")
        fill(scene, client, 6)
        assert acquired(client.ask(share_fetch(topic_id))) == [(0, 5, 1)]
        client.ask(share_fetch(topic_id, 1, (0, 1, ACCEPT), (2, 3, RELEASE), (4, 4, ACCEPT), records=0))
        shares, place = scene.shares, (topic_id, 0)
        assert shares.describe("g") == {place: (2, 0, 3)}
        assert shares.describe("h") == {}
        shares.alter("g", topic_id, 0, 5)
        assert shares.describe("g") == {place: (5, 0, 1)}
        assert acquired(client.ask(share_fetch(topic_id, 2))) == [(5, 5, 1)]
        shares.delete("g", b"x" * 16)
        shares.delete("g", None)
        assert shares.describe("g") == {}


def test_members_that_leave_free_their_records() -> None:
    with share_scene() as scene:
        client = scene.client()
        topic_id = create(client, "a")
        fill(scene, client, 1)
        assert acquired(client.ask(share_fetch(topic_id, member="x"))) == [(0, 0, 1)]
        scene.shares.release("g", "x")
        assert acquired(client.ask(share_fetch(topic_id, member="y"))) == [(0, 0, 2)]


def test_share_partitions_of_deleted_topics_and_unknown_groups_are_gone() -> None:
    with share_scene() as scene:
        client = scene.client()
        topic_id = create(client, "a")
        assert scene.shares.is_gone(ShareKey("g", b"x" * 16, 0))
        assert scene.shares.is_gone(ShareKey("g", topic_id, 0))
        scene.shares._coordinator.groups.create_share_group("g")
        assert not scene.shares.is_gone(ShareKey("g", topic_id, 0))


def test_offsets_cannot_be_changed_before_they_are_read() -> None:
    with share_scene() as scene:
        topic_id = create(scene.client(), "a")
        scene.shares.table.is_loaded = False
        failures: list[Failure] = []
        scene.shares.alter("g", topic_id, 0, 5).addErrback(failures.append)
        scene.shares.delete("g", None).addErrback(failures.append)
        codes = [one.value.code for one in failures if isinstance(one.value, NotWritten)]
        assert codes == [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS] * 2
