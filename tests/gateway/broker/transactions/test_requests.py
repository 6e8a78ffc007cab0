"""Resolutions that producers send for transactions; see `test_ends` for the rest."""

from mqgateway.gateway.broker.transactions.ends import Resolution
from mqgateway.gateway.broker.transactions.requests import RESOLUTIONS


def test_resolutions_have_rocketmqs_numbers() -> None:
    assert RESOLUTIONS == {0: Resolution.UNKNOWN, 8: Resolution.COMMIT, 12: Resolution.ROLLBACK}
