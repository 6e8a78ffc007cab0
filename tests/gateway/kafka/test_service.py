"""The APIs put together."""

from mqgateway.gateway.kafka.codec.apis import APIS
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.messages.heartbeat_request import HeartbeatRequest
from mqgateway.gateway.kafka.codec.messages.join_group_request import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
)
from mqgateway.gateway.kafka.codec.messages.sync_group_request import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
)
from mqgateway.gateway.kafka.node import Node
from mqgateway.gateway.kafka.service import KafkaService
from tests.support.gateway.kafka.client import kafka_scene


def test_every_function_is_that_of_an_api_of_a_broker() -> None:
    with kafka_scene() as scene:
        service = KafkaService(scene.operations, Node(scene.operations, "10.0.0.1", 9092))
        assert service.handlers.keys() <= APIS.keys()
        service.tick()


def test_two_members_share_the_partitions_of_a_group_and_one_takes_over() -> None:
    with kafka_scene() as scene:
        clients = [scene.client(name) for name in ("one", "two")]
        ids = [client.ask(join(), 9).member_id for client in clients]
        for client, member_id in zip(clients, ids, strict=True):
            client.write(client.frame(join(member_id), 9))
        answers = [client.decoded(join(), client.frames(1, 15)[0], 9) for client in clients]
        assert [answer.generation_id for answer in answers] == [1, 1]
        leader = ids.index(answers[0].leader)
        assert {member.member_id for member in answers[leader].members} == set(ids)
        follower = 1 - leader
        waiting = sync(ids[follower])
        clients[follower].write(clients[follower].frame(waiting))
        brought = tuple(SyncGroupRequestAssignment(one, one.encode()) for one in ids)
        assert clients[leader].ask(sync(ids[leader], brought)).assignment == ids[leader].encode()
        answer = clients[follower].decoded(waiting, clients[follower].frames(1)[0])
        assert answer.assignment == ids[follower].encode()
        clients[leader].transport.loseConnection()
        for _ in range(5):
            scene.settle(3)
            heartbeat = clients[follower].ask(HeartbeatRequest("g", 1, ids[follower]))
        assert heartbeat.error_code == ErrorCode.REBALANCE_IN_PROGRESS
        again = clients[follower].ask(join(ids[follower]), 9)
        assert (again.generation_id, again.leader) == (2, ids[follower])


def test_connection_that_ends_while_its_join_waits_harms_no_other() -> None:
    with kafka_scene() as scene:
        gone, client = scene.client("gone"), scene.client("client")
        gone.write(gone.frame(join(), 3))
        scene.settle(0.1)
        gone.transport.loseConnection()
        scene.settle(0.1)
        client.write(client.frame(join(), 3))
        assert client.decoded(join(), client.frames(1, 15)[0], 3).generation_id == 1


def join(member_id: str = "") -> JoinGroupRequest:
    """Return a request to join."""
    protocols = (JoinGroupRequestProtocol("range", b"x"),)
    return JoinGroupRequest("g", 10_000, 30_000, member_id, None, "consumer", protocols)


def sync(member_id: str, brought: tuple[SyncGroupRequestAssignment, ...] = ()) -> SyncGroupRequest:
    """Return a request for an assignment."""
    return SyncGroupRequest("g", 1, member_id, None, "consumer", "range", brought)
