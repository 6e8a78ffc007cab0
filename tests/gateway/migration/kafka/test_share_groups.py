"""Start offsets of share groups."""

from __future__ import annotations

import pytest

from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.share_group_heartbeat_request import ShareGroupHeartbeatRequest
from mqgateway.gateway.migration.kafka.cluster import Partition
from mqgateway.gateway.migration.kafka.connection import KafkaError
from mqgateway.gateway.migration.kafka.share_groups import ShareOffset, set_share_offsets, share_offsets
from tests.support.gateway.migration.kafka_clusters import kafka_clusters

A = Partition("a", 0)


def test_start_offsets_are_set_and_read() -> None:
    with kafka_clusters() as two:
        two.source.create("a")
        two.source.produce("a", b"1", b"2", b"3")
        set_share_offsets(two.source.cluster, "g", {A: 1})
        assert share_offsets(two.source.cluster, "g") == {A: ShareOffset(1, 2)}


def test_group_with_members_is_refused() -> None:
    with kafka_clusters() as two:
        two.source.create("a")
        request = ShareGroupHeartbeatRequest("g", "m", 0, subscribed_topic_names=("a",))
        assert two.source.client.ask(request).error_code == ErrorCode.NONE
        with pytest.raises(KafkaError) as caught:
            set_share_offsets(two.source.cluster, "g", {A: 1})
        assert caught.value.code == ErrorCode.NON_EMPTY_GROUP
