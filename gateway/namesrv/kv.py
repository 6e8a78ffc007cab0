"""KV configuration of the name server: namespace -> key -> value, stored in `kvConfig.json`.

A change is written to the file's journal before it is visible, and is durable before it is acknowledged. The
file is `{"configTable":{namespace:{key:value}}}`. RocketMQ uses only the namespace `ORDER_TOPIC_CONFIG`:
topic -> "brokerA:4;brokerB:4".
RocketMQ: `KVConfigManager`, `KVConfigSerializeWrapper`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

from mqgateway.engine.clock import Clock
from mqgateway.engine.disk import Disk
from mqgateway.engine.errors import ConfigError, EngineError
from mqgateway.engine.options import NamesrvOptions
from mqgateway.engine.tables.journaled import JournaledFile, OnDurable
from mqgateway.engine.tables.jsonfile import in_chunks
from mqgateway.engine.worker import Worker

log = logging.getLogger(__name__)

ORDER_TOPIC_CONFIG = "ORDER_TOPIC_CONFIG"


class KvFull(EngineError):
    """A limit of the KV configuration is reached; the text names it."""


class KvConfig:
    """KV configuration, read from its file on construction.

    Raises ConfigError if the file exists but is invalid.
    """

    def __init__(
        self, options: NamesrvOptions, disk: Disk, path: str, clock: Clock, worker: Worker | None = None
    ) -> None:
        self._options = options
        self._file = JournaledFile(disk, path, clock, worker)
        self._table = _read_table(self._file.load() or {}, path)
        # Characters and entries of all values. An empty namespace is kept, as in RocketMQ, and counts like a
        # value.
        self._size = sum(
            len(namespace) + sum(len(key) + len(value) for key, value in values.items())
            for namespace, values in self._table.items()
        )
        self._count = sum(max(1, len(values)) for values in self._table.values())

    def put(self, namespace: str, key: str, value: str) -> None:
        """Set one value. Raises KvFull, or OSError if it cannot be written; then nothing has changed."""
        self._check_limits(namespace, key, value)
        self._append(namespace, key, value)
        log.info("KV configuration: %s %s is now %.200s", namespace, key, value)
        if namespace not in self._table:
            self._size += len(namespace)
            self._count += 1
        values = self._table.setdefault(namespace, {})
        before = values.get(key)
        self._count -= max(1, len(values))
        self._size += len(value) - len(before) if before is not None else len(key) + len(value)
        values[key] = value
        self._count += len(values)
        self._file.proceed(self._chunks)

    def delete(self, namespace: str, key: str) -> None:
        """Delete one value; does nothing if it does not exist. Raises OSError as `put`."""
        values = self._table.get(namespace, {})
        if key in values:
            self._append(namespace, key, None)
            log.info("KV configuration: %s %s is deleted", namespace, key)
            self._count -= len(values)
            self._size -= len(key) + len(values.pop(key))
            self._count += max(1, len(values))
            self._file.proceed(self._chunks)

    def _append(self, namespace: str, key: str, value: str | None) -> None:
        if self._file.has_failed:
            self.retry()
        self._file.append([(["configTable", namespace, key], value)])

    def when_durable(self, on_durable: OnDurable) -> None:
        """Call back once all changes so far are durable, or with the error that prevents it."""
        self._file.when_durable(on_durable)

    def retry(self) -> None:
        """Write pending changes if a retry is due; for a slow periodic task."""
        self._file.retry(self._chunks)

    def close(self) -> None:
        """Write pending changes now, synchronously; for the shutdown, when the worker has stopped."""
        self._file.close(self._chunks)

    def _chunks(self) -> Iterator[bytes]:
        return in_chunks({"configTable": {name: dict(values) for name, values in self._table.items()}})

    def get(self, namespace: str, key: str) -> str | None:
        """Return one value, or None."""
        return self._table.get(namespace, {}).get(key)

    def values(self, namespace: str) -> dict[str, str] | None:
        """Return all values of a namespace; None if it never had any."""
        return self._table.get(namespace)

    def log_all(self) -> None:
        """Log the whole configuration."""
        log.info("KV configuration: %d namespaces", len(self._table))
        for namespace, values in self._table.items():
            for key, value in values.items():
                log.info("KV configuration: %s %s is %s", namespace, key, value)

    def _check_limits(self, namespace: str, key: str, value: str) -> None:
        count, length = self._options.max_kv_entries, self._options.max_kv_entry_length
        if len(namespace) + len(key) + len(value) > length:
            raise KvFull(f"a KV entry may have {length} characters")
        before = self.get(namespace, key)
        if before is None and self._count >= count:
            raise KvFull(f"the KV configuration may have {count} entries")
        most = self._options.max_kv_size
        grows = len(value) - len(before or "") > 0
        if grows and self._size + len(namespace) + len(key) + len(value) > most:
            raise KvFull(f"the KV configuration may have {most} characters")


def _read_table(stored: object, path: str) -> dict[str, dict[str, str]]:
    table = stored.get("configTable", {}) if isinstance(stored, dict) else None
    if not isinstance(table, dict) or not all(isinstance(values, dict) for values in table.values()):
        raise ConfigError(f'{path}: not of the form {{"configTable":{{namespace:{{key:value}}}}}}')
    return {
        str(namespace): {str(key): str(value) for key, value in values.items()}
        for namespace, values in table.items()
    }
