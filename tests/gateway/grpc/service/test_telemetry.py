"""Clients announce themselves: settings, heartbeats, termination, and the broker's view of them."""

from __future__ import annotations

from typing import Any

import pytest

from mqgateway.gateway.broker.admin import consumers
from mqgateway.gateway.grpc import v2
from mqgateway.gateway.grpc.call import Status
from tests.support.gateway.grpc.messaging import Service

GROUP = v2.Resource(name="G")


def heartbeat(service: Service, client_id: str = "c1", group: str = "G") -> int:
    """The code that a heartbeat is answered."""
    request = v2.HeartbeatRequest(group=v2.Resource(name=group))
    return int(service.ask(request, client_id).status.code)


def test_a_consumer_is_shown_as_any_other() -> None:
    service = Service()
    service.consumer(kind=v2.ClientType.PUSH_CONSUMER)
    group = consumers.consumer_group(service.broker, "G")
    (client,) = group.clients.values()
    assert (client.client_id, client.language, client.peer.address) == ("c1", "JAVA", "10.0.0.9:5000")
    assert (group.consume_type, group.message_model) == ("CONSUME_PASSIVELY", "CLUSTERING")
    assert group.subscriptions["T"].sub_string == "*"
    assert service.broker.tables.topics.get("%RETRY%G") is not None


@pytest.mark.parametrize(
    "kind,how",
    [
        (v2.ClientType.SIMPLE_CONSUMER, "CONSUME_ACTIVELY"),
        (v2.ClientType.PULL_CONSUMER, "CONSUME_ACTIVELY"),
    ],
)
def test_consume_type_of_a_consumer(kind: v2.ClientType, how: str) -> None:
    service = Service()
    service.consumer(kind=kind)
    assert consumers.consumer_group(service.broker, "G").consume_type == how


@pytest.mark.parametrize(
    "said,shown", [("5.2.0", "v5_2_0"), ("5.0.5.1", "v5_0_5_1"), ("", ""), ('5.2"} x', ""), ("5", "")]
)
def test_the_release_and_protocol_of_a_client_are_shown(said: str, shown: str) -> None:
    service = Service()
    stream = service.telemetry(**{"x-mq-client-version": said})
    publishing = v2.Publishing(topics=[v2.Resource(name="T")])
    stream.say(settings=v2.Settings(client_type=v2.ClientType.PRODUCER, publishing=publishing))
    (client,) = service.broker.clients.producer_groups["T"].values()
    assert (client.protocol, client.release) == ("grpc", shown)


def test_a_producer_is_shown_in_a_group_of_each_topic() -> None:
    service = Service()
    service.producer("T", "T2")
    assert set(consumers.all_producers(service.broker)) == {"T", "T2"}


@pytest.mark.parametrize("word,language", [("", "OTHER"), ("KLINGON", "OTHER"), ("golang", "GO")])
def test_the_language_of_a_client(word: str, language: str) -> None:
    service = Service()
    stream = service.telemetry(**{"x-mq-language": word})
    stream.say(
        settings=v2.Settings(
            client_type=v2.ClientType.PRODUCER, publishing=v2.Publishing(topics=[v2.Resource(name="T")])
        )
    )
    assert [one.language for one in consumers.producers(service.broker, "T")] == [language]


def test_settings_that_name_other_topics() -> None:
    service = Service()
    stream = service.producer("T", "T2")
    settings = v2.Settings(
        client_type=v2.ClientType.PRODUCER, publishing=v2.Publishing(topics=[v2.Resource(name="T3")])
    )
    stream.say(settings=settings)
    assert set(consumers.all_producers(service.broker)) == {"T3"}
    for _ in range(4):
        service.memory.clock.advance(100_000)
        heartbeat(service)
        assert not service.broker.clients.expire()
    assert stream.call.ended is None


def test_group_that_changed_is_reported_with_the_next_settings() -> None:
    service = Service()
    stream = service.consumer()
    assert not stream.heard[0].settings.subscription.fifo
    policy = {"type": "EXPONENTIAL", "exponentialRetryPolicy": {"initial": 2000}}
    service.group("G", consume_message_orderly=True, retry_max_times=3, group_retry_policy=policy)
    stream.say(settings=stream.heard[0].settings)
    settings = stream.heard[1].settings
    assert settings.subscription.fifo
    assert settings.backoff_policy.max_attempts == 4
    assert settings.backoff_policy.exponential_backoff.initial == v2.Duration(seconds=2)


def test_settings_are_reported_again_with_the_first_heartbeat() -> None:
    """As they are now: what came first may have come too early for the client."""
    service = Service()
    stream = service.consumer()
    service.group("G", retry_max_times=3)
    for _ in range(3):
        assert heartbeat(service) == v2.Code.OK
    first, again = stream.heard
    assert (again.status.code, again.settings.subscription.group.name) == (v2.Code.OK, "G")
    assert (first.settings.backoff_policy.max_attempts, again.settings.backoff_policy.max_attempts) == (17, 4)


