"""Access control (ACL 2.0): output of the official tools and answers to requests, on both servers.

Each server is a broker with both switches on, and one with neither. The name server authenticates no request,
like Apache's. The tools sign with the credentials in `tools.yml`: right, wrong, unknown, disabled, without
permission, or none. Their own commands send and consume with the official client.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Barrier
from typing import NamedTuple

import pytest

from compat_tests.support import early
from compat_tests.support.artifacts import SMALL_JVM, program
from compat_tests.support.early import Work
from compat_tests.support.mqadmin import MAIN, Mqadmin, Output, normalised
from compat_tests.support.peers import KINDS, Peers, chosen_kinds
from compat_tests.support.processes import free_ports
from compat_tests.support.raw import RawConnection
from compat_tests.support.servers import (
    BROKER_NAME,
    CLUSTER_NAME,
    HOST,
    apache_broker,
    apache_namesrv,
    our_broker,
    our_namesrv,
    wait_until_registered,
)
from mqgateway.gateway.access.signature import Credentials
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import RemotingCommand

pytestmark = pytest.mark.timeout(600)

SECONDS = 80
"""Duration of all steps."""

MEETING_SECONDS = 400
"""Time limit for the faster broker to wait for the other one."""

LOCAL = "org.apache.rocketmq.auth.{0}.provider.Local{1}MetadataProvider"
ACCESS = {
    "authenticationEnabled": "true",
    "authenticationMetadataProvider": LOCAL.format("authentication", "Authentication"),
    "authorizationEnabled": "true",
    "authorizationMetadataProvider": LOCAL.format("authorization", "Authorization"),
    "initAuthenticationUser": '{"username":"root","password":"root-secret"}',
    "innerClientAuthenticationCredentials": '{"accessKey":"inner","secretKey":"inner-secret"}',
}

WHO: dict[str, tuple[str, str] | None] = {
    "root": ("root", "root-secret"),
    "wrong": ("root", "guess"),
    "unknown": ("zed", "zed-secret"),
    "alice": ("alice", "alice-secret"),
    "disabled": ("dis", "dis-secret"),
    "nobody": None,
}
"""Credentials in `tools.yml`, by the name of the case."""

AS_ROOT = """
createUser -b BROKER -u alice -p alice-secret
createUser -c CLUSTER -u dis -p dis-secret -t Normal
createUser -b BROKER -u alice -p again
createUser -b BROKER -u boss -p boss-secret -t Super
updateUser -b BROKER -u dis -s disable
updateUser -b BROKER -u nobody -p x
getUser -b BROKER -u alice
getUser -b BROKER -u nobody
listUser -b BROKER
listUser -c CLUSTER
listUser -b BROKER -f li
createAcl -b BROKER -s User:alice -r Topic:Allowed,Group:Readers -a Pub,Sub -d Allow
createAcl -b BROKER -s User:alice -r Topic:Denied -a Pub -i 127.0.0.1 -d Deny
createAcl -c CLUSTER -s User:dis -r Topic:* -a All -d Allow
createAcl -b BROKER -s User:nobody -r Topic:x -a Pub -d Allow
createAcl -b BROKER -s alice -r Topic:x -a Pub -d Allow
createAcl -b BROKER -s User:alice -r Wrong:x -a Pub -d Allow
createAcl -b BROKER -s User:alice -r Topic:x -a Any -d Allow
createAcl -b BROKER -s User:alice -r Topic:x -a Pub -i nowhere -d Allow
updateAcl -b BROKER -s User:alice -r Topic:Allowed -a Pub,Sub,Get -i 127.0.0.0/8 -d Allow
getAcl -b BROKER -s User:alice
getAcl -b BROKER -s User:nobody
listAcl -b BROKER
listAcl -c CLUSTER -s alice
listAcl -b BROKER -r Denied
copyUser -f BROKER -t BROKER -u alice
copyAcl -f BROKER -t BROKER -s User:alice
deleteAcl -b BROKER -s User:dis
deleteAcl -b BROKER -s User:nobody
deleteUser -b BROKER -u boss
deleteUser -b BROKER -u nobody
updateTopic -b BROKER -t Allowed -r 1 -w 1
updateTopic -b BROKER -t Denied -r 1 -w 1
updateTopic -b BROKER -t Other -r 1 -w 1
""".strip().splitlines()

AS_ANYBODY = """
listUser -b BROKER
createUser -b BROKER -u intruder -p x -t Super
createAcl -b BROKER -s User:alice -r * -a All -d Allow
updateTopic -b BROKER -t Intruding -r 1 -w 1
sendMessage -t Allowed -p hello -b NAME -i 0
sendMessage -t Denied -p hello -b NAME -i 0
sendMessage -t Other -p hello -b NAME -i 0
consumeMessage -t Allowed -b NAME -i 0 -o 0 -c 1 -g Readers
consumeMessage -t Other -b NAME -i 0 -o 0 -c 1 -g Readers
""".strip().splitlines()


class Step(NamedTuple):
    """A command, its user, and the broker: with access control (`guarded`) or without."""

    who: str
    command: str
    guarded: bool = True

    def __str__(self) -> str:
        return f"{self.who if self.guarded else 'open'}: {self.command}"


STEPS = (
    *(Step("root", line) for line in AS_ROOT),
    *(Step(who, line) for who in WHO if who != "root" for line in AS_ANYBODY),
    *(Step("root", line, guarded=False) for line in AS_ROOT),
)

ASKED = {
    "send": (RequestCode.SEND_MESSAGE_V2, {"a": "p", "b": "Allowed", "c": "TBW102", "d": "4", "e": "0"}),
    "send elsewhere": (
        RequestCode.SEND_MESSAGE_V2,
        {"a": "p", "b": "Other", "c": "TBW102", "d": "4", "e": "0"},
    ),
    "topic": (
        RequestCode.UPDATE_AND_CREATE_TOPIC,
        {
            "topic": "Intruding",
            "defaultTopic": "TBW102",
            "readQueueNums": "1",
            "writeQueueNums": "1",
            "perm": "6",
            "topicFilterType": "SINGLE_TAG",
            "topicSysFlag": "0",
            "order": "false",
        },
    ),
    "users": (RequestCode.AUTH_LIST_USER, {}),
    "members": (RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": "Other"}),
    "delete": (RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": "Allowed"}),
    "offset": (RequestCode.GET_MAX_OFFSET, {"topic": "Other", "queueId": "0"}),
}
"""Raw requests; an accepted one may fail differently for the fields it lacks."""

Transcript = dict[str, Output]
Answers = dict[tuple[str, str], tuple[int, str]]


class Signing(Mqadmin):
    """The official tools with a `tools.yml` of a user."""

    def __init__(self, peers: Peers, folder: Path, who: tuple[str, str] | None) -> None:
        conf = folder / "conf"
        conf.mkdir(parents=True, exist_ok=True)
        if who is not None:
            (conf / "tools.yml").write_text(f"accessKey: {who[0]}\nsecretKey: {who[1]}\n")
        home = f"-Drocketmq.home.dir={folder}"
        java = [*SMALL_JVM, "-Djava.security.manager=allow", home, "-cp", program("mqadmin", "tools"), MAIN]
        self._process = peers.runtime.java(java)


@contextmanager
def broker(kind: str, folder: Path, settings: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the addresses of a name server without access control and of a broker with these settings."""
    namesrv_port, port = free_ports(), free_ports((-2, 0, 1))
    namesrv = f"{HOST}:{namesrv_port}"
    if kind == "apache":
        parts = [apache_namesrv(folder, namesrv_port), apache_broker(folder, port, namesrv, settings)]
    else:
        parts = [our_namesrv(folder / "ns", namesrv_port), our_broker(folder / "b", port, namesrv, settings)]
    try:
        for part in parts:
            part.start()
        wait_until_registered(namesrv, {BROKER_NAME})
        yield namesrv, f"{HOST}:{port}"
    finally:
        for part in reversed(parts):
            part.kill9()


