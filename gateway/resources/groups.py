"""`mqgateway group`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mqgateway.engine.names import is_system_group
from mqgateway.gateway.client import admin_consumers as consumers
from mqgateway.gateway.client import admin_groups as groups
from mqgateway.gateway.client.errors import BrokerError
from mqgateway.gateway.codec.codes import ResponseCode, version_name
from mqgateway.gateway.mqadmin.declaration import CommandCall, NameKind, Row, command, flag, operand
from mqgateway.gateway.resources import lag, targets
from mqgateway.gateway.resources.borrowed import borrow
from mqgateway.gateway.resources.existing import need_group
from mqgateway.gateway.resources.rendering import listed, table

_CALL_SECONDS = 15.0
"""A broker that has many queues takes its time to add all of them up."""


@command(
    "group list",
    flag("a", "all", "include system groups"),
    targets.CLUSTER,
    text=lag.with_anomalies(
        table("group", "behind", "topics", "mayConsume", "retryMax", "brokers", nothing="no groups")
    ),
)
def list_groups(call: CommandCall) -> Iterator[Row]:
    """Two questions a broker, whatever the number of groups."""
    found: dict[str, dict[str, Any]] = {}
    behind: dict[str, int] = {}
    ahead: dict[str, int] = {}
    topics: dict[str, set[str]] = {}
    for name, address in targets.brokers(call):
        with call.servers.part(address):
            for group, config in call.servers.ask(groups.all_configs(), address).items():
                row = found.setdefault(group, {"group": group, "brokers": []})
                row |= {"mayConsume": config.consume_enable, "retryMax": config.retry_max_times}
                row["brokers"].append(name)
            progress = call.servers.ask(groups.all_progress(), address, _CALL_SECONDS)
            for table_of_group in progress.consume_stats_list:
                for group, all_stats in table_of_group.items():
                    for queue, one in (item for stats in all_stats for item in stats.offset_table.items()):
                        behind[group] = behind.get(group, 0) + lag.behind(one)
                        ahead[group] = ahead.get(group, 0) + lag.ahead(one)
                        topics.setdefault(group, set()).add(queue.topic)
    for group, row in sorted(found.items()):
        if "a" not in call.given and is_system_group(group):
            continue
        yield row | {
            "behind": behind.get(group, 0),
            "ahead": ahead.get(group, 0),
            "topics": sorted(topics.get(group, ())),
        }


borrow("group describe", "getConsumerConfig", listed, g="group")


@command(
    "group members",
    operand("g", "group", "consumer group", values=NameKind.GROUP),
    targets.CLUSTER,
    text=table("clientId", "address", "language", "version", "subscribes", nothing="no member is connected"),
)
def members(call: CommandCall) -> Iterator[Row]:
    """All brokers are asked: a member may have lost one of them."""
    found: dict[str, dict[str, Any]] = {}
    for name, address in targets.brokers(call):
        with call.servers.part(address):
            try:
                online = call.servers.ask(consumers.connections(call.given.need("g")), address)
            except BrokerError as error:
                if error.code != ResponseCode.CONSUMER_NOT_ONLINE:
                    raise
                continue
            wanted = {topic: one.sub_string or "*" for topic, one in online.subscription_table.items()}
            for one in online.connection_set:
                row = found.setdefault(
                    one.client_id,
                    {
                        "clientId": one.client_id,
                        "address": one.client_addr,
                        "language": one.language,
                        "version": version_name(one.version),
                        "subscribes": dict(sorted(wanted.items())),
                        "brokers": [],
                    },
                )
                row["brokers"].append(name)
    if not found and not call.servers.errors:
        need_group(call)
    yield from (row for _, row in sorted(found.items()))


borrow("group create", "updateSubGroup", table("group", "broker"), g="group")
borrow("group delete", "deleteSubGroup", table("group", "broker"), need_group, g="group")
