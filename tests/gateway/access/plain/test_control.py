"""The whole table of checks, as a request meets it: accepted requests, and texts of refusals."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest
from twisted.internet.defer import Deferred

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.options.access import AuditFormat, AuthorizationProfile
from mqgateway.engine.steps import run
from mqgateway.engine.tables.jsonfile import write_table
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.worker import InlineWorker
from mqgateway.gateway.access.callers import FrontEndCaller
from mqgateway.gateway.access.errors import NotAdmitted
from mqgateway.gateway.access.needs import Need
from mqgateway.gateway.access.plain.control import PlainControl
from mqgateway.gateway.access.plain.keeper import AclRulesKeeper
from mqgateway.gateway.access.policies import Action, topic
from mqgateway.gateway.access.signature import Credentials
from mqgateway.gateway.access.throttling import AT_ONCE, WAIT_MAX_MILLIS
from mqgateway.gateway.codec.codes import V4_9_8, RequestCode
from mqgateway.gateway.codec.command import RemotingCommand, decode_command
from mqgateway.gateway.codec.version_4 import AclRequestCode
from mqgateway.gateway.remoting.call import Call, Reply
from mqgateway.gateway.remoting.dispatch import Dispatcher
from tests.support.gateway.broker.helpers import FakePeer

ACCOUNTS = b"""
globalWhiteRemoteAddresses: [10.9.9.*]
accounts:
- {accessKey: the-admin, secretKey: the-admin-secret, admin: true}
- {accessKey: the-listed-admin, secretKey: the-listed-admin-secret, admin: true, topicPerms: [ta=PUB]}
- accessKey: the-user
  secretKey: the-user-secret
  whiteRemoteAddress: 10.8.8.8
  defaultTopicPerm: DENY
  defaultGroupPerm: SUB
  topicPerms: [ta=PUB|SUB, tp=PUB, ts=SUB, td=DENY]
  groupPerms: [gd=DENY, gp=PUB]