def run_steps(kind: str, peers: Peers, meeting: Meeting | None) -> tuple[Transcript, Answers]:
    """Return the outcome of all steps on brokers of one kind; a failure calls the meeting off."""
    try:
        return take_steps(kind, peers, meeting)
    except BaseException:
        if meeting is not None:
            meeting.call_off()
        raise


def take_steps(kind: str, peers: Peers, meeting: Meeting | None) -> tuple[Transcript, Answers]:
    """Run all steps on brokers of one kind, with a JVM of the tools per user, and the meeting's copies."""
    outputs: Transcript = {}
    answers: Answers = {}
    folder = peers.work / f"access-{kind}-{time.time_ns()}"
    for guarded in (True, False):
        with broker(kind, folder / str(guarded), ACCESS if guarded else {}) as (namesrv, address):
            words = {"BROKER": address, "CLUSTER": CLUSTER_NAME, "NAME": BROKER_NAME}
            for who, key in WHO.items():
                steps = [step for step in STEPS if (step.who, step.guarded) == (who, guarded)]
                if not steps:
                    continue
                with ExitStack() as stack:
                    tool = Signing(peers, folder / who, key)
                    stack.callback(tool.close)
                    for step in steps:
                        command = [words.get(word, word) for word in step.command.split()]
                        outputs[str(step)] = tool.run(*command, "-n", namesrv)
                    if meeting is not None and (who, guarded) == ("root", True):
                        outputs |= copied(kind, tool, namesrv, meeting.with_other(kind, address))
                        meeting.end()
            if guarded:
                answers = answered(address)
    return outputs, answers


