"""Requests as the official Java client writes them, as frames."""

import struct

from bench.access import LOAD
from mqgateway.engine.clock import SystemClock
from mqgateway.engine.message import format_properties, pack_host
from mqgateway.gateway.codec.codes import CURRENT_VERSION, LanguageCode, RequestCode
from mqgateway.gateway.codec.command import RemotingCommand, encode_command

TOPIC = "bench"
HOST = pack_host("127.0.0.1", 10911)
BODY = b"x" * 1024
SMALL_BODY = b"x" * 128
TOGETHER = 32
"""Requests in a read, messages in a pull or a batch."""
PROPERTIES = {"UNIQ_KEY": "7F00000100002A139F5545CA0EDB0000", "WAIT": "true", "TAGS": "a", "CLUSTER": "C"}
SENT = {"msgId": "7F00000100002A9F0000000000A3C1F0", "queueId": "3", "queueOffset": "123456"}


def send_request(opaque: int, *, signs: bool = False, key: str = PROPERTIES["UNIQ_KEY"]) -> bytes:
    """Return a send, as a frame."""
    fields = {"a": "bench_producer", "b": TOPIC, "c": "TBW102", "d": "4", "e": "0", "f": "0"}
    fields |= {
        "g": str(SystemClock().millis()),
        "h": "0",
        "i": format_properties(PROPERTIES | {"UNIQ_KEY": key}),
    }
    fields |= {"j": "0", "k": "false", "m": "false", "n": "broker-a"}
    return request(RequestCode.SEND_MESSAGE_V2, opaque, fields, BODY, signs=signs)


def batch_request(opaque: int, host: str) -> bytes:
    """Return a batch of small messages, as a frame; unique keys begin with `host`, the client's address."""
    elements = []
    for number in range(TOGETHER):
        properties = f"UNIQ_KEY\1{host}2A139F5545CA0EDB{opaque:04X}{number:04X}\2WAIT\1true\2".encode()
        lengths = 22 + len(SMALL_BODY) + len(properties), 0, 0, 0, len(SMALL_BODY)
        elements += [struct.pack(">5i", *lengths), SMALL_BODY, struct.pack(">h", len(properties)), properties]
    fields = {"a": "bench_producer", "b": TOPIC, "c": "TBW102", "d": "4", "e": "0", "f": "0"}
    fields |= {"g": str(SystemClock().millis()), "h": "0", "i": format_properties({"WAIT": "true"})}
    fields |= {"j": "0", "k": "false", "m": "true", "n": "broker-a"}
    return request(RequestCode.SEND_BATCH_MESSAGE, opaque, fields, b"".join(elements))


def pull_request(opaque: int, offset: int) -> bytes:
    """Return a pull of `TOGETHER` messages that does not wait, as a frame."""
    fields = {"consumerGroup": "bench_group", "topic": TOPIC, "queueId": "0", "queueOffset": str(offset)}
    fields |= {"maxMsgNums": str(TOGETHER), "sysFlag": "4", "commitOffset": "0", "subscription": "*"}
    fields |= {"suspendTimeoutMillis": "0", "subVersion": "1", "expressionType": "TAG"}
    return request(RequestCode.PULL_MESSAGE, opaque, fields, b"")


def request(code: int, opaque: int, fields: dict[str, str], body: bytes, *, signs: bool = False) -> bytes:
    """Return a request of the official Java client, as a frame."""
    command = RemotingCommand(code, ext_fields=fields, body=body, opaque=opaque)
    command.language, command.version = LanguageCode.JAVA, CURRENT_VERSION
    if signs:
        LOAD.sign(command)
    return encode_command(command)
