"""Timeouts and limits of transactions."""

from mqgateway.engine.options import BrokerOptions
from mqgateway.gateway.kafka.transactions.settings import TxnSettings, txn_settings


def test_times_are_those_of_apache_kafka() -> None:
    settings = TxnSettings()
    assert (settings.timeout_max, settings.timeout_interval) == (900_000, 10_000)
    assert (settings.id_retention, settings.expiry_interval) == (604_800_000, 3_600_000)
    assert txn_settings(BrokerOptions()) == settings


def test_times_can_be_set() -> None:
    options = BrokerOptions(
        kafka_transaction_max_timeout_millis=1,
        kafka_transaction_abort_timed_out_transaction_cleanup_interval_millis=2,
        kafka_transactional_id_expiration_millis=3,
        kafka_transaction_remove_expired_transaction_cleanup_interval_millis=4,
    )
    expected = TxnSettings(timeout_max=1, timeout_interval=2, id_retention=3, expiry_interval=4)
    assert txn_settings(options) == expected
