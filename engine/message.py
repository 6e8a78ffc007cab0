"""Messages, their properties, flags and ids, and RocketMQ's own names; shared by client and broker.

RocketMQ: `Message`, `MessageExt`, `MessageConst`, `MessageSysFlag`, `MessageDecoder`, `MixAll`,
`TopicValidator`.
"""

import socket
import struct
from collections.abc import Mapping, Sequence
from operator import mul
from typing import Final

from mqgateway.engine.extension import native

# Properties string: name 0x01 value 0x02, repeated.
NAME_VALUE_SEPARATOR: Final = "\x01"
PROPERTY_SEPARATOR: Final = "\x02"

PROPERTY_KEYS: Final = "KEYS"
PROPERTY_TAGS: Final = "TAGS"
PROPERTY_WAIT_STORE_MSG_OK: Final = "WAIT"
PROPERTY_DELAY_TIME_LEVEL: Final = "DELAY"
PROPERTY_RETRY_TOPIC: Final = "RETRY_TOPIC"
PROPERTY_REAL_TOPIC: Final = "REAL_TOPIC"
PROPERTY_REAL_QUEUE_ID: Final = "REAL_QID"
PROPERTY_TRANSACTION_PREPARED: Final = "TRAN_MSG"
PROPERTY_PRODUCER_GROUP: Final = "PGROUP"
PROPERTY_MIN_OFFSET: Final = "MIN_OFFSET"
PROPERTY_MAX_OFFSET: Final = "MAX_OFFSET"
PROPERTY_BUYER_ID: Final = "BUYER_ID"
PROPERTY_ORIGIN_MESSAGE_ID: Final = "ORIGIN_MESSAGE_ID"
PROPERTY_DLQ_ORIGIN_TOPIC: Final = "DLQ_ORIGIN_TOPIC"
PROPERTY_DLQ_ORIGIN_MESSAGE_ID: Final = "DLQ_ORIGIN_MESSAGE_ID"
PROPERTY_TRANSFER_FLAG: Final = "TRANSFER_FLAG"
PROPERTY_CORRECTION_FLAG: Final = "CORRECTION_FLAG"
PROPERTY_RECONSUME_TIME: Final = "RECONSUME_TIME"
PROPERTY_MSG_REGION: Final = "MSG_REGION"
PROPERTY_TRACE_SWITCH: Final = "TRACE_ON"
PROPERTY_UNIQ_KEY: Final = "UNIQ_KEY"
PROPERTY_MAX_RECONSUME_TIMES: Final = "MAX_RECONSUME_TIMES"
PROPERTY_CONSUME_START_TIMESTAMP: Final = "CONSUME_START_TIME"
PROPERTY_INNER_NUM: Final = "INNER_NUM"
PROPERTY_INNER_BASE: Final = "INNER_BASE"
PROPERTY_KAFKA_PRODUCER: Final = "__KPID"
"""mqgateway's: marks the last message of a batch of an idempotent producer, which the value names."""
PROPERTY_QUEUE_START: Final = "__QSTART"
"""mqgateway's: the record is a marker that moves the start of a queue."""
PROPERTY_LITE_TOPIC: Final = "__LITE_TOPIC"
PROPERTY_INNER_MULTI_DISPATCH: Final = "INNER_MULTI_DISPATCH"
PROPERTY_INNER_MULTI_QUEUE_OFFSET: Final = "INNER_MULTI_QUEUE_OFFSET"
PROPERTY_CLUSTER: Final = "CLUSTER"
PROPERTY_REPLY_TO_CLIENT: Final = "REPLY_TO_CLIENT"
PROPERTY_PUSH_REPLY_TIME: Final = "PUSH_REPLY_TIME"
PROPERTY_MESSAGE_TYPE: Final = "MSG_TYPE"
PROPERTY_POP_CK: Final = "POP_CK"
PROPERTY_FIRST_POP_TIME: Final = "1ST_POP_TIME"
PROPERTY_ORIGIN_GROUP: Final = "ORIGIN_GROUP"
PROPERTY_SHARDING_KEY: Final = "__SHARDINGKEY"
PROPERTY_INSTANCE_ID: Final = "INSTANCE_ID"
PROPERTY_TIMER_DELAY_SEC: Final = "TIMER_DELAY_SEC"
PROPERTY_TIMER_DELAY_MS: Final = "TIMER_DELAY_MS"
PROPERTY_TIMER_DELIVER_MS: Final = "TIMER_DELIVER_MS"
PROPERTY_TIMER_OUT_MS: Final = "TIMER_OUT_MS"
PROPERTY_TIMER_ENQUEUE_MS: Final = "TIMER_ENQUEUE_MS"
PROPERTY_TIMER_DEQUEUE_MS: Final = "TIMER_DEQUEUE_MS"
PROPERTY_TIMER_ROLL_TIMES: Final = "TIMER_ROLL_TIMES"
PROPERTY_TIMER_DEL_UNIQKEY: Final = "TIMER_DEL_UNIQKEY"
PROPERTY_PRIORITY: Final = "_SYS_MSG_PRIORITY_"
PROPERTY_CRC32: Final = "__CRC32#"
PROPERTY_TRANSACTION_ID: Final = "__transactionId__"
PROPERTY_TRANSACTION_CHECK_TIMES: Final = "TRANSACTION_CHECK_TIMES"
PROPERTY_TRANSACTION_PREPARED_QUEUE_OFFSET: Final = "TRAN_PREPARED_QUEUE_OFFSET"
PROPERTY_CHECK_IMMUNITY_TIME_IN_SECONDS: Final = "CHECK_IMMUNITY_TIME_IN_SECONDS"

