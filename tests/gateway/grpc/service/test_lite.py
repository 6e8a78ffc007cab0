"""SyncLiteSubscription: the lite topics that clients read, their number, and the end of subscriptions."""

from __future__ import annotations

from typing import Any

import pytest

from mqgateway.gateway.grpc import v2
from tests.support.gateway.grpc.messaging import LITE_STORE, Service

ACTION = v2.LiteSubscriptionAction


def service(**options: Any) -> Service:
    """With a lite consumer of group R and topic chat."""
    made = Service(store_options=LITE_STORE, options=options)
    made.topic("chat", "LITE")
    made.group("R", attributes={"lite.bind.topic": "chat", "lite.sub.client.quota": "2"})
    made.consumer("R", "chat", v2.ClientType.LITE_PUSH_CONSUMER)
    return made


def sync(made: Service, *names: str, action: v2.LiteSubscriptionAction = 0, **fields: Any) -> v2.Status:  # type: ignore[assignment]
    """Return the status of the answer."""
    request = v2.SyncLiteSubscriptionRequest(
        topic=v2.Resource(name="chat"),
        group=v2.Resource(name="R"),
        lite_topic_set=names,
        action=action,
        **fields,
    )
    status: v2.Status = made.ask(request).status
    return status


def read(made: Service) -> set[str]:
    """The lite topics that the client reads."""
    found = made.broker.lite.subscriptions.of("c1")
    return set() if found is None else {queue.rpartition("$")[2] for queue in found.queues}


def test_lite_topics_come_and_go() -> None:
    made = service()
    assert sync(made, "a", "b").code == v2.Code.OK
    assert read(made) == {"a", "b"}
    sync(made, "a", action=ACTION.PARTIAL_REMOVE)
    assert read(made) == {"b"}
    sync(made, "c", action=ACTION.COMPLETE_ADD)
    assert read(made) == {"c"}
    sync(made, action=ACTION.COMPLETE_REMOVE)
    assert read(made) == set()


@pytest.mark.parametrize("leaves", [True, False])
def test_a_client_that_goes_reads_nothing(leaves: bool) -> None:
    made = service()
    sync(made, "a")
    stream = made.service.sessions.known("c1")._stream
    if leaves:
        stream.call.leave()  # type: ignore[union-attr]
    else:
        made.ask(v2.NotifyClientTerminationRequest(group=v2.Resource(name="R")))
    assert read(made) == set()


def test_too_many_in_one_request() -> None:
    made = service()
    refused = sync(made, *(f"room{number}" for number in range(303)))
    assert refused.code == v2.Code.LITE_SUBSCRIPTION_QUOTA_EXCEEDED
    assert refused.message == "lite subscription quota exceeded: 2"


def test_too_many_in_all() -> None:
    made = service(max_lite_subscription_count=1)
    assert sync(made, "a").code == v2.Code.OK
    assert sync(made, "b", "c").code == v2.Code.LITE_SUBSCRIPTION_QUOTA_EXCEEDED


def test_too_many_in_a_second() -> None:
    made = service(max_sync_lite_subscription_rate=1)
    assert sync(made, "a").code == v2.Code.OK
    assert sync(made, "b").code == v2.Code.TOO_MANY_REQUESTS
    made.memory.clock.advance(1000)
    assert sync(made, "b").code == v2.Code.OK


def test_first_offset_of_a_subscription() -> None:
    made = service()
    made.send(b"a", "chat", lite_topic="a")
    made.send(b"b", "chat", lite_topic="a")
    sync(made, "a", offset_option=v2.OffsetOption(offset=1))
    assert [one.body for one in made.receive("R", "chat")] == [b"b"]


def test_a_client_without_settings() -> None:
    made = service()
    request = v2.SyncLiteSubscriptionRequest(
        topic=v2.Resource(name="chat"), group=v2.Resource(name="R"), lite_topic_set=["a"]
    )
    assert made.ask(request, "c9").status.code == v2.Code.OK


def test_a_group_that_is_not_there_and_may_not_be_made() -> None:
    made = service(auto_create_subscription_group=False)
    request = v2.SyncLiteSubscriptionRequest(topic=v2.Resource(name="chat"), group=v2.Resource(name="Z"))
    assert made.ask(request).status.code == v2.Code.ILLEGAL_CONSUMER_GROUP
