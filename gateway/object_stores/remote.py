"""Object stores behind HTTP, through the package obstore: S3, Google Cloud Storage, Azure.

obstore repeats requests that fail with 5xx, by a refused or lost connection, or by a time-out of a request
that may be repeated; its threads are its own, and the calls release the GIL. Here is what it leaves open:

- A body that ends early is not repeated by obstore; here it is.
- A bucket that is gone and an object that is gone raise one error. The answer's code tells them apart.
- A repeated `create` whose first answer was lost raises `ObjectExists`, although the object is the caller's
  own. Callers compare the content.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from typing import Any, Final, TypeVar

from mqgateway.engine.errors import ConfigError, CorruptFile
from mqgateway.engine.tier.object_store import (
    ObjectExists,
    ObjectMissing,
    ObjectStoreUnavailable,
    check_name,
)

T = TypeVar("T")

EXTRA: Final = "mqgateway[tiered]"
ATTEMPTS: Final = 3
"""Number of times that a range is requested whose body ends early."""
PAGE: Final = 1000
"""Number of objects that are taken together from a list: S3 answers with as many."""
REQUEST_TIMEOUT: Final = timedelta(seconds=60)
"""Maximum time of one request with its body: 64 MiB at 9 Mbit/s."""
RETRY_TIMEOUT: Final = timedelta(seconds=60)
"""Time from the first request after which a failed one is not repeated."""

_CREDENTIALS: Final = (
    "ExpiredToken",
    "TokenRefreshRequired",
    "InvalidAccessKeyId",
    "InvalidToken",
    "SignatureDoesNotMatch",
    "AuthenticationFailed",
    "AccessDenied",
)
"""Codes in answers to requests whose credentials were not accepted."""
_CLOCK: Final = "RequestTimeTooSkewed"
_NO_BUCKET: Final = ("NoSuchBucket", "ContainerNotFound", "The specified bucket does not exist")


class RemoteObjects:
    """The objects below a prefix of a bucket."""

    def __init__(self, store: Any, title: str) -> None:
        self._store = store
        self._title = title
        self._errors = importlib.import_module("obstore.exceptions")

    @classmethod
    def open(cls, scheme: str, bucket: str, prefix: str, settings: Mapping[str, str]) -> RemoteObjects:
        """Return the objects of a bucket; nothing is requested yet. Raises `ConfigError`, also if the package
        obstore is not installed."""
        try:
            stores = importlib.import_module("obstore.store")
        except ImportError:
            raise ConfigError(
                f"object stores at {scheme}:// need the package obstore: install {EXTRA}"
            ) from None
        config: dict[str, object] = dict(settings)
        client: dict[str, object] = {"timeout": REQUEST_TIMEOUT, "connect_timeout": timedelta(seconds=5)}
        retry = {"max_retries": 10, "retry_timeout": RETRY_TIMEOUT}
        if scheme == "s3":
            if settings.get("endpoint", "").startswith("http://"):
                client["allow_http"] = True
            elif "endpoint" not in settings:
                # TLS protects the content already; signing it costs 0.7 s of a processor per GiB.
                config["unsigned_payload"] = True
        make = {"s3": "S3Store", "gs": "GCSStore", "az": "AzureStore"}[scheme]
        title = f"{scheme}://{bucket}/{prefix}".rstrip("/")
        try:
            store = getattr(stores, make)(
                bucket, prefix=prefix or None, config=config, client_options=client, retry_config=retry
            )
        except Exception as error:
            raise ConfigError(f"the object store {title} cannot be opened: {_first_line(error)}") from None
        return cls(store, title)

    def create(self, name: str, data: bytes | memoryview) -> None:
        """Write a new object; see `ObjectStore`."""
        check_name(name)
        try:
            self._store.put(name, data, mode="create")
        except self._errors.AlreadyExistsError:
            raise ObjectExists(name) from None
        except Exception as error:
            raise self._unavailable(error) from error

    def put(self, name: str, data: bytes) -> None:
        """Write an object or replace it; see `ObjectStore`."""
        check_name(name)
        self._call(name, lambda: self._store.put(name, data, use_multipart=False))

    def get_range(self, name: str, start: int, length: int) -> bytes:
        """Return a range of an object's bytes; see `ObjectStore`."""
        check_name(name)
        if not length:
            return b""
        for attempt in range(1, ATTEMPTS + 1):
            try:
                data = bytes(self._store.get_range(name, start=start, length=length))
                break
            except FileNotFoundError as error:
                raise self._missing(name, error) from None
            except Exception as error:
                if not _is_cut(error) or attempt == ATTEMPTS:
                    size = self.head(name) if _is_beyond(error) else None
                    if size is not None and size < start + length:
                        raise _too_short(name, start, length, size) from None
                    raise self._unavailable(error) from error
        if len(data) < length:
            raise _too_short(name, start, length, start + len(data))
        return data

    def list_from(self, prefix: str, after: str = "") -> Iterator[tuple[str, int]]:
        """Yield names and sizes of objects; see `ObjectStore`."""
        # obstore lists whole parts of names: the rest of the prefix is compared here.
        folder, _, _ = prefix.rpartition("/")
        try:
            pages = self._store.list(folder or None, offset=after or None, chunk_size=PAGE)
            for page in pages:
                for found in page:
                    name = found["path"]
                    if name.startswith(prefix):
                        yield name, found["size"]
                    elif name > prefix:
                        return
        except FileNotFoundError as error:
            raise self._unavailable(error) from error
        except self._errors.BaseError as error:
            raise self._unavailable(error) from error

    def delete(self, name: str) -> None:
        """Delete an object; see `ObjectStore`."""
        check_name(name)
        try:
            self._call(name, lambda: self._store.delete(name))
        except ObjectMissing:
            return

    def head(self, name: str) -> int | None:
        """Return the size of an object in bytes, or None; see `ObjectStore`."""
        check_name(name)
        try:
            size: int = self._call(name, lambda: self._store.head(name))["size"]
        except ObjectMissing:
            # The answer to such a request has no body that names the cause: is the bucket there?
            next(self.list_from(name), None)
            return None
        return size

    def _call(self, name: str, request: Callable[[], T]) -> T:
        try:
            return request()
        except FileNotFoundError as error:
            raise self._missing(name, error) from None
        except Exception as error:
            raise self._unavailable(error) from error

    def _missing(self, name: str, error: Exception) -> ObjectMissing | ObjectStoreUnavailable:
        if any(code in str(error) for code in _NO_BUCKET):
            return self._unavailable(error)
        return ObjectMissing(name)

    def _unavailable(self, error: Exception) -> ObjectStoreUnavailable:
        """Return the error with a reason that says what to do."""
        text = str(error)
        code = next((each for each in _CREDENTIALS if each in text), "")
        if any(each in text for each in _NO_BUCKET):
            reason = "its bucket does not exist"
        elif _CLOCK in text:
            reason = f"this machine's clock is too far from the store's ({_CLOCK}): set the clock"
        elif code or isinstance(
            error, (self._errors.PermissionDeniedError, self._errors.UnauthenticatedError)
        ):
            shown = code or _first_line(error)
            reason = f"it does not accept the credentials ({shown}): renew them, or allow the request"
        else:
            reason = _first_line(error)
        return ObjectStoreUnavailable(f"the object store {self._title} cannot be used: {reason}")


def _too_short(name: str, start: int, length: int, size: int) -> CorruptFile:
    return CorruptFile(name, start, f"{length} bytes were expected, and the object ends at {size}")


def _is_cut(error: Exception) -> bool:
    """Return True if an answer began and its body ended early."""
    return "response body error" in str(error)


def _is_beyond(error: Exception) -> bool:
    """Return True if a range begins after the end of its object.

    Names of objects and durations are in the text too: digits or a word alone decide nothing.
    """
    text = str(error)
    return any(sign in text for sign in ("status code: 416", "InvalidRange", "Wanted range"))


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__