# Fields of Kafka's records that fit no other property.
KAFKA_PREFIX: Final = "__K"
PROPERTY_KAFKA: Final = "__KAFKA"
BATCH_FORMAT: Final = "2"
"""Value of `__KAFKA`: the format of the record batch in a record."""
PROPERTY_KAFKA_KEY: Final = "__KKEY"
PROPERTY_KAFKA_KEY_TOO_LARGE: Final = "__KKEY_TOO_LARGE"
PROPERTY_KAFKA_NULL: Final = "__KNULL"
PROPERTY_KAFKA_HEADERS: Final = "__KHDR"
PROPERTY_KAFKA_HEADERS_TOO_LARGE: Final = "__KHDR_TOO_LARGE"
PROPERTY_KAFKA_TIME: Final = "__KTIME"
PROPERTY_KAFKA_LOST: Final = "__KLOST"
"""Reason why a message is empty that stands for a record lost in a conversion."""

SYSTEM_PROPERTIES: Final = frozenset(
    {
        PROPERTY_KEYS,
        PROPERTY_TAGS,
        PROPERTY_WAIT_STORE_MSG_OK,
        PROPERTY_DELAY_TIME_LEVEL,
        PROPERTY_RETRY_TOPIC,
        PROPERTY_REAL_TOPIC,
        PROPERTY_REAL_QUEUE_ID,
        PROPERTY_TRANSACTION_PREPARED,
        PROPERTY_PRODUCER_GROUP,
        PROPERTY_MIN_OFFSET,
        PROPERTY_MAX_OFFSET,
        PROPERTY_BUYER_ID,
        PROPERTY_ORIGIN_MESSAGE_ID,
        PROPERTY_DLQ_ORIGIN_TOPIC,
        PROPERTY_DLQ_ORIGIN_MESSAGE_ID,
        PROPERTY_TRANSFER_FLAG,
        PROPERTY_CORRECTION_FLAG,
        PROPERTY_RECONSUME_TIME,
        PROPERTY_MSG_REGION,
        PROPERTY_TRACE_SWITCH,
        PROPERTY_UNIQ_KEY,
        PROPERTY_MAX_RECONSUME_TIMES,
        PROPERTY_CONSUME_START_TIMESTAMP,
        PROPERTY_INNER_NUM,
        PROPERTY_INNER_BASE,
        PROPERTY_LITE_TOPIC,
        PROPERTY_INNER_MULTI_DISPATCH,
        PROPERTY_INNER_MULTI_QUEUE_OFFSET,
        PROPERTY_CLUSTER,
        PROPERTY_REPLY_TO_CLIENT,
        PROPERTY_PUSH_REPLY_TIME,
        PROPERTY_MESSAGE_TYPE,
        PROPERTY_POP_CK,
        PROPERTY_FIRST_POP_TIME,
        PROPERTY_ORIGIN_GROUP,
        PROPERTY_SHARDING_KEY,
        PROPERTY_INSTANCE_ID,
        PROPERTY_TIMER_DELAY_SEC,
        PROPERTY_TIMER_DELAY_MS,
        PROPERTY_TIMER_DELIVER_MS,
        PROPERTY_TIMER_OUT_MS,
        PROPERTY_TIMER_ENQUEUE_MS,
        PROPERTY_TIMER_DEQUEUE_MS,
        PROPERTY_TIMER_ROLL_TIMES,
        PROPERTY_TIMER_DEL_UNIQKEY,
        PROPERTY_PRIORITY,
        PROPERTY_CRC32,
        PROPERTY_TRANSACTION_ID,
        PROPERTY_TRANSACTION_CHECK_TIMES,
        PROPERTY_TRANSACTION_PREPARED_QUEUE_OFFSET,
        PROPERTY_CHECK_IMMUNITY_TIME_IN_SECONDS,
        "ARRIVE_TIME",
        "BORN_TIMESTAMP",
        "CORRELATION_ID",
        "DUP_INFO",
        "EXTEND_UNIQ_INFO",
        "MQ2_FLAG",
        "POP_CK_OFFSET",
        "TIMER_DELAY_LEVEL",
        "TRACE_CONTEXT",
        "TTL",
        "__BORNHOST",
    }
)
"""Properties that have a meaning for brokers or clients, and those that only RocketMQ sets."""

