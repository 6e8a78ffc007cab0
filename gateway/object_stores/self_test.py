"""A test of an object store, before a writer relies on it.

Some stores that speak like S3 ignore the condition of a `create` and overwrite, and some are not atomic. The
history of the log depends on both, so such a store is refused.
"""

from __future__ import annotations

import contextlib
import secrets
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from mqgateway.engine.errors import ConfigError, CorruptFile, EngineError
from mqgateway.engine.tier.object_store import ObjectExists, ObjectStore

FOLDER: Final = "self-test"
RACERS: Final = 16
"""Number of writers that create one object at the same time."""
_LISTED: Final = ("a-b/c", "a/b", "a/c", "a0")
"""Names in the order of their bytes, which is not that of their parts."""


def verify_store(store: ObjectStore) -> None:
    """Try every verb on objects of names that no other test has, and remove them. Raises `ConfigError` with
    the reason if one does not do what it should, and `ObjectStoreUnavailable`."""
    token = secrets.token_hex(8)
    try:
        _verify_create(store, f"{FOLDER}/once-{token}")
        _verify_ranges(store, f"{FOLDER}/range-{token}")
        _verify_list(store, token)
        _verify_race(store, f"{FOLDER}/race-{token}")
    except EngineError:
        with contextlib.suppress(EngineError):
            _clear(store, token)
        raise
    _clear(store, token)


def _clear(store: ObjectStore, token: str) -> None:
    for name in _listed(store, token):
        store.delete(name)
    if _listed(store, token):
        raise _refused("objects that were deleted are still listed")


def _listed(store: ObjectStore, token: str, prefix: str = f"{FOLDER}/", after: str = "") -> list[str]:
    """Return the names of the objects of one test."""
    return [name for name, _ in store.list_from(prefix, after) if name.endswith(token)]


def _verify_create(store: ObjectStore, name: str) -> None:
    if store.head(name) is not None:
        raise _refused("an object exists that was not written")
    with contextlib.suppress(ObjectExists):  # its answer was lost, and the store's client repeated it
        store.create(name, b"first")
    try:
        store.create(name, b"other")
    except ObjectExists:
        if store.get_range(name, 0, 5) != b"first":
            raise _refused("a second creation of an object was refused, and still changed it") from None
        return
    raise _refused("an object was created twice: the store ignores the condition (If-None-Match)")


def _verify_ranges(store: ObjectStore, name: str) -> None:
    store.put(name, b"0123456789")
    store.put(name, b"abcdefgh")
    if store.head(name) != 8 or store.get_range(name, 2, 3) != b"cde":
        raise _refused("a range of a replaced object has wrong bytes")
    try:
        store.get_range(name, 6, 3)
    except CorruptFile:
        return
    raise _refused("a range beyond the end of an object was answered")


def _verify_list(store: ObjectStore, token: str) -> None:
    names = [f"{FOLDER}/list/{name}-{token}" for name in _LISTED]
    for name in reversed(names):
        store.put(name, b"1")
    if _listed(store, token, f"{FOLDER}/list/") != names:
        raise _refused("a list is not complete, or not in the order of names")
    if _listed(store, token, f"{FOLDER}/list/a/", names[1]) != names[2:3]:
        raise _refused("a list after a name, or with a prefix, has wrong objects")


def _verify_race(store: ObjectStore, name: str) -> None:
    def create(number: int) -> bytes:
        content = b"%02d" % number
        try:
            store.create(name, content)
        except ObjectExists:
            return b""
        return content

    with ThreadPoolExecutor(RACERS) as threads:
        winners = [content for content in threads.map(create, range(RACERS)) if content]
    # The answer of the winner may have been lost: then no writer counts itself as such.
    if len(winners) > 1:
        raise _refused(f"{len(winners)} of {RACERS} writers created one object at the same time")
    if winners and store.get_range(name, 0, 2) != winners[0]:
        raise _refused("an object has not the content of the writer that created it")


def _refused(reason: str) -> ConfigError:
    return ConfigError(f"the object store cannot be used for long retention: {reason}")