"""
PEER, WHITE, OWN_WHITE = FakePeer("10.0.0.7:5"), FakePeer("10.9.9.1:5"), FakePeer("10.8.8.8:5")


class Served:
    """A port whose functions answer 0 to everything, behind a control."""

    def __init__(self, **options: Any) -> None:
        made_of = BrokerOptions(rocketmq_home="/rmq", **options)
        disk, clock = CrashDisk(), ManualClock()
        write_table(disk, "/rmq/conf/plain_acl.yml", ACCOUNTS)
        keeper = AclRulesKeeper(made_of, disk, InlineWorker(), clock)
        keeper.load()
        self.control = control = PlainControl(keeper, made_of, clock, self._wait)
        self.calls = 0
        self.pauses: list[tuple[float, Deferred[None]]] = []
        table = control.guarded(dict.fromkeys([*RequestCode, *AclRequestCode], self._answer))
        self._port = Dispatcher(None, table, {}, clock=clock, hooks=[control])

    def _wait(self, seconds: float) -> Deferred[None]:
        """A pause that the test ends."""
        pause: Deferred[None] = Deferred()
        self.pauses.append((seconds, pause))
        return pause

    def _answer(self, context: None, call: Call) -> Reply:
        self.calls += 1
        return Reply()

    def ask(self, command: RemotingCommand, peer: FakePeer = PEER) -> tuple[int, str | None]:
        answer: Any = self.begin(command, peer)
        while isinstance(answer, Deferred):
            assert self.pauses, "it waits for something else"
            self.pauses.pop()[1].callback(None)
            answer = answer.result
        frame = answer if isinstance(answer, bytes) else run(answer)
        assert isinstance(frame, bytes)
        reply = decode_command(frame[4:])
        return reply.code, reply.remark

    def begin(self, command: RemotingCommand, peer: FakePeer = PEER) -> Any:
        """The answer, or what will bring it."""
        return self._port.dispatch(command, peer)


@pytest.fixture
def served() -> Served:
    return Served()


def is_accepted(answer: tuple[int, str | None]) -> bool:
    """Return True if the control accepted the request, even if its function lacked a field."""
    return "AclException" not in (answer[1] or "")


SEND = {"a": "p", "c": "", "d": "4", "e": "0", "f": "0", "g": "0", "h": "0"}
PULL = {
    "queueId": "0",
    "queueOffset": "0",
    "maxMsgNums": "1",
    "sysFlag": "0",
    "commitOffset": "0",
    "suspendTimeoutMillis": "0",
    "subVersion": "0",
}


def request(code: int, who: str | None = "the-user", body: bytes = b"", **fields: str) -> RemotingCommand:
    command = RemotingCommand(code, ext_fields=fields, body=body)
    if who is not None:
        Credentials(who, f"{who}-secret").sign(command)
    return command


def send(topic: str = "ta", who: str | None = "the-user") -> RemotingCommand:
    return request(310, who, **SEND, b=topic)


def pull(topic: str, group: str) -> RemotingCommand:
    return request(11, **PULL, topic=topic, consumerGroup=group)


def heartbeat(group: str, *topics: str) -> RemotingCommand:
    subscriptions = [{"topic": topic, "subString": "*"} for topic in topics]
    consumer = {"groupName": group, "subscriptionDataSet": subscriptions}
    return request(34, body=json.dumps({"clientID": "c", "consumerDataSet": [consumer]}).encode())


def text(sentence: str, line: int, method: str = "checkPerm") -> tuple[int, str]:
    return 1, (
        f"org.apache.rocketmq.acl.common.AclException: {sentence}, org.apache.rocketmq.acl.plain."
        f"PlainPermissionManager.{method}(PlainPermissionManager.java:{line})"
    )


def tampered(**changes: str | None) -> RemotingCommand:
    """A request that was changed after it was signed."""
    command = send()
    for name, value in changes.items():
        if value is None:
            del command.ext_fields[name]
        else:
            command.ext_fields[name] = value
    return command


@pytest.mark.parametrize(
    ("command", "sentence", "line"),
    [
        (RemotingCommand(310), "No accessKey is configured", 663),
        (send(who=None), "No accessKey is configured", 663),
        (send(who=""), "No acl config for ", 667),
        (send(who="the-stranger"), "No acl config for the-stranger", 667),
        (tampered(b="tp"), "Check signature failed for accessKey=the-user", 683),
        (tampered(Signature="x"), "Check signature failed for accessKey=the-user", 683),
        (tampered(Signature=None), "Check signature failed for accessKey=the-user", 683),
    ],
)
def test_signature_is_checked_first(
    served: Served, command: RemotingCommand, sentence: str, line: int
) -> None:
    assert served.ask(command) == text(sentence, line, "validate")
    assert served.calls == 0


@pytest.mark.parametrize(
    ("command", "sentence", "line"),
    [
        (send("td"), "No default permission for topic:td", 610),
        (send("ts"), "No default permission for topic:ts", 610),
        (send("other"), "No default permission for topic:other", 605),
        (send("%RETRY%gd"), "No default permission for group:gd", 610),
        (pull("tp", "g"), "No default permission for topic:tp", 610),
        (pull("ta", "gd"), "No default permission for group:gd", 610),
        (pull("%RETRY%gd", "g"), "No default permission for group:gd", 610),
        (heartbeat("gd", "ta"), "No default permission for group:gd", 610),
        (heartbeat("g", "ta", "other"), "No default permission for topic:other", 605),
        (request(36, group="gp"), "No default permission for group:gp", 610),
        (request(12, topic="tp"), "No default permission for topic:tp", 610),
        (request(35, consumerGroup="gd"), "No default permission for group:gd", 610),
        (request(38, consumerGroup="gd"), "No default permission for group:gd", 610),
        (request(15, consumerGroup="g", topic="tp"), "No default permission for topic:tp", 610),
        (send("other", "the-listed-admin"), "No default permission for topic:other", 605),
        *(
            (
                request(code),
                f"Need admin permission for request code={code}, but accessKey=the-user is not",
                580,
            )
            for code in (17, 25, 200, 207, 215)
        ),
    ],
)
@pytest.mark.parametrize("profile", AuthorizationProfile)
def test_request_without_permission_is_refused(
    command: RemotingCommand, sentence: str, line: int, profile: AuthorizationProfile
) -> None:
    served = Served(authorization_profile=profile)
    assert served.ask(command) == text(sentence, line)
    assert served.calls == 0


def test_request_with_permission_is_served(served: Served) -> None:
    allowed = [
        send("ta"),
        send("tp"),
        send("%RETRY%g"),
        send("RMQ_SYS_TRACE_TOPIC"),
        pull("ta", "g"),
        pull("%RETRY%g", "g"),
        heartbeat("g", "ta", "ts", "%RETRY%g"),
        request(34, body=b'{"clientID":"c","producerDataSet":[{"groupName":"p"}]}'),
        request(28),
        request(208, consumerGroup="gd"),
        send("anything", "the-admin"),
        send("ta", "the-listed-admin"),
        request(25, "the-admin"),
        request(50, "the-admin", accessKey="x"),
        request(41, "the-admin", body=b"not looked at"),
    ]
    assert [served.ask(command) for command in allowed] == [(0, None)] * len(allowed)
    assert served.calls == len(allowed)


def test_white_addresses_need_no_signature(served: Served) -> None:
    unsigned = RemotingCommand(310, ext_fields={**SEND, "b": "td"})
    for command in (unsigned, RemotingCommand(25), heartbeat("gd", "other")):
        assert served.ask(command, WHITE) == (0, None)
    assert served.ask(send("td", "the-user"), OWN_WHITE) == (0, None)
    assert served.ask(tampered(Signature=None), OWN_WHITE) == (0, None)
    assert served.ask(heartbeat("gd", "other"), OWN_WHITE) == (0, None)
    assert not is_accepted(served.ask(tampered(AccessKey="the-admin"), OWN_WHITE))
    assert served.ask(RemotingCommand(25), OWN_WHITE) == text("No accessKey is configured", 663, "validate")


def test_the_mark_of_a_query_is_never_signed(served: Served) -> None:
    for version in (V4_9_8, 399, 513):
        command = send()
        command.ext_fields["_UNIQUE_KEY_QUERY"] = "true"
        command.version = version
        assert served.ask(command) == (0, None)


def test_a_body_that_cannot_be_read_is_refused(served: Served) -> None:
    for body in (b"", b"{", b"[]", b'{"clientID":"c","consumerDataSet":[{"groupName":null}]}'):
        code, remark = served.ask(request(34, body=body))
        assert code == 1 and (remark or "").startswith("org.apache.rocketmq.acl.common.AclException: ")
        assert (remark or "").endswith("PlainAccessValidator.parse(PlainAccessValidator.java:134)")
    assert served.calls == 0


HOLES = [
    request(320, **SEND, b="td"),
    request(361, **PULL, topic="td", consumerGroup="gd"),
    request(200050, topic="td", consumerGroup="gd"),
    request(50, accessKey="mine"),
    request(53),
    request(54),
    request(513),
    request(225, body=b"{}"),
    request(41, body=b'{"consumerGroup":"gd","mqSet":[]}'),
]


def test_gaps_of_rocketmq_are_closed_except_in_its_profile(served: Served) -> None:
    assert not any(is_accepted(served.ask(command)) for command in HOLES)
    standard = Served(authorization_profile=AuthorizationProfile.STANDARD)
    assert all(is_accepted(standard.ask(command)) for command in HOLES)


def test_every_code_wants_a_signature(served: Served) -> None:
    for code in (*RequestCode, *AclRequestCode):
        assert served.ask(RemotingCommand(code)) == text("No accessKey is configured", 663, "validate"), code
        forged = request(code)
        forged.ext_fields["topic"] = "changed"
        assert "Check signature failed" in (served.ask(forged)[1] or ""), code
    assert served.ask(RemotingCommand(4711)) == (3, " request type 4711 not supported")


def test_wrong_signatures_are_refused_later_and_later_and_right_ones_at_once(served: Served) -> None:
    for wrong in (tampered(Signature="x"), send(who="the-stranger")) * (AT_ONCE // 2):
        assert isinstance(served.begin(wrong), bytes)
    answers: list[bytes] = []
    served.begin(tampered(Signature="x")).addCallback(answers.append)
    ((seconds, pause),) = served.pauses
    assert 0 < seconds <= WAIT_MAX_MILLIS / 1000 and not answers
    assert served.ask(send()) == (0, None), "nobody is locked out by others of the same address"
    for no_guess in (send(who=None), send("td"), request(25)):
        assert isinstance(served.begin(no_guess), bytes)
    pause.callback(None)
    assert decode_command(answers[0][4:]).code == 1


def test_peer_that_repeats_refused_requests_is_disconnected(served: Served) -> None:
    peer = FakePeer("10.0.0.7:6")
    for _ in range(AT_ONCE + WAIT_MAX_MILLIS):
        served.begin(send(who="the-stranger"), peer)
        if not peer.is_open:
            break
    assert not peer.is_open and served.ask(send()) == (0, None)


def test_one_way_requests_are_refused_in_silence(served: Served) -> None:
    command = send("td")
    command.flag |= 2
    assert served.begin(command) is None and served.calls == 0


def test_audit_log_reports_who_was_refused_and_why(caplog: pytest.LogCaptureFixture) -> None:
    served = Served(audit_log_format=AuditFormat.JSON)
    with caplog.at_level(logging.DEBUG, "mqgateway.audit"):
        served.ask(send("td"))
        served.ask(tampered(Signature="x"))
        served.ask(send("ta"))
    entries = [json.loads(one.getMessage()) for one in caplog.records if one.name == "mqgateway.audit"]
    assert [(one["event"], one["decision"]) for one in entries] == [
        ("authentication", "allow"),
        ("authorization", "deny"),
        ("authentication", "deny"),
        ("authentication", "allow"),
        ("authorization", "allow"),
    ]
    assert (
        entries[1]["user"] == "the-user"
        and entries[1]["resource"] == "topic:td"
        and entries[1]["action"] == "PUB"
    )
    assert "secret" not in caplog.text


@pytest.mark.parametrize(
    "name,secret,address,needed,why",
    [
        ("the-user", "the-user-secret", "10.0.0.7:5", Need(topic("tp"), (Action.PUB,)), ""),
        (None, "", "10.9.9.1:5", Need(topic("td"), (Action.PUB,)), ""),
        ("the-user", "", "10.8.8.8:5", Need(topic("td"), (Action.PUB,)), ""),
        (None, "", "10.0.0.7:5", Need(topic("tp"), (Action.PUB,)), "No accessKey is configured"),
        ("nobody", "", "10.0.0.7:5", Need(topic("tp"), (Action.PUB,)), "No acl config for nobody"),
        (
            "the-user",
            "wrong",
            "10.0.0.7:5",
            Need(topic("tp"), (Action.PUB,)),
            "Check signature failed for accessKey=the-user",
        ),
        (
            "the-user",
            "the-user-secret",
            "10.0.0.7:5",
            Need(topic("tp"), (Action.SUB,)),
            "No default permission for topic:tp",
        ),
    ],
)
def test_admission_of_a_front_end_without_commands(
    name: str | None, secret: str, address: str, needed: Need, why: str
) -> None:
    control, said = Served().control, ""
    try:
        control.admit(FrontEndCaller(name, secret.__eq__, address, "Request"), lambda: [needed])
    except NotAdmitted as refusal:
        said = refusal.message
    assert said == why
