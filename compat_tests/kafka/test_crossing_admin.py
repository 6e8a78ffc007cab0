"""Topics and groups that tools of both protocols change and show. This server only."""

from __future__ import annotations

import pytest

from compat_tests.kafka.support.clients import wait_for_assignment, wait_for_values
from compat_tests.kafka.support.commands import Commands, Output
from compat_tests.kafka.support.crossing import MAKERS, Crossing
from compat_tests.support.driver import ClientError, message
from compat_tests.support.processes import wait_until
from compat_tests.test_resets import Tool

pytest_plugins = ("compat_tests.kafka.support.crossing_fixtures",)

SECONDS = 60
QUIET_SECONDS = 3


class KafkaTools:
    """Kafka's own commands at the server."""

    def __init__(self, both: Crossing, commands: Commands) -> None:
        self._address = both.server.kafka_address
        self._commands = commands

    def run(self, command: str, *arguments: str) -> Output:
        """Run `kafka-<command>`."""
        return self._commands.run(self._address, command, *arguments)


@pytest.fixture
def tools(both: Crossing, commands: Commands) -> KafkaTools:
    """Kafka's commands."""
    return KafkaTools(both, commands)


@pytest.mark.parametrize("maker", MAKERS)
def test_topic_grows_and_is_deleted_by_either_tool(
    both: Crossing, admin: Tool, tools: KafkaTools, maker: str
) -> None:
    """Records go to the new partitions and come from them; a deleted topic is gone for both."""
    peer, topic = both.rocketmq, both.topic("grows", maker, 2)
    altered = tools.run("topics", "--alter", "--topic", topic, "--partitions", "3")
    assert altered.exit == 0, altered
    wait_until(lambda: peer.knows(topic, 3), SECONDS, "RocketMQ's clients know three queues")
    shape = ("-r", "4", "-w", "4")
    admin.run("updateTopic", "-b", both.server.broker_address, "-t", topic, *shape)
    described = tools.run("topics", "--describe", "--topic", topic)
    assert "PartitionCount: 4" in described.out, described
    both.kafka().produce(topic, [{"value": f"{number}", "partition": number} for number in range(4)])
    with peer.push(peer.name("growers"), {topic: "*"}) as consumer:
        assert sorted((one.queue_id, one.body) for one in consumer.collect(4)) == [
            (number, str(number)) for number in range(4)
        ]
    if maker == "kafka":
        admin.run("deleteTopic", "-c", "DefaultCluster", "-t", topic)
    else:
        deleted = tools.run("topics", "--delete", "--topic", topic)
        assert deleted.exit == 0, deleted
    wait_until(lambda: peer.knows(topic, 0), SECONDS, "RocketMQ's clients know no queue")
    assert topic not in tools.run("topics", "--list").out.split()


def test_group_has_members_of_one_protocol_at_a_time(both: Crossing, tools: KafkaTools) -> None:
    """Members of the other kind wait or are refused, and tools do not change the group under them."""
    peer, kafka = both.rocketmq, both.kafka()
    topic, group = both.topic("shared", "kafka", 2), peer.name("sharers")
    kafka.produce(topic, [{"value": "first", "partition": 0}])
    reset = ("--reset-offsets", "--group", group, "--topic", topic, "--to-earliest", "--execute")
    with peer.push(group, {topic: "*"}) as consumer:
        assert [one.body for one in consumer.collect(1)] == ["first"]
        with pytest.raises(ClientError, match="protocol"):
            wait_for_assignment([kafka.join(group, topic)], 2, 20)
        assert "Error" in tools.run("consumer-groups", *reset).out
        refused = tools.run("consumer-groups", "--delete", "--group", group)
        assert "GroupNotEmptyException" in str(refused), refused
        listed = tools.run("consumer-groups", "--list")
        assert group in listed.out.split()
    with kafka.join(group, topic) as member:
        wait_for_assignment([member], 2)
        with peer.push(group, {topic: "*"}) as waiting:
            kafka.produce(topic, [{"value": "second", "partition": 1}])
            with peer.producer() as producer:
                producer.send([message(topic, "third")])
            wait_for_values([member], ["second", "third"])
            assert waiting.collect(1, QUIET_SECONDS) == []
            member.commit()
    moved = tools.run("consumer-groups", *reset)
    assert moved.exit == 0, moved
    with peer.push(group, {topic: "*"}) as consumer:
        assert sorted(one.body for one in consumer.collect(3)) == ["first", "second", "third"]
