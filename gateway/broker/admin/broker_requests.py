"""Requests about the broker as a whole: 25 and 26 are its settings, 28 its figures, 315 the growth of one
count.

306, 316 and 329 clean up at once. RocketMQ: `AdminBrokerProcessor`.
"""

from twisted.internet.defer import Deferred

from mqgateway.engine.errors import ConfigError
from mqgateway.engine.options import Setting, load_properties
from mqgateway.gateway.broker.admin import broker as operations
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.stats import Rate
from mqgateway.gateway.codec.bodies import BrokerStatsData, BrokerStatsItem, KVTable
from mqgateway.gateway.codec.codes import CURRENT_VERSION, RequestCode, ResponseCode, version_name
from mqgateway.gateway.codec.headers import GetBrokerConfigResponseHeader, ViewBrokerStatsDataRequestHeader
from mqgateway.gateway.remoting.call import Call, Reply, RequestError
from mqgateway.gateway.remoting.dispatch import LongRequestFunction

ANNOUNCEMENT_SECONDS = 3.0
"""Maximum wait of an answer until name servers have a new address or name."""


def update_config(broker: Broker, call: Call) -> Deferred[Reply]:
    """25 UPDATE_BROKER_CONFIG: properties text, all set or none.

    Answered once name servers have an announced setting. The remark names settings that are not kept, and
    those that take effect after a restart.
    """
    try:
        read = load_properties(call.body, "request")
    except ConfigError as error:
        raise RequestError(ResponseCode.INVALID_PARAMETER, str(error)) from None
    settings = [Setting(setting.key, setting.value, source="request") for setting in read]
    note = operations.update_settings(broker, settings, call.now)
    heard = broker.cluster.registration.heard(within=ANNOUNCEMENT_SECONDS)
    return heard.addCallback(lambda _: Reply(remark=note or None))


def get_config(broker: Broker, call: Call) -> Reply:
    """26 GET_BROKER_CONFIG: all settings as properties text."""
    settings = operations.settings(broker)
    header = GetBrokerConfigResponseHeader(version=settings.version.encode().decode())
    return Reply(header=header, body=settings.properties.encode())


def runtime_info(broker: Broker, call: Call) -> Reply:
    """28 GET_BROKER_RUNTIME_INFO; with the protocol version of our commands."""
    table = operations.runtime_info(broker) | {"brokerVersionDesc": version_name(CURRENT_VERSION)}
    return Reply(body=KVTable(table=table).encode())


def view_stats(broker: Broker, call: Call) -> Reply:
    """315 VIEW_BROKER_STATS_DATA."""
    header = call.header
    assert isinstance(header, ViewBrokerStatsDataRequestHeader)
    count = operations.count(broker, header.stats_name, header.stats_key)
    body = BrokerStatsData(
        stats_minute=_item(count.minute.rate()),
        stats_hour=_item(count.hour.rate()),
        stats_day=_item(count.day.rate()),
    )
    return Reply(body=body.encode())


def delete_expired_files(broker: Broker, call: Call) -> Reply:
    """306 CLEAN_EXPIRED_CONSUMEQUEUE, 329 DELETE_EXPIRED_COMMITLOG."""
    operations.delete_expired_files(broker)
    return Reply()


def clean_unused_topics(broker: Broker, call: Call) -> Reply:
    """316 CLEAN_UNUSED_TOPIC."""
    operations.clean_unused_topics(broker)
    return Reply()


def _item(rate: Rate) -> BrokerStatsItem:
    return BrokerStatsItem(sum=rate.sum, tps=rate.tps, avgpt=rate.avgpt)


REQUESTS: dict[int, LongRequestFunction] = {
    RequestCode.UPDATE_BROKER_CONFIG: update_config,
    RequestCode.GET_BROKER_CONFIG: get_config,
    RequestCode.GET_BROKER_RUNTIME_INFO: runtime_info,
    RequestCode.VIEW_BROKER_STATS_DATA: view_stats,
    RequestCode.CLEAN_EXPIRED_CONSUMEQUEUE: delete_expired_files,
    RequestCode.CLEAN_UNUSED_TOPIC: clean_unused_topics,
    RequestCode.DELETE_EXPIRED_COMMITLOG: delete_expired_files,
}
