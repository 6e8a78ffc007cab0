"""Timeouts and limits of transactions."""

from mqgateway.gateway.kafka.transactions.settings import TxnSettings


def test_times_are_those_of_apache_kafka() -> None:
    settings = TxnSettings()
    assert (settings.timeout_max, settings.timeout_interval) == (900_000, 10_000)
    assert (settings.id_retention, settings.expiry_interval) == (604_800_000, 3_600_000)
