"""Every request is checked before any other code sees it: codes, texts and their order."""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from typing import Any

import pytest
from twisted.internet.defer import Deferred

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.options.access import AuthorizationProfile
from mqgateway.engine.steps import Steps, run
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.gateway.access.callers import FrontEndCaller
from mqgateway.gateway.access.control import AccessControl
from mqgateway.gateway.access.errors import NotAdmitted
from mqgateway.gateway.access.needs import Need
from mqgateway.gateway.access.policies import (
    Action,
    Decision,
    Policy,
    PolicyEntry,
    PolicyType,
    parse_resource,
    topic,
)
from mqgateway.gateway.access.resources import BY_HEADER
from mqgateway.gateway.access.settings import AccessSettings
from mqgateway.gateway.access.signature import Credentials
from mqgateway.gateway.access.tables import AccessTables
from mqgateway.gateway.access.throttling import AT_ONCE, WAIT_MAX_MILLIS
from mqgateway.gateway.access.users import UserStatus, UserType
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import RemotingCommand, decode_command
from mqgateway.gateway.remoting.call import Call, Reply
from mqgateway.gateway.remoting.dispatch import Dispatcher
from tests.support.gateway.broker.helpers import FakePeer

PEER = FakePeer("10.0.0.7:5")


PAUSES: list[tuple[float, Deferred[None]]] = []


def waits(seconds: float) -> Deferred[None]:
    """Pause that the test ends."""
    pause: Deferred[None] = Deferred()
    PAUSES.append((seconds, pause))
    return pause


def control(**options: Any) -> AccessControl:
    """Super user root, normal user alice who may send to and read ta, and the disabled user dis."""
    given = {"authentication_enabled": True, "authorization_enabled": True} | options
    made_of = BrokerOptions(broker_cluster_name="c", **given)
    clock, disk = ManualClock(), CrashDisk()
    settings = AccessSettings.of(made_of, disk, "c")
    made = AccessControl(settings, AccessTables(disk, "/config", clock, None), made_of, clock, waits)
    made.load()
    users = made.administration
    users.create_user("", "root", "root's", UserType.SUPER, None)
    users.create_user("", "alice", "alice's", None, None)
    users.create_user("", "dis", "dis's", UserType.SUPER, UserStatus.DISABLE)
    may = (Action.PUB, Action.SUB)
    rows = [("Topic:ta", may, ()), ("Group:ga", may, ()), ("Topic:far", may, ("192.168.0.0/16",))]
    entries = [
        PolicyEntry(parse_resource(text), *rest)
        for text, *rest in (  # type: ignore[arg-type]
            (text, actions, Decision.ALLOW, ips) for text, actions, ips in rows
        )
    ]
    users.update_acl("alice", {PolicyType.CUSTOM: Policy(entries)})
    return made


def request(code: int, who: str | None = "alice", body: bytes = b"", **fields: str) -> RemotingCommand:
    command = RemotingCommand(code, ext_fields=fields, body=body)
    if who is not None:
        Credentials(who, f"{who}'s").sign(command)
    return command


class Served:
    """Port whose functions answer 0 to every request, behind access control."""

    def __init__(self, control: AccessControl) -> None:
        self.calls = 0
        codes = [code for code in RequestCode if code != RequestCode.CONTROLLER_ELECT_MASTER]
        table = control.guarded(dict.fromkeys(codes, self._answer), BrokerOptions())
        self._port = Dispatcher(None, table, {}, clock=ManualClock(), hooks=[control])

    def _answer(self, context: None, call: Call) -> Reply:
        self.calls += 1
        return Reply()

    def ask(self, command: RemotingCommand, peer: FakePeer = PEER) -> tuple[int, str | None]:
        answer: Any = self._port.dispatch(command, peer)
        frame = answer if isinstance(answer, bytes) else run(answer)
        assert isinstance(frame, bytes)
        reply = decode_command(frame[4:])
        return reply.code, reply.remark


SEND = {"a": "p", "b": "ta", "c": "", "d": "4", "e": "0", "f": "0", "g": "0", "h": "0"}


def send(who: str | None = "alice", topic: str = "ta") -> RemotingCommand:
    return request(310, who, **SEND | {"b": topic})


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        (send(None), "username cannot be null."),
        (RemotingCommand(310), "username cannot be null."),
        (send(""), "username cannot be null."),
        (send("zed"), "User:zed is not found."),
        (send("dis"), "User:dis is disabled."),
        (
            send("alice", "tb"),
            "User:alice has no permission to access Topic:tb from 10.0.0.7, no matched policies.",
        ),
        (
            send("alice", "far"),
            "User:alice has no permission to access Topic:far from 10.0.0.7, no matched policies.",
        ),
    ],
)
def test_refusals_have_order_and_texts_of_rocketmq(command: RemotingCommand, sentence: str) -> None:
    served = Served(control())
    assert served.ask(command) == (16, sentence)
    assert served.calls == 0


