"""1007 and 1008: the epochs of the log, and notifications of the current master.

RocketMQ: `AdminBrokerProcessor.getBrokerEpochCache`, `notifyBrokerRoleChanged`.
"""

from mqgateway.engine.ha.epochs import ENDLESS
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.broker.needs import Needs, RequestDeclaration
from mqgateway.gateway.codec.bodies import EpochEntryCache
from mqgateway.gateway.codec.bodies.replicas import EpochEntry
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.headers import NotifyBrokerRoleChangedRequestHeader
from mqgateway.gateway.remoting.call import Call, Reply


def epoch_cache(broker: Broker, call: Call) -> Reply:
    """1007 GET_BROKER_EPOCH_CACHE: start and end of each epoch."""
    controlled = broker.controlled
    if controlled is None:
        raise OperationError(Reason.SYSTEM_ERROR, "this request only for controllerMode ")
    entries = controlled.epochs.entries
    ends = [*(entry.start for entry in entries[1:]), ENDLESS]
    body = EpochEntryCache(
        cluster_name=broker.options.broker_cluster_name,
        broker_name=broker.options.broker_name,
        broker_id=broker.role.state.broker_id,
        epoch_list=[EpochEntry(*entry, end) for entry, end in zip(entries, ends, strict=False)],
        max_offset=broker.store.max_physical_offset,
    )
    return Reply(body=body.encode())


def role_changed(broker: Broker, call: Call) -> Reply:
    """1008 NOTIFY_BROKER_ROLE_CHANGED: the controller has elected a master; a hint that may be late."""
    header = call.header
    assert isinstance(header, NotifyBrokerRoleChangedRequestHeader)
    if broker.controlled is not None:
        broker.controlled.noticed(header, call.body)
    return Reply()


REQUESTS: dict[int, RequestDeclaration] = {
    RequestCode.GET_BROKER_EPOCH_CACHE: RequestDeclaration(epoch_cache, Needs.NOTHING),
    RequestCode.NOTIFY_BROKER_ROLE_CHANGED: RequestDeclaration(role_changed, Needs.NOTHING),
}
