"""The official mqadmin, the same commands in the same order on both servers: the output is equal.

The commands run once on each server, with one producer and one consumer group connected. Times, ids and
addresses are replaced by their kind before outputs are compared.
"""

from __future__ import annotations

import re
import warnings
from contextlib import ExitStack
from difflib import unified_diff
from threading import Lock
from typing import NamedTuple

import pytest

from compat_tests.support.artifacts import CURRENT
from compat_tests.support.driver import Producer, Queue, Sent, message
from compat_tests.support.mqadmin import Mqadmin, Output, normalised
from compat_tests.support.peers import KINDS, Peer, Peers
from compat_tests.support.processes import wait_until
from compat_tests.support.servers import BROKER_NAME, CLUSTER_NAME, Server

pytestmark = [pytest.mark.overlap, pytest.mark.timeout(600)]

TOPIC = "AdminTopic"
GROUP = "AdminReaders"
PRODUCERS = "AdminProducers"
FIRST_STEP_WITH_CLIENTS = "queryMsgById"
CAUGHT_UP = "Consume Diff Total: 0"


class Step(NamedTuple):
    """One named command; ``expected`` is in its output when the server does it."""

    name: str
    command: str
    expected: str


STEPS = (
    Step("updateTopic on a broker", f"updateTopic -b BROKER -t {TOPIC} -r 4 -w 4", "create topic to"),
    Step(
        "updateTopic on a cluster", "updateTopic -c CLUSTER -t AdminOther -r 2 -w 2 -p 6", "create topic to"
    ),
    Step("topicList", "topicList", TOPIC),
    Step("topicList with clusters", "topicList -c", CLUSTER_NAME),
    Step("topicRoute", f"topicRoute -t {TOPIC}", BROKER_NAME),
    Step("topicRoute as a list", f"topicRoute -t {TOPIC} -l", BROKER_NAME),
    Step("topicRoute of nothing", "topicRoute -t AdminNothing", "No topic route info"),
    Step("clusterList", "clusterList", BROKER_NAME),
    Step("brokerStatus", "brokerStatus -b BROKER", "brokerVersionDesc"),
    Step("topicStatus when empty", f"topicStatus -t {TOPIC}", BROKER_NAME),
    Step("sendMessage", f"sendMessage -t {TOPIC} -p hello -k key1 -c TagA -b {BROKER_NAME} -i 1", "SEND_OK"),
    Step(
        "sendMessage again",
        f"sendMessage -t {TOPIC} -p world -k key2 -c TagB -b {BROKER_NAME} -i 1",
        "SEND_OK",
    ),
    Step("topicStatus", f"topicStatus -t {TOPIC}", BROKER_NAME),
    Step("queryMsgById", f"queryMsgById -t {TOPIC} -i OFFSET_ID", "known"),
    Step("queryMsgByKey", f"queryMsgByKey -t {TOPIC} -k known-key", "known-key"),
    Step("queryMsgByKey of nothing", f"queryMsgByKey -t {TOPIC} -k no-such-key", "no message"),
    Step("queryMsgByUniqueKey", f"queryMsgByUniqueKey -t {TOPIC} -i UNIQUE_KEY", "known"),
    Step("queryMsgByOffset", f"queryMsgByOffset -t {TOPIC} -b {BROKER_NAME} -i 1 -o 0", "TagA"),
    Step("queryMsgByOffset of nothing", f"queryMsgByOffset -t {TOPIC} -b {BROKER_NAME} -i 1 -o 99", ""),
    Step("printMsg", f"printMsg -t {TOPIC}", "hello"),
    Step(
        "consumeMessage", f"consumeMessage -t {TOPIC} -b {BROKER_NAME} -i 1 -o 0 -c 2 -g AdminTaker", "hello"
    ),
    Step("producerConnection", f"producerConnection -g {PRODUCERS} -t {TOPIC}", "JAVA"),
    Step("producerConnection of nobody", f"producerConnection -g AdminNobody -t {TOPIC}", "not exist"),
    Step("consumerConnection", f"consumerConnection -g {GROUP}", "JAVA"),
    Step("consumerConnection of nobody", "consumerConnection -g AdminNobody", "No topic route info"),
    Step("consumerProgress of a group", f"consumerProgress -g {GROUP}", CAUGHT_UP),
    Step("consumerProgress of nobody", "consumerProgress -g AdminNobody", "No topic route info"),
    Step("consumerProgress of all", "consumerProgress", GROUP),
    Step(
        "updateSubGroup on a broker",
        "updateSubGroup -b BROKER -g AdminMade -r 3 -q 2",
        "create subscription group",
    ),
    Step(
        "updateSubGroup on a cluster",
        "updateSubGroup -c CLUSTER -g AdminMade -s false",
        "create subscription group",
    ),
    Step("deleteSubGroup", "deleteSubGroup -b BROKER -g AdminMade", "delete subscription group"),
    Step(
        "deleteSubGroup on a cluster", "deleteSubGroup -c CLUSTER -g AdminMade", "delete subscription group"
    ),
    Step("updateTopicPerm", "updateTopicPerm -b BROKER -t AdminOther -p 4", "update topic perm"),
    Step("allocateMQ", "allocateMQ -t AdminTopic -i 10.0.0.1,10.0.0.2", "result"),
    Step("updateKvConfig", "updateKvConfig -s AdminSpace -k k -v v", "success"),
    Step("deleteKvConfig", "deleteKvConfig -s AdminSpace -k k", "success"),
    Step("wipeWritePerm", f"wipeWritePerm -b {BROKER_NAME}", "wipe write perm"),
    Step("addWritePerm", f"addWritePerm -b {BROKER_NAME}", "add write perm"),
    Step("consumerStatus", f"consumerStatus -g {GROUP}", "Rebalance OK"),
    Step("deleteTopic", "deleteTopic -c CLUSTER -t AdminOther", "delete topic"),
    Step("topicList in the end", "topicList", TOPIC),
)