def test_wrong_or_missing_signature_is_refused() -> None:
    served = Served(control())
    for changed in ({"b": "tb"}, {"Signature": "x"}, {"Signature": "é"}):
        command = send()
        command.ext_fields |= changed
        assert served.ask(command) == (16, "check signature failed.")
    command = send()
    del command.ext_fields["Signature"]
    assert served.ask(command) == (16, "check signature failed.")


def test_authorized_request_is_served() -> None:
    served = Served(control())
    assert served.ask(send()) == (0, None)
    assert served.ask(send("root", "anything")) == (0, None)
    assert served.ask(request(26, "root")) == (0, None)
    assert served.calls == 3


def test_refused_oneway_request_gets_no_answer() -> None:
    served = Served(control())
    for who in ("zed", "alice"):
        command = send(who, "tb")
        command.flag |= 2
        assert served._port.dispatch(command, PEER) is None
    assert served.calls == 0


def test_unknown_code_is_answered_without_authentication() -> None:
    assert Served(control()).ask(RemotingCommand(4711)) == (3, " request type 4711 not supported")


def test_unsigned_request_is_refused_for_every_code() -> None:
    let_through = {}
    for code in RequestCode:
        served = Served(control())
        answers = {served.ask(request(code, who))[0] for who in (None, "zed", "dis")}
        if not answers <= {16, 3} or served.calls:
            let_through[code.name] = answers
    assert not let_through


HEARTBEAT = {
    "clientID": "c",
    "consumerDataSet": [{"groupName": "ga", "subscriptionDataSet": [{"topic": "ta"}]}],
}


def heartbeat(group: str, who: str = "alice") -> RemotingCommand:
    body = json.dumps(HEARTBEAT).replace('"ga"', f'"{group}"').encode()
    return request(34, who, body)


def test_resources_in_body_are_authorized() -> None:
    served = Served(control())
    assert served.ask(heartbeat("ga")) == (0, None)
    code, sentence = served.ask(heartbeat("gb"))
    assert code == 16 and sentence is not None and "Group:gb from 10.0.0.7" in sentence
    assert served.ask(heartbeat("gb", "root")) == (0, None)
    assert served.ask(request(34, "alice", b"{")) == (16, "parse authorization context error.")
    assert served.calls == 2


def test_guarded_function_may_be_cooperative_or_deferred() -> None:
    made = control()

    def in_steps(context: None, call: Call) -> Steps[Reply]:
        yield
        return Reply(remark="done")

    table = made.guarded({34: in_steps}, BrokerOptions())
    port = Dispatcher(None, table, {}, clock=ManualClock(), hooks=[made])
    frame: Any = port.dispatch(heartbeat("ga"), PEER)
    assert decode_command(frame[4:]).remark == "done"


def test_standard_profile_allows_unchecked_codes() -> None:
    strict, standard = (Served(control(authorization_profile=one)) for one in AuthorizationProfile)
    assert strict.ask(request(25))[0] == 16
    assert strict.ask(request(200, body=b'{"groupName":"x"}'))[0] == 16
    assert standard.ask(request(25)) == (0, None)
    assert standard.ask(request(200, body=b'{"groupName":"x"}')) == (0, None)
    assert standard.ask(request(25, "zed"))[0] == 16
    assert standard.ask(send("alice", "tb"))[0] == 16


def test_authentication_alone_does_not_authorize() -> None:
    served = Served(control(authorization_enabled=False))
    assert served.ask(send("alice", "tb")) == (0, None)
    assert served.ask(heartbeat("gb")) == (0, None)
    assert served.ask(send("zed"))[0] == 16


def test_authorization_alone_trusts_user_name() -> None:
    options = {"authentication_enabled": False, "authorization_profile": AuthorizationProfile.STANDARD}
    served = Served(control(**options))
    unsigned = RemotingCommand(310, ext_fields=SEND | {"AccessKey": "alice"})
    assert served.ask(unsigned) == (0, None)
    refusal = "Authorization failed. Please verify your access rights and try again."
    assert served.ask(RemotingCommand(310, ext_fields=dict(SEND))) == (16, refusal)
    zed = RemotingCommand(310, ext_fields=SEND | {"AccessKey": "zed"})
    assert served.ask(zed) == (16, "User:zed not found.")


