"""Lite topics and the LMQ queues they stand for.

A lite topic belongs to a parent topic. Its messages are stored in the parent and read from the LMQ queue
`%LMQ%$parent$lite`. A consistent hash of its name selects the broker of the parent that has it. Standard:
`LiteUtil`, `LiteShardingImpl`.
"""

from collections.abc import Sequence

from mqgateway.engine.message import LMQ_PREFIX, java_hash

LITE_PREFIX = f"{LMQ_PREFIX}$"
SEPARATOR = "$"

_FACTOR = 2862933555777941757
_MASK = (1 << 64) - 1


def lmq_name(parent: str, lite: str) -> str:
    """Return the LMQ queue of a lite topic."""
    return f"{LITE_PREFIX}{parent}{SEPARATOR}{lite}"


def split_name(queue: str) -> tuple[str, str] | None:
    """Return parent and name of the lite topic of an LMQ queue; None for any other queue."""
    if not queue.startswith(LITE_PREFIX):
        return None
    parts = queue[len(LITE_PREFIX) :].split(SEPARATOR)
    return (parts[0], parts[1]) if len(parts) == 2 and all(parts) else None


def bucket(name: str, count: int) -> int:
    """Return which of `count` buckets a name belongs to. Standard: Guava's `Hashing.consistentHash`."""
    state = java_hash(name) & _MASK
    candidate = 0
    while True:
        state = (_FACTOR * state + 1) & _MASK
        following = int((candidate + 1) / (((state >> 33) + 1) / (1 << 31)))
        if not 0 <= following < count:
            return candidate
        candidate = following


def home(lite: str, brokers: Sequence[str], own: str) -> str:
    """Return the broker that has a lite topic; `brokers` has a name for each queue of the parent to write
    to.
    """
    return brokers[bucket(lite, len(brokers))] if brokers and lite else own
