"""The rates of clients, and throttle times."""

from __future__ import annotations

from mqgateway.engine.meters import QuotaFigures
from mqgateway.gateway.kafka.quotas.limits import QuotaLimit, Scope
from mqgateway.gateway.kafka.quotas.usage import SERIES_MAX, THROTTLE_MAX, Usage

KEY = "producer_byte_rate"
LIMIT = QuotaLimit(100.0, Scope(None, "a"))


def test_clients_of_one_scope_share_a_rate() -> None:
    usage = Usage()
    assert usage.record(KEY, LIMIT, 900, 0) == 0
    assert usage.record("consumer_byte_rate", LIMIT, 900, 0) == 0
    assert usage.record(KEY, QuotaLimit(100.0, Scope(None, "b")), 900, 0) == 0
    assert usage.record(KEY, LIMIT, 200, 0) == 1000
    assert usage.figures(2) == QuotaFigures(2, {KEY: 1}, {KEY: 1000})


def test_throttle_times_have_a_maximum() -> None:
    usage = Usage()
    assert usage.record(KEY, LIMIT, 1e12, 0) == THROTTLE_MAX
    assert usage.record("request_percentage", LIMIT, 1e12, 0, most=1000) == 1000


def test_refused_connections_do_not_count() -> None:
    usage = Usage()
    assert [usage.connect("ip", "::1", 1.0, 0) for _ in range(13)] == [0] * 10 + [1000] * 3
    assert usage.connect("ip", "::2", 1.0, 0) == 0
    assert usage.connect("ip", "::1", 1.0, 11_000) == 0


def test_mutations_are_refused_or_throttled() -> None:
    usage, limit = Usage(), QuotaLimit(1.0, Scope(None, "a"))
    assert usage.mutate("m", limit, 13, 0, is_strict=True) == 0
    assert usage.mutate("m", limit, 1, 0, is_strict=True) == 2000
    assert usage.mutate("m", limit, 1, 0, is_strict=False) == 3000
    assert usage.mutate("m", limit, 1, 3000, is_strict=True) == 0


def test_rate_that_was_used_longest_ago_is_forgotten() -> None:
    usage = Usage()
    usage.record(KEY, LIMIT, 1000, 0)
    for number in range(SERIES_MAX):
        usage.record(KEY, QuotaLimit(100.0, Scope(None, str(number))), 1, 0)
    assert usage.record(KEY, LIMIT, 1, 0) == 0
    assert len(usage._rates._values) == SERIES_MAX
