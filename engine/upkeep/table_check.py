"""Check of config tables, of the checkpoint, and of the state files."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, NamedTuple

from mqgateway.engine.lenient_json import JsonError, loads
from mqgateway.engine.names import is_lmq, is_system_topic
from mqgateway.engine.store.checkpoint import FIELDS, FILE_SIZE
from mqgateway.engine.tables.jsonfile import BROKEN
from mqgateway.engine.upkeep.findings import Findings, StorePart
from mqgateway.engine.upkeep.layout import Layout

TABLES = {
    "topics.json": ("topicConfigTable",),
    "topicQueueMapping.json": ("topicQueueMappingInfoMap",),
    "consumerOffset.json": ("offsetTable",),
    "lmqConsumerOffset.json": ("lmqOffsetTable",),
    "subscriptionGroup.json": ("subscriptionGroupTable",),
    "delayOffset.json": ("offsetTable",),
    "consumerFilter.json": ("filterDataByTopic",),
    "consumerOrderInfo.json": ("table",),
    "kafkaClientMetrics.json": ("clientMetricsTable",),
    "kafkaClientQuotas.json": ("clientQuotasTable",),
    "kafkaPeerTopics.json": ("peerTopicTable",),
    "messageRequestMode.json": ("messageRequestModeMap",),
    "timermetrics": ("timingCount",),
    "transactionMetrics": ("transactionCount",),
}
"""Tables, with their top-level members."""
BACKUP = ".bak"
_SHOWN_MAX = 10
_NAMES = (
    "physicMsgTimestamp",
    "logicsMsgTimestamp",
    "indexMsgTimestamp",
    "masterFlushedOffset",
    "confirmPhyOffset",
    "logicsPhysicalOffset",
)


class CheckpointFields(NamedTuple):
    """The fields of the file `checkpoint`; times in ms."""

    physic_timestamp: int = 0
    logics_timestamp: int = 0
    index_timestamp: int = 0
    master_flushed_offset: int = 0
    confirm_offset: int = 0
    logics_offset: int = 0


def read_checkpoint(layout: Layout, findings: Findings) -> CheckpointFields:
    """Return the checkpoint; all zeros if there is no readable one."""
    path = layout.checkpoint
    if not layout.disk.exists(path):
        findings.note(StorePart.CHECKPOINT, path, -1, "is not there; the next start makes it")
        return CheckpointFields()
    data = layout.disk.read_bytes(path)
    if len(data) < FILE_SIZE:
        findings.error(
            StorePart.CHECKPOINT,
            path,
            -1,
            f"has {len(data)} bytes instead of {FILE_SIZE}",
            "delete it: the next start makes it, and reads more of the log after an unclean stop",
        )
    return CheckpointFields(*FIELDS.unpack(data[: FIELDS.size].ljust(FIELDS.size, b"\0")))


def check_checkpoint(
    layout: Layout,
    findings: Findings,
    checkpoint: CheckpointFields,
    log_end: int,
    last_timestamp: int,
    point_is_record: bool,
) -> None:
    """Compare the checkpoint with the log, whose last record was stored at `last_timestamp` (ms)."""
    advice = "delete the file while no broker runs: the next start makes it, and reads the log from its begin"
    path = layout.checkpoint
    for number, name in enumerate(_NAMES):
        value = checkpoint[number]
        is_time = number < 3
        if value < 0:
            findings.error(StorePart.CHECKPOINT, path, 8 * number, f"{name} is {value}", advice)
        elif is_time and value > last_timestamp and last_timestamp:
            what = f"{name} is {value}, later than the log's last record, {last_timestamp}"
            findings.error(StorePart.CHECKPOINT, path, 8 * number, what, advice)
    if not 0 <= checkpoint.logics_offset <= log_end or not point_is_record:
        what = f"logicsPhysicalOffset is {checkpoint.logics_offset}, where no record of the log begins"
        findings.error(StorePart.CHECKPOINT, path, 40, what, advice)


def check_tables(layout: Layout, findings: Findings) -> dict[str, dict[Any, Any]]:
    """Read every config table and backup; return the readable ones, by the names of their files."""
    disk = layout.disk
    good: dict[str, dict[Any, Any]] = {}
    names = [name for name in disk.listdir(layout.config) if not disk.is_dir(f"{layout.config}/{name}")]
    broken = {}
    for name in names:
        path = f"{layout.config}/{name}"
        if name.endswith(".tmp"):
            findings.note(StorePart.CONFIG, path, -1, "was left over by a write that ended early")
        elif BROKEN in name:
            what = "is a table that a start could not read and set aside"
            findings.note(StorePart.CONFIG, path, -1, what, "delete it once nothing of it is missed")
        elif name.removesuffix(BACKUP) in TABLES or name.removesuffix(BACKUP).endswith(".json"):
            table, offset, what = _read(disk.read_bytes(path), TABLES.get(name.removesuffix(BACKUP), ()))
            if table is None:
                broken[name] = offset, what
            else:
                good[name] = table
    for name, (offset, what) in broken.items():
        findings.error(StorePart.CONFIG, f"{layout.config}/{name}", offset, what, _advice(name, good))
    for name in good:
        if name.endswith(BACKUP) and name.removesuffix(BACKUP) not in names:
            what = f"{name.removesuffix(BACKUP)} is missing, only this backup is there"
            findings.error(StorePart.CONFIG, f"{layout.config}/{name}", -1, what, "the next start uses it")
    return good


def _advice(name: str, good: dict[str, dict[Any, Any]]) -> str:
    if name.endswith(BACKUP):
        return "the next write of the table replaces it"
    if name + BACKUP in good:
        return f"the next start uses {name}{BACKUP}, which may be one write older"
    return "restore it from a copy; else the next start sets it aside and begins without what it held" + (
        ", but adds topics that have messages" if name == "topics.json" else ""
    )


def check_topics(
    layout: Layout, findings: Findings, tables: dict[str, dict[Any, Any]], used: Collection[str]
) -> None:
    """Report topics with consume queues that are in no table: they are unreadable until the next start."""
    topics = topics_of(tables) or {}
    missing = sorted(
        name for name in used if name not in topics and not is_lmq(name) and not is_system_topic(name)
    )
    if missing and not _is_new(layout):
        shown = ", ".join(missing[:_SHOWN_MAX]) + (" ..." if len(missing) > _SHOWN_MAX else "")
        what = f"{len(missing)} topics that have messages are not in it: {shown}"
        advice = "the next start of a master adds them, with their queues and default permissions"
        findings.error(StorePart.CONFIG, f"{layout.config}/topics.json", -1, what, advice)


def _is_new(layout: Layout) -> bool:
    """Return True if no broker has written tables here, as for a store used by itself."""
    return not layout.disk.is_dir(layout.config)


def _read(text: bytes, members: tuple[str, ...]) -> tuple[dict[Any, Any] | None, int, str]:
    """Return the table, or None with the byte and the reason."""
    if not text.strip(b"\0 \t\r\n"):
        return None, 0, "is empty" if not text else "holds nothing but blanks or zeros"
    try:
        table = loads(text)
    except JsonError as error:
        return None, error.position, f"is not JSON: {error.what}"
    except ValueError as error:
        return None, 0, f"is not JSON: {error}"
    if not isinstance(table, dict):
        return None, 0, "is not a JSON object"
    for member in members:
        if not isinstance(table.get(member, {}), dict):
            return None, 0, f"{member} is not an object"
    return table, 0, ""


def topics_of(tables: dict[str, dict[Any, Any]]) -> dict[str, Any] | None:
    """Return the topics by name, of the table or its backup; None if there is neither."""
    table = tables.get("topics.json", tables.get("topics.json" + BACKUP))
    return None if table is None else table.get("topicConfigTable")


def check_offsets(
    layout: Layout,
    findings: Findings,
    tables: dict[str, dict[Any, Any]],
    end_of: Callable[[str, int], int | None],
) -> None:
    """Report consumer offsets beyond the end of their queue: those groups get nothing until it is reached."""
    table = tables.get("consumerOffset.json", {}).get("offsetTable", {})
    path = f"{layout.config}/consumerOffset.json"
    for key, offsets in table.items():
        topic, _, group = str(key).partition("@")
        if not isinstance(offsets, dict):
            findings.error(
                StorePart.CONFIG, path, -1, f"the offsets of {key} are not an object", "restore the file"
            )
            continue
        for queue_id, offset in offsets.items():
            end = end_of(topic, int(queue_id)) if str(queue_id).isdecimal() else None
            if end is not None and isinstance(offset, int) and offset > end:
                what = f"{group} stands at {offset} of {topic} queue {queue_id}, which ends at {end}"
                advice = f"mqadmin resetOffsetByTime -g {group} -t {topic} sets it right"
                findings.note(StorePart.CONFIG, path, -1, what, advice)


def check_queue_table(layout: Layout, findings: Findings, end_of: Callable[[str, int], int | None]) -> None:
    """Check the saved ends of queues, which the next start trusts if no other process has used the store."""
    disk, path = layout.disk, layout.queue_table
    if not disk.exists(path) or not disk.exists(layout.lock):
        return
    advice = "delete it: the next start then looks at each queue"
    table, offset, what = _read(disk.read_bytes(path), ())
    if table is None:
        findings.error(StorePart.STATE, path, offset, what, advice)
    elif table.get("lock") == disk.modified(layout.lock):
        for topic, is_batch, states in table.get("queues", ()):
            for queue_id, _, _, end, *_ in states:
                found = end_of(topic, queue_id)
                if not is_batch and found != end:
                    what = f"{topic} queue {queue_id} is said to end at {end}, it does at {found}"
                    findings.error(StorePart.STATE, path, -1, what, advice)


def check_state(layout: Layout, findings: Findings) -> bool:
    """Return True if the store was not stopped cleanly, by the file `abort`."""
    for folder in layout.disk.listdir(layout.root):
        if ".rebuilding" in folder or ".replaced" in folder:
            path = f"{layout.root}/{folder}"
            what = "was left by mqgateway store rebuild"
            advice = "delete it once the store is in order"
            findings.note(StorePart.STATE, path, -1, what, advice)
    if not layout.disk.exists(layout.abort):
        return False
    what = "is there: the store was not stopped in good order, or a broker has it open"
    findings.note(StorePart.STATE, layout.abort, -1, what, "the next start recovers")
    return True
