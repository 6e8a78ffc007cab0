"""Receipt handles: RocketMQ's text, and refusals."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqgateway.engine.pop import Receipt
from mqgateway.gateway.grpc import v2
from mqgateway.gateway.grpc.service.handles import Handle, Handles
from mqgateway.gateway.grpc.service.status import CallRefused

TEXT = "0 1795368445658 15000 0 0 broker-a 3 7 30083"
HANDLE = Handle(Receipt(0, 1795368445658, 15000, 0, "0", "broker-a"), 3, 7, 30083)


def test_the_text_of_a_handle() -> None:
    assert Handles("broker-a", "").text(HANDLE, "T", "G") == TEXT
    assert Handle.parse(TEXT) == HANDLE
    assert HANDLE.visible_at == 1795368460658


@pytest.mark.parametrize("key", ["", "secret"])
@given(st.integers(0, 2**40), st.integers(0, 7), st.integers(0, 2**40))
def test_a_handle_comes_back_as_it_was(key: str, offset: int, queue_id: int, log_offset: int) -> None:
    handle = Handle(HANDLE.receipt, queue_id, offset, log_offset)
    handles = Handles("broker-a", key)
    assert handles.read(handles.text(handle, "T", "G"), "T", "G") == handle


def test_a_handle_without_its_place_in_the_log() -> None:
    assert Handle.parse(TEXT.rpartition(" ")[0]).log_offset == -1


@pytest.mark.parametrize(
    "text", ["", "x", "a b c d e f g h", TEXT.replace(" 3 7", " x 7"), TEXT.replace("1795", "-x")]
)
def test_invalid_handle_is_refused(text: str) -> None:
    with pytest.raises(CallRefused) as refused:
        Handle.parse(text)
    assert refused.value.code == v2.Code.INTERNAL_SERVER_ERROR


def test_a_handle_names_the_topic_where_its_message_lies() -> None:
    assert HANDLE.topic("T", "G") == "T"
    again = HANDLE._replace(receipt=HANDLE.receipt._replace(kind="1"))
    assert again.topic("T", "G") == "%RETRY%G_T"
    with pytest.raises(CallRefused):
        HANDLE._replace(receipt=HANDLE.receipt._replace(kind="9")).topic("T", "G")


def test_a_signed_handle_is_that_of_its_topic_and_group_only() -> None:
    handles = Handles("broker-a", "secret")
    text = handles.text(HANDLE, "T", "G")
    assert text.startswith(TEXT + " ")
    assert Handle.parse(text) == HANDLE, "who has no key passes over the signature"
    for other, topic, group in (
        (text, "T2", "G"),
        (text, "T", "G2"),
        (TEXT, "T", "G"),
        (text.replace("30083", "30084"), "T", "G"),
    ):
        with pytest.raises(CallRefused) as refused:
            handles.read(other, topic, group)
        assert refused.value.code == v2.Code.INVALID_RECEIPT_HANDLE


@pytest.mark.parametrize("name,now", [("broker-a", HANDLE.visible_at), ("broker-b", 0)])
def test_a_handle_that_is_over_or_another_brokers(name: str, now: int) -> None:
    with pytest.raises(CallRefused) as refused:
        Handles(name, "").check_current(HANDLE, now)
    assert refused.value.code == v2.Code.INVALID_RECEIPT_HANDLE
