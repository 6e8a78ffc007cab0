"""The object that begins an epoch, as JSON with a digest.

Each start of a writer takes a new epoch, by creating its object. Ranges of an epoch count only below the
starts of all later ones (`tier.ranges`), so a writer that continues under an old epoch changes nothing.
"""

from __future__ import annotations

import hashlib
from typing import Any, Final, NamedTuple

import orjson

from mqgateway.engine.errors import CorruptFile
from mqgateway.engine.tier.format.names import EPOCH_MAX

VERSION: Final = 1
OFFSET_MAX: Final = (1 << 63) - 1


class TierEpoch(NamedTuple):
    """An epoch: its number, the log offset from which its ranges count, its writer's id (16 hexadecimal
    digits), when it began (ms), and the store that it saves, for people. `restored` is True if that store is
    made of the tier: the logs before are those of a broker that was lost.
    """

    epoch: int
    start: int
    writer: str
    created: int
    store: str
    restored: bool = False

    def encode(self) -> bytes:
        """Return the bytes of the object."""
        text = orjson.dumps(self._asdict(), option=orjson.OPT_SORT_KEYS)
        digest = hashlib.sha256(text).hexdigest()
        return orjson.dumps({"version": VERSION, "sha256": digest, "epoch": self._asdict()})


def decode_epoch(data: bytes, name: str) -> TierEpoch:
    """Parse the object that begins an epoch. Raises `CorruptFile` with the object's name."""
    try:
        found = orjson.loads(data)
        members: dict[str, Any] = found["epoch"]
        if found["version"] != VERSION:
            what = f"the object is of version {found['version']}, this program reads {VERSION}"
            raise CorruptFile(name, 0, what)
        text = orjson.dumps(members, option=orjson.OPT_SORT_KEYS)
        if hashlib.sha256(text).hexdigest() != found["sha256"]:
            raise CorruptFile(name, 0, "the object does not match its digest")
        epoch = TierEpoch(**members)
    except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
        raise CorruptFile(name, 0, f"the object is not the begin of an epoch: {error!r}") from None
    for value, most in ((epoch.epoch, EPOCH_MAX), (epoch.start, OFFSET_MAX), (epoch.created, OFFSET_MAX)):
        if type(value) is not int or not 0 <= value <= most:
            raise CorruptFile(name, 0, f"{value!r} is not a number from 0 to {most}")
    if not (isinstance(epoch.writer, str) and isinstance(epoch.store, str)):
        raise CorruptFile(name, 0, "writer and store are not text")
    if type(epoch.restored) is not bool:
        raise CorruptFile(name, 0, f"{epoch.restored!r} is neither true nor false")
    return epoch
