"""Our mqadmin beside the official one, the same commands on one server after the other: the text is equal.

On each server both tools run each command, the official one first. A command that changes the server makes
the same change twice, or each tool changes an object of its own, so that the output of the second tool does
not depend on the first. Intended differences (docs/commands.md) are removed before texts are compared: order,
and members of Java's maps. For a failing command ours prints no line that the official one does not, gives
the server's remark on standard error, and has the right exit code.
"""

from __future__ import annotations

import json
import re
import shlex
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, chdir, contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from compat_tests.support import early
from compat_tests.support.admin_calls import CONTROLLED, NOT_RUN, STATIC, USUAL, WRONG, Line, lines
from compat_tests.support.early import Work
from compat_tests.support.embedded_controller import Controlled
from compat_tests.support.mqadmin import Mqadmin, Output, normalised
from compat_tests.support.peers import KINDS, Peers, chosen_kinds
from compat_tests.support.processes import wait_until
from compat_tests.support.servers import BROKER_NAME, CLUSTER_NAME, Server
from mqgateway.gateway.client import Message, Producer, PushConsumer
from mqgateway.gateway.mqadmin.commands import PLACES
from mqgateway.gateway.mqadmin.main import Surroundings, Tool

pytestmark = pytest.mark.timeout(600)

POLICY = '{"type":"EXPONENTIAL","exponentialRetryPolicy":{"initial":5000,"max":7200000,"multiplier":2}}'
TOPICS = [{"topicName": "Listed1", "readQueueNums": 2, "writeQueueNums": 2}, {"topicName": "Listed2"}]
GROUPS = [{"groupName": "Listed1", "retryMaxTimes": 3}, {"groupName": "Listed2"}]
LOCAL = "org.apache.rocketmq.auth.{0}.provider.Local{1}MetadataProvider"
SETTINGS = {
    "authenticationMetadataProvider": LOCAL.format("authentication", "Authentication"),
    "authorizationMetadataProvider": LOCAL.format("authorization", "Authorization"),
    "traceTopicEnable": "true",
}
"""Users and policies are stored without being checked; a topic for traces exists."""
NOBODY = "127.0.0.1:1"
"""Address without a listener."""
FIRST_WITH_CLIENTS = "queryMsgByKey"
TRIES = 3
OWN = ("Theirs", "Mine")
"""Values of OWN in a call, for the official tool and for ours."""

MEANT = (
    (r"(?s)exceptionDesc=(?!null).*?\](?=\s*(\n|$))", "exceptionDesc=WHY]"),
    (
        r"(?<=properties=|roperties: )\{[^}]*\}",
        lambda found: "{" + ", ".join(sorted(found[0][1:-1].split(", "))) + "}",
    ),
    (r"(?m)^mqadmin: error: .*\n", ""),
    (r"rt=\d+ms|(?<=Put TPS: )[\d.]+|Avg RT: ([\d.]+|NaN)|spentTimeMills=\d+|(?<=costTime=)\d+", "TIME"),
    (r"(?<=queueOffset=)\d+|(?<=Offset: )\d+|(?<=AX_OFFSET=)\d+", "OFFSET"),
    (r"\d+ s ago|(?<=Timestamp: )\d+", "TIME"),
    (r"(?<=SendResult \[sendStatus=SEND_OK)", ""),
    (r'(?m)^(\s*)"(\d+)":', r"\1\2:"),
    (r"(?<=The )(old|new)(?= mapping data)", "a"),
    ("|".join(OWN), "Own"),
)
"""Differences that are intended, or that change from one moment to the next."""

HELP_AFTER_ALL = ("updateTopicList -c", "updateSubGroupList -c")
"""Calls for which the official tool prints its help although it has done them."""

ROUGH = (
    *("clusterList", "brokerStatus", "checkMsgSendRT", "sendMsgStatus", "statsAll", "topicStatus"),
    *("updateOrderConf", "allocateMQ", "consumerStatus", "queryMsgTraceById", "getSyncStateSet"),
)
"""Commands whose numbers are load, time and chance."""


UNANSWERED = "get consumer runtime info for "
"""Begin of the line that the official tool prints where a consumer did not answer in time."""


class Outputs(NamedTuple):
    """Results of both tools for a call."""

    line: Line
    theirs: Output
    ours: Output


