"""State of replication, as `mqadmin haStatus` shows it.

RocketMQ: `AdminBrokerProcessor.getBrokerHaStatus`.
"""

from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.codec.bodies import HARuntimeInfo


def ha_status(broker: Broker) -> HARuntimeInfo:
    """Return the slaves of a master, or the master of a slave."""
    if broker.replication is None:
        raise OperationError(
            Reason.SYSTEM_ERROR, "Can not get HARuntimeInfo, may be duplicationEnable is true"
        )
    return broker.replication.runtime_info()