def test_whitelisted_codes_are_not_checked() -> None:
    served = Served(control(authentication_whitelist="310,46", authorization_whitelist="310,34"))
    assert served.ask(send(None, "tb")) == (0, None)
    assert served.ask(RemotingCommand(46)) == (0, None)
    assert served.ask(heartbeat("gb")) == (0, None)
    assert served.ask(heartbeat("gb", "zed"))[0] == 16


def test_unauthenticated_user_name_is_ignored() -> None:
    """RocketMQ accepts it as the user's."""
    options: dict[str, Any] = {"authentication_whitelist": "310"}
    claimed = RemotingCommand(310, ext_fields=SEND | {"AccessKey": "root"})
    sentence = "Authorization failed. Please verify your access rights and try again."
    assert Served(control(**options)).ask(claimed) == (16, sentence)
    standard = control(**options, authorization_profile=AuthorizationProfile.STANDARD)
    assert Served(standard).ask(claimed) == (0, None)


def test_stateful_authentication_caches_outcome_per_connection() -> None:
    served = Served(control(authentication_strategy="StatefulAuthenticationStrategy"))
    here, there = FakePeer(), FakePeer()
    wrong = send()
    wrong.ext_fields["Signature"] = "wrong"
    assert served.ask(send(), here) == (0, None)
    assert served.ask(wrong, here) == (0, None)
    assert served.ask(wrong, there)[0] == 16
    assert served.ask(send(), there)[0] == 16  # the refusal is remembered too


def test_stateful_authorization_caches_outcome_per_connection() -> None:
    made = control(authorization_strategy="StatefulAuthorizationStrategy")
    served = Served(made)
    assert served.ask(send()) == (0, None)
    made.administration.delete_acl("alice", PolicyType.CUSTOM, None)
    assert served.ask(send()) == (0, None)
    assert served.ask(send(), FakePeer())[0] == 16


def test_user_change_applies_to_next_request() -> None:
    made = control()
    served = Served(made)
    assert served.ask(send()) == (0, None)
    made.administration.update_user("", "alice", None, None, UserStatus.DISABLE)
    assert served.ask(send()) == (16, "User:alice is disabled.")


def test_first_users_are_created_once_and_never_changed() -> None:
    made = control(init_authentication_user='{"username":"first","password":"first\'s"}')
    made.administration.update_user("", "first", "new", None, None)
    made.load()
    user = made.administration.user("first")
    assert user is not None and user.is_super and user.password == "new"
    assert Served(made).ask(send("first"))[0] == 16


def test_audit_log_has_user_and_reason_but_no_secret(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "mqgateway.audit")
    served = Served(control())
    served.ask(send("alice", "tb"))
    wrong = send()
    wrong.ext_fields["Signature"] = "wrong"
    served.ask(wrong)
    served.ask(send(None))
    served.ask(send())
    first, second = caplog.messages
    assert "action=Pub resource=Topic:tb decision=deny" in first
    assert 'reason="check signature failed."' in second
    caplog.set_level(logging.DEBUG, "mqgateway.audit")
    served.ask(send())
    served.ask(heartbeat("ga", "root"))
    assert [message.count("decision=allow") for message in caplog.messages[2:]] == [1] * 5
    assert "alice's" not in caplog.text


def test_wrong_signatures_are_throttled_and_valid_ones_are_not() -> None:
    served = Served(control())
    wrong = send()
    wrong.ext_fields["Signature"] = "x"
    for _ in range(AT_ONCE):
        assert served.ask(wrong) == (16, "check signature failed.")
    PAUSES.clear()
    answers: list[Any] = []
    answer: Any = served._port.dispatch(wrong, PEER)
    answer.addCallback(answers.append)
    ((seconds, pause),) = PAUSES
    assert 0 < seconds <= WAIT_MAX_MILLIS / 1000 and not answers
    assert served.ask(send()) == (0, None), "nobody is locked out by others of the same address"
    assert served.ask(send(None)) == (16, "username cannot be null."), "no name is no guess"
    pause.callback(None)
    assert decode_command(answers[0][4:]).remark == "check signature failed."


def test_repeated_failures_close_connection() -> None:
    served, peer = Served(control()), FakePeer("10.0.0.7:5")
    wrong = send("zed")
    for _ in range(100):
        answer: Any = served._port.dispatch(wrong, peer)
        if not peer.is_open:
            break
        if isinstance(answer, Deferred):
            answer.addErrback(lambda _: None)
    assert not peer.is_open


def caller(
    name: str | None = "alice", secret: str = "alice's", address: str = "10.0.0.7:5"
) -> FrontEndCaller:
    """Caller of a front end without commands."""
    return FrontEndCaller(name, secret.__eq__, address, "apache.rocketmq.v2.SendMessageRequest")


