"""The files of a migration from Kafka."""

import pytest

from mqgateway.gateway.migration.kafka.cluster import Partition
from mqgateway.gateway.migration.kafka.plan import KafkaPlan, KafkaProgress, decode
from mqgateway.gateway.migration.plan import MigrationError


def test_plan_is_read_as_it_was_written() -> None:
    topic = {"name": "a.b", "partitions": 2, "configs": {"retention.ms": "1"}}
    plan = KafkaPlan(["h:1"], ["h:2"], "/s", "", [topic], ["g"], [{"name": "x"}], ["alice"], ["problem"])
    assert decode(plan.encode(), "p") == plan
    assert plan.partitions() == [Partition("a.b", 0), Partition("a.b", 1)]
    assert str(plan.partitions()[1]) == "a.b-1"


@pytest.mark.parametrize(
    "data",
    [
        b"{",
        b"[]",
        b'{"version": 1}',
        b'{"version": 1, "kind": "kafka", "topics": [{}]}',
        KafkaPlan([], [], topics=[{"name": "a", "partitions": "2", "configs": {}}]).encode(),
        b'{"version": 1, "kind": "kafka", "source": [], "target": [], "group_settings": ["g"]}',
        b'{"version": 1, "kind": "kafka", "source": [], "target": [], "group_settings": {"g": "x=y"}}',
    ],
)
def test_other_file_is_refused(data: bytes) -> None:
    with pytest.raises(MigrationError, match=r"p\.json is "):
        decode(data, "p.json")


def test_progress_is_read_as_it_was_written() -> None:
    progress = KafkaProgress()
    progress.begin(Partition("a", 0), 5, 7)
    progress.partitions[Partition("a", 0)].offsets.add(5, 3)
    progress.partitions[Partition("a", 0)].position = 8
    again = KafkaProgress.decode(progress.encode(), "p")
    assert again.encode() == progress.encode() and not again.is_finished
    assert again.partitions[Partition("a", 0)].offsets.target(6) == 8
    assert not KafkaProgress.decode(b"", "p").partitions
    with pytest.raises(MigrationError, match="was not written by mqgateway migrate"):
        KafkaProgress.decode(b'{"version": 1}', "p")


def test_position_is_never_before_the_last_copied_record() -> None:
    progress = KafkaProgress()
    partition = Partition("a", 0)
    progress.begin(partition, 3, 0)
    progress.partitions[partition].offsets.add(3, 4)
    assert KafkaProgress.decode(progress.encode(), "p").partitions[partition].position == 7
