"""Checks of offsets, whatever the API that commits them."""

from mqgateway.engine.steps import run
from mqgateway.engine.tables.topics import TopicConfig
from mqgateway.gateway.kafka.api.offset_checks import CheckedOffsets
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode as E
from mqgateway.gateway.kafka.codec.messages.offset_commit_request import (
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from mqgateway.gateway.kafka.coordinator.commits import OffsetBatch
from mqgateway.gateway.kafka.coordinator.records import Committed, OffsetKey
from mqgateway.gateway.kafka.topics import Topic
from tests.support.gateway.kafka.groups import TOPIC_ID, Groups

TOPIC = Topic(
    "orders", "orders", TOPIC_ID, TopicConfig("orders", read_queue_nums=2, write_queue_nums=2), 1048588
)
WANTED = (
    OffsetCommitRequestTopic(
        "orders",
        partitions=(
            OffsetCommitRequestPartition(0, 11, 5, "note"),
            OffsetCommitRequestPartition(1, -3, 5, None),
            OffsetCommitRequestPartition(2, 12, 5, None),
            OffsetCommitRequestPartition(0, 13, 5, "x" * 5000),
        ),
    ),
    OffsetCommitRequestTopic("none", partitions=(OffsetCommitRequestPartition(0, 11, 5, "note"),)),
)


def checked(refused: E = E.NONE) -> CheckedOffsets:
    """Return checked offsets of two topics, of which one is unknown."""
    offsets = CheckedOffsets(Groups().coordinator.commits, "g", OffsetBatch(), 77, 99)
    run(offsets.check(WANTED, [TOPIC, E.UNKNOWN_TOPIC_OR_PARTITION], refused))
    return offsets


def test_wrong_offsets_have_errors_of_their_own() -> None:
    offsets = checked()
    assert offsets.has_any
    assert offsets.batch.offsets == [
        (OffsetKey("g", "orders", 0), Committed(11, 5, "note", 77, 99, TOPIC_ID))
    ]
    offsets.settle(E.NOT_COORDINATOR, is_general=False)
    wrong = [E.INVALID_REQUEST, E.UNKNOWN_TOPIC_OR_PARTITION, E.OFFSET_METADATA_TOO_LARGE]
    assert offsets.errors == [[E.NOT_COORDINATOR, *wrong], [E.UNKNOWN_TOPIC_OR_PARTITION]]


def test_general_error_is_that_of_all_offsets_that_were_checked() -> None:
    for offsets in (checked(), checked(E.GROUP_AUTHORIZATION_FAILED)):
        offsets.settle(E.GROUP_AUTHORIZATION_FAILED, is_general=True)
        general = E.GROUP_AUTHORIZATION_FAILED
        expected = [general, general, E.UNKNOWN_TOPIC_OR_PARTITION, general]
        assert offsets.errors == [expected, [E.UNKNOWN_TOPIC_OR_PARTITION]]
    assert not checked(E.GROUP_AUTHORIZATION_FAILED).batch.offsets