KEY_SEPARATOR: Final = " "
TAG_SEPARATOR: Final = "||"

RETRY_PREFIX: Final = "%RETRY%"
DLQ_PREFIX: Final = "%DLQ%"
LMQ_PREFIX: Final = "%LMQ%"
SYSTEM_TOPIC_PREFIX: Final = "rmq_sys_"
SYSTEM_GROUP_PREFIX: Final = "CID_RMQ_SYS_"

DEFAULT_TOPIC: Final = "TBW102"
SCHEDULE_TOPIC: Final = "SCHEDULE_TOPIC_XXXX"
BENCHMARK_TOPIC: Final = "BenchmarkTest"
TRACE_TOPIC: Final = "RMQ_SYS_TRACE_TOPIC"
TRANS_HALF_TOPIC: Final = "RMQ_SYS_TRANS_HALF_TOPIC"
TRANS_OP_HALF_TOPIC: Final = "RMQ_SYS_TRANS_OP_HALF_TOPIC"
ROCKSDB_TRANS_HALF_TOPIC: Final = "RMQ_SYS_ROCKSDB_TRANS_HALF_TOPIC"
ROCKSDB_TRANS_OP_HALF_TOPIC: Final = "RMQ_SYS_ROCKSDB_TRANS_OP_HALF_TOPIC"
TRANS_CHECK_MAX_TIME_TOPIC: Final = "TRANS_CHECK_MAX_TIME_TOPIC"
SELF_TEST_TOPIC: Final = "SELF_TEST_TOPIC"
OFFSET_MOVED_EVENT: Final = "OFFSET_MOVED_EVENT"
KAFKA_OFFSETS_TOPIC: Final = "__consumer_offsets"
"""Groups and offsets of Kafka clients."""
KAFKA_TRANSACTIONS_TOPIC: Final = "__transaction_state"
"""Transactional ids of Kafka clients."""
KAFKA_SHARE_TOPIC: Final = "__share_group_state"
"""State of share partitions of Kafka clients."""
KAFKA_COORDINATOR_TOPICS: Final = (KAFKA_OFFSETS_TOPIC, KAFKA_TRANSACTIONS_TOPIC, KAFKA_SHARE_TOPIC)
"""Logs of the coordinators of Kafka clients."""
TIMER_TOPIC: Final = "rmq_sys_wheel_timer"
QUEUE_STARTS_TOPIC: Final = "rmq_sys_QUEUE_STARTS"
"""mqgateway's: markers that move the starts of queues; they enter no queue."""


