"""905, 906 and 908: notifications of name servers and requests between members of a group; 907: its state.

RocketMQ: `AdminBrokerProcessor.notifyMinBrokerIdChange`, `updateBrokerHaInfo`, `resetMasterFlushOffset`,
`getBrokerHaStatus`.
"""

from twisted.internet.defer import Deferred

from mqgateway.engine.ha.admission import TICKET
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.broker.needs import Needs, RequestDeclaration
from mqgateway.gateway.broker.replication import status
from mqgateway.gateway.broker.replication.node_exchange import ANSWER_FIELD, FIELD, TOPICS_FIELD
from mqgateway.gateway.broker.replication.peer_exchange import GROUP_FIELD, KIND_FIELD, NAMES_FIELD
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.headers import ExchangeHAInfoRequestHeader, NotifyMinBrokerIdChangeRequestHeader
from mqgateway.gateway.remoting.call import Call, Reply


def min_id_changed(broker: Broker, call: Call) -> Reply:
    """905 NOTIFY_MIN_BROKER_ID_CHANGE: another broker has the smallest id of the group now."""
    header = call.header
    assert isinstance(header, NotifyMinBrokerIdChangeRequestHeader)
    membership = broker.membership
    if membership is not None and header.min_broker_id is not None:
        membership.noticed(header.min_broker_id, header.min_broker_addr or "", header.ha_broker_addr or "")
    return Reply()


def exchange_ha_info(broker: Broker, call: Call) -> Reply | Deferred[Reply]:
    """906 EXCHANGE_BROKER_HA_INFO: a master reports its replication address, or is queried for it.

    Brokers of Kafka clusters exchange their nodes with it too, and send requests to masters of other groups.
    """
    header = call.header
    assert isinstance(header, ExchangeHAInfoRequestHeader)
    group = call.command.ext_fields.get(GROUP_FIELD)
    if group is not None:
        return _of_other_group(broker, call, group)
    report = call.command.ext_fields.get(FIELD)
    if report is not None:
        return _nodes(broker, report)
    membership = broker.membership
    if membership is None:
        return Reply()
    if header.master_ha_address is None:
        return Reply(header=membership.whereabouts(), ext=_ticket(broker, call))
    membership.announced(header.master_address or "", header.master_ha_address)
    return Reply()


def _nodes(broker: Broker, report: str) -> Reply:
    """Return the nodes of the group to a slave that reports its own."""
    if broker.nodes is None:
        return Reply()
    try:
        view = broker.nodes.received(report)
    except ValueError as error:
        raise OperationError(Reason.INVALID_PARAMETER, f"{FIELD}: {error}") from error
    return _view(broker, view)


def _of_other_group(broker: Broker, call: Call, group: str) -> Reply | Deferred[Reply]:
    """Answer a broker of another group, if this one leads the group that is asked."""
    view = "" if broker.nodes is None or broker.peers is None else broker.nodes.reported()
    if broker.peers is None or not view or group != broker.options.broker_name:
        return Reply()
    broker.peers.check_names(call.command.ext_fields.get(NAMES_FIELD, ""))
    kind = call.command.ext_fields.get(KIND_FIELD)
    if kind is None:
        return _view(broker, view)
    return broker.peers.received(kind, call.body).addCallback(lambda body: Reply(body=body))


def _view(broker: Broker, view: str) -> Reply:
    version = broker.tables.topics.data_version.encode().decode()
    return Reply(ext={ANSWER_FIELD: view, TOPICS_FIELD: version} if view else None)


def _ticket(broker: Broker, call: Call) -> dict[str, str] | None:
    """Return the ticket that admits a slave of ours at the port for slaves; RocketMQ's slaves ignore it."""
    if broker.replication is None:
        return None
    host = call.peer.address.rpartition(":")[0].strip("[]")
    ticket = broker.replication.log_requested(host)
    return {TICKET: ticket.hex()} if ticket else None


def reset_master_flush_offset(broker: Broker, call: Call) -> Reply:
    """908 RESET_MASTER_FLUSH_OFFSET: no-op; our slave withholds nothing until its master has flushed it."""
    return Reply()


def ha_status(broker: Broker, call: Call) -> Reply:
    """907 GET_BROKER_HA_STATUS."""
    return Reply(body=status.ha_status(broker).encode())


REQUESTS: dict[int, RequestDeclaration] = {
    RequestCode.NOTIFY_MIN_BROKER_ID_CHANGE: RequestDeclaration(min_id_changed, Needs.NOTHING),
    RequestCode.EXCHANGE_BROKER_HA_INFO: RequestDeclaration(exchange_ha_info, Needs.NOTHING),
    RequestCode.RESET_MASTER_FLUSH_OFFSET: RequestDeclaration(reset_master_flush_offset, Needs.NOTHING),
    RequestCode.GET_BROKER_HA_STATUS: RequestDeclaration(ha_status, Needs.NOTHING),
}
