"""Reports of `mqgateway store check|rebuild|stats|convert`, as lines of text and as JSON."""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING, Any

from mqgateway.gateway.cli.times import iso

if TYPE_CHECKING:
    from mqgateway.engine.upkeep.check import CheckReport
    from mqgateway.engine.upkeep.convert import ConvertReport
    from mqgateway.engine.upkeep.findings import Findings
    from mqgateway.engine.upkeep.ledger_check import LedgerCheck
    from mqgateway.engine.upkeep.rebuild import RebuildReport
    from mqgateway.engine.upkeep.stats import StoreStats

_CHART_WIDTH = 30


def in_bytes(count: float) -> str:
    """Return a number of bytes in a readable unit."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"


def in_time(millis: int | None) -> str:
    """Return a time in ms as ISO 8601 in UTC, `-` for None."""
    if millis is None:
        return "-"
    return iso(millis, UTC)


def findings_as_text(findings: Findings) -> list[str]:
    """Return lines for each finding, errors last."""
    lines = []
    for finding in sorted(findings.kept, key=lambda finding: finding.severity == "error"):
        place = finding.path if finding.offset < 0 else f"{finding.path} at byte {finding.offset}"
        lines.append(f"{finding.severity:5}  {place}: {finding.what}")
        if finding.advice:
            lines.append(f"       -> {finding.advice}")
    if findings.left_out:
        lines.append(f"... {findings.left_out} more findings; see them with a higher --limit")
    return lines


def findings_as_json(findings: Findings) -> dict[str, Any]:
    """Return the kept findings, and the numbers of errors and of findings left out."""
    return {
        "errors": findings.errors,
        "findings": [
            {**finding._asdict(), "offset": finding.offset if finding.offset >= 0 else None}
            for finding in findings.kept
        ],
        "leftOut": findings.left_out,
    }


def check_as_text(report: CheckReport) -> list[str]:
    """Return the figures of the read data, the findings and the verdict as lines."""
    size = in_bytes(report.log_end - report.log_start)
    lines = [
        f"{report.root}: {report.records:,} records in {size} of log "
        f"({report.log_start} to {report.log_end}), {report.units:,} units in {report.queues:,} queues, "
        f"{report.index_entries:,} index entries, {report.tables} tables",
        *ledger_as_text(report.ledger),
        *findings_as_text(report.findings),
    ]
    return [*lines, verdict(report)]


def verdict(report: CheckReport) -> str:
    """Return the result of a check in words."""
    errors = report.findings.errors
    return "sound" if report.is_sound else f"{errors} error{'s' if errors != 1 else ''} found"


def check_as_json(report: CheckReport) -> dict[str, Any]:
    """Return the report for JSON."""
    return {
        "store": report.root,
        "sound": report.is_sound,
        "unclean": report.is_unclean,
        "logStart": report.log_start,
        "logEnd": report.log_end,
        "records": report.records,
        "queues": report.queues,
        "units": report.units,
        "indexEntries": report.index_entries,
        "tables": report.tables,
        **ledger_as_json(report.ledger),
        **findings_as_json(report.findings),
    }


def ledger_as_text(ledger: LedgerCheck | None) -> list[str]:
    """Return a line with the entries and the term of a DLedger member, for comparing members."""
    if ledger is None:
        return []
    first, last = ledger.first, ledger.last
    if first is None or last is None:
        return ["a DLedger member without entries"]
    return [
        f"a DLedger member with entries {first.index:,} to {last.index:,}, the last of term {last.term}; "
        f"committed up to {ledger.noted.committed:,}; term {ledger.noted.term}"
    ]


def ledger_as_json(ledger: LedgerCheck | None) -> dict[str, Any]:
    """Return the entries and the term of a DLedger member for JSON; empty for another store."""
    if ledger is None:
        return {}
    first, last = ledger.first, ledger.last
    return {
        "dledger": {
            "entries": ledger.entries,
            "firstIndex": first.index if first else None,
            "lastIndex": last.index if last else None,
            "lastTerm": last.term if last else None,
            "committedIndex": ledger.noted.committed,
            "term": ledger.noted.term,
        }
    }


def convert_as_text(report: ConvertReport) -> list[str]:
    """Return the result of a conversion as lines."""
    size = in_bytes(report.log_end - report.log_start)
    lines = [
        f"{report.target}: {report.records:,} records in {size} of log, {report.queues:,} queues, "
        f"{report.index_entries:,} index entries, {report.timers:,} timers moved",
        f"from {report.root}: every message was compared",
    ]
    if report.member:
        lines.append(
            f"{report.member}: {report.entries:,} entries up to {report.last_index:,} of "
            f"term {report.last_term}; committed up to {report.committed:,}"
        )
    if report.batches:
        lines.append(f"{report.messages:,} messages made of {report.batches:,} batches of Kafka")
    if report.lost:
        lines.append(
            f"{report.lost:,} offsets without a message that can be made have an empty one; "
            f"damaged batches: {report.damaged:,}"
        )
    if report.left_out:
        lines.append(f"not taken over: {', '.join(report.left_out)}")
    return [*lines, *findings_as_text(report.findings)]


def convert_as_json(report: ConvertReport) -> dict[str, Any]:
    """Return the report for JSON."""
    return {
        "store": report.root,
        "target": report.target,
        "member": report.member,
        "entries": report.entries,
        "lastIndex": report.last_index,
        "lastTerm": report.last_term,
        "committedIndex": report.committed,
        "logStart": report.log_start,
        "logEnd": report.log_end,
        "records": report.records,
        "queues": report.queues,
        "indexEntries": report.index_entries,
        "timers": report.timers,
        "batches": report.batches,
        "messages": report.messages,
        "lost": report.lost,
        "damaged": report.damaged,
        "notTakenOver": report.left_out,
        **findings_as_json(report.findings),
    }


def rebuild_as_text(report: RebuildReport) -> list[str]:
    """Return the figures of the rebuilt files, and the paths of the old ones, as lines."""
    lines = [
        f"{report.root}: {report.queues:,} queues and {report.index_entries:,} index entries made from "
        f"{report.records:,} records in {in_bytes(report.log_end - report.log_start)} of log"
    ]
    if report.kept_ends:
        lines.append(f"{report.kept_ends:,} queues without a message in the log keep their end offsets")
    lines += [f"kept   {folder}: delete it once the store works" for folder in report.replaced]
    lines += findings_as_text(report.findings)
    return lines


def rebuild_as_json(report: RebuildReport) -> dict[str, Any]:
    """Return the report for JSON."""
    return {
        "store": report.root,
        "logStart": report.log_start,
        "logEnd": report.log_end,
        "records": report.records,
        "queues": report.queues,
        "keptEnds": report.kept_ends,
        "indexEntries": report.index_entries,
        "replaced": report.replaced,
        **findings_as_json(report.findings),
    }


def stats_as_text(figures: StoreStats, top: int) -> list[str]:
    """Return the figures as short tables, with the `top` largest topics."""
    lines = [
        f"{figures.root}",
        f"messages   {figures.messages:,} in {in_bytes(figures.bytes)}, "
        f"{len(figures.topics):,} topics, {figures.queues:,} queues",
        f"log        {figures.log_start} to {figures.log_end}, "
        f"{in_time(figures.first_timestamp)} to {in_time(figures.last_timestamp)}",
    ]
    width = max((len(topic.topic) for topic in figures.topics[:top]), default=0)
    lines += ["", "largest topics"] if figures.topics else []
    for topic in figures.topics[:top]:
        lines.append(
            f"  {topic.topic:{width}}  {topic.messages:>13,} messages  {in_bytes(topic.bytes):>10}  "
            f"{topic.queues:>5,} queues"
        )
    if len(figures.topics) > top:
        lines.append(f"  ... {len(figures.topics) - top:,} more; see them with a higher --top")
    lines += ["", "size of records, up to"] if figures.sizes else []
    most = max(figures.sizes.values(), default=1)
    for size, count in sorted(figures.sizes.items()):
        lines.append(f"  {in_bytes(size):>10}  {count:>13,}  {'#' * -(-count * _CHART_WIDTH // most)}")
    lines += ["", "index files"] if figures.index else []
    for index in figures.index:
        full = 100 * index.entries / index.capacity
        span = f"{in_time(index.begin_timestamp)} to {in_time(index.end_timestamp)}"
        lines.append(f"  {index.name}  {index.entries:>13,} entries  {full:5.1f} % full  {span}")
    lines += ["", "on disk"]
    for part in figures.parts:
        files = f"{part.files:>8,} files of {in_bytes(part.bytes)} together"
        lines.append(f"  {part.name:20}  {in_bytes(part.room):>10}  {files}")
    return lines


def stats_as_json(figures: StoreStats) -> dict[str, Any]:
    """Return the figures for JSON, with all topics."""
    return {
        "store": figures.root,
        "messages": figures.messages,
        "bytes": figures.bytes,
        "queues": figures.queues,
        "logStart": figures.log_start,
        "logEnd": figures.log_end,
        "firstTimestamp": figures.first_timestamp,
        "lastTimestamp": figures.last_timestamp,
        "topics": [vars(topic) for topic in figures.topics],
        "sizes": {size: figures.sizes[size] for size in sorted(figures.sizes)},
        "index": [
            {
                "name": index.name,
                "entries": index.entries,
                "capacity": index.capacity,
                "slotsUsed": index.slots_used,
                "beginTimestamp": index.begin_timestamp,
                "endTimestamp": index.end_timestamp,
            }
            for index in figures.index
        ],
        "disk": [vars(part) for part in figures.parts],
    }