class SysFlag:
    """Bits of a record's sysFlag. RocketMQ: `MessageSysFlag`."""

    COMPRESSED: Final = 1
    MULTI_TAGS: Final = 1 << 1
    TRANSACTION_NOT_TYPE: Final = 0
    TRANSACTION_PREPARED: Final = 1 << 2
    TRANSACTION_COMMIT: Final = 2 << 2
    TRANSACTION_ROLLBACK: Final = 3 << 2
    TRANSACTION_MASK: Final = 3 << 2
    BORN_HOST_V6: Final = 1 << 4
    STORE_HOST_V6: Final = 1 << 5
    NEED_UNWRAP: Final = 1 << 6
    INNER_BATCH: Final = 1 << 7
    COMPRESSION_TYPE_MASK: Final = 7 << 8


class Message:
    """A message to be stored by a broker.

    `born_timestamp` is in milliseconds; hosts are packed as in a record: 4 or 16 address bytes and the port
    as i4 (see `pack_host`).
    """

    __slots__ = (
        "body",
        "born_host",
        "born_timestamp",
        "flag",
        "prepared_transaction_offset",
        "properties",
        "queue_id",
        "reconsume_times",
        "store_host",
        "sys_flag",
        "topic",
    )

    def __init__(
        self,
        topic: str,
        queue_id: int,
        body: bytes,
        properties: dict[str, str],
        born_timestamp: int,
        born_host: bytes,
        store_host: bytes,
        flag: int = 0,
        sys_flag: int = 0,
        reconsume_times: int = 0,
        prepared_transaction_offset: int = 0,
    ) -> None:
        self.topic = topic
        self.queue_id = queue_id
        self.body = body
        self.properties = properties
        self.born_timestamp = born_timestamp
        self.born_host = born_host
        self.store_host = store_host
        self.flag = flag
        self.sys_flag = sys_flag
        self.reconsume_times = reconsume_times
        self.prepared_transaction_offset = prepared_transaction_offset

    def copy_to(self, topic: str, queue_id: int, properties: dict[str, str]) -> "Message":
        """Return a message for a queue of `topic` with these properties and otherwise the same fields."""
        return Message(
            topic,
            queue_id,
            self.body,
            properties,
            self.born_timestamp,
            self.born_host,
            self.store_host,
            self.flag,
            self.sys_flag,
            self.reconsume_times,
            self.prepared_transaction_offset,
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.topic!r}, queue {self.queue_id}, {len(self.body)} bytes)"


class StoredMessage(Message):
    """A message read from the log, with its position and its store time (ms)."""

    __slots__ = ("body_crc", "physical_offset", "queue_offset", "size", "store_timestamp")

    store_timestamp: int
    queue_offset: int
    physical_offset: int
    size: int
    body_crc: int

    @property
    def message_id(self) -> str:
        """The offset message id: store host and log offset in hex."""
        return offset_message_id(self.store_host, self.physical_offset)


def parse_properties(text: str) -> dict[str, str]:
    """Parse a properties string; pairs without a name or a separator are ignored.

    RocketMQ: `MessageDecoder.string2messageProperties`.
    """
    if native is not None:
        found = native.properties(text)
        if found is not None:
            return found
    properties = {}
    for pair in text.split(PROPERTY_SEPARATOR):
        name, _, value = pair.partition(NAME_VALUE_SEPARATOR)
        if value and name:  # without a separator there is no value
            properties[name] = value
    return properties


_DELAYS: Final = frozenset(
    {
        PROPERTY_DELAY_TIME_LEVEL,
        PROPERTY_TIMER_DELAY_MS,
        PROPERTY_TIMER_DELAY_SEC,
        PROPERTY_TIMER_DELIVER_MS,
    }
)
TYPED: Final = _DELAYS | {PROPERTY_TRANSACTION_PREPARED, PROPERTY_SHARDING_KEY}
"""Properties of which a message that is not `NORMAL` has at least one."""
NORMAL: Final = "normal"


def message_type(properties: Mapping[str, str]) -> str:
    """Return the type of a message from its properties.

    RocketMQ: `TopicMessageType.parseFromMessageProperty`.
    """
    if TYPED.isdisjoint(properties):
        return NORMAL
    if properties.get(PROPERTY_TRANSACTION_PREPARED) == "true":
        return "transaction"
    if not _DELAYS.isdisjoint(properties):
        return "delay"
    return "fifo" if PROPERTY_SHARDING_KEY in properties else NORMAL