def comparable(line: str, text: str) -> list[str]:
    """Return the lines that must be equal, sorted: the official tool often has the order of a hash table."""
    text = normalised(text)
    for pattern, replacement in MEANT:
        text = re.sub(pattern, replacement, text)
    if line.startswith(HELP_AFTER_ALL):
        text = text.partition("usage: ")[0]
    if line.startswith(ROUGH):
        text = re.sub(r"-?\d+(\.\d+)?(E-?\d+)?", "N", text)
        # Rates over 10, 60 and 600 seconds are not known for a broker that has just started.
        text = re.sub(r"(?m)(Tps *:)[N ]*$", r"\1 N", text)
    return sorted(one.strip().rstrip(",") for one in text.splitlines() if one.strip())


def reason(theirs: Output) -> str:
    """Return the server's remark from the official tool's stack trace."""
    found = re.search(r"CODE: \d+  DESC: (.*?)(?: BROKER: .*)?$", theirs.err, re.MULTILINE)
    words = re.sub("|".join(OWN), "Own", found[1].strip()) if found else ""
    return re.sub(r"%RETRY%\w+_(?=\w+$)", "", words)  # the last of the topics that it searched for


_in_folder = threading.Lock()
"""The working directory belongs to the process, and calls are made from several threads."""


class Tools:
    """Both tools beside a server; `words` replaces the words in capitals of a call."""

    def __init__(self, official: Mqadmin, namesrv: str, words: Mapping[str, str]) -> None:
        self.words = dict(words)
        self._official = official
        self._namesrv = namesrv

    def ask(self, line: Line) -> Outputs:
        """Make a call with both; the official tool may time out on a busy machine, and is then run again."""
        theirs, mine = (self._typed(line.text, own) for own in OWN)
        for _ in range(TRIES):
            output = self._official.run(*theirs)
            if line.code or not (output.err or UNANSWERED in output.out):
                break
        return Outputs(line, output, self.ours(*mine))

    def ours(self, *command: str) -> Output:
        """Make a call with ours."""
        out: list[str] = []
        err: list[str] = []
        with self._folder_of(command):
            code = Tool(Surroundings(out.append, err.append, environment={})).run(command)
        return Output("".join(out), "".join(err), code)

    @contextmanager
    def _folder_of(self, command: Sequence[str]) -> Iterator[None]:
        """Change to the folder for consumerStatus, which writes files into the working directory."""
        if command[0] != "consumerStatus":
            yield
            return
        with _in_folder, chdir(self.words["FOLDER"]):
            yield

    def _typed(self, line: str, own: str) -> list[str]:
        words = [self.words.get(word, word.replace("OWN", own)) for word in shlex.split(line)]
        return words if "-n" in words else [*words, "-n", self._namesrv]


def prepared(folder: Path) -> dict[str, str]:
    """Write the files that calls need, and return the words for them."""
    for name, entries in (("topics", TOPICS), ("groups", GROUPS)):
        (folder / f"{name}.json").write_text(json.dumps(entries))
    files = {"TOPICS": str(folder / "topics.json"), "GROUPS": str(folder / "groups.json")}
    return {**files, "FOLDER": str(folder), "CLUSTER": CLUSTER_NAME, "NOBODY": NOBODY, "POLICY": POLICY}


@contextmanager
def clients(tools: Tools, namesrv: str) -> Iterator[dict[str, str]]:
    """Run a producer that has sent a message, and a consumer that has consumed and committed all."""
    settings = {"consume_from_where": "CONSUME_FROM_FIRST_OFFSET", "persist_consumer_offset_interval": 500}
    consumer = PushConsumer("Readers", lambda messages, context: None, namesrv, **settings)  # type: ignore[arg-type]
    consumer.subscribe("Ours1")

    def committed() -> bool:
        shown = tools.ours("consumerProgress", "-g", "Readers", "-n", namesrv).out
        return "%RETRY%Readers" in shown and "Consume Diff Total: 0" in shown and "Ours1" in shown

    with Producer("Makers", namesrv, enable_trace=True) as producer, consumer:
        sent = producer.send(Message("Ours1", "known", tags="T", keys="known-key"))
        wait_until(committed, 60, "committed offsets", 0.5)
        yield {
            "OFFSET_ID": sent.offset_message_id,
            "UNIQUE_ID": sent.message_id,
            "CLIENT": consumer.client_id,
        }