def test_settings_are_reported_again_once_there_is_a_way() -> None:
    service = Service()
    service.consumer().call.leave()
    assert heartbeat(service) == v2.Code.OK
    stream = service.consumer()
    assert heartbeat(service) == v2.Code.OK
    assert [one.WhichOneof("command") for one in stream.heard] == ["settings", "settings"]


def test_a_client_that_goes_is_shown_no_more() -> None:
    service = Service()
    stream = service.consumer()
    assert heartbeat(service) == v2.Code.OK
    answer = service.ask(v2.NotifyClientTerminationRequest(group=GROUP))
    assert answer.status.code == v2.Code.OK
    assert service.broker.clients.consumer_group("G") is None
    assert heartbeat(service) == v2.Code.UNRECOGNIZED_CLIENT_TYPE
    assert stream.call.ended == (Status.OK, "")


def test_a_client_is_shown_until_it_was_silent_for_long() -> None:
    """A lost stream alone ends nothing."""
    service = Service()
    stream = service.consumer()
    stream.call.leave()
    for _ in range(3):
        service.memory.clock.advance(100_000)
        assert heartbeat(service) == v2.Code.OK
        service.broker.clients.expire()
        service.service.tick()
    assert service.broker.clients.consumer_group("G") is not None
    service.memory.clock.advance(130_000)
    for peer in service.broker.clients.expire():
        peer.close("silent")
    assert service.broker.clients.consumer_group("G") is None
    assert service.service.sessions.get("c1") is None


def test_a_client_in_no_group_is_forgotten_too() -> None:
    service = Service()
    service.telemetry().say(settings=v2.Settings(publishing=v2.Publishing()))
    assert len(service.service.sessions) == 1
    service.pass_time(130_000, 10_000)
    assert not len(service.service.sessions)


def test_the_newest_stream_of_a_client_counts() -> None:
    service = Service()
    old, new = service.producer(), service.producer()
    old.call.leave()
    service.service.stop()
    assert new.heard[-1].HasField("reconnect_endpoints_command")
    assert service.service.sessions.known("c1").has_stream


def test_a_half_closed_stream_ends() -> None:
    service = Service()
    stream = service.producer()
    stream.half_close()
    assert stream.call.ended == (Status.OK, "")


def test_no_more_clients_than_may_be() -> None:
    service = Service(options={"max_grpc_clients": 1})
    service.producer()
    refused = service.producer(client_id="c2")
    assert refused.call.ended is not None and refused.call.ended[0] == Status.INVALID_ARGUMENT
    assert "maxGrpcClients" in refused.call.ended[1]


def test_no_more_groups_of_a_client_than_may_be() -> None:
    service = Service(options={"max_groups_per_client": 1})
    refused = service.producer("T", "T2")
    assert refused.call.ended is not None and refused.call.ended[0] == Status.INTERNAL
    assert service.service.sessions.get("c1") is None


@pytest.mark.parametrize(
    "kind,group,topic,what",
    [
        (v2.ClientType.LITE_PUSH_CONSUMER, "G", "T", "regular group cannot use LITE mode: G"),
        (v2.ClientType.PUSH_CONSUMER, "R", "T", "lite group must use LITE mode: R"),
        (v2.ClientType.LITE_PUSH_CONSUMER, "R", "T", "lite group R is expected to bind topic chat"),
    ],
)
def test_groups_of_lite_topics(kind: v2.ClientType, group: str, topic: str, what: str) -> None:
    service = Service()
    service.group("R", attributes={"lite.bind.topic": "chat"})
    refused = service.consumer(group, topic, kind)
    assert refused.call.ended is not None and refused.call.ended[0] == Status.INVALID_ARGUMENT
    assert what in refused.call.ended[1]


@pytest.mark.parametrize("mode,on,port", [("off", False, 0), ("on", True, 9090), ("proxy", True, 8081)])
def test_endpoint_of_metrics(mode: str, on: bool, port: int) -> None:
    from mqgateway.engine.options.messaging import MetricCollectorMode

    options: dict[str, Any] = {
        "metric_collector_mode": MetricCollectorMode(mode),
        "metric_collector_address": "10.0.0.7:9090",
    }
    service = Service(options=options)
    stream = service.telemetry()
    access_point = v2.Endpoints(addresses=[v2.Address(host="mq", port=8081)])
    stream.say(settings=v2.Settings(access_point=access_point, publishing=v2.Publishing()))
    metric = stream.heard[0].settings.metric
    assert metric.on is on
    assert [one.port for one in metric.endpoints.addresses] == ([port] if on else [])
