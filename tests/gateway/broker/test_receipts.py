"""Receipts with which messages are acknowledged."""

import pytest

from mqgateway.engine.pop import Receipt
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.broker.receipts import parse_receipt


def test_receipt_is_parsed() -> None:
    assert parse_receipt("5 1000 60000 3 0 broker-a 2 7") == Receipt(5, 1000, 60000, 3, "0", "broker-a")


def test_invalid_receipt_is_refused() -> None:
    with pytest.raises(OperationError, match="the receipt cannot be read: a receipt has 6 fields") as refused:
        parse_receipt("5 1000")
    assert refused.value.reason is Reason.SYSTEM_ERROR
