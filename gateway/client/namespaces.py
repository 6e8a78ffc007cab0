"""Names within a namespace: `ns%topic`, `%RETRY%ns%group`, `%DLQ%ns%group`.

The client alone knows of this first kind of namespace; to servers the names are just names. System topics
and groups have none. Standard: `NamespaceUtil`.
"""

from __future__ import annotations

from mqgateway.engine.message import DLQ_PREFIX, RETRY_PREFIX, SYSTEM_GROUP_PREFIX
from mqgateway.engine.names import is_system_topic

SEPARATOR = "%"


def with_namespace(namespace: str, name: str) -> str:
    """Return the name as servers know it; a name that has the namespace already stays as it is."""
    if not namespace or not name or _is_system(name):
        return name
    prefix, bare = _split(name)
    if bare.startswith(namespace + SEPARATOR):
        return name
    return f"{prefix}{namespace}{SEPARATOR}{bare}"


def without_namespace(namespace: str, name: str) -> str:
    """Return the name as the user knows it; a name of another namespace stays as it is."""
    if not namespace or not name or _is_system(name):
        return name
    prefix, bare = _split(name)
    mark = namespace + SEPARATOR
    return prefix + bare.removeprefix(mark) if bare.startswith(mark) else name


def _split(name: str) -> tuple[str, str]:
    for prefix in (RETRY_PREFIX, DLQ_PREFIX):
        if name.startswith(prefix):
            return prefix, name.removeprefix(prefix)
    return "", name


def _is_system(name: str) -> bool:
    return is_system_topic(name) or name.startswith(SYSTEM_GROUP_PREFIX)
