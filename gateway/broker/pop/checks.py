"""What pops and questions about them are checked for before all else, and how they wait.

Standard: `PopMessageProcessor`, `PeekMessageProcessor`, `NotificationProcessor`.
"""

from collections.abc import Callable
from typing import Protocol

from twisted.internet.defer import Deferred

from mqgateway.engine.clock import elapsed_millis
from mqgateway.engine.errors import FilterError
from mqgateway.engine.filters import compile_expression, compile_subscription, is_tag_type
from mqgateway.engine.tables.groups import SubscriptionGroupConfig
from mqgateway.engine.tables.topics import PERM_READ, TopicConfig
from mqgateway.gateway.broker.broker import Broker
from mqgateway.gateway.broker.consume.long_polling import Wanted
from mqgateway.gateway.broker.errors import FAQ
from mqgateway.gateway.broker.pop.parked import ANY_QUEUE, HeldPop, PopHolds
from mqgateway.gateway.codec.codes import ResponseCode
from mqgateway.gateway.remoting.call import Call, Peer, Reply, RequestError

ANSWER_EARLY_MILLIS = 50
"""How long before its time is up one that waits is answered. Standard: `PopRequest.isTimeout`."""

TOO_LATE_MILLIS = 500
"""How long after its time is up a request is not looked at any more."""


class Waiting(Protocol):
    """The fields of a header that say how long to wait. Times in ms, by the client's clock."""

    @property
    def born_time(self) -> int:
        """When the client asked; 0 for now."""
        ...

    @property
    def poll_time(self) -> int:
        """How long it waits."""
        ...


def check_broker(broker: Broker, what: str) -> None:
    """Whether the broker may be read."""
    options = broker.options
    if not options.broker_permission & PERM_READ:
        raise RequestError(
            ResponseCode.NO_PERMISSION, f"the broker[{options.broker_ip1}] {what} message is forbidden"
        )


def checked_topic(broker: Broker, call: Call, topic: str, queue_id: int) -> TopicConfig:
    """The topic, once it is known and readable and has the queue; any negative queue is every queue."""
    config = known_topic(broker, topic)
    if not config.perm & PERM_READ:
        raise RequestError(ResponseCode.NO_PERMISSION, f"the topic[{topic}] peeking message is forbidden")
    if queue_id >= config.read_queue_nums:
        raise no_queue(call, config, queue_id, ResponseCode.INVALID_PARAMETER)
    return config


def known_topic(broker: Broker, topic: str) -> TopicConfig:
    """The topic, which must be there."""
    config = broker.topics.get(topic)
    if config is None:
        raise RequestError(
            ResponseCode.TOPIC_NOT_EXIST, f"topic[{topic}] not exist, apply first please! {FAQ}"
        )
    return config


def no_queue(call: Call, config: TopicConfig, queue_id: int, code: ResponseCode) -> RequestError:
    """The refusal of a queue that the topic does not have."""
    return RequestError(
        code,
        f"queueId[{queue_id}] is illegal, topic:[{config.topic_name}] "
        f"topicConfig.readQueueNums:[{config.read_queue_nums}] consumer:[/{call.peer.address}]",
    )


def checked_group(broker: Broker, name: str) -> SubscriptionGroupConfig:
    """The group's settings, once it may consume."""
    group = broker.groups.find(name)
    if group is None:
        raise RequestError(
            ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, f"subscription group [{name}] does not exist, {FAQ}"
        )
    if not group.consume_enable:
        raise RequestError(ResponseCode.NO_PERMISSION, f"subscription group no permission, {name}")
    return group


def wanted_by(broker: Broker, topic: str, expression: str | None, expression_type: str | None) -> Wanted:
    """What an expression in a header lets pass; None for everything."""
    if not expression:
        return None
    try:
        if is_tag_type(expression_type):
            most = broker.options.max_tags_per_subscription
            return compile_subscription(topic, expression, expression_type, 0, most).accepted_codes
        return compile_expression(expression, expression_type).matches
    except FilterError:
        raise RequestError(
            ResponseCode.SUBSCRIPTION_PARSE_FAILED, "parse the consumer's subscription failed"
        ) from None


def check_in_time(broker: Broker, peer: Peer, header: Waiting) -> None:
    """Refuse a pop whose client waits no more."""
    if not header.born_time:
        return
    passed = _earlier_time(broker) - header.born_time
    if broker.pops.clocks.is_late(peer, passed, header.poll_time + TOO_LATE_MILLIS):
        raise RequestError(
            ResponseCode.POLLING_TIMEOUT,
            f"the broker[{broker.options.broker_ip1}] pop message is timeout too much",
        )


def clients_now(broker: Broker, peer: Peer) -> int:
    """What to compare the time with at which a client says that it asked, ms: what its clock shows, as far as
    is known.
    """
    return _earlier_time(broker) - broker.pops.clocks.behind(peer)


def _earlier_time(broker: Broker) -> int:
    """The earlier of our two times, ms: a client's wall clock may have been set with ours, or not; either way
    it is not kept from waiting.
    """
    return min(broker.clock.millis(), broker.store.steady.now())


def time_left(header: Waiting, now: int) -> int:
    """Milliseconds for which a request may wait; none where the client does not, or no more."""
    born = header.born_time or now
    return min(born + header.poll_time - ANSWER_EARLY_MILLIS - now, header.poll_time)


def wait(
    broker: Broker,
    holds: PopHolds,
    call: Call,
    place: tuple[str, str, int],
    wanted: Wanted,
    millis: int,
    look: Callable[[bool], Reply | Deferred[Reply] | None],
) -> Deferred[Reply] | None:
    """Park a request until `look` has an answer, which it must have when told that its time is up, or is to
    get one.

    None when there is no room.
    """
    is_cancelled = False

    def cancel(_: Deferred[Reply]) -> None:
        nonlocal is_cancelled
        is_cancelled = True
        holds.forget(held)

    def resume(is_last: bool) -> bool:
        if is_cancelled:
            return True
        try:
            reply = look(is_last)
        except Exception:
            waiting.errback()
            return True
        if reply is None:
            return False
        if isinstance(reply, Deferred):
            reply.addBoth(lambda result: None if is_cancelled else waiting.callback(result))
        else:
            waiting.callback(reply)
        return True

    waiting: Deferred[Reply] = Deferred(cancel)
    topic, group, queue_id = place
    place = (topic, group, max(queue_id, ANY_QUEUE))
    held = HeldPop(call.peer, place, wanted, elapsed_millis(broker.clock) + millis, resume)
    return waiting if holds.hold(held) else None
