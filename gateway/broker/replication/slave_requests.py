"""What a slave answers otherwise than a master: it takes no messages, and readers go to the master.

It gives none out one by one either, as that writes down what is out, unless it acts for its master: then
another broker writes it down (`pop_away`).

While the master is there a reader is sent back to it with every answer, unless it is so far behind that the
slave is to serve it; a pull that finds nothing is answered at once. Without the master readers stay, and wait
for messages as they do there. An offset that the slave does not have is not corrected: the slave may only be
behind. All that with `slaveReadEnable`; without it a slave serves no pulls.
Standard: `SendMessageProcessor.rejectRequest`, `PullMessageProcessor.rejectRequest`, `composeResponseHeader`,
`DefaultPullMessageResultHandler`, `DefaultMessageStore.nextOffsetCorrection`.
"""

from collections.abc import Callable
from typing import Any

from twisted.internet.defer import Deferred

from mqgateway.engine.ha.member_group import MASTER_ID
from mqgateway.engine.store.message_store import GetStatus
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.consume import pull
from mqgateway.gateway.broker.pop import requests as pop_requests
from mqgateway.gateway.broker.replication.write_gate import REFUSAL
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from mqgateway.gateway.codec.headers import PullMessageRequestHeader
from mqgateway.gateway.remoting.call import Call, Reply, RequestError
from mqgateway.gateway.remoting.dispatch import RequestFunction

REJECTED = "[REJECTREQUEST]system busy, start flow control for a while"
SUGGESTED, NEXT = "suggestWhichBrokerId", "nextBeginOffset"


def refuse_send(broker: Broker, call: Call) -> Reply:
    """A message: a slave that could act for its master says that it cannot take any."""
    if broker.options.enable_slave_acting_master:
        raise RequestError(ResponseCode.SERVICE_NOT_AVAILABLE, f"service not available now. Here: {REFUSAL}.")
    return refuse(broker, call)


def refuse_send_back(broker: Broker, call: Call) -> Reply:
    """A message that a consumer sends back: it sends it to another broker then."""
    if broker.options.enable_slave_acting_master:
        raise RequestError(
            ResponseCode.SYSTEM_ERROR, f"no master available along with {broker.options.broker_ip1}"
        )
    return refuse(broker, call)


def refuse(broker: Broker, call: Call) -> Reply:
    """What would write: there is a master for that."""
    raise RequestError(ResponseCode.SYSTEM_BUSY, REJECTED)


def pull_message(broker: Broker, call: Call) -> Reply | Deferred[Reply]:
    """A pull from a slave."""
    header = call.header
    assert isinstance(header, PullMessageRequestHeader)
    if not broker.options.slave_read_enable:
        return refuse(broker, call)
    if broker.has_master:
        header.sys_flag &= ~pull.FLAG_SUSPEND

    def turned(reply: Reply) -> Reply:
        _turn(broker, header, reply)
        return reply

    reply = pull.pull_message(broker, call)
    return reply.addCallback(turned) if isinstance(reply, Deferred) else turned(reply)


def _turn(broker: Broker, header: PullMessageRequestHeader, reply: Reply) -> None:
    """Make a master's answer a slave's."""
    if reply.ext is None:
        return
    group = broker.groups.get(header.consumer_group)
    if reply.code == ResponseCode.PULL_OFFSET_MOVED and not broker.store_options.offset_check_in_slave:
        reply.code = ResponseCode.PULL_RETRY_IMMEDIATELY
        if reply.remark != GetStatus.OFFSET_RESET.name:
            reply.ext[NEXT] = str(header.queue_offset)
        reply.ext[SUGGESTED] = str(MASTER_ID if group is None else group.broker_id)
    is_far_behind = group is not None and reply.ext[SUGGESTED] == str(group.which_broker_when_consume_slowly)
    if broker.has_master and not is_far_behind:
        reply.ext[SUGGESTED] = str(MASTER_ID)
        if reply.code != ResponseCode.SUCCESS:
            reply.code = ResponseCode.PULL_RETRY_IMMEDIATELY


def _while_acting(serve: Callable[[Broker, Call], Any]) -> RequestFunction:
    """Serve a request only as long as this slave acts for its master."""

    def served(broker: Broker, call: Call) -> Any:
        return refuse(broker, call) if broker.pops.away is None else serve(broker, call)

    return served


SLAVE_REQUESTS: dict[int, RequestFunction] = {
    RequestCode.SEND_MESSAGE: refuse_send,
    RequestCode.SEND_MESSAGE_V2: refuse_send,
    RequestCode.SEND_BATCH_MESSAGE: refuse_send,
    RequestCode.CONSUMER_SEND_MSG_BACK: refuse_send_back,
    RequestCode.POP_MESSAGE: _while_acting(pop_requests.pop_message),
    RequestCode.ACK_MESSAGE: _while_acting(pop_requests.ack_message),
    RequestCode.BATCH_ACK_MESSAGE: _while_acting(pop_requests.batch_ack_message),
    RequestCode.CHANGE_MESSAGE_INVISIBLETIME: _while_acting(pop_requests.change_invisible_time),
    RequestCode.PULL_MESSAGE: pull_message,
    RequestCode.LITE_PULL_MESSAGE: pull_message,
}
"""In place of the functions of the same codes."""