TRIES = 3

Transcript = dict[str, Output]
"""Output of each step on one server."""

SORTED = ("topicList", "topicList with clusters", "topicList in the end", "consumerProgress of all")
"""Steps whose lines are in the order of a hash table."""

TOOLS_GROUPS = ("AdminTaker", "TOOLS_CONSUMER")
"""Groups of the tool itself, which are not compared.

Apache's server may process a heartbeat after a later unregistration, and then shows a member that has left.
"""

NUMBERS = ("clusterList",)
"""Steps whose numbers are load and time."""

KEYS = ("brokerStatus",)
"""Steps of which only the names of the values are compared."""


def run_steps(peers: Peers, server: Server) -> Transcript:
    """Run all steps on a server of its own."""
    peer = peers.with_server(server, CURRENT)
    mqadmin = Mqadmin(peers.runtime)
    outputs: Transcript = {}
    words = {"BROKER": server.broker_address, "CLUSTER": CLUSTER_NAME}
    with ExitStack() as stack:
        stack.callback(mqadmin.close)
        producer = stack.enter_context(peer.producer(PRODUCERS))
        for step in STEPS:
            if step.name == FIRST_STEP_WITH_CLIENTS:
                sent = connect_clients(peer, producer, stack)
                wait_until_committed(mqadmin, server)
                words |= {"OFFSET_ID": sent.offset_msg_id, "UNIQUE_KEY": sent.msg_id}
            command = [words.get(word, word) for word in step.command.split()]
            outputs[step.name] = mqadmin.run(*command, "-n", server.namesrv_address)
    return outputs


def did_its_work(step: Step, output: Output) -> bool:
    """Return True if the output of a command shows that it did its work."""
    return step.expected in output.out + output.err


def connect_clients(peer: Peer, producer: Producer, stack: ExitStack) -> Sent:
    """Send the message that is searched for, and start the consumer that is shown; both clients stay."""
    [sent] = producer.send_to(
        Queue(TOPIC, BROKER_NAME, 2), [message(TOPIC, "known", tags="T", keys="known-key")]
    )
    consumer = stack.enter_context(peer.push(GROUP, {TOPIC: "*"}))
    assert len(consumer.collect(3)) == 3
    return sent


def wait_until_committed(mqadmin: Mqadmin, server: Server) -> None:
    """Wait until the consumer has committed, so that later steps show final offsets.

    It commits every few seconds, the retry topic last.
    """
    command = ("consumerProgress", "-g", GROUP, "-n", server.namesrv_address)

    def committed() -> bool:
        shown = mqadmin.run(*command).out
        return CAUGHT_UP in shown and f"%RETRY%{GROUP}" in shown

    wait_until(committed, 80, "committed offsets", 1)


_locks = {kind: Lock() for kind in KINDS}
_made: dict[str, Transcript] = {}


def transcript(kind: str, peers: Peers) -> Transcript:
    """Return the transcript of a server, made once per run.

    It is made again, up to twice, if a command did not do its work.
    """
    with _locks[kind]:
        if kind not in _made:
            for _ in range(TRIES):
                with peers.fresh(kind) as server:
                    made = run_steps(peers, server)
                failed = [step.name for step in STEPS if not did_its_work(step, made[step.name])]
                if not failed:
                    break
                warnings.warn(f"on the server of kind {kind} failed: {', '.join(failed)}", stacklevel=1)
            _made[kind] = made
        return _made[kind]


def test_commands_do_their_work(kind: str, peers: Peers) -> None:
    """The output of each command shows that it did its work."""
    made = transcript(kind, peers)
    assert not {step.name: made[step.name] for step in STEPS if not did_its_work(step, made[step.name])}


@pytest.mark.both_servers
def test_commands_print_the_same_on_both(peers: Peers) -> None:
    """The output of mqadmin is equal on both servers."""

    def lines(kind: str) -> dict[str, list[str]]:
        made = transcript(kind, peers)
        return {step.name: comparable(step, made[step.name]) for step in STEPS}

    apache, ours = peers.transcripts.both(__name__, "commands", lines)
    differing = [name for name in apache if apache[name] != ours[name]]
    if differing:
        _made.clear()  # a second run of this test makes new transcripts
    for name in differing:
        print(name, *unified_diff(apache[name], ours[name], "apache", "ours", lineterm=""), sep="\n")
    assert not differing


def comparable(step: Step, output: Output) -> list[str]:
    """Return the lines that must be equal: the output, and the causes of failures."""
    lines = normalised(output.out).splitlines()
    lines += [normalised(line) for line in output.err.splitlines() if line.startswith("Caused by")]
    lines.append(f"exit {output.exit}")
    if step.name in KEYS:
        return sorted(line.split(":")[0].strip() for line in lines)
    if step.name in NUMBERS:
        lines = [re.sub(r"\d+(\.\d+)?", "N", line) for line in lines]
    lines = [line for line in lines if not line.startswith(TOOLS_GROUPS)]
    return sorted(lines) if step.name in SORTED else lines
