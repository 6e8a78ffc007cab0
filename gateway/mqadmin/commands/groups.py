"""Commands that make, change, show and delete consumer groups.

Standard: the package `command.consumer` of the module `tools`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import orjson

from mqgateway.engine.errors import ConfigError
from mqgateway.engine.message import DLQ_PREFIX, RETRY_PREFIX
from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.gateway.client import admin_groups as groups
from mqgateway.gateway.client.errors import BadArgument, NoBroker
from mqgateway.gateway.mqadmin.commands import targets
from mqgateway.gateway.mqadmin.commands.topics import attributes_of, delete_everywhere, read_list
from mqgateway.gateway.mqadmin.declaration import (
    TRUTH,
    CommandCall,
    CommandOption,
    NameKind,
    Row,
    UsageError,
    command,
)
from mqgateway.gateway.mqadmin.rendering import each, java, shown
from mqgateway.gateway.mqadmin.servers import reachable

GROUP = CommandOption("g", "groupName", "consumer group", required=True, values=NameKind.GROUP)

_RETRY_POLICIES = {
    "exponentialRetryPolicy": "ExponentialRetryPolicy",
    "customizedRetryPolicy": "CustomizedRetryPolicy",
}


def _policy(policy: Mapping[str, Any]) -> str:
    """Return a retry policy as Java prints it."""
    parts = [f"type={policy.get('type')}"]
    for name, kind in _RETRY_POLICIES.items():
        found = policy.get(name)
        parts.append(f"{name}={'null' if found is None else kind + str(java(found))}")
    return f"GroupRetryPolicy{{{', '.join(parts)}}}"


def _value(name: str, value: Any) -> Any:
    return _policy(value) if name == "groupRetryPolicy" else java(value)


def _update_text(call: CommandCall, rows: Iterable[Row]) -> Iterator[str]:
    for row in rows:
        yield shown("create subscription group to {broker} success.\n", row)
    if not call.servers.errors:
        values = ", ".join(f"{name}={_value(name, value)}" for name, value in call.summary["group"].items())
        yield f"SubscriptionGroupConfig{{{values}}}\n"


@command(
    "updateSubGroup",
    CommandOption(
        "a",
        "notifyConsumerIdsChanged",
        "notify members when a member joins or leaves: true or false",
        values=TRUTH,
    ),
    *targets.either(),
    CommandOption("d", "consumeBroadcastEnable", "allow broadcasting: true or false", values=TRUTH),
    GROUP,
    CommandOption("i", "brokerId", "id of the broker to read from"),
    CommandOption(
        "m",
        "consumeFromMinEnable",
        "allow starting at the oldest message: true or false",
        values=TRUTH,
    ),
    CommandOption("o", "consumeMessageOrderly", "consume in order: true or false", values=TRUTH),
    CommandOption("p", "groupRetryPolicy", "retry policy as JSON"),
    CommandOption("q", "retryQueueNums", "number of queues of the retry topic"),
    CommandOption("r", "retryMaxTimes", "maximum number of retries of a message"),
    CommandOption("s", "consumeEnable", "allow consumption: true or false", values=TRUTH),
    CommandOption("w", "whichBrokerWhenConsumeSlowly", "id of the broker to read from when the group lags"),
    CommandOption("", "attributes", "attributes: +name=value to set, -name to remove, separated by ','"),
    text=_update_text,
)
def update(call: CommandCall) -> Iterator[Row]:
    """Standard: `UpdateSubGroupSubCommand`."""
    given = call.given
    added, removed = attributes_of(given.text("attributes"))
    config = SubscriptionGroupConfig(
        given.need("g"),
        consume_enable=given.truth("s", True),
        consume_from_min_enable=given.truth("m"),
        consume_broadcast_enable=given.truth("d"),
        consume_message_orderly=given.truth("o"),
        retry_queue_nums=given.number("q", 1),
        retry_max_times=given.number("r", 16),
        broker_id=given.number("i", 0),
        which_broker_when_consume_slowly=given.number("w", 1),
        notify_consumer_ids_changed_enable=given.truth("a", True),
        attributes=added,
    )
    if (policy := given.text("p")) is not None:
        try:
            config.group_retry_policy = dict(orjson.loads(policy))
        except (ValueError, TypeError):
            raise UsageError(f"the value of -p is not a JSON object: {policy!r}") from None
    signed = {f"+{name}": value for name, value in added.items()} | {f"-{name}": "" for name in removed}
    call.summary["group"] = {**config.to_json(), "attributes": signed}
    for broker in targets.masters(call):
        with call.servers.part(broker):
            call.servers.change(groups.update(config, without=removed), broker)
            yield {"broker": broker, "group": config.group_name}


def _list_text(call: CommandCall, rows: Iterable[Row]) -> Iterator[str]:
    what = "group config" if "b" in call.given else "subscription group config"
    template = f"submit batch of {what} to {{broker}} success, please check the result later.\n"
    return each(template)(call, rows)


@command(
    "updateSubGroupList",
    *targets.one_of(),
    CommandOption(
        "f",
        "filename",
        "file with a JSON array of groups, in the format of subscriptionGroup.json",
        required=True,
        values=NameKind.FILE,
    ),
    text=_list_text,
)
def update_list(call: CommandCall) -> Iterator[Row]:
    """Standard: `UpdateSubGroupListSubCommand`."""
    try:
        configs = [SubscriptionGroupConfig.from_json(one) for one in read_list(call.given.need("f"))]
    except ConfigError as error:
        raise BadArgument(f"the file is invalid: {error}") from None
    if configs:
        for broker in targets.masters(call):
            call.servers.change(groups.update_many(configs), broker)
            yield {"broker": broker, "groups": [one.group_name for one in configs]}


def _delete_text(call: CommandCall, rows: Iterable[Row]) -> Iterator[str]:
    where = "" if "b" in call.given else " in cluster [{cluster}]"
    return each(f"delete subscription group [{{group}}] from broker [{{broker}}]{where} success.\n")(
        call, rows
    )


@command(
    "deleteSubGroup",
    *targets.either(),
    GROUP,
    CommandOption("r", "removeOffset", "delete the group's offsets as well: true or false", values=TRUTH),
    text=_delete_text,
)
def delete(call: CommandCall) -> Iterator[Row]:
    """Standard: `DeleteSubscriptionGroupCommand`."""
    group, cluster = call.given.need("g"), call.given.text("c")
    with_offsets = call.given.truth("r")
    for broker in targets.masters(call):
        call.servers.change(groups.delete(group, with_offsets=with_offsets), broker)
        yield {"broker": broker, "group": group, "cluster": cluster}
    if cluster is not None and "b" not in call.given:
        for prefix in (RETRY_PREFIX, DLQ_PREFIX):
            with call.servers.part(cluster):
                delete_everywhere(call, prefix + group, cluster)


def _mode_text(call: CommandCall, rows: Iterable[Row]) -> Iterator[str]:
    for row in rows:
        yield shown("set consume mode to {broker} success.\n", row)
    template = "topic[{topic}] group[{group}] consume mode[{mode}] popShareQueueNum[{popShareQueueNum}]\n"
    yield shown(template, call.summary)


@command(
    "setConsumeMode",
    *targets.either(),
    GROUP,
    CommandOption("m", "mode", "consumption mode: PULL or POP", required=True, values=("PULL", "POP")),
    CommandOption("q", "popShareQueueNum", "number of other clients that share a queue in POP mode"),
    CommandOption("t", "topicName", "topic", required=True, values=NameKind.TOPIC),
    text=_mode_text,
)
def set_mode(call: CommandCall) -> Iterator[Row]:
    """Standard: `SetConsumeModeSubCommand`."""
    given = call.given
    topic, group, mode = given.need("t"), given.need("g"), given.need("m")
    if mode not in ("PULL", "POP"):
        raise UsageError(f"-m must be PULL or POP, not {mode!r}")
    shared = given.number("q", 0)
    call.summary.update(topic=topic, group=group, mode=mode, popShareQueueNum=shared)
    for broker in targets.masters(call):
        with call.servers.part(broker):
            call.servers.change(groups.set_mode(group, topic, mode, shared), broker)
            yield {"broker": broker}


def _config_text(call: CommandCall, rows: Iterable[Row]) -> Iterator[str]:
    line = "=" * 29
    for row in rows:
        yield shown(f"{line}{{cluster}}:{{brokerName}}{line}\n", row)
        for name, value in row["config"].items():
            yield f"{name:<40}=  {'' if value is None else _value(name, value)}\n"


@command("getConsumerConfig", GROUP, text=_config_text)
def configs(call: CommandCall) -> Iterator[Row]:
    """Standard: `GetConsumerConfigSubCommand`, which asks for all groups too: asking for one creates it."""
    group, is_known = call.given.need("g"), False
    info = call.servers.clusters()
    for name, address in reachable(info.broker_addr_table.values()):
        with call.servers.part(address):
            found = call.servers.ask(groups.all_configs(), address).get(group)
            if found is not None:
                is_known = True
                cluster = next((one for one, names in info.cluster_addr_table.items() if name in names), None)
                yield {"cluster": cluster, "brokerName": name, "config": found.to_json()}
    if not (is_known or call.servers.errors):
        raise NoBroker(f"no broker knows the consumer group {group}")
