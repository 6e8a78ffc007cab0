"""907 GET_BROKER_HA_STATUS: the state of replication, as `mqadmin haStatus` shows it.

Standard: `AdminBrokerProcessor.getBrokerHaStatus`.
"""

from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.codec.codes import ResponseCode
from mqgateway.gateway.remoting.call import Call, Reply, RequestError


def ha_status(broker: Broker, call: Call) -> Reply:
    """The slaves of a master, or the master of a slave."""
    if broker.replication is None:
        raise RequestError(
            ResponseCode.SYSTEM_ERROR, "Can not get HARuntimeInfo, may be duplicationEnable is true"
        )
    return Reply(body=broker.replication.runtime_info().encode())
