"""Problems of a Kafka cluster, as both doctors find them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest

from mqgateway.gateway.cli.kafka_doctor import WATCH_SECONDS, examine_cluster, examine_share_group
from mqgateway.gateway.migration.kafka.cluster import Partition
from mqgateway.gateway.migration.kafka.groups import CommittedOffset, commit_offsets
from mqgateway.gateway.migration.kafka.share_groups import set_share_offsets
from mqgateway.gateway.mqadmin import connection
from tests.support.gateway.kafka.client import kafka_scene
from tests.support.gateway.kafka.transactions import TxnProducer
from tests.support.gateway.migration.kafka_clusters import Side


@pytest.fixture
def side(monkeypatch: pytest.MonkeyPatch) -> Iterator[Side]:
    """A cluster with the topics `a` and `b.c`."""
    with kafka_scene() as scene:
        made = Side(scene)
        made.create("a")
        made.create("b.c")
        monkeypatch.setattr(connection, "plain", made.connect)
        yield made


class Examination:
    """The examination of a share group, which notes its waits."""

    def __init__(self, side: Side) -> None:
        self._side = side
        self.waits: list[float] = []

    def checks(self, name: str, topics: Iterable[str] = ()) -> list[str]:
        """Return the checks that found something."""
        now = self._side.scene.server.clock.millis()
        found = examine_share_group(
            "127.0.0.1:9092", name, topics, seconds=5, now=now, wait=self.waits.append
        )
        return [one.check for one in found]


def test_share_group_without_members_is_found(side: Side) -> None:
    side.produce("a", b"1", b"2")
    set_share_offsets(side.cluster, "g", {Partition("a", 0): 0})
    look = Examination(side)
    assert look.checks("g") == ["no-member"]
    assert look.waits == [WATCH_SECONDS]
    assert look.checks("other") == []
    assert look.waits == [WATCH_SECONDS]  # a second look could find nothing more


def test_other_groups_are_not_examined(side: Side) -> None:
    side.produce("a", b"1", b"2")
    commit_offsets(side.cluster, "g", {Partition("a", 0): CommittedOffset(1, "")})
    assert Examination(side).checks("g", ["a"]) == []


def test_hanging_transaction_in_a_topic_of_the_group_is_found(side: Side) -> None:
    producer = TxnProducer(side.scene).begun()
    assert producer.send("b.c", b"1").error_code == 0
    look = Examination(side)
    assert look.checks("g", ["b|c"]) == []
    side.scene.transactions.table.discard("t")
    assert look.checks("g", ["b|c", "unknown", "%RETRY%g"]) == ["hanging-transaction"]
    assert look.checks("g", ["a"]) == look.checks("g") == []


def test_transaction_that_ends_meanwhile_is_not_hanging(side: Side) -> None:
    producer = TxnProducer(side.scene).begun()
    assert producer.send("a", b"1").error_code == 0
    entry = side.scene.transactions.table.get("t")
    side.scene.transactions.table.discard("t")

    def wait(_: float) -> None:
        side.scene.transactions.table.restore("t", entry.status)
        assert producer.end(True) == 0
        side.scene.settle(1)

    found = examine_cluster(
        side.cluster, list, ["a"], now=side.scene.server.clock.millis(), watch=1, wait=wait
    )
    assert found == []
