"""The begin of an epoch: it is parsed as written, and every change of it is detected."""

import hashlib

import orjson
import pytest

from mqgateway.engine.errors import CorruptFile
from mqgateway.engine.tier.format.epochs import TierEpoch, decode_epoch

EPOCH = TierEpoch(3, 1 << 33, "00ff00ff00ff00ff", 1_700_000_000_000, "/store")


def test_decode_inverts_encode() -> None:
    assert decode_epoch(EPOCH.encode(), "e") == EPOCH


def test_objects_without_a_later_member_are_read() -> None:
    members = {name: value for name, value in EPOCH._asdict().items() if name != "restored"}
    text = orjson.dumps(members, option=orjson.OPT_SORT_KEYS)
    digest = hashlib.sha256(text).hexdigest()
    data = orjson.dumps({"version": 1, "sha256": digest, "epoch": members})
    assert decode_epoch(data, "e") == EPOCH
    assert decode_epoch(EPOCH._replace(restored=True).encode(), "e").restored


@pytest.mark.parametrize("number", range(0, len(EPOCH.encode()), 5))
def test_every_change_is_seen(number: int) -> None:
    data = EPOCH.encode()
    with pytest.raises(CorruptFile, match="e at byte 0"):
        decode_epoch(data[:number] + bytes([data[number] ^ 4]) + data[number + 1 :], "e")


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b'{"version":1}', b'{"version":1,"epoch":[]}'])
def test_other_objects_are_rejected(data: bytes) -> None:
    with pytest.raises(CorruptFile):
        decode_epoch(data, "e")


def test_later_version_is_named() -> None:
    data = orjson.dumps({**orjson.loads(EPOCH.encode()), "version": 2})
    with pytest.raises(CorruptFile, match="of version 2, this program reads 1"):
        decode_epoch(data, "e")


@pytest.mark.parametrize(
    "epoch",
    [
        EPOCH._replace(epoch=-1),
        EPOCH._replace(start=1 << 63),
        EPOCH._replace(created=True),
        EPOCH._replace(writer=5),  # type: ignore[arg-type]
        EPOCH._replace(restored=1),  # type: ignore[arg-type]
    ],
)
def test_impossible_values_are_rejected(epoch: TierEpoch) -> None:
    with pytest.raises(CorruptFile):
        decode_epoch(epoch.encode(), "e")