def admitted(made: AccessControl, who: FrontEndCaller, *needs: Need) -> str:
    """Return why the caller is not admitted; empty if it is."""
    try:
        made.admit(who, lambda: needs)
    except NotAdmitted as refusal:
        return refusal.message
    return ""


@pytest.mark.parametrize(
    "who,topic_name,why",
    [
        (caller(), "ta", ""),
        (caller(None), "ta", "username cannot be null."),
        (caller("zed"), "ta", "User:zed is not found."),
        (caller("dis", "dis's"), "ta", "User:dis is disabled."),
        (caller(secret="x"), "ta", "check signature failed."),
        (caller("root", "root's"), "tb", ""),
        (
            caller(),
            "tb",
            "User:alice has no permission to access Topic:tb from 10.0.0.7, no matched policies.",
        ),
    ],
)
def test_front_end_caller_is_authenticated_and_authorized(
    who: FrontEndCaller, topic_name: str, why: str
) -> None:
    assert admitted(control(), who, Need(topic(topic_name), (Action.PUB,))) == why


def test_strict_profile_ignores_unauthenticated_names() -> None:
    made = control(authentication_enabled=False, authorization_profile=AuthorizationProfile.STANDARD)
    assert admitted(made, caller(secret="x"), Need(topic("ta"), (Action.PUB,))) == ""
    assert admitted(made, caller(None), Need(topic("ta"), (Action.PUB,))) != ""


def test_front_end_throttles_wrong_signatures() -> None:
    made = control()
    PAUSES.clear()
    for _ in range(AT_ONCE + 100):
        admitted(made, caller(secret="x"))
    assert PAUSES and max(seconds for seconds, _ in PAUSES) <= WAIT_MAX_MILLIS / 1000
    PAUSES.clear()
    admitted(made, caller())
    assert not PAUSES


def test_front_end_caller_with_a_session_needs_its_user_but_no_proof() -> None:
    made, needed = control(), Need(topic("ta"), (Action.PUB,))
    PAUSES.clear()

    def of(name: str, needed: Need) -> str:
        return admitted(made, replace(caller(name, "x"), has_session=True), needed)

    assert of("alice", needed) == ""
    assert "no matched policies" in of("alice", Need(topic("tb"), (Action.PUB,)))
    assert (of("dis", needed), of("zed", needed)) == ("User:dis is disabled.", "User:zed is not found.")
    for _ in range(AT_ONCE + 1):
        of("zed", needed)
    assert not PAUSES


def test_front_end_refusal_is_audited(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "mqgateway.audit")
    admitted(control(), caller(), Need(topic("tb"), (Action.PUB,)))
    assert "request=apache.rocketmq.v2.SendMessageRequest" in caplog.text


def test_cached_decision_is_invalid_after_user_or_policy_change() -> None:
    made = control()
    served = Served(made)
    users = made.administration
    for _ in range(2):
        assert served.ask(send()) == (0, None)
    assert len(made.allowed) == 1
    no_match = "User:alice has no permission to access Topic:ta from 10.0.0.7, no matched policies."
    users.delete_acl("alice", PolicyType.CUSTOM, None)
    assert served.ask(send()) == (16, no_match)
    users.update_user("", "alice", None, UserType.SUPER, None)
    assert served.ask(send()) == (0, None)
    users.update_user("", "alice", None, UserType.NORMAL, None)
    assert served.ask(send()) == (16, no_match)


@pytest.mark.parametrize("code", sorted(BY_HEADER))
@pytest.mark.parametrize("profile", AuthorizationProfile)
def test_cached_decision_equals_first_decision(code: int, profile: AuthorizationProfile) -> None:
    """Whatever a code needs: no cached decision on other names allows a request."""
    names = {"topic", "b", "group", "consumerGroup", "groupName", "destGroup", "parentTopic", "topicList"}
    served = Served(control(authorization_profile=profile))
    for values in (("ta", "ga"), ("ta", "ga"), ("tb", "gb"), ("%RETRY%ga", "ga"), ("%RETRY%gb", "gb"), ()):
        fields = dict.fromkeys(sorted(names), values[0]) if values else {}
        fields |= {name: values[1] for name in names if values and "roup" in name}
        command = request(code, "alice", **fields)
        fresh = Served(control(authorization_profile=profile)).ask(command)
        assert served.ask(command) == fresh == served.ask(command)


def test_refusals_and_super_user_requests_are_not_cached() -> None:
    made = control()
    served = Served(made)
    for command in (send("root"), send("alice", "tb"), send("alice", "far"), send("zed")):
        served.ask(command)
    assert len(made.allowed) == 0
    assert served.ask(send("alice", "far"), FakePeer("192.168.1.1:5")) == (0, None)
    assert served.ask(send("alice", "far"))[0] == 16