def new_folder(peers: Peers, name: str) -> Path:
    """Make a folder that Apache's tool sees too, in its container."""
    folder = peers.work / f"{name}-{time.time_ns()}"
    folder.mkdir()
    return folder


def run_alone(peers: Peers, kind: str) -> list[Outputs]:
    """Make all calls to a name server and a broker."""
    found = []
    folder = new_folder(peers, f"alone-{kind}")
    with ExitStack() as stack:
        server: Server = stack.enter_context(peers.fresh(kind, SETTINGS))
        official = Mqadmin(peers.runtime)
        stack.callback(official.close)
        words = {"BROKER": server.broker_address, "NAME": BROKER_NAME}
        tools = Tools(official, server.namesrv_address, {**prepared(folder), **words})
        for line in lines(USUAL) + lines(WRONG):
            if line.text.startswith(FIRST_WITH_CLIENTS) and "CLIENT" not in tools.words:
                tools.words |= stack.enter_context(clients(tools, server.namesrv_address))
            found.append(tools.ask(line))
    return found


def run_controlled(peers: Peers, kind: str) -> list[Outputs]:
    """Make the calls that need a controller, and those that need two broker groups."""
    folder = new_folder(peers, f"together-{kind}")
    with ExitStack() as stack:
        servers = stack.enter_context(Controlled(kind, folder))
        official = Mqadmin(peers.runtime)
        stack.callback(official.close)
        tools = Tools(official, servers.namesrv_address, {**prepared(folder), **servers.words()})
        return [tools.ask(line) for line in lines(CONTROLLED) + lines(STATIC)]


ALONE = lines(USUAL) + lines(WRONG)
TOGETHER = lines(CONTROLLED) + lines(STATIC)

ALONE_ON = {kind: Work(90, run_alone, (kind,)) for kind in KINDS}
TOGETHER_ON = {kind: Work(60, run_controlled, (kind,)) for kind in KINDS}
EARLY = {"alone": tuple(ALONE_ON.values()), "together": tuple(TOGETHER_ON.values())}


@pytest.fixture(scope="session")
def alone(request: pytest.FixtureRequest) -> dict[str, list[Outputs]]:
    """Results of all calls to a name server and a broker, by kind."""
    return {kind: early.result(request, ALONE_ON[kind]) for kind in chosen_kinds(request.config)}


@pytest.fixture(scope="session")
def together(request: pytest.FixtureRequest) -> dict[str, list[Outputs]]:
    """Results of all calls to a controller and to two broker groups, by kind."""
    return {kind: early.result(request, TOGETHER_ON[kind]) for kind in chosen_kinds(request.config)}


@pytest.mark.parametrize("number", range(len(ALONE)), ids=lambda number: ALONE[number].text)
def test_both_tools_print_the_same(number: int, kind: str, alone: dict[str, list[Outputs]]) -> None:
    """The text of ours is that of the official tool, and the exit code is right."""
    check(alone[kind][number])


@pytest.mark.long
@pytest.mark.parametrize("number", range(len(TOGETHER)), ids=lambda number: TOGETHER[number].text)
def test_both_tools_print_the_same_of_controllers_and_static_topics(
    number: int, kind: str, together: dict[str, list[Outputs]]
) -> None:
    """Texts and exit codes are equal with a controller, and when queues move between brokers."""
    check(together[kind][number])


def check(outputs: Outputs) -> None:
    """Check that our tool's result matches the official tool's."""
    line, theirs, ours = outputs
    mine, wanted = comparable(line.text, ours.out), comparable(line.text, theirs.out)
    shown = f"{theirs.err}\n{ours}"
    assert ours.exit == line.code, shown
    if line.code == 0:
        assert mine == wanted, shown
        assert re.sub(r"(?m)^mqadmin: note: .*\n", "", ours.err) == "", shown
    else:
        assert set(mine) <= set(wanted), shown
        assert reason(theirs) in ours.err.replace(OWN[1], "Own"), shown


def test_every_command_is_asked_for_in_both_ways() -> None:
    """Each of RocketMQ's commands has a successful call and a failing one."""
    every = [*ALONE, *TOGETHER]
    usual, wrong = (
        {line.text.split()[0] for line in every if bool(line.code) is bad} for bad in (False, True)
    )
    assert PLACES.keys() - usual == NOT_RUN.keys()
    assert PLACES.keys() - wrong == {"startMonitoring"}
