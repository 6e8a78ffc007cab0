"""The object with tables: it is parsed as written, every change of it is detected, and paths are checked."""

import hashlib
import zlib

import orjson
import pytest

from mqgateway.engine.errors import CorruptFile
from mqgateway.engine.tier.format.tables import TABLES_MAGIC, TierTables, decode_tables
from mqgateway.engine.upkeep.manifest import Shapes

TABLES = TierTables(
    "/store",
    1_700_000_000_000,
    1 << 30,
    Shapes(6_000_000, 0, 5000, 20_000),
    {"consumequeue": {"orders": {"0": 17}}, "batchconsumequeue": {}},
    {"config/topics.json": b'{"topicConfigTable":{}}', "config/topics.journal": bytes(range(256))},
)
DATA = TABLES.encode()


def made_of(**changes: object) -> bytes:
    """Return an object with other members and a right digest."""
    plain = orjson.loads(zlib.decompress(DATA[40:]))
    content = zlib.compress(orjson.dumps({**plain, **changes}))
    return TABLES_MAGIC + hashlib.sha256(content).digest() + content


def test_decode_inverts_encode() -> None:
    assert decode_tables(DATA, "t") == TABLES


@pytest.mark.parametrize("number", range(0, len(DATA), 7))
def test_every_change_is_seen(number: int) -> None:
    with pytest.raises(CorruptFile, match="t at byte"):
        decode_tables(DATA[:number] + bytes([DATA[number] ^ 4]) + DATA[number + 1 :], "t")
    with pytest.raises(CorruptFile, match="t at byte"):
        decode_tables(DATA[:number], "t")


def test_later_version_is_named() -> None:
    with pytest.raises(CorruptFile, match="of version 2, this program reads 1"):
        decode_tables(DATA[:7] + b"\x02" + DATA[8:], "t")


@pytest.mark.parametrize(
    "path",
    ["../topics.json", "config/../x", "config/a/b", "config/.x", "config/", "topics.json", "/config/x"],
)
def test_paths_that_lead_elsewhere_are_rejected(path: str) -> None:
    with pytest.raises(CorruptFile, match="is not the path of a table"):
        decode_tables(made_of(files={path: ""}), "t")


@pytest.mark.parametrize("changes", [{"shapes": {"x": 1}}, {"files": []}, {"more": 1}, {"shapes": None}])
def test_other_members_are_rejected(changes: dict[str, object]) -> None:
    with pytest.raises(CorruptFile, match="the object has no tables"):
        decode_tables(made_of(**changes), "t")