class Meeting:
    """Rendezvous of the brokers with access control of both kinds."""

    def __init__(self) -> None:
        self._barrier = Barrier(len(KINDS), timeout=MEETING_SECONDS)
        self._addresses: dict[str, str] = {}

    def with_other(self, kind: str, address: str) -> dict[str, str]:
        """Publish the address of this kind's broker, wait for the other one, and return both by kind."""
        self._addresses[kind] = address
        self._barrier.wait()
        return self._addresses

    def end(self) -> None:
        """Wait until both sides are done."""
        self._barrier.wait()

    def call_off(self) -> None:
        """Break the meeting, so that the waiting side fails at once."""
        self._barrier.abort()


def copied(kind: str, tool: Mqadmin, namesrv: str, addresses: Mapping[str, str]) -> Transcript:
    """Copy a user with policies from the other broker to this kind's, and return how both show it."""
    user, here = f"from-{kind}", addresses[kind]
    other = next(addresses[each] for each in KINDS if each != kind)
    outputs = {}
    for line in (
        f"createUser -b {other} -u {user} -p its-secret",
        f"updateUser -b {other} -u {user} -s disable",
        f"createAcl -b {other} -s User:{user} -r Topic:A,Group:* -a Pub,Sub -i 10.0.0.0/8,::1 -d Deny",
        f"createAcl -b {other} -s User:{user} -r Topic:A* -a All -d Allow",
        f"copyUser -f {other} -t {here} -u {user}",
        f"copyAcl -f {other} -t {here} -s User:{user}",
        f"getUser -b {other} -u {user}",
        f"getUser -b {here} -u {user}",
        f"getAcl -b {other} -s User:{user}",
        f"getAcl -b {here} -s User:{user}",
    ):
        place = "here" if f"-b {here}" in line else "other"
        outputs[f"copy {line.split()[0]} {place}"] = tool.run(*line.split(), "-n", namesrv)
    return outputs


def answered(address: str) -> Answers:
    """Return codes and remarks of the raw requests, by user."""
    found: Answers = {}
    for who, key in WHO.items():
        for name, (code, fields) in ASKED.items():
            command = RemotingCommand(code, ext_fields=dict(fields))
            if key is not None:
                Credentials(*key).sign(command)
            with RawConnection(address) as connection:
                answer = connection.ask(code, command.ext_fields)
            assert answer is not None
            found[who, name] = answer.code, answer.remark or ""
    return found


