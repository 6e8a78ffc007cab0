"""200071 LITE_SUBSCRIPTION_CTL: clients say which lite topics they read.

Standard: `LiteSubscriptionCtlProcessor`.
"""

from collections.abc import Iterable
from functools import partial

from twisted.internet.defer import Deferred, gatherResults

from mqgateway.engine.clock import elapsed_millis
from mqgateway.engine.errors import EngineError
from mqgateway.engine.lite.names import light_queue
from mqgateway.engine.lite.subscriptions import NotForWildcards, QuotaExceeded, Start, Subscriber
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.cluster.route_cache import Found
from mqgateway.gateway.codec.bodies.lite import LiteSubscription, LiteSubscriptionCtlRequestBody
from mqgateway.gateway.codec.codes import ResponseCode
from mqgateway.gateway.remoting.call import Call, Reply, RequestError

PARTIAL_ADD, PARTIAL_REMOVE = "PARTIAL_ADD", "PARTIAL_REMOVE"
COMPLETE_ADD, COMPLETE_REMOVE = "COMPLETE_ADD", "COMPLETE_REMOVE"
NOT_CONSUMING = "java.lang.IllegalStateException: Consumer group is not allowed to consume."


def control(broker: Broker, call: Call) -> Reply | Deferred[Reply]:
    """Change the subscriptions, once it is known which lite topics are at home here."""
    if not call.body:
        raise _illegal("Request body is null.")
    changes = LiteSubscriptionCtlRequestBody.decode(call.body).subscription_set
    if not changes:
        raise _illegal("LiteSubscriptionCtlRequestBody is empty.")
    changes = [each for each in changes if all(map(_is_said, (each.client_id, each.group, each.topic)))]
    parents = sorted(
        {change.topic or "" for change in changes if change.action in (PARTIAL_ADD, COMPLETE_ADD)}
    )
    asked = gatherResults([broker.lites.homes.of(parent) for parent in parents])
    return asked.addCallback(partial(_change_all, broker, call, changes, parents))


def _is_said(text: str | None) -> bool:
    return text is not None and bool(text.strip())


def _change_all(
    broker: Broker, call: Call, changes: Iterable[LiteSubscription], parents: list[str], found: list[Found]
) -> Reply:
    homes = dict(zip(parents, found, strict=True))
    for change in changes:
        try:
            _change(broker, call, change, homes.get(change.topic or ""))
        except QuotaExceeded as refusal:
            remark = f"org.apache.rocketmq.broker.lite.LiteQuotaException: {refusal}"
            raise RequestError(ResponseCode.LITE_SUBSCRIPTION_QUOTA_EXCEEDED, remark) from None
        except NotForWildcards as refusal:
            raise _illegal(f"java.lang.IllegalStateException: {refusal}") from None
        except EngineError as refusal:
            raise RequestError(ResponseCode.SYSTEM_ERROR, str(refusal)) from None
    return Reply()


def _change(broker: Broker, call: Call, change: LiteSubscription, found: Found) -> None:
    lites = broker.lites
    client_id, group, topic = change.client_id or "", change.group or "", change.topic or ""
    longest = max(map(len, (client_id, group, topic, *change.lite_topic_set)))
    if longest > broker.options.max_name_length:
        raise RequestError(ResponseCode.SYSTEM_ERROR, f"a name of {longest} characters is too long")
    subscriber, now = Subscriber(client_id, group), elapsed_millis(broker.clock)
    queues = sorted(light_queue(topic, name) for name in change.lite_topic_set if name)
    if change.action == PARTIAL_REMOVE:
        lites.subscriptions.remove(subscriber, queues, now)
        return
    if change.action == COMPLETE_REMOVE:
        lites.subscriptions.remove_client(client_id)
        return
    known = broker.groups.find(group)
    if known is None or not known.consume_enable:
        raise _illegal(NOT_CONSUMING)
    queues = [queue for queue in queues if lites.is_home(queue, found) or lites.max_offset(queue) > 0]
    if change.action == PARTIAL_ADD:
        option = change.offset_option
        start = None if option is None else Start(option.type, option.value)
        lites.subscriptions.add(subscriber, topic, queues, start, now)
    else:
        lites.subscriptions.replace(subscriber, topic, queues, now)
    lites.heard(client_id, call.peer)


def _illegal(remark: str) -> RequestError:
    return RequestError(ResponseCode.ILLEGAL_OPERATION, remark)
