"""Messages that stay invisible as long as their client is there."""

from __future__ import annotations

from typing import Any

import pytest

from mqgateway.engine.options import FlushDiskType
from mqgateway.gateway.grpc import v2
from tests.support.gateway.broker.pop import GRACE
from tests.support.gateway.grpc.messaging import Service, acking, receiving


def service(**given: Any) -> Service:
    """With a consumer, and one message that it received to be renewed."""
    made = Service(**given)
    made.consumer()
    made.send(b"a")
    return made


def received(made: Service) -> list[v2.Message]:
    """The message."""
    return made.receive(auto_renew=True, invisible_duration=v2.Duration(seconds=1))


def is_there(made: Service) -> bool:
    """Return True if another client gets a message."""
    call, answers = made.begin(receiving())
    call.leave()
    return bool(answers)


def test_a_message_is_renewed_while_its_client_is_there() -> None:
    made = service()
    received(made)
    made.broker.options.channel_expired_timeout = 10**9
    for _ in range(10):
        made.pass_time(60_000, 1000)
        assert not is_there(made)
    assert len(made.service.acknowledger.renewals) == 1


@pytest.mark.parametrize("disk", FlushDiskType)
def test_it_is_acknowledged_with_the_handle_that_it_was_given_with(disk: FlushDiskType) -> None:
    made = service()
    got = received(made)
    made.broker.options.channel_expired_timeout = 10**9
    made.pass_time(200_000, 1000)
    assert made.ask(acking(got)).status.code == v2.Code.OK
    assert not len(made.service.acknowledger.renewals)
    made.pass_time(3_600_000, 10_000)
    assert not is_there(made)


def test_after_a_while_it_comes_again_as_the_group_says() -> None:
    made = service(options={"renew_max_time_millis": 100_000, "channel_expired_timeout": 10**9})
    received(made)
    made.pass_time(400_000, 1000)
    assert not len(made.service.acknowledger.renewals)
    assert is_there(made)


def test_messages_of_a_client_that_left_are_redelivered_soon() -> None:
    made = service()
    received(made)
    made.ask(v2.NotifyClientTerminationRequest(group=v2.Resource(name="G")))
    assert not len(made.service.acknowledger.renewals)
    made.pass_time(1_000 + GRACE)
    made.consumer(client_id="c2")
    call, answers = made.begin(receiving(), "c2")
    assert answers and call.ended is not None


def test_a_silent_client_loses_what_it_received() -> None:
    made = service()
    received(made)
    made.pass_time(125_000, 1000)
    assert not len(made.service.acknowledger.renewals)
    assert made.service.sessions.get("c1") is None


def test_a_changed_time_ends_the_renewals() -> None:
    made = service()
    (got,) = received(made)
    system = got.system_properties
    changed = made.ask(
        v2.ChangeInvisibleDurationRequest(
            group=v2.Resource(name="G"),
            topic=v2.Resource(name="T"),
            receipt_handle=system.receipt_handle,
            message_id=system.message_id,
            invisible_duration=v2.Duration(seconds=5),
        )
    )
    assert changed.status.code == v2.Code.OK
    assert not len(made.service.acknowledger.renewals)
    made.pass_time(5_000 + GRACE)
    assert is_there(made)


def test_renewals_that_fail_are_tried_a_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    made = service(options={"channel_expired_timeout": 10**9})
    received(made)
    tried = []

    def fail(one: Any, millis: int) -> Any:
        tried.append(millis)
        raise RuntimeError("no disk")

    monkeypatch.setattr(made.service.acknowledger.renewals, "_change", fail)
    made.pass_time(120_000, 1000)
    assert tried == [60_000] * 3
    assert not len(made.service.acknowledger.renewals)


def test_no_more_are_received_than_can_be_renewed() -> None:
    made = service(options={"max_renewed_messages": 1})
    made.send(b"b")
    assert len(received(made)) == 1
    (refused, _) = made.ask(receiving(auto_renew=True))
    assert refused.status.code == v2.Code.TOO_MANY_REQUESTS
    assert len(made.receive()) == 1, "others can"


def test_renewing_can_be_switched_off() -> None:
    made = service(options={"enable_proxy_auto_renew": False})
    made.receive(auto_renew=True)
    assert not len(made.service.acknowledger.renewals)