def format_properties(properties: Mapping[str, str]) -> str:
    """Format a properties string, with the trailing separator of 5.x.

    RocketMQ: `MessageDecoder.messageProperties2String`.
    """
    return "".join([f"{name}\x01{value}\x02" for name, value in properties.items()])


def properties_text(properties: dict[str, str]) -> bytes:
    """Return a properties string in UTF-8, as in records."""
    if native is not None:
        text = native.properties_text(properties)
        if text is not None:
            return text
    return format_properties(properties).encode()


def pack_host(ip: str, port: int) -> bytes:
    """Pack an address as in records: 4 or 16 bytes of address, then the port as i4."""
    family = socket.AF_INET6 if ":" in ip else socket.AF_INET
    return socket.inet_pton(family, ip) + struct.pack(">i", port)


def unpack_host(packed: bytes) -> tuple[str, int]:
    """Return address and port of a packed host. Raises `ValueError` for a length other than 8 or 20."""
    if len(packed) not in (8, 20):
        raise ValueError(f"a packed host has 8 or 20 bytes, not {len(packed)}")
    family = socket.AF_INET if len(packed) == 8 else socket.AF_INET6
    return socket.inet_ntop(family, packed[:-4]), int(struct.unpack(">i", packed[-4:])[0])


def format_host(packed: bytes) -> str:
    """Return a packed host as `ip:port`."""
    ip, port = unpack_host(packed)
    return f"{ip}:{port}"


_OFFSET: Final = struct.Struct(">q")


def offset_message_id(store_host: bytes, physical_offset: int) -> str:
    """Return the id assigned by a broker: 32 hex characters (56 for an IPv6 store host).

    RocketMQ: `MessageDecoder.createMessageId`.
    """
    if native is not None and physical_offset >= 0:
        return native.message_ids(store_host, (physical_offset,))
    return (store_host + _OFFSET.pack(physical_offset)).hex().upper()


def offset_message_ids(store_host: bytes, physical_offsets: Sequence[int]) -> str:
    """Return the ids of several messages of one host, separated by commas."""
    if native is not None:
        return native.message_ids(store_host, physical_offsets)
    host = store_host.hex().upper()
    places = struct.pack(f">{len(physical_offsets)}q", *physical_offsets).hex(",", 8).upper()
    return host + places.replace(",", "," + host)


def parse_offset_message_id(message_id: str) -> tuple[str, int, int]:
    """Return IP, port and log offset of an offset message id. Raises `ValueError` for any other text."""
    if len(message_id) not in (32, 56):
        raise ValueError(f"an offset message id has 32 or 56 characters, not {len(message_id)}")
    raw = bytes.fromhex(message_id)
    ip, port = unpack_host(raw[:-8])
    return ip, port, int.from_bytes(raw[-8:], "big", signed=True)


# 31**i modulo 2**32, highest power last used first: the weights of String.hashCode.
_HASH_POWERS: Final[list[int]] = [pow(31, i, 1 << 32) for i in range(512)]


def java_hash(text: str) -> int:
    """Return Java's `String.hashCode`: a signed 32-bit number over UTF-16 code units."""
    if text.isascii():
        units: bytes | tuple[int, ...] = text.encode("ascii")
    else:
        raw = text.encode("utf-16-be", "surrogatepass")
        units = struct.unpack(f">{len(raw) // 2}H", raw)
    value = hash_behind(0, units)
    return value - 0x100000000 if value & 0x80000000 else value


def hash_behind(value: int, units: Sequence[int]) -> int:
    """Return Java's hash, modulo 2**32, of a text with a prefix of hash `value` and these units after it."""
    count = len(units)
    if count >= len(_HASH_POWERS):
        _HASH_POWERS.extend(pow(31, i, 1 << 32) for i in range(len(_HASH_POWERS), count + 1))
    weights = _HASH_POWERS[count - 1 :: -1] if count else ()
    hashed: int = (value * _HASH_POWERS[count] + sum(map(mul, units, weights))) & 0xFFFFFFFF
    return hashed


def tags_code(tags: str | None) -> int:
    """Return the tag hash of a consume queue unit; 0 without tags.

    RocketMQ: `MessageExtBrokerInner.tagsString2tagsCode`.
    """
    return java_hash(tags) if tags else 0
