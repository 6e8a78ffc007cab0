"""Metrics from request 28."""

from mqgateway.gateway.metrics.runtime_figures import PUT_TIMES, RATES, RUNTIME, WINDOWS


def test_each_metric_has_its_own_key_and_meaning() -> None:
    keys = [key for key, _ in (*RUNTIME.values(), *RATES.values())]
    meanings = [meaning for _, meaning in RUNTIME.values()]
    assert len(set(keys)) == len(keys) and len(set(meanings)) == len(meanings)
    assert all(meaning.endswith(".") for meaning in meanings)


def test_rates_and_put_times_follow_the_order_of_request_28() -> None:
    assert WINDOWS == (10, 60, 600)
    assert len(PUT_TIMES) == 13 and next(iter(PUT_TIMES)) == "0ms"
