"""A message as it goes to a broker."""

from __future__ import annotations

import pytest

from mqgateway.engine.message import SysFlag, parse_properties
from mqgateway.gateway.client.batches import encode_element
from mqgateway.gateway.client.compression import decompress
from mqgateway.gateway.client.errors import BadArgument, BrokerError, ClientError
from mqgateway.gateway.client.identity import MessageIds
from mqgateway.gateway.client.message import Message, SendStatus
from mqgateway.gateway.client.options import ProducerOptions
from mqgateway.gateway.client.sending import (
    RETRIABLE,
    check_group,
    common_header,
    give_ids,
    prepare,
    prepare_batch,
)
from mqgateway.gateway.codec.bodies import MessageQueue
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.headers import SendMessageRequestHeaderV2, SendMessageResponseHeader

IDS = MessageIds("10.0.0.2", 1, 1)
NOW = 1_700_000_000_000
QUEUE = MessageQueue("T", "broker-a", 3)
OPTIONS = ProducerOptions()


@pytest.mark.parametrize(
    ("message", "what"),
    [
        (Message("T", b""), "without body"),
        (Message("bad topic", b"x"), "illegal characters"),
        (Message("", b"x"), "blank"),
        (Message("T" * 128, b"x"), "longer"),
        (Message("SCHEDULE_TOPIC_XXXX", b"x"), "nothing may be sent"),
        (Message("T", b"x" * 5_000_000), "5000000"),
        (Message("T", b"x", properties={"INNER_MULTI_DISPATCH": "a/b"}), "slash"),
    ],
    ids=lambda one: repr(one)[:30],
)
def test_validation_before_sending(message: Message, what: str) -> None:
    with pytest.raises(BadArgument, match=what):
        prepare(message, OPTIONS, IDS, NOW)


def test_ids_are_given_and_kept() -> None:
    message = Message("T", b"x")
    first = prepare(message, OPTIONS, IDS, NOW)
    assert first.message_id == message.unique_key == prepare(message, OPTIONS, IDS, NOW).message_id
    assert parse_properties(first.properties)["UNIQ_KEY"] == message.unique_key


def test_compression_from_4096_bytes_on() -> None:
    small, large = (prepare(Message("T", b"x" * size), OPTIONS, IDS, NOW) for size in (4095, 4096))
    assert (small.sys_flag, len(small.body)) == (0, 4095)
    assert large.sys_flag == SysFlag.COMPRESSED | 3 << 8
    assert decompress(large.body, large.sys_flag) == b"x" * 4096


def test_the_header_says_what_the_standard_says() -> None:
    options = ProducerOptions(unit_mode=True)
    prepared = prepare(Message("T", b"x", flag=5), options, IDS, NOW)
    fields = prepared.header(common_header("G", "T", options), QUEUE, NOW)
    header = SendMessageRequestHeaderV2.decode(fields)
    assert (header.properties, header.max_reconsume_times) == (prepared.properties, None)
    # a producerGroup ... n brokerName
    assert {name: fields[name] for name in "abcdefghjkmn"} == {
        "a": "G",
        "b": "T",
        "c": "TBW102",
        "d": "4",
        "e": "3",
        "f": "0",
        "g": str(NOW),
        "h": "5",
        "j": "0",
        "k": "true",
        "m": "false",
        "n": "broker-a",
    }


def test_half_messages_replies_and_retries_go_their_own_ways() -> None:
    half = prepare(Message("T", b"x", properties={"TRAN_MSG": "true"}), OPTIONS, IDS, NOW)
    assert half.sys_flag == SysFlag.TRANSACTION_PREPARED
    reply = prepare(Message("c_REPLY_TOPIC", b"x", properties={"MSG_TYPE": "reply"}), OPTIONS, IDS, NOW)
    assert (half.code, reply.code) == (RequestCode.SEND_MESSAGE_V2, RequestCode.SEND_REPLY_MESSAGE_V2)
    counts = {"RECONSUME_TIME": "3", "MAX_RECONSUME_TIMES": "16"}
    retry = prepare(Message("%RETRY%G", b"x", properties=counts), OPTIONS, IDS, NOW)
    assert (retry.reconsume_times, retry.max_reconsume_times) == (3, 16)
    sent = SendMessageRequestHeaderV2.decode(retry.header(common_header("G", "T", OPTIONS), QUEUE, NOW))
    assert (sent.reconsume_times, sent.max_reconsume_times) == (3, 16)
    assert not counts.keys() & parse_properties(retry.properties).keys()


def test_a_namespace_goes_before_the_topic() -> None:
    prepared = prepare(Message("T", b"x"), ProducerOptions(namespace="ns"), IDS, NOW)
    assert prepared.topic == "ns%T" and parse_properties(prepared.properties)["INSTANCE_ID"] == "ns"


def test_a_batch_has_the_ids_of_its_messages_and_a_limit() -> None:
    messages = [Message("T", b"x" * 5000) for _ in range(3)]
    give_ids(messages, IDS, NOW)
    body = b"".join(map(encode_element, messages))
    batch = prepare_batch(messages, body, OPTIONS)
    assert batch.message_id == ",".join(str(message.unique_key) for message in messages)
    assert (batch.code, batch.is_batch, batch.sys_flag) == (RequestCode.SEND_BATCH_MESSAGE, True, 0)
    assert parse_properties(batch.properties) == {"WAIT": "true"}
    with pytest.raises(BadArgument, match="a batch of"):
        prepare_batch(messages, body, ProducerOptions(max_message_size=6000))


@pytest.mark.parametrize(("code", "status"), list(zip((0, 10, 11, 12), range(4), strict=True)))
def test_stored_is_sent_however_safely(code: int, status: int) -> None:
    prepared = prepare(Message("T", b"x"), OPTIONS, IDS, NOW)
    header = SendMessageResponseHeader(msg_id="M", queue_id=2, queue_offset=7, recall_handle="h")
    answer = RemotingCommand.response(code, header)
    result = prepared.result(answer, MessageQueue("ns%T", "broker-a", 3), "a:1", "ns")
    order = (
        SendStatus.SEND_OK,
        SendStatus.FLUSH_DISK_TIMEOUT,
        SendStatus.SLAVE_NOT_AVAILABLE,
        SendStatus.FLUSH_SLAVE_TIMEOUT,
    )
    assert result.status is order[status]
    assert (result.queue, result.queue_offset) == (MessageQueue("T", "broker-a", 2), 7)
    assert (result.offset_message_id, result.recall_handle) == ("M", "h")


def test_other_answers_are_errors() -> None:
    prepared = prepare(Message("T", b"x"), OPTIONS, IDS, NOW)
    with pytest.raises(BrokerError, match="full"):
        prepared.result(RemotingCommand.response(14, remark="full"), QUEUE, "a:1", "")
    with pytest.raises(ClientError, match="cannot be read"):
        prepared.result(RemotingCommand.response(0), QUEUE, "a:1", "")


def test_the_codes_after_which_another_broker_is_tried() -> None:
    assert {17, 14, 1, 2, 16, 204, 205, 1500} == RETRIABLE


def test_groups_have_names() -> None:
    for wrong in ("", "a b", "DEFAULT_PRODUCER", "x" * 121):
        with pytest.raises(BadArgument):
            check_group(wrong, "DEFAULT_PRODUCER")
