"""Checks of requests of members of share groups."""

from __future__ import annotations

from typing import Any

import pytest

from mqgateway.gateway.broker.operations import OperationError, Reason
from mqgateway.gateway.kafka.api.share_requests import are_valid
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.share_fetch_request import AcknowledgementBatch as Batch
from mqgateway.gateway.kafka.share_partitions.partition import ACCEPT, RELEASE
from tests.gateway.kafka.api.test_metadata import ACCESS, create
from tests.gateway.kafka.api.test_share_fetch import acquired, fill, only, share_fetch, share_scene
from tests.support.gateway.kafka.client import kafka_scene


@pytest.mark.parametrize(
    ("batches", "kind_max", "is_renewing", "valid"),
    [
        ([], 4, False, True),
        ([Batch(0, 2, [1, 0, 3]), Batch(3, 9, [2])], 3, False, True),
        ([Batch(0, 2, [4])], 4, True, True),
        ([Batch(0, 2, [4])], 4, False, False),
        ([Batch(0, 2, [4])], 3, True, False),
        ([Batch(0, 2, [1, 1])], 3, False, False),
        ([Batch(-1, 2, [1])], 3, False, True),
        ([Batch(-2, 2, [1])], 3, False, False),
        ([Batch(0, 2, [1]), Batch(1, 3, [1])], 3, False, False),
    ],
)
def test_acknowledgements_are_checked(
    batches: list[Batch], kind_max: int, is_renewing: bool, valid: bool
) -> None:
    assert are_valid(batches, kind_max, is_renewing) is valid


def test_clients_without_rights_are_refused() -> None:
    with kafka_scene(**ACCESS) as scene:
        client = scene.client()
        answer = client.ask(share_fetch(b"t" * 16))
        assert answer.error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED


def test_share_partitions_that_are_not_read_yet_are_not_served() -> None:
    with share_scene() as scene:
        client = scene.client()
        topic_id = create(client, "a")
        scene.shares.table.is_loaded = False
        answer = client.ask(share_fetch(topic_id))
        assert answer.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


def test_acknowledgements_that_are_not_written_have_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    with share_scene() as scene:
        client = scene.client()
        topic_id = create(client, "a")
        fill(scene, client, 2)
        assert acquired(client.ask(share_fetch(topic_id))) == [(0, 1, 1)]
        journal: Any = scene.shares.table._journal

        def append(batch: bytearray) -> int:
            raise OperationError(Reason.SYSTEM_BUSY, "full")

        monkeypatch.setattr(journal._log._queue, "append", append)
        answer = only(client.ask(share_fetch(topic_id, 1, (0, 0, ACCEPT), (1, 1, RELEASE), records=0)))
        assert answer.acknowledge_error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
