"""Lag of queues and groups, and the topics that are examined."""

import pytest

from mqgateway.gateway.doctor.evidence import ConsumedQueue, DiagnosedGroup, QueueKey, examined

PLACE = QueueKey("Orders", "broker-a", 0)


@pytest.mark.parametrize(
    ("least", "end", "consumed", "behind"),
    [
        (0, 10, 4, 6),
        (0, 10, 10, 0),
        pytest.param(0, 10, 12, 0, id="ahead of the end"),
        pytest.param(0, 10, -1, 10, id="never read"),
        pytest.param(5, 10, 2, 5, id="what was removed does not wait"),
    ],
)
def test_lag_counts_readable_messages_only(least: int, end: int, consumed: int, behind: int) -> None:
    assert ConsumedQueue(PLACE, least, end, consumed).behind == behind


def test_group_lag_is_the_sum_of_its_queues() -> None:
    assert (
        DiagnosedGroup("g", 0, queues=[ConsumedQueue(PLACE, 0, 10, 4), ConsumedQueue(PLACE, 0, 3, 0)]).behind
        == 9
    )


def test_topics_for_retries_and_dead_letters_are_not_examined() -> None:
    assert examined({"T", "%RETRY%G", "A", "%DLQ%G"}) == ["A", "T"]
