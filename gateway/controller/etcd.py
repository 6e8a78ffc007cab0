"""Requests and answers of etcd's JSON gateway in the types of `engine.controller.key_values`; no I/O.

Keys and values are base64, whole numbers are texts, and values that are 0, false or empty are omitted.
Source: etcd's `rpc.proto`, versions 3.3 to 3.6.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from mqgateway.engine.controller.key_values import (
    Delete,
    Kept,
    KeyRange,
    KeyValue,
    Lease,
    Outcome,
    Put,
    Transaction,
    Unanswered,
)
from mqgateway.engine.errors import ConfigError

VERSIONS = ("v3", "v3beta")
"""Path prefixes: since etcd 3.4, and before."""
EXAMPLE = "http://10.0.0.1:2379"

Json = Mapping[str, Any]


class EtcdEndpoint(NamedTuple):
    """Address of an etcd server."""

    is_encrypted: bool
    host: str
    port: int

    @property
    def url(self) -> str:
        """Prefix of its URLs."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.is_encrypted else 'http'}://{host}:{self.port}"


def endpoints_of(text: str) -> list[EtcdEndpoint]:
    """Parse `controllerEtcdEndpoints`. Raises `ConfigError`."""
    return [_endpoint(part.strip()) for part in text.split(";") if part.strip()]


def _endpoint(part: str) -> EtcdEndpoint:
    try:
        url = urlsplit(part)
        host, port = url.hostname, url.port
        if url.scheme in ("http", "https") and host and port and url.path in ("", "/") and "@" not in part:
            return EtcdEndpoint(url.scheme == "https", host, port)
    except ValueError:
        pass
    raise ConfigError(f"controllerEtcdEndpoints: {part} is not an etcd server; write it as {EXAMPLE}")


def transaction(wanted: Transaction) -> Json:
    """Return the body of a `kv/txn` request."""
    return {
        "compare": [
            {"target": "MOD", "result": "EQUAL", "key": _text(key), "mod_revision": str(revision)}
            for key, revision in wanted.compare.items()
        ],
        "success": [_operation(one) for one in wanted.then],
        "failure": [_operation(one) for one in wanted.otherwise],
    }


def _operation(one: Put | Delete | KeyRange) -> Json:
    if isinstance(one, Put):
        value = b64encode(one.value).decode()
        return {"request_put": {"key": _text(one.key), "value": value, "lease": str(one.lease)}}
    if isinstance(one, Delete):
        return {"request_delete_range": {"key": _text(one.key)}}
    asked = {"key": _text(one.key)}
    if one.end:
        asked |= {"range_end": _text(one.end), "limit": str(one.limit)}
    return {"request_range": asked}


def outcome(answer: Json) -> Outcome:
    """Parse the answer to `kv/txn`. Raises `Unanswered` if it is malformed, as do the functions below."""
    try:
        header = answer["header"]
        found = [
            [_key_value(one) for one in part["response_range"].get("kvs", ())]
            for part in answer.get("responses", ())
            if "response_range" in part
        ]
        succeeded = bool(answer.get("succeeded"))
        return Outcome(succeeded, int(header["revision"]), found, str(header["member_id"]))
    except _UNREADABLE:
        raise _no_answer(answer) from None


def _key_value(one: Json) -> KeyValue:
    key, value = b64decode(one["key"]).decode("utf-8", "replace"), b64decode(one.get("value", ""))
    return KeyValue(key, value, int(one["mod_revision"]), int(one.get("lease", 0)))


def granted(answer: Json) -> Lease:
    """Parse the answer to `lease/grant`."""
    try:
        return Lease(int(answer["ID"]), int(answer["TTL"]))
    except _UNREADABLE:
        raise _no_answer(answer) from None


def kept(answer: Json) -> Kept:
    """Parse the answer to `lease/keepalive`, the single part of a stream."""
    try:
        result = answer["result"]
        return Kept(int(result.get("TTL", 0)), str(result["header"]["member_id"]))
    except _UNREADABLE:
        raise _no_answer(answer) from None


def token(answer: Json) -> str:
    """Parse the answer to `auth/authenticate`."""
    try:
        return str(answer["token"])
    except _UNREADABLE:
        raise _no_answer(answer) from None


_UNREADABLE = (AttributeError, KeyError, TypeError, ValueError)


def _no_answer(answer: object) -> Unanswered:
    return Unanswered(f"not what etcd answers: {str(answer)[:200]}")


def _text(key: str) -> str:
    return b64encode(key.encode()).decode()
