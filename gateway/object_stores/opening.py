"""Object stores opened by URL.

Credentials are not in a URL: they come from the environment of the process, by the names that the cloud's own
tools use, or from the machine's role.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from mqgateway.engine.errors import ConfigError
from mqgateway.engine.real_disk import RealDisk
from mqgateway.engine.tier.object_folder import ObjectFolder
from mqgateway.engine.tier.object_store import ObjectStore, check_name
from mqgateway.gateway.object_stores.remote import RemoteObjects
from mqgateway.gateway.object_stores.self_test import verify_store

S3_SETTINGS: Final = ("endpoint", "region")
"""Settings in the query of an S3 URL: the address of a store that speaks like S3, and the region."""
SCHEMES: Final = ("file", "s3", "gs", "az")


def open_object_store(url: str) -> ObjectStore:
    """Return the store of a URL, to read from it. Raises `ConfigError`."""
    parts = _split(url)
    if parts.scheme == "file":
        return _folder(url, parts)
    return _remote(url, parts)


def open_for_writing(url: str, now: int, *, is_new: bool = True) -> ObjectStore:
    """Return the store of a URL once it has passed a test. `now` is in ms since the epoch.

    A folder is created if needed, unless it `is_new` no longer: then its file system is not mounted. Raises
    `ConfigError`, also if the store does not do what a verb says, and `ObjectStoreUnavailable`.
    """
    store = open_object_store(url)
    if isinstance(store, ObjectFolder) and is_new:
        store.prepare(now)
    verify_store(store)
    return store


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise ConfigError(f"{url!r} is not a URL: {error}") from None
    if parts.scheme not in SCHEMES:
        known = "file:///folder, s3://bucket/prefix, gs://bucket/prefix and az://container/prefix"
        raise ConfigError(f"no object store has the URL {url!r}: {known} are known")
    if "@" in parts.netloc:
        raise ConfigError(
            f"the URL of an object store has credentials ({parts.scheme}://...@...): set them in the "
            "environment"
        )
    if parts.fragment or (parts.query and parts.scheme != "s3"):
        raise ConfigError(f"the URL {url!r} has a part after the path that means nothing: remove it")
    return parts


def _folder(url: str, parts: SplitResult) -> ObjectFolder:
    path = unquote(parts.path)
    if parts.netloc not in ("", "localhost") or not path.strip("/"):
        raise ConfigError(f"{url!r} names no folder of this machine: write file:///path/of/the/folder")
    return ObjectFolder(RealDisk(), path)


def _remote(url: str, parts: SplitResult) -> RemoteObjects:
    prefix = parts.path.strip("/")
    try:
        if not parts.netloc:
            raise ValueError("it has no bucket")
        if prefix:
            check_name(prefix)
        settings = dict(parse_qsl(parts.query, strict_parsing=True)) if parts.query else {}
    except ValueError as error:
        raise ConfigError(f"{url!r} names no object store: {error}") from None
    unknown = sorted(set(settings) - set(S3_SETTINGS))
    if unknown:
        known = ", ".join(S3_SETTINGS)
        raise ConfigError(f"the URL {url!r} has the unknown setting {unknown[0]}: known are {known}")
    return RemoteObjects.open(parts.scheme, parts.netloc, prefix, settings)
