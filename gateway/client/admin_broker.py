"""Requests to a broker about itself: settings, statistics, files, timers, cold reads, POP checkpoints.

RocketMQ: `DefaultMQAdminExtImpl`, `MQClientAPIImpl`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from mqgateway.gateway.client.admin_question import (
    Question,
    as_properties,
    asks,
    body_of,
    json_of,
    note_of,
    nothing,
    settings_of,
)
from mqgateway.gateway.client.answers import decode_body
from mqgateway.gateway.codec import bodies
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import RemotingCommand
from mqgateway.gateway.codec.headers import (
    CheckRocksdbCqWriteProgressRequestHeader,
    ExportRocksDBConfigToJsonRequestHeader,
    ViewBrokerStatsDataRequestHeader,
)

NORMAL_READS, RANDOM_READS = 0, 1
"""Read-ahead modes of the commit log. RocketMQ: `LibC.MADV_NORMAL`, `MADV_RANDOM`."""

# Settings and statistics


@asks(RequestCode.GET_BROKER_CONFIG)
def settings() -> Question[dict[str, str]]:
    """Return all settings by RocketMQ's names; secrets are masked."""
    return Question(RequestCode.GET_BROKER_CONFIG, settings_of)


@asks(RequestCode.UPDATE_BROKER_CONFIG)
def update_settings(changed: Mapping[str, str]) -> Question[str]:
    """Update settings atomically: all of them or none. Returns the server's remark."""
    return Question(RequestCode.UPDATE_BROKER_CONFIG, note_of, body=as_properties(changed))


@asks(RequestCode.GET_BROKER_RUNTIME_INFO)
def figures() -> Question[dict[str, str]]:
    """Return about sixty runtime statistics by name."""

    def read(answer: RemotingCommand) -> dict[str, str]:
        return decode_body(bodies.KVTable, answer).table

    return Question(RequestCode.GET_BROKER_RUNTIME_INFO, read)


@asks(RequestCode.VIEW_BROKER_STATS_DATA)
def counter(name: str, key: str) -> Question[bodies.BrokerStatsData]:
    """Return the growth of a counter over the last minute, hour and day.

    An example is `TOPIC_PUT_NUMS` of a topic.
    """
    header = ViewBrokerStatsDataRequestHeader(stats_name=name, stats_key=key)
    return Question(RequestCode.VIEW_BROKER_STATS_DATA, body_of(bodies.BrokerStatsData), header)


# Files


@asks(RequestCode.CLEAN_EXPIRED_CONSUMEQUEUE)
def clean_queues() -> Question[None]:
    """Delete consume-queue files whose messages no longer exist."""
    return Question(RequestCode.CLEAN_EXPIRED_CONSUMEQUEUE, nothing)


@asks(RequestCode.CLEAN_UNUSED_TOPIC)
def clean_unused_topics() -> Question[None]:
    """Delete the consume queues of topics that no longer exist."""
    return Question(RequestCode.CLEAN_UNUSED_TOPIC, nothing)


@asks(RequestCode.DELETE_EXPIRED_COMMITLOG)
def delete_expired_log() -> Question[None]:
    """Delete expired commit-log files now, regardless of the configured hour."""
    return Question(RequestCode.DELETE_EXPIRED_COMMITLOG, nothing)


@asks(RequestCode.POP_ROLLBACK)
def roll_pops_back() -> Question[None]:
    """Move POP checkpoints from a database back into the commit log."""
    return Question(RequestCode.POP_ROLLBACK, nothing)


# Delays and timers


@asks(RequestCode.GET_ALL_DELAY_OFFSET)
def delay_offsets() -> Question[dict[str, Any]]:
    """Return the delivered offset of each delay level: the table `delayOffset.json`."""
    return Question(RequestCode.GET_ALL_DELAY_OFFSET, json_of)


@asks(RequestCode.GET_TIMER_CHECK_POINT)
def timer_check_point() -> Question[bytes]:
    """Return the timer checkpoint: the 56 bytes of its file."""
    return Question(RequestCode.GET_TIMER_CHECK_POINT, lambda answer: answer.body)


@asks(RequestCode.GET_TIMER_METRICS)
def timer_counts() -> Question[dict[str, Any]]:
    """Return the number of pending timers by topic: the table `timermetrics`."""
    return Question(RequestCode.GET_TIMER_METRICS, json_of)


@asks(RequestCode.SWITCH_TIMER_ENGINE)
def switch_timers(engine: str = "F") -> Question[None]:
    """Switch the timer store to files (F) or to a database (R), which few brokers support."""
    fields = {"E_T": engine}
    return Question(RequestCode.SWITCH_TIMER_ENGINE, nothing, fields=fields)


# Cold reads


@asks(RequestCode.UPDATE_COLD_DATA_FLOW_CTR_CONFIG)
def limit_cold_reads(bytes_a_second: Mapping[str, int]) -> Question[None]:
    """Limit the cold data that groups may read, in bytes a second; applies all limits or none."""
    body = as_properties({group: str(count) for group, count in bytes_a_second.items()})
    return Question(RequestCode.UPDATE_COLD_DATA_FLOW_CTR_CONFIG, nothing, body=body)


@asks(RequestCode.REMOVE_COLD_DATA_FLOW_CTR_CONFIG)
def unlimit_cold_reads(group: str) -> Question[None]:
    """Remove the cold-read limit of a group."""
    return Question(RequestCode.REMOVE_COLD_DATA_FLOW_CTR_CONFIG, nothing, body=group.encode())


@asks(RequestCode.GET_COLD_DATA_FLOW_CTR_INFO)
def cold_reads() -> Question[dict[str, Any]]:
    """Return the cold-read rates and limits by group."""
    return Question(RequestCode.GET_COLD_DATA_FLOW_CTR_INFO, json_of)


@asks(RequestCode.SET_COMMITLOG_READ_MODE)
def set_read_mode(mode: int) -> Question[str | None]:
    """Enable or disable read-ahead of the commit log. Returns the broker's name of the mode."""

    def read(answer: RemotingCommand) -> str | None:
        return answer.remark

    fields = {"READ_AHEAD_MODE": str(mode)}
    return Question(RequestCode.SET_COMMITLOG_READ_MODE, read, fields=fields)


# RocksDB


@asks(RequestCode.CHECK_ROCKSDB_CQ_WRITE_PROGRESS)
def check_rocksdb_queues(topic: str, since: int) -> Question[dict[str, Any]]:
    """Compare the consume queues in RocksDB with those in files.

    Checks one topic, or all for `""`, and messages stored since a time in ms since the epoch. The answer has
    `checkStatus` (2 for started, 3 for failed) and `checkResult`, a text.
    """

    def read(answer: RemotingCommand) -> dict[str, Any]:
        check = json_of(answer)
        return {"checkStatus": check.get("checkStatus"), "checkResult": check.get("checkResult")}

    header = CheckRocksdbCqWriteProgressRequestHeader(topic=topic, check_store_time=since)
    return Question(RequestCode.CHECK_ROCKSDB_CQ_WRITE_PROGRESS, read, header)


@asks(RequestCode.EXPORT_ROCKSDB_CONFIG_TO_JSON)
def export_rocksdb_tables(tables: Iterable[str]) -> Question[None]:
    """Export tables kept in RocksDB as JSON files: `topics`, `subscriptionGroups`, `consumerOffsets`."""
    header = ExportRocksDBConfigToJsonRequestHeader(config_type=";".join(tables))
    return Question(RequestCode.EXPORT_ROCKSDB_CONFIG_TO_JSON, nothing, header)
