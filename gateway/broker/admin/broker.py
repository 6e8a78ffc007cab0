"""Administration of the broker as a whole: settings, figures, growth of a count.

RocketMQ: `AdminBrokerProcessor`.
"""

from collections.abc import Sequence
from typing import NamedTuple

from mqgateway.engine.configuration import ChangeForbidden
from mqgateway.engine.errors import ConfigError
from mqgateway.engine.message import SCHEDULE_TOPIC
from mqgateway.engine.names import is_lmq
from mqgateway.engine.options import Effect, Setting, Value
from mqgateway.engine.tables.data_version import DataVersion
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.broker.stats import Count

POOLS = ("send", "pull", "litePull", "query", "ack")
"""RocketMQ's thread pools. This broker has none, so nothing waits in them; tools expect the keys."""

GROUPS_SHOWN = 10
"""Maximum number of groups with inconsistent subscriptions that are named."""


class BrokerSettingsText(NamedTuple):
    """All settings as properties text, secrets hidden, and their data version."""

    version: DataVersion
    properties: str


def update_settings(broker: Broker, settings: Sequence[Setting], now: int) -> str:
    """Change settings, all or none; return a note for the caller. `now` is the wall time in ms.

    Raises `OperationError` for unknown properties and bad values, which RocketMQ ignores silently.
    """
    try:
        note = broker.configuration.update(settings)
    except ChangeForbidden as refusal:
        raise OperationError(Reason.NO_PERMISSION, str(refusal)) from None
    except ConfigError as error:
        raise OperationError(Reason.INVALID_PARAMETER, str(error)) from None
    configuration = broker.configuration
    if any(configuration.effect(setting.key) is Effect.ANNOUNCED for setting in settings):
        _announce(broker, now)
    return note


def reread_settings(broker: Broker, found: Sequence[Setting], now: int) -> list[str]:
    """Apply the current content of the broker's file; `now` is the wall time in ms.

    Return the names of settings that differ and are read only at start. Raises `ConfigError`.
    """
    before = _announced(broker)
    waiting = broker.configuration.reread(found)
    if _announced(broker) != before:
        _announce(broker, now)
    return waiting


def _announced(broker: Broker) -> tuple[object, ...]:
    """Return the broker's own values that name servers are notified of."""
    return (broker.cluster.registration.announcement.identity, broker.options.broker_permission)


def _announce(broker: Broker, now: int) -> None:
    broker.tables.topics.data_version.next(now)
    broker.cluster.registration.soon()


def settings(broker: Broker) -> BrokerSettingsText:
    """Return all settings, with the broker's current role. RocketMQ: `ReplicasManager.changeToMaster`."""
    role, configured = broker.role, broker.store_options.broker_role
    now: dict[str, Value] = {
        "brokerRole": role.as_broker_role(configured),
        "brokerId": role.state.broker_id,
    }
    return BrokerSettingsText(broker.configuration.version, broker.configuration.as_properties(now))


def runtime_info(broker: Broker) -> dict[str, str]:
    """Return about sixty figures by name, as dashboards and exporters read them."""
    stats, store = broker.stats, broker.store
    table = store.admin.runtime_info()
    table |= {
        "brokerActive": str(broker.is_active).lower(),
        "msgPutTotalYesterdayMorning": str(stats.put_total_yesterday_morning),
        "msgPutTotalTodayMorning": str(stats.put_total_today_morning),
        "msgPutTotalTodayNow": str(stats.put_total),
        "msgGetTotalYesterdayMorning": str(stats.get_total_yesterday_morning),
        "msgGetTotalTodayMorning": str(stats.get_total_today_morning),
        "msgGetTotalTodayNow": str(stats.get_total),
        "startAcceptSendRequestTimeStamp": str(broker.options.start_accept_send_request_time_stamp),
        **broker.timers.runtime_info(),
        "EndTransactionQueueSize": "0",
        "EndTransactionThreadPoolQueueCapacity": broker.configuration.get("endTransactionPoolQueueCapacity"),
    }
    for pool in POOLS:
        table[f"{pool}ThreadPoolQueueSize"] = "0"
        table[f"{pool}ThreadPoolQueueHeadWaitTimeMills"] = "0"
        table[f"{pool}ThreadPoolQueueCapacity"] = broker.configuration.get(f"{pool}ThreadPoolQueueCapacity")
    for level, offset in broker.delays.offsets.items():
        table[f"scheduleMessageOffset_{level}"] = f"{offset},{store.max_offset(SCHEDULE_TOPIC, level - 1)}"
    for cause, count in sorted(broker.flow_control.totals.items()):
        table[f"flowControl_{cause.replace(' ', '_')}"] = str(count)
    if broker.clients.inconsistent_groups:
        groups = sorted(broker.clients.inconsistent_groups)
        table["inconsistentConsumerGroups"] = f"{len(groups)}: {', '.join(groups[:GROUPS_SHOWN])}"
    return table


def count(broker: Broker, name: str, key: str) -> Count:
    """Return a count, with its growth over the last minute, hour and day.

    Raises `OperationError` if there is none.
    """
    found = broker.stats.item(name, key)
    if found is None:
        raise OperationError(Reason.SYSTEM_ERROR, f"The stats <{name}> <{key}> not exist")
    return found


def delete_expired_files(broker: Broker) -> None:
    """Delete expired files of the log and of queues at once, whatever the hour."""
    broker.store.admin.delete_expired_files()


def clean_unused_topics(broker: Broker) -> None:
    """Delete the consume queues of topics that no longer exist."""
    known = broker.tables.topics
    gone = [topic for topic in broker.store.queues() if topic not in known and not is_lmq(topic)]
    broker.store.admin.delete_topics(gone)