def run_on(peers: Peers, kinds: tuple[str, ...]) -> dict[str, tuple[Transcript, Answers]]:
    """Return the outcome of all steps on brokers of these kinds."""
    meeting = Meeting() if kinds == KINDS else None
    with ThreadPoolExecutor(len(kinds)) as threads:
        runs = [threads.submit(run_steps, kind, peers, meeting) for kind in kinds]
        failures = [failure for run in runs if isinstance(failure := run.exception(), Exception)]
        if failures:
            raise ExceptionGroup("the steps did not come to their end", failures)
        return {kind: run.result() for kind, run in zip(kinds, runs, strict=True)}


EARLY = {"ran": (Work(SECONDS, run_on, (KINDS,)),)}


@pytest.fixture(scope="session")
def ran(request: pytest.FixtureRequest) -> dict[str, tuple[Transcript, Answers]]:
    """Return the outcome on each chosen server."""
    ran: dict[str, tuple[Transcript, Answers]] = early.result(
        request, Work(SECONDS, run_on, (chosen_kinds(request.config),))
    )
    return ran


def comparable(output: Output) -> list[str]:
    """Return the lines that must be equal: the output, and the refusals of servers."""
    lines = normalised(output.out).splitlines()
    refusals = re.findall(r"CODE: \d+ +DESC: [^\n]*", output.err)
    return [*lines, *(normalised(line) for line in refusals[:1]), f"exit {output.exit}"]


@pytest.mark.parametrize("who", [who for who in WHO if who != "root"])
def test_forbidden_steps_are_refused(who: str, kind: str, ran: dict[str, tuple[Transcript, Answers]]) -> None:
    """Every command of these users fails, except the send that alice is allowed."""
    transcript = ran[kind][0]
    allowed = {"sendMessage -t Allowed -p hello -b NAME -i 0"} if who == "alice" else set()
    for line in AS_ANYBODY:
        output = transcript[str(Step(who, line))]
        said = output.out + output.err
        if line in allowed:
            assert "SEND_OK" in said
        elif line.startswith(("listUser", "create", "update")):
            assert "CODE: 16" in said, (line, said)


@pytest.mark.both_servers
@pytest.mark.parametrize("step", STEPS, ids=str)
def test_the_tools_say_the_same_on_both(step: Step, ran: dict[str, tuple[Transcript, Answers]]) -> None:
    """The output of mqadmin is equal on both; of Java's stack traces only the code counts."""
    apache, ours = (comparable(ran[kind][0][str(step)]) for kind in KINDS)
    if any("DESC: java." in line for line in apache):
        apache, ours = ([line.partition(" DESC: ")[0] for line in lines] for lines in (apache, ours))
    assert ours == apache


@pytest.mark.both_servers
@pytest.mark.parametrize("to", KINDS)
def test_users_and_policies_are_copied_from_one_kind_to_the_other(
    to: str, ran: dict[str, tuple[Transcript, Answers]]
) -> None:
    """copyUser and copyAcl copy the user with password, status and addresses."""
    outputs = ran[to][0]
    for command in ("copyUser", "copyAcl"):
        output = outputs[f"copy {command} other"]
        assert f"from-{to} from" in output.out and "success" in output.out, output
    user, acl = outputs["copy getUser here"].out, outputs["copy getAcl here"].out
    assert user == outputs["copy getUser other"].out
    assert user.split()[-4:] == [f"from-{to}", "its-secret", "Normal", "disable"]
    assert sorted(acl.splitlines()) == sorted(outputs["copy getAcl other"].out.splitlines())
    assert "[10.0.0.0/8, ::1]" in acl and "Topic:A*" in acl and acl.count("Deny") == 2


@pytest.mark.both_servers
@pytest.mark.parametrize("name", ASKED)
@pytest.mark.parametrize("who", WHO)
def test_refusals_are_the_same_on_both(
    who: str, name: str, ran: dict[str, tuple[Transcript, Answers]]
) -> None:
    """Codes and remarks of refusals are equal; a request that Apache's broker accepts is not refused here."""
    apache, ours = (ran[kind][1][who, name] for kind in KINDS)
    if apache[0] == 16:
        assert (ours[0], normalised(ours[1])) == (16, normalised(apache[1]))
    else:
        assert ours[0] != 16
