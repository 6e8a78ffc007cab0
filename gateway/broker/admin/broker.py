"""What administration asks and changes of the broker as a whole.

25 and 26 are its settings, 28 everything that can be said of it in figures, 315 the past of one count; 306,
316 and 329 clean up now rather than when it is time. Standard: `AdminBrokerProcessor`.
"""

import math

from mqgateway.engine.configuration import ChangeForbidden
from mqgateway.engine.errors import ConfigError
from mqgateway.engine.message import SCHEDULE_TOPIC, is_lmq
from mqgateway.engine.options import Setting, load_properties
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.stats import Rate
from mqgateway.gateway.codec.bodies import BrokerStatsData, BrokerStatsItem, KVTable
from mqgateway.gateway.codec.codes import CURRENT_VERSION, ResponseCode, version_name
from mqgateway.gateway.codec.headers import GetBrokerConfigResponseHeader, ViewBrokerStatsDataRequestHeader
from mqgateway.gateway.remoting.call import Call, Reply, RequestError

POOLS = ("send", "pull", "litePull", "query", "ack")
"""The standard's thread pools. There are none here and nothing waits in them; the keys are looked for."""

GROUPS_SHOWN = 10
"""How many groups are named whose members subscribe to different things."""

BROKER_PERMISSION = "brokerPermission"


def update_config(broker: Broker, call: Call) -> Reply:
    """25 UPDATE_BROKER_CONFIG: properties text, all set or none.

    Unknown properties and bad values are refused, where the standard passes them over without a word.
    """
    try:
        read = load_properties(call.body.decode(), "request")
        found = [Setting(setting.key, setting.value, source="request") for setting in read]
        broker.configuration.update(found)
    except ChangeForbidden as refusal:
        raise RequestError(ResponseCode.NO_PERMISSION, str(refusal)) from None
    except ConfigError as error:
        raise RequestError(ResponseCode.INVALID_PARAMETER, str(error)) from None
    except UnicodeDecodeError:
        raise RequestError(ResponseCode.SYSTEM_ERROR, "string2Properties error") from None
    if any(setting.key == BROKER_PERMISSION for setting in found):
        broker.topics.data_version.next(call.now)
        broker.register_soon()
    return Reply()


def get_config(broker: Broker, call: Call) -> Reply:
    """26 GET_BROKER_CONFIG: all settings as properties text; secrets are hidden."""
    version = broker.configuration.version.encode().decode()
    return Reply(
        header=GetBrokerConfigResponseHeader(version=version),
        body=broker.configuration.as_properties().encode(),
    )


def runtime_info(broker: Broker, call: Call) -> Reply:
    """28 GET_BROKER_RUNTIME_INFO: about sixty figures by name; dashboards and exporters read them by name."""
    stats, store = broker.stats, broker.store
    table = store.runtime_info()
    table |= {
        f"commitLogDiskRatio_{_log_folder(broker)}": table["commitLogDiskRatio"],
        "remainHowManyDataToFlush": human_bytes(store.max_physical_offset - store.flushed_offset),
        "brokerActive": str(broker.is_active).lower(),
        "brokerVersionDesc": version_name(CURRENT_VERSION),
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
    return Reply(body=KVTable(table=table).encode())


def view_stats(broker: Broker, call: Call) -> Reply:
    """315 VIEW_BROKER_STATS_DATA: how one count grew over the last minute, hour and day."""
    header = call.header
    assert isinstance(header, ViewBrokerStatsDataRequestHeader)
    count = broker.stats.item(header.stats_name, header.stats_key)
    if count is None:
        raise RequestError(
            ResponseCode.SYSTEM_ERROR, f"The stats <{header.stats_name}> <{header.stats_key}> not exist"
        )
    body = BrokerStatsData(
        stats_minute=_item(count.minute.rate()),
        stats_hour=_item(count.hour.rate()),
        stats_day=_item(count.day.rate()),
    )
    return Reply(body=body.encode())


def clean_queues(broker: Broker, call: Call) -> Reply:
    """306 CLEAN_EXPIRED_CONSUMEQUEUE."""
    broker.store.delete_expired_files()
    return Reply()


def clean_unused_topics(broker: Broker, call: Call) -> Reply:
    """316 CLEAN_UNUSED_TOPIC: consume queues of topics that no longer exist go."""
    known = broker.topics
    gone = [topic for topic in broker.store.queues() if topic not in known and not is_lmq(topic)]
    broker.store.delete_topics(gone)
    return Reply()


def delete_expired_log(broker: Broker, call: Call) -> Reply:
    """329 DELETE_EXPIRED_COMMITLOG: old files go whatever the hour."""
    broker.store.delete_expired_files()
    return Reply()


def human_bytes(count: int) -> str:
    """A number of bytes as people read it. Standard: `MixAll.humanReadableByteCount`."""
    if count < 1024:
        return f"{count} B"
    power = int(math.log(count, 1024))
    return f"{count / 1024**power:.1f} {'KMGTPE'[power - 1]}iB"


def _log_folder(broker: Broker) -> str:
    options = broker.store_options
    return options.store_path_commit_log or f"{options.store_path_root_dir}/commitlog"


def _item(rate: Rate) -> BrokerStatsItem:
    return BrokerStatsItem(sum=rate.sum, tps=rate.tps, avgpt=rate.avgpt)
