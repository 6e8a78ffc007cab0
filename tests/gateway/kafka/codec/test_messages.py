"""All messages in all versions: round trips, an oracle, malformed bytes, and a digest of the files."""

import dataclasses
import datetime
import enum
import hashlib
import importlib
import io
import uuid
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqgateway.engine.record_batches.errors import CodecError
from mqgateway.engine.record_batches.reader import Reader
from mqgateway.engine.steps import run
from mqgateway.gateway.kafka.codec.apis import APIS
from mqgateway.gateway.kafka.codec.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
from mqgateway.gateway.kafka.codec.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from mqgateway.gateway.kafka.codec.messages.end_txn_marker import EndTxnMarker
from mqgateway.gateway.kafka.codec.messages.group_metadata_key import GroupMetadataKey
from mqgateway.gateway.kafka.codec.messages.group_metadata_value import GroupMetadataValue
from mqgateway.gateway.kafka.codec.messages.offset_commit_key import OffsetCommitKey
from mqgateway.gateway.kafka.codec.messages.offset_commit_value import OffsetCommitValue
from mqgateway.gateway.kafka.codec.messages.transaction_log_key import TransactionLogKey
from mqgateway.gateway.kafka.codec.messages.transaction_log_value import TransactionLogValue
from mqgateway.gateway.kafka.codec.plans import decode, encode, read, reading, versions, writing
from mqgateway.gateway.kafka.codec.schema import NO_UUID, Message, covers
from tests.house.source import ROOT
from tests.support.gateway.kafka_messages import random_message

EMBEDDED = (ConsumerProtocolAssignment, ConsumerProtocolSubscription, EndTxnMarker)
RECORDS = (
    GroupMetadataKey,
    GroupMetadataValue,
    OffsetCommitKey,
    OffsetCommitValue,
    TransactionLogKey,
    TransactionLogValue,
)
MESSAGES: list[type[Message]] = [
    *(side for api in APIS.values() for side in (api.request, api.response)),
    *EMBEDDED,
    *RECORDS,
]
PACKAGE = ROOT / "gateway" / "kafka" / "codec" / "messages"

each_message = pytest.mark.parametrize("of", MESSAGES, ids=lambda of: of.__name__)


def committed() -> dict[str, str]:
    """The generated files, by name."""
    return {path.name: path.read_text() for path in PACKAGE.glob("*.py")}


def test_generated_files_have_the_committed_digest() -> None:
    texts = (f"{name}\n{text}" for name, text in sorted(committed().items()))
    digest = hashlib.sha256("".join(texts).encode()).hexdigest()
    assert (Path(__file__).parent / "messages.sha256").read_text().split() == [digest]


@each_message
@settings(max_examples=4, deadline=None)
@given(random=st.randoms(use_true_random=False))
def test_message_in_every_version_survives_a_round_trip(of: type[Message], random: Random) -> None:
    for version in versions(of):
        message = random_message(of, version, random)
        data = encode(message, version)
        reader = Reader(data)
        assert read(of, reader, version) == message
        assert reader.left() == 0


@each_message
@settings(max_examples=2, deadline=None)
@given(random=st.randoms(use_true_random=False))
def test_message_read_and_written_as_tasks_equals_the_one_at_once(of: type[Message], random: Random) -> None:
    for version in versions(of):
        message = random_message(of, version, random)
        data = encode(message, version)
        out = bytearray()
        run(writing(out, message, version))
        assert out == data
        reader = Reader(data)
        assert run(reading(of, reader, version)) == message
        assert reader.left() == 0


@each_message
def test_message_cut_short_at_any_byte_is_refused(of: type[Message]) -> None:
    for version in versions(of):
        data = bytes(encode(random_message(of, version, Random(version)), version))[:150]
        for size in range(min(len(data), 149)):
            with pytest.raises(CodecError):
                decode(of, data[:size], version)


@each_message
def test_message_with_changed_bytes_raises_no_other_error(of: type[Message]) -> None:
    """Lengths and counts that lie, negative ones, tags and presence bytes among them."""
    random = Random(7)
    for version in versions(of):
        data = encode(random_message(of, version, random), version)
        for _ in range(15):
            changed = bytearray(data[:2000])
            for _ in range(random.choice((1, 1, 3))):
                if changed:
                    changed[random.randrange(len(changed))] = random.choice((0, 1, 0x7F, 0x80, 0xFF))
            try:
                decode(of, changed, version)
            except CodecError as error:
                assert str(error).startswith(f"{of.__name__} v{version}")
                assert error.position >= 0


def plain(value: Any) -> Any:
    """A value of kio as ours are."""
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, datetime.timedelta):
        return value // datetime.timedelta(milliseconds=1)
    if isinstance(value, datetime.datetime):
        return round(value.timestamp() * 1000)
    if isinstance(value, uuid.UUID):
        return value.bytes
    if isinstance(value, tuple):
        return tuple(map(plain, value))
    return value


def assert_equals_kio(ours: Any, theirs: Any, version: int) -> None:
    """Compare field by field, in the order of the schema."""
    if not isinstance(ours, Message):
        assert plain(theirs) == ours or (ours == NO_UUID and theirs is None)
        return
    fields = [field.name for field in ours.FIELDS if covers(field.versions, version)]
    known = [field.name for field in dataclasses.fields(theirs)]
    assert len(fields) == len(known)
    for name, their_name in zip(fields, known, strict=True):
        value, other = getattr(ours, name), getattr(theirs, their_name)
        if isinstance(value, tuple):
            for one, another in zip(value, other, strict=True):
                assert_equals_kio(one, another, version)
        else:
            assert_equals_kio(value, other, version)


@pytest.mark.parametrize("api", APIS.values(), ids=lambda api: api.name)
def test_kio_reads_and_writes_the_same_bytes(api: Any) -> None:
    serial = pytest.importorskip("kio.serial")
    compared = 0
    for side, of in (("request", api.request), ("response", api.response)):
        for version in versions(of):
            name = f"kio.schema.{api._module}.v{version}.{side}"
            try:
                theirs = getattr(importlib.import_module(name), of.__name__)
            except ModuleNotFoundError:
                continue
            for seed in range(4):
                message = random_message(of, version, Random(seed), plain=True)
                data = bytes(encode(message, version))
                entity, _ = serial.entity_reader(theirs)(data, 0)
                assert_equals_kio(message, entity, version)
                out = io.BytesIO()
                serial.entity_writer(theirs)(out, entity)
                assert out.getvalue() == data
            compared += 1
    assert compared or api.key >= 88
