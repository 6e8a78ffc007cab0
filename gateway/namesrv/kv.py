"""The name server's KV configuration: namespace -> key -> value, kept in `kvConfig.json`.

A change is written to the file before it is seen: `{"configTable":{namespace:{key:value}}}`. Its one use by
the standard is the namespace `ORDER_TOPIC_CONFIG`: topic -> "brokerA:4;brokerB:4".
Standard: `KVConfigManager`, `KVConfigSerializeWrapper`.
"""

from __future__ import annotations

import logging

from mqgateway.engine.disk import Disk
from mqgateway.engine.errors import ConfigError, EngineError
from mqgateway.engine.jsonfile import load_table, save_table
from mqgateway.engine.options import NamesrvOptions

log = logging.getLogger(__name__)

ORDER_TOPIC_CONFIG = "ORDER_TOPIC_CONFIG"


class KvFull(EngineError):
    """A limit of the KV configuration is reached; the text says which."""


class KvConfig:
    """The configuration, read from its file on construction.

    Raises ConfigError when the file is there but holds something else.
    """

    def __init__(self, options: NamesrvOptions, disk: Disk, path: str) -> None:
        self._options = options
        self._disk = disk
        self._path = path
        self._table = _read_table(load_table(disk, path) or {}, path)

    def put(self, namespace: str, key: str, value: str) -> None:
        """Set one value. Raises KvFull, or OSError when the file cannot be written; then nothing changed."""
        self._check_limits(namespace, key, value)
        log.info("KV configuration: %s %s is now %.200s", namespace, key, value)
        self._replace(namespace, {**self._table.get(namespace, {}), key: value})

    def delete(self, namespace: str, key: str) -> None:
        """Remove one value; nothing happens when it is not there. Raises OSError as `put`."""
        values = self._table.get(namespace, {})
        if key in values:
            log.info("KV configuration: %s %s is deleted", namespace, key)
            self._replace(namespace, {k: v for k, v in values.items() if k != key})

    def get(self, namespace: str, key: str) -> str | None:
        """One value, or None."""
        return self._table.get(namespace, {}).get(key)

    def values(self, namespace: str) -> dict[str, str] | None:
        """All values of a namespace; None when nothing was ever put into it."""
        return self._table.get(namespace)

    def log_all(self) -> None:
        """Write the whole configuration to the log."""
        log.info("KV configuration: %d namespaces", len(self._table))
        for namespace, values in self._table.items():
            for key, value in values.items():
                log.info("KV configuration: %s %s is %s", namespace, key, value)

    def _replace(self, namespace: str, values: dict[str, str]) -> None:
        table = {**self._table, namespace: values}
        save_table(self._disk, self._path, {"configTable": table})
        self._table = table

    def _check_limits(self, namespace: str, key: str, value: str) -> None:
        count, length = self._options.max_kv_entries, self._options.max_kv_entry_length
        if len(namespace) + len(key) + len(value) > length:
            raise KvFull(f"a KV entry may have {length} characters")
        # A namespace stays when its last value goes, as the standard has it: it counts like a value.
        used = sum(max(1, len(values)) for values in self._table.values())
        before = self.get(namespace, key)
        if before is None and used >= count:
            raise KvFull(f"the KV configuration may have {count} entries")
        most = self._options.max_kv_size
        grows = len(value) - len(before or "") > 0
        if grows and self._size() + len(namespace) + len(key) + len(value) > most:
            raise KvFull(f"the KV configuration may have {most} characters")

    def _size(self) -> int:
        """Characters of all that is kept."""
        return sum(
            len(namespace) + sum(len(key) + len(value) for key, value in values.items())
            for namespace, values in self._table.items()
        )


def _read_table(stored: object, path: str) -> dict[str, dict[str, str]]:
    table = stored.get("configTable", {}) if isinstance(stored, dict) else None
    if not isinstance(table, dict) or not all(isinstance(values, dict) for values in table.values()):
        raise ConfigError(f'{path}: not of the form {{"configTable":{{namespace:{{key:value}}}}}}')
    return {
        str(namespace): {str(key): str(value) for key, value in values.items()}
        for namespace, values in table.items()
    }
