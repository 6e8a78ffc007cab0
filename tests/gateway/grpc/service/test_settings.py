"""Retry policies of groups, as clients get them and as renewals end by them."""

from __future__ import annotations

from typing import Any

import pytest

from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.gateway.grpc import v2
from mqgateway.gateway.grpc.service.settings import CUSTOMIZED, RetryPolicy, lite_quota

EXPONENTIAL = {"type": "EXPONENTIAL"}


@pytest.mark.parametrize(
    "policy,delays",
    [
        ({"type": "CUSTOMIZED"}, [10_000, 30_000, 60_000]),
        ({"type": "CUSTOMIZED", "customizedRetryPolicy": {"next": [1, 2, 3, 4]}}, [3, 4, 4]),
        ({"type": "CUSTOMIZED", "customizedRetryPolicy": {"next": ["x"]}}, [10_000, 30_000, 60_000]),
        (EXPONENTIAL, [5_000, 10_000, 20_000]),
        (
            EXPONENTIAL | {"exponentialRetryPolicy": {"initial": 1000, "max": 1500, "multiplier": 2}},
            [1000, 1500, 1500],
        ),
        (EXPONENTIAL | {"exponentialRetryPolicy": "x"}, [5_000, 10_000, 20_000]),
        ({}, [10_000, 30_000, 60_000]),
    ],
)
def test_when_a_message_comes_again(policy: dict[str, Any], delays: list[int]) -> None:
    made = RetryPolicy(SubscriptionGroupConfig("G", group_retry_policy=policy))
    assert [made.delay(times) for times in range(3)] == delays
    assert made.delay(-1) == delays[0]
    assert made.delay(1000) >= delays[-1]


def test_policies_as_they_are_reported() -> None:
    policy = v2.RetryPolicy()
    RetryPolicy(SubscriptionGroupConfig("G")).fill(policy)
    assert [one.seconds * 1000 for one in policy.customized_backoff.next] == list(CUSTOMIZED)
    RetryPolicy(SubscriptionGroupConfig("G", group_retry_policy=EXPONENTIAL)).fill(policy)
    assert policy.exponential_backoff.max.seconds == 7200
    assert not policy.HasField("customized_backoff")


@pytest.mark.parametrize("text,quota", [("", 2000), ("7", 7), ("-1", -1), ("x", 2000)])
def test_quota_of_lite_topics(text: str, quota: int) -> None:
    assert lite_quota(SubscriptionGroupConfig("G", attributes={"lite.sub.client.quota": text})) == quota
