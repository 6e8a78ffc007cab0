"""Receipts and the texts of a pop's response, as clients read them."""

import pytest

from mqgateway.engine.pop.receipts import (
    Receipt,
    message_count_info,
    message_offset_info,
    order_count_info,
    start_offset_info,
)


@pytest.mark.parametrize("rest", ["", " 3", " 3 107", " 3 107 4096"])
def test_a_receipt_is_read_with_whatever_follows(rest: str) -> None:
    assert Receipt.parse("100 1700000000123 60000 5 1 broker-a" + rest) == Receipt(
        100, 1_700_000_000_123, 60_000, 5, "1", "broker-a"
    )


def test_a_receipt_is_written_for_a_message() -> None:
    receipt = Receipt(100, 1_700_000_000_123, 60_000, 5, "1", "b")
    assert receipt.of_message(0, 107) == "100 1700000000123 60000 5 1 b 0 107"
    assert receipt.revive_time == 1_700_000_060_123
    assert not receipt.is_ordered
    assert Receipt.parse("0 1 2 999 0 b").is_ordered


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1 2 3 4 0",
        "x 2 3 4 0 b",
        "1 2 3 4.5 0 b",
        "1 2 3 99999999999999999999 0 b",
        "1 2 3 4 0 ",
        "1 2 3 4 0 b\x02TAGS\x01x",
        "1 2 3 4 0 \ud800",
    ],
)
def test_invalid_receipt_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="receipt"):
        Receipt.parse(text)


def test_the_texts_of_an_answer() -> None:
    assert start_offset_info("t", 3, 100) == "0 3 100"
    assert message_offset_info("%RETRY%g_t", 0, [100, 102]) == "1 0 100,102"
    assert order_count_info("%RETRY%g+t", 0, 2) == "2 0 2"
    assert message_count_info("t", 3, 101, 1) == "0 qo3%101 1"
