"""Timeline of one message from the trace records of its clients: its sends and consumptions. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from mqgateway.gateway.codec.traces import TraceRecord

CONSUMED_MAX = 64


class HostRecord(NamedTuple):
    """A trace record, and the host that it came from."""

    host: str
    record: TraceRecord


def timeline(records: Iterable[HostRecord]) -> dict[str, Any]:
    """Return the lists `sent` and `consumed`, each with the oldest first.

    Of a consumption, `began` is None if no start is known. `took` and `isGood` are None if only the start was
    reported.
    """
    sent: list[dict[str, Any]] = []
    consumed: dict[tuple[str, str], dict[str, Any]] = {}
    for host, one in records:
        if one.kind == "Pub":
            sent.append(_step(host, one) | {"began": one.time, "took": one.took, "isGood": one.is_good})
            continue
        unknown = {"began": None, "took": None, "isGood": None}
        step = consumed.setdefault((host, one.number), _step(host, one) | unknown)
        step["group"] = step["group"] or one.group
        if one.kind == "SubBefore":
            step["began"] = one.time
        else:
            step |= {"took": one.took, "isGood": one.is_good}
            if step["began"] is None and one.time:
                step["began"] = one.time - one.took
    ordered = sorted(consumed.values(), key=lambda step: step["began"] or 0)
    return {"sent": sorted(sent, key=lambda step: int(step["began"])), "consumed": ordered[:CONSUMED_MAX]}


def _step(host: str, record: TraceRecord) -> dict[str, Any]:
    return {"group": record.group, "host": host}
