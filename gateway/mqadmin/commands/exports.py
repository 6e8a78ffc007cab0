"""Commands that export the state of brokers to files.

RocketMQ: the package `command.export` of the module `tools`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import orjson

from mqgateway.engine.message import DLQ_PREFIX, RETRY_PREFIX
from mqgateway.gateway.client import admin_broker as broker
from mqgateway.gateway.client import admin_consumers as consumers
from mqgateway.gateway.client import admin_groups as groups
from mqgateway.gateway.client import admin_topics as topics
from mqgateway.gateway.client.errors import ClientError
from mqgateway.gateway.codec.codes import CURRENT_VERSION, version_name
from mqgateway.gateway.mqadmin.commands import targets
from mqgateway.gateway.mqadmin.declaration import (
    TRUTH,
    CommandCall,
    CommandOption,
    NameKind,
    Row,
    UsageError,
    command,
    flag,
)
from mqgateway.gateway.mqadmin.rendering import each, shown

FOLDER = "/tmp/rocketmq/export"
_CLUSTER = CommandOption(
    "c", "clusterName", "all brokers of this cluster", required=True, values=NameKind.CLUSTER
)
_SECONDS = 10.0
_SYSTEM_TOPICS = frozenset(
    (
        "TBW102",
        "SCHEDULE_TOPIC_XXXX",
        "BenchmarkTest",
        "RMQ_SYS_TRANS_HALF_TOPIC",
        "RMQ_SYS_ROCKSDB_TRANS_HALF_TOPIC",
        "RMQ_SYS_TRACE_TOPIC",
        "RMQ_SYS_TRANS_OP_HALF_TOPIC",
        "RMQ_SYS_ROCKSDB_TRANS_OP_HALF_TOPIC",
        "TRANS_CHECK_MAX_TIME_TOPIC",
        "SELF_TEST_TOPIC",
        "OFFSET_MOVED_EVENT",
        "CHECKPOINT_TOPIC",
    )
)
_SYSTEM_GROUPS = frozenset(
    (
        "DEFAULT_CONSUMER",
        "DEFAULT_PRODUCER",
        "TOOLS_CONSUMER",
        "SCHEDULE_CONSUMER",
        "FILTERSRV_CONSUMER",
        "__MONITOR_CONSUMER",
        "CLIENT_INNER_PRODUCER",
        "SELF_TEST_P_GROUP",
        "SELF_TEST_C_GROUP",
        "CID_ONS-HTTP-PROXY",
        "CID_ONSAPI_PERMISSION",
        "CID_ONSAPI_OWNER",
        "CID_ONSAPI_PULL",
    )
)
_KEPT_SETTINGS = (
    "brokerClusterName",
    "brokerId",
    "brokerName",
    "brokerRole",
    "fileReservedTime",
    "filterServerNums",
    "flushDiskType",
    "maxMessageSize",
    "messageDelayLevel",
    "msgTraceTopicName",
    "slaveReadEnable",
    "traceOn",
    "traceTopicEnable",
    "useTLS",
    "autoCreateTopicEnable",
    "autoCreateSubscriptionGroup",
)


def _folder(call: CommandCall) -> Path:
    return Path(call.given.text("f") or FOLDER)


def _write(call: CommandCall, path: Path, content: Any) -> Row:
    """Write the content to a file, unless in a dry run; return the row with both."""
    if not call.is_dry:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(orjson.dumps(content, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS))
        except OSError as error:
            raise ClientError(f"the file {path} cannot be written: {error}") from None
    return {"path": str(path), "content": content}


_written = each("export {path} success\n")


def _user_topics(call: CommandCall, address: str, with_special: bool) -> dict[str, dict[str, Any]]:
    """Return the topics of users by name. RocketMQ: `DefaultMQAdminExtImpl.getUserTopicConfig`."""
    found = call.servers.ask(topics.all_configs(), address, _SECONDS)
    system: set[str] = call.servers.ask(topics.system_topics(), address, _SECONDS)
    special = (RETRY_PREFIX, DLQ_PREFIX)
    return {
        name: config.to_json()
        for name, config in sorted(found.items())
        if name not in system | _SYSTEM_TOPICS
        and not name.startswith("rmq_sys_")
        and (with_special or not name.startswith(special))
        and 0 <= config.perm < 8
    }


def _user_groups(call: CommandCall, address: str) -> dict[str, dict[str, Any]]:
    """Return the consumer groups of users by name."""
    found = call.servers.ask(groups.all_configs(), address, _SECONDS)
    return {
        name: config.to_json()
        for name, config in sorted(found.items())
        if name not in _SYSTEM_GROUPS and not name.startswith("CID_RMQ_SYS_")
    }


def _merge(
    table: dict[str, dict[str, Any]], found: dict[str, dict[str, Any]], counts: tuple[str, ...]
) -> None:
    """Add the entries of one more broker, with the sum of the queues of entries on several brokers."""
    for name, one in found.items():
        for count in counts:
            one[count] += table.get(name, {}).get(count, 0)
        table[name] = one


@command(
    "exportMetadata",
    CommandOption("b", "brokerAddr", "broker as host:port; requires -t or -g", values=NameKind.ADDRESS),
    CommandOption("c", "clusterName", "all brokers of this cluster", values=NameKind.CLUSTER),
    CommandOption("f", "filePath", f"folder of the file (default: {FOLDER})", values=NameKind.FILE),
    flag("g", "subscriptionGroup", "export groups only"),
    flag("s", "specialTopic", "include retry and dead-letter topics"),
    flag("t", "topic", "export topics only"),
    text=_written,
)
def metadata(call: CommandCall) -> Iterator[Row]:
    """RocketMQ: `ExportMetadataCommand`, whose export of one broker has the versions of the tables too."""
    given = call.given
    topic_table: dict[str, dict[str, Any]] = {}
    group_table: dict[str, dict[str, Any]] = {}
    if "b" in given and not ("t" in given or "g" in given):
        raise UsageError("with -b, one of -t and -g is needed")
    for address in targets.masters(call):
        if "g" not in given or "t" in given:
            found = _user_topics(call, address, "s" in given)
            _merge(topic_table, found, ("writeQueueNums", "readQueueNums"))
        if "t" not in given:
            _merge(group_table, _user_groups(call, address), ("retryQueueNums",))
    content: dict[str, Any] = {"exportTime": call.now()}
    name = "metadata.json"
    if "t" in given:
        name = "topic.json"
    elif "g" in given:
        name = "subscriptionGroup.json"
    if "g" not in given or "t" in given:
        content["topicConfigTable"] = topic_table
    if "t" not in given:
        content["subscriptionGroupTable"] = group_table
    yield _write(call, _folder(call) / name, content)


@command(
    "exportConfigs",
    _CLUSTER,
    CommandOption("f", "filePath", f"folder of the file (default: {FOLDER})", values=NameKind.FILE),
    text=_written,
)
def configs(call: CommandCall) -> Iterator[Row]:
    """RocketMQ: `ExportConfigsCommand`."""
    members = call.servers.members(call.given.need("c"))
    table = {}
    masters = [one.broker_addrs[0] for one in members if 0 in one.broker_addrs]
    for address in masters:
        found = call.servers.ask(broker.settings(), address)
        table[found.get("brokerName", address)] = {
            name: found[name] for name in _KEPT_SETTINGS if name in found
        }
    scale = {
        "namesrvSize": len(call.servers.name_servers),
        "masterBrokerSize": len(masters),
        "slaveBrokerSize": sum(len(one.broker_addrs) for one in members) - len(masters),
    }
    yield _write(call, _folder(call) / "configs.json", {"brokerConfigs": table, "clusterScale": scale})


@command(
    "exportMetrics",
    _CLUSTER,
    CommandOption("f", "filePath", f"folder of the file (default: {FOLDER})", values=NameKind.FILE),
    text=_written,
)
def metrics(call: CommandCall) -> Iterator[Row]:
    """RocketMQ: `ExportMetricsCommand`; rates are messages a second of the last minute."""
    report: dict[str, Any] = {}
    tps = dict.fromkeys(
        ("totalNormalInTps", "totalNormalOutTps", "totalTransInTps", "totalScheduleInTps"), 0.0
    )
    counts = dict.fromkeys(
        ("normalOneDayInNum", "normalOneDayOutNum", "transOneDayInNum", "scheduleOneDayInNum"), 0
    )
    for one in call.servers.members(call.given.need("c")):
        if 0 not in one.broker_addrs:
            continue
        address = one.broker_addrs[0]
        known_groups = _user_groups(call, address)
        quota = _quota(call, address, len(known_groups))
        for name in tps:
            tps[name] += quota["tps"][name[5].lower() + name[6:]]
        for name in counts:
            counts[name] += quota["oneDayNum"][name]
        report[one.broker_name] = {
            "runtimeEnv": _environment(call, address),
            "runtimeQuota": quota,
            "runtimeVersion": _versions(call, address, known_groups),
        }
    content = {"evaluateReport": report, "totalData": {"totalTps": tps, "totalOneDayNum": counts}}
    yield _write(call, _folder(call) / "metrics.json", content)


def _environment(call: CommandCall, address: str) -> dict[str, Any]:
    settings = call.servers.ask(broker.settings(), address)
    figures = call.servers.ask(broker.figures(), address)
    return {
        "cpuNum": settings.get("clientCallbackExecutorThreads"),
        "totalMemKBytes": figures.get("totalMemKBytes"),
    }


def _quota(call: CommandCall, address: str, group_count: int) -> dict[str, Any]:
    figures = call.servers.ask(broker.figures(), address)

    def rate(name: str) -> float:
        numbers = figures.get(name, "").split()  # only blanks in a broker's first seconds
        return float(numbers[0]) if numbers else 0.0

    def yesterday(kind: str) -> int:
        ends = (int(figures.get(f"msg{kind}Total{day}Morning", 0)) for day in ("Today", "Yesterday"))
        return next(ends) - next(ends)

    half_tps, half_count = _counter(call, address, "RMQ_SYS_TRANS_HALF_TOPIC")
    delay_tps, delay_count = _counter(call, address, "SCHEDULE_TOPIC_XXXX")
    return {
        "diskRatio": {name: figures.get(name) for name in ("commitLogDiskRatio", "consumeQueueDiskRatio")},
        "tps": {
            "normalInTps": rate("putTps"),
            "normalOutTps": rate("getTransferredTps"),
            "transInTps": half_tps,
            "scheduleInTps": delay_tps,
        },
        "oneDayNum": {
            "normalOneDayInNum": yesterday("Put"),
            "normalOneDayOutNum": yesterday("Get"),
            "transOneDayInNum": half_count,
            "scheduleOneDayInNum": delay_count,
        },
        "messageAverageSize": figures.get("putMessageAverageSize"),
        "topicSize": len(_user_topics(call, address, False)),
        "groupSize": group_count,
    }


def _counter(call: CommandCall, address: str, topic: str) -> tuple[float, int]:
    """Return the rate and the count of messages put into a topic; zeros if the broker refuses, as it does
    before the first message."""
    try:
        found = call.servers.ask(broker.counter("TOPIC_PUT_NUMS", topic), address)
    except ClientError:
        return 0.0, 0
    return found.stats_minute.tps, found.stats_day.sum or found.stats_hour.sum or found.stats_minute.sum


def _versions(call: CommandCall, address: str, known_groups: Iterable[str]) -> dict[str, Any]:
    clients = set()
    for group in known_groups:
        try:
            found = call.servers.ask(consumers.connections(group), address)
        except ClientError:
            continue  # the group has no member
        clients |= {f"{one.language}%{version_name(one.version)}" for one in found.connection_set}
    return {"rocketmqVersion": version_name(CURRENT_VERSION), "clientInfo": sorted(clients)}


def _pops_text(call: CommandCall, rows: Iterable[Row]) -> Iterator[str]:
    for row in rows:
        yield shown(
            "Export broker records, brokerName={brokerName}, brokerAddr={broker}, dryRun={isDry}\n", row
        )


@command(
    "exportPopRecord",
    CommandOption("b", "brokerAddr", "broker as host:port", values=NameKind.ADDRESS),
    CommandOption("c", "clusterName", "all brokers of this cluster", values=NameKind.CLUSTER),
    CommandOption("d", "dryRun", "true to change nothing (dry run)", values=TRUTH),
    text=_pops_text,
)
def pops(call: CommandCall) -> Iterator[Row]:
    """RocketMQ: `ExportPopRecordCommand`, where `-d false` is the dry run; here `-d true` is."""
    is_dry = call.given.truth("d")
    for address in targets.all_brokers(call):
        with call.servers.part(address):
            name = call.servers.ask(broker.settings(), address).get("brokerName")
            if not is_dry:
                call.servers.change(broker.roll_pops_back(), address, 30.0)
            yield {"brokerName": name, "broker": address, "isDry": is_dry}
