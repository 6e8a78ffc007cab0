"""Requests about features this broker does not have: RocksDB (354, 355), a controller (1007).

They are answered like RocketMQ answers them without the feature. RocketMQ: `AdminBrokerProcessor`.
"""

from mqgateway.engine import lenient_json
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.headers import ExportRocksDBConfigToJsonRequestHeader
from mqgateway.gateway.remoting.call import Call, Reply, RequestError
from mqgateway.gateway.remoting.dispatch import LongRequestFunction

CHECK_IN_PROGRESS = 2
"""RocketMQ: `CheckRocksdbCqWriteResult.CheckStatus`."""
EXPORTED = frozenset({"topics", "subscriptiongroups", "consumeroffsets"})
"""Tables that RocketMQ may keep in RocksDB: `ExportRocksDBConfigToJsonRequestHeader.ConfigType`."""


def check_queues(broker: Broker, call: Call) -> Reply:
    """354 CHECK_ROCKSDB_CQ_WRITE_PROGRESS: compare queues in RocksDB.

    RocketMQ answers that the check has begun, and logs that there are no such queues.
    """
    return Reply(body=lenient_json.dumps({"checkStatus": CHECK_IN_PROGRESS}))


def export_tables(broker: Broker, call: Call) -> Reply:
    """355 EXPORT_ROCKSDB_CONFIG_TO_JSON: write tables in RocksDB as JSON; there are none."""
    header = call.header
    assert isinstance(header, ExportRocksDBConfigToJsonRequestHeader)
    for name in filter(None, header.config_type.split(";")):
        if name.strip().lower() not in EXPORTED:
            raise RequestError(ResponseCode.SYSTEM_ERROR, f"Unknown config type: {name}")
    return Reply(remark="export done.")


def epochs(broker: Broker, call: Call) -> Reply:
    """1007 GET_BROKER_EPOCH_CACHE: epochs of the log by master, which only a controller assigns."""
    raise RequestError(ResponseCode.SYSTEM_ERROR, "this request only for controllerMode ")


REQUESTS: dict[int, LongRequestFunction] = {
    RequestCode.CHECK_ROCKSDB_CQ_WRITE_PROGRESS: check_queues,
    RequestCode.EXPORT_ROCKSDB_CONFIG_TO_JSON: export_tables,
    RequestCode.GET_BROKER_EPOCH_CACHE: epochs,
}
