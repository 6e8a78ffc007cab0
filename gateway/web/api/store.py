"""The store: how far its log is, its files, what is damaged, and how long the disk will last."""

from __future__ import annotations

from typing import Any, NamedTuple

from mqgateway.engine.options import StoreOptions
from mqgateway.engine.store.file_queue import file_name
from mqgateway.gateway.access.policies import Action
from mqgateway.gateway.broker.operations import LogSegment
from mqgateway.gateway.web.api.needs import of_cluster
from mqgateway.gateway.web.call import WebCall
from mqgateway.gateway.web.console import Console
from mqgateway.gateway.web.lists import PAGE_FIELDS, has, page_of
from mqgateway.gateway.web.route import Role, Route

DAMAGED_SHOWN = 50
GROWTH_SECONDS = 3600
"""Over how long growth is looked at."""


class Forecast(NamedTuple):
    """In how many seconds old files go whatever the hour, and writes are refused; None for never."""

    until_cleaning: int | None
    until_refusal: int | None


def forecast(options: StoreOptions, total: int, free: int, growth: float) -> Forecast:
    """Forecast a disk that grows by so many bytes a second, if no file is deleted. Sizes in bytes.

    Writes are refused where both bounds are passed: see `engine.store.retention`.
    """
    cleaning = total * (100 - options.disk_max_used_space_ratio) / 100
    warning = total * (100 - options.disk_space_warning_level_ratio) / 100
    refusal = min(warning, options.disk_free_space_min)

    def until(bound: float) -> int | None:
        if free <= bound:
            return 0
        return round((free - bound) / growth) if growth > 0 else None

    return Forecast(until(cleaning), until(refusal))


def store(console: Console, call: WebCall) -> dict[str, Any]:
    """Positions in the log, sizes, disks with a forecast, what is kept how long, damaged records."""
    options, state = console.operations.store_options, console.operations.storage.state()
    positions, damaged = state.positions, state.damaged
    rates = console.rings.since(call.now / 1000 - GROWTH_SECONDS)["logBytes"]
    growth = sum(rates) / len(rates) if rates else None
    return {
        "positions": positions._asdict(),
        "logBytes": positions.end - positions.first,
        "segments": state.segment_count,
        "segmentBytes": state.segment_size,
        "queues": state.queue_count,
        "lightQueues": state.lmq_count,
        "oldest": state.oldest,
        "wasClean": state.was_clean,
        "refusal": state.refusal,
        "growth": growth,
        "disks": [_disk(console, path, growth) for path in dict.fromkeys(state.folders)],
        "retention": {
            "hours": options.file_reserved_time,
            "deleteWhen": options.delete_when,
            "cleaningPercent": options.disk_max_used_space_ratio,
            "forcedPercent": options.disk_space_clean_forcibly_ratio
            if options.clean_file_forcibly_enable
            else None,
            "refusalPercent": options.disk_space_warning_level_ratio,
            "refusalFreeBytes": options.disk_free_space_min,
        },
        "isChecked": options.check_crc_on_read,
        "damagedRecords": len(damaged),
        "damaged": [
            {"offset": offset, "what": damaged[offset]} for offset in sorted(damaged)[:DAMAGED_SHOWN]
        ],
    }


def _disk(console: Console, path: str, growth: float | None) -> dict[str, Any]:
    total, free = console.operations.storage.usage(path)
    predicted = forecast(console.operations.store_options, total, free, growth or 0.0)
    return {
        "path": path,
        "bytes": total,
        "freeBytes": free,
        "usedPercent": round((total - free) * 100 / total, 1) if total else 0.0,
        "untilCleaning": predicted.until_cleaning,
        "untilRefusal": predicted.until_refusal,
    }


def segments(console: Console, call: WebCall) -> dict[str, Any]:
    """A page of the log's files; `goes` is when one is old enough to be deleted, a time in ms."""
    storage, query = console.operations.storage, call.query
    starts = {name: start for start in storage.segments() if has(name := file_name(start), query["search"])}
    page = page_of(
        [(start, name) for name, start in starts.items()],
        query["limit"],
        query["cursor"],
        descending=query["descending"],
    )
    return {
        "rows": [_segment(console, name, storage.segment(starts[name])) for name in page.names],
        "total": page.total,
        "cursor": page.cursor,
    }


def _segment(console: Console, name: str, segment: LogSegment) -> dict[str, Any]:
    written, reserved = segment.written, console.operations.store_options.file_reserved_time
    return {
        "name": name,
        "used": segment.used,
        "isFlushed": segment.is_flushed,
        "isDispatched": segment.is_dispatched,
        "written": written,
        "goes": None if segment.is_last or written is None else written + reserved * 3_600_000,
    }


_SHOWN = of_cluster(Action.GET)

ROUTES = (
    Route("GET", "/store", Role.VIEWER, "Show the store and its disks.", store, needs=_SHOWN),
    Route(
        "GET",
        "/store/segments",
        Role.VIEWER,
        "List the files of the commit log.",
        segments,
        query=PAGE_FIELDS,
        needs=_SHOWN,
    ),
)
