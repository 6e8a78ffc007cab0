"""Queues shared out by the broker, as its clients see them: 400, 401 and 402."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mqgateway.engine.options import RequestMode
from mqgateway.gateway.broker.clients import assignment
from mqgateway.gateway.broker.errors import OperationError, Reason
from mqgateway.gateway.codec.bodies import SetMessageRequestModeRequestBody
from mqgateway.gateway.codec.codes import RequestCode, ResponseCode
from tests.support.gateway.broker.admin import AdminBroker
from tests.support.gateway.broker.helpers import FakePeer

QUERY, SET = RequestCode.QUERY_ASSIGNMENT, RequestCode.SET_MESSAGE_REQUEST_MODE
CLIENTS = ("10.0.0.2:1", "10.0.0.2:2", "10.0.0.2:3")


@pytest.fixture
def world() -> AdminBroker:
    """Topic T with eight queues, and three clients of group G, each named like its address."""
    world = AdminBroker()
    world.add_topic("T", queues=8)
    world.broker.tables.groups.find("G")
    for client in CLIENTS:
        world.subscribe("G", "T", peer=FakePeer(client))
    return world


def ask(world: AdminBroker, client: str = CLIENTS[0], **members: Any) -> Any:
    """The member of the answer that holds the assignments."""
    given: dict[str, Any] = {
        "topic": "T",
        "consumerGroup": "G",
        "clientId": client,
        "strategyName": "AVG",
        "messageModel": "CLUSTERING",
    }
    body = world.json(QUERY, body=json.dumps(given | members).encode())
    return body.get("messageQueueAssignments")


def queue_ids(assignments: Any) -> list[int]:
    return sorted(one["messageQueue"]["queueId"] for one in assignments)


def choose(world: AdminBroker, mode: str, share: int = 0, topic: str = "T") -> None:
    given = SetMessageRequestModeRequestBody(topic, "G", mode, share)
    assert world.ask(SET, body=given.encode()).code == ResponseCode.SUCCESS


def test_clients_share_the_queues(world: AdminBroker) -> None:
    assert [queue_ids(ask(world, one)) for one in CLIENTS] == [[0, 1, 2], [3, 4, 5], [6, 7]]
    circle = [queue_ids(ask(world, one, strategyName="AVG_BY_CIRCLE")) for one in CLIENTS]
    assert circle == [[0, 3, 6], [1, 4, 7], [2, 5]]
    assert ask(world)[0] == {
        "messageQueue": {"brokerName": "broker-a", "queueId": 0, "topic": "T"},
        "mode": "PULL",
    }


def test_client_that_is_not_a_member_gets_no_queues(world: AdminBroker) -> None:
    assert ask(world, "10.0.0.9:1") == []


@pytest.mark.parametrize(
    "members", [{"topic": "unknown"}, {"consumerGroup": "offline"}, {"strategyName": "MACHINE_ROOM"}]
)
def test_unknown_value_leaves_the_client_its_queues(world: AdminBroker, members: dict[str, str]) -> None:
    assert ask(world, **members) is None


def test_topic_without_readable_queues_leaves_the_client_its_queues(world: AdminBroker) -> None:
    world.add_topic("W", perm=2)
    assert ask(world, topic="W") is None
    choose(world, "POP", 1, topic="W")
    assert ask(world, topic="W") is None
    choose(world, "POP", topic="W")
    assert ask(world, topic="W") == []


def test_broadcasting_clients_get_all_queues(world: AdminBroker) -> None:
    assert queue_ids(ask(world, "anybody", messageModel="BROADCASTING")) == list(range(8))


def test_without_balancing_all_clients_get_all_queues(world: AdminBroker) -> None:
    world.options.server_load_balancer_enable = False
    assert queue_ids(ask(world)) == list(range(8))


def test_unknown_message_model_is_refused(world: AdminBroker) -> None:
    body = json.dumps({"topic": "T", "consumerGroup": "G", "clientId": "c"}).encode()
    assert world.refusal(QUERY, body=body) == (1, "there is no message model None")


def test_popping_client_is_assigned_all_queues(world: AdminBroker) -> None:
    """Unless a number of sharers was chosen."""
    choose(world, "POP")
    assert ask(world) == [
        {"messageQueue": {"brokerName": "broker-a", "queueId": -1, "topic": "T"}, "mode": "POP"}
    ]
    choose(world, "POP", 1)
    assert [queue_ids(ask(world, one)) for one in CLIENTS] == [
        [0, 1, 2, 3, 4, 5],
        [3, 4, 5, 6, 7],
        [0, 1, 2, 6, 7],
    ]
    choose(world, "PULL")
    assert ask(world)[0]["mode"] == "PULL"


def test_retry_topics_are_always_pulled(world: AdminBroker) -> None:
    world.options.default_message_request_mode = RequestMode.POP
    world.options.default_pop_share_queue_num = 1
    world.add_topic("%RETRY%G", queues=1)
    assert queue_ids(ask(world)) == [0, 1, 2, 3, 4, 5]
    assert [one["mode"] for one in ask(world, topic="%RETRY%G")] == ["PULL"]


def test_chosen_mode_is_shown_and_deleted_with_its_topic_or_group(world: AdminBroker) -> None:
    choose(world, "POP", 2)
    assert world.json(RequestCode.GET_ALL_MESSAGE_REQUEST_MODE) == {
        "messageRequestModeMap": {
            "T": {"G": {"consumerGroup": "G", "mode": "POP", "popShareQueueNum": 2, "topic": "T"}}
        }
    }
    world.ask(RequestCode.DELETE_TOPIC_IN_BROKER, ext={"topic": "T"})
    assert world.json(RequestCode.GET_ALL_MESSAGE_REQUEST_MODE) == {"messageRequestModeMap": {}}
    world.add_topic("T")
    choose(world, "POP", 2)
    world.ask(RequestCode.DELETE_SUBSCRIPTIONGROUP, ext={"groupName": "G"})
    assert world.json(RequestCode.GET_ALL_MESSAGE_REQUEST_MODE) == {"messageRequestModeMap": {}}


@pytest.mark.parametrize(
    ("given", "refusal"),
    [
        (("%RETRY%G", "G"), (ResponseCode.NO_PERMISSION, "retry topic is not allowed to set mode")),
        (("U", "G"), (ResponseCode.TOPIC_NOT_EXIST, "topic[U] not exist")),
        (("T", "no group!"), (26, "subscription group does not exist")),
        (("T", "G", "PUSH"), (ResponseCode.SYSTEM_ERROR, "there is no such mode")),
    ],
)
def test_refusals_of_modes_have_rocketmqs_texts(
    world: AdminBroker, given: tuple[str, ...], refusal: tuple[int, str]
) -> None:
    body = SetMessageRequestModeRequestBody(given[0], given[1], *given[2:])  # type: ignore[arg-type]
    assert world.refusal(SET, body=body.encode()) == refusal


def test_modes_are_limited(world: AdminBroker) -> None:
    world.options.max_request_modes = 1
    choose(world, "POP")
    body = SetMessageRequestModeRequestBody("T", "H", "POP")
    assert world.refusal(SET, body=body.encode())[0] == ResponseCode.SYSTEM_ERROR


def test_operation_assigns_queues(world: AdminBroker) -> None:
    found: list[assignment.Assignment] = []
    query = assignment.AssignmentQuery("T", "G", CLIENTS[0], "AVG", "CLUSTERING")
    assignment.query_assignment(world.broker, query).addCallback(found.append)
    assignment.set_mode(world.broker, "T", "G", "POP", 0)
    assignment.query_assignment(world.broker, query).addCallback(found.append)
    assert [[one.queue_id for one in each.queues or ()] for each in found] == [[0, 1, 2], [-1]]
    assert [each.mode for each in found] == [RequestMode.PULL, RequestMode.POP]
    assert set(assignment.all_modes(world.broker)["messageRequestModeMap"]) == {"T"}
    with pytest.raises(OperationError) as refused:
        assignment.set_mode(world.broker, "U", "G", "POP", 0)
    assert refused.value.reason is Reason.TOPIC_NOT_EXIST
