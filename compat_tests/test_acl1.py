"""Access control of version 4: accounts in files, with the broker of 4.9.7 and with ours.

Apache's broker is 4.9.7 here, the newest published release of the line that has it. The same accounts, the
same requests, the same refusals; then the tools of that version with a file of credentials. Ours has
`authorizationProfile=standard`; the stricter checks of its default are tested on ours alone.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from compat_tests.support.artifacts import OLD_SERVER, SMALL_JVM, class_path
from compat_tests.support.peers import Peers
from compat_tests.support.processes import free_ports, wait_until
from compat_tests.support.raw import RawConnection
from compat_tests.support.servers import (
    BROKER_NAME,
    HOST,
    apache_broker,
    apache_namesrv,
    our_broker,
    our_namesrv,
    wait_until_registered,
)
from mqgateway.gateway.access.signature import Credentials
from mqgateway.gateway.codec.command import RemotingCommand

RELOAD_SECONDS = 8
"""Brokers look for changed files every five seconds."""
ATTEMPTS = 3
"""Runs of a command whose broker may be too busy to answer in time."""

ACCOUNTS = """
globalWhiteRemoteAddresses:
- ADDRESS
accounts:
- accessKey: the-admin
  secretKey: the-admin-secret
  admin: true
- accessKey: the-user
  secretKey: the-user-secret
  whiteRemoteAddress: 10.8.8.8
  admin: false
  defaultTopicPerm: DENY
  defaultGroupPerm: SUB
  topicPerms:
  - ta=PUB|SUB
  - tp=PUB
  - td=DENY
  groupPerms:
  - gd=DENY
"""
ELSEWHERE = ACCOUNTS.replace("ADDRESS", "10.7.7.7")
"""Accounts with an address from the start.

If a file had no addresses when it was first read, 4.9.7 never removes those added later.
"""
HERE = ACCOUNTS.replace("ADDRESS", "127.0.0.*")


class Guarded:
    """A broker with accounts, and the name server it is registered with."""

    def __init__(self, kind: str, folder: Path, profile: str = "standard") -> None:
        home = folder / "broker"
        self.file = home / "conf" / "plain_acl.yml"
        self.file.parent.mkdir(parents=True)
        self.file.write_text(ELSEWHERE)
        namesrv_port, port = free_ports(), free_ports((-2, 0, 1))
        self.namesrv_address, self.address = f"{HOST}:{namesrv_port}", f"{HOST}:{port}"
        settings = {"aclEnable": "true"}
        if kind == "apache":
            namesrv = apache_namesrv(folder / "namesrv", namesrv_port)
            broker = apache_broker(home, port, self.namesrv_address, settings, version=OLD_SERVER)
        else:
            settings |= {"rocketmqHome": str(home), "authorizationProfile": profile}
            namesrv = our_namesrv(folder / "namesrv", namesrv_port)
            broker = our_broker(home, port, self.namesrv_address, settings)
        self._parts = (namesrv, broker)

    def __enter__(self) -> Guarded:
        for part in self._parts:
            part.start()
        wait_until_registered(self.namesrv_address, {BROKER_NAME})
        return self

    def __exit__(self, *failure: object) -> None:
        for part in self._parts:
            part.kill9()

    def ask(
        self,
        code: int,
        who: str | None,
        fields: Mapping[str, str] | None = None,
        body: bytes = b"",
        changed: Mapping[str, str] | None = None,
    ) -> tuple[int, str]:
        """Send a request as an account and return the code and the refusal.

        `changed` are fields that are changed after signing.
        """
        command = RemotingCommand(code, ext_fields=dict(fields or {}), body=body)
        if who is not None:
            Credentials(who, f"{who}-secret").sign(command)
        with RawConnection(self.address) as connection:
            answer = connection.ask(code, {**command.ext_fields, **(changed or {})}, body)
        assert answer is not None
        return answer.code, refused(answer.remark or "")


def refused(remark: str) -> str:
    """Return the sentence of a refusal without the location in RocketMQ's source; empty if not refused."""
    begin = "org.apache.rocketmq.acl.common.AclException: "
    if not remark.startswith(begin):
        return ""
    return remark.removeprefix(begin).rpartition(", org.apache.rocketmq.acl.plain.Plain")[0]


@pytest.fixture
def guarded(kind: str, tmp_path: Path) -> Iterator[Guarded]:
    with Guarded(kind, tmp_path) as guarded:
        yield guarded


class Row(NamedTuple):
    """A request and the sentence of its refusal, empty if it is accepted."""

    refusal: str
    code: int
    who: str | None = "the-user"
    fields: Mapping[str, str] | None = None
    body: bytes = b""
    changed: Mapping[str, str] | None = None


def heartbeat(group: str, topic: str) -> bytes:
    subscriptions = [{"topic": topic, "subString": "*", "subVersion": 0}]
    consumer = {
        "groupName": group,
        "consumeType": "CONSUME_PASSIVELY",
        "messageModel": "CLUSTERING",
        "consumeFromWhere": "CONSUME_FROM_LAST_OFFSET",
        "subscriptionDataSet": subscriptions,
    }
    return json.dumps({"clientID": "c", "producerDataSet": [], "consumerDataSet": [consumer]}).encode()


WRONG = "Check signature failed for accessKey=the-user"
ROWS = (
    # Principals
    Row("No accessKey is configured", 28, None),
    Row("No accessKey is configured", 310, None, {"b": "ta"}),
    Row("No acl config for the-stranger", 28, "the-stranger"),
    Row("No acl config for ", 28, "the-user", changed={"AccessKey": ""}),
    Row(WRONG, 310, fields={"b": "ta"}, changed={"b": "tp"}),
    Row(WRONG, 28, changed={"Signature": "x"}),
    Row("", 28),
    Row("", 12, fields={"topic": "ta"}, changed={"_UNIQUE_KEY_QUERY": "true"}),
    # Topics
    Row("", 310, fields={"b": "ta"}),
    Row("", 10, fields={"topic": "tp"}),
    Row("No default permission for topic:td", 310, fields={"b": "td"}),
    Row("No default permission for topic:other", 10, fields={"topic": "other"}),
    Row("", 310, fields={"b": "RMQ_SYS_TRACE_TOPIC"}),
    Row("No default permission for topic:tp", 12, fields={"topic": "tp"}),
    # Groups
    Row("No default permission for group:gd", 36, fields={"group": "gd"}),
    Row("No default permission for group:gd", 11, fields={"topic": "ta", "consumerGroup": "gd"}),
    Row("No default permission for topic:tp", 11, fields={"topic": "tp", "consumerGroup": "g"}),
    Row("No default permission for group:gd", 11, fields={"topic": "%RETRY%gd", "consumerGroup": "g"}),
    Row("No default permission for group:gd", 35, fields={"clientID": "c", "consumerGroup": "gd"}),
    Row("No default permission for group:gd", 38, fields={"consumerGroup": "gd"}),
    Row("", 38, fields={"consumerGroup": "g"}),
    Row("No default permission for group:gd", 34, body=heartbeat("gd", "ta")),
    Row("No default permission for topic:other", 34, body=heartbeat("g", "other")),
    Row("", 34, body=heartbeat("g", "ta")),
    # Admins, and the requests that RocketMQ allows to every signed account
    *(
        Row(f"Need admin permission for request code={code}, but accessKey=the-user is not", code)
        for code in (17, 25, 200, 207, 215)
    ),
    Row("", 310, "the-admin", {"b": "anything"}),
    Row("", 26),
    Row("", 320, fields={"b": "td"}),
    Row("", 54),
    Row("", 52),
)


def test_the_table_of_checks(guarded: Guarded) -> None:
    """Codes and sentences of refusals, request by request."""
    answers = [guarded.ask(row.code, row.who, row.fields, row.body, row.changed) for row in ROWS]
    assert [refusal for _, refusal in answers] == [row.refusal for row in ROWS]
    assert {code for code, refusal in answers if refusal} == {1}


def test_files_are_looked_after(guarded: Guarded) -> None:
    """New white addresses count soon after they are written; a broken file changes nothing."""
    guarded.file.write_text(HERE)
    wait_until(lambda: guarded.ask(28, None) == (0, ""), RELOAD_SECONDS, "the white address counts")
    guarded.file.write_text("accounts: [")
    with pytest.raises(TimeoutError):
        wait_until(lambda: guarded.ask(28, None) != (0, ""), RELOAD_SECONDS, "a broken file counts")
    guarded.file.write_text(ELSEWHERE)
    wait_until(lambda: guarded.ask(28, None) != (0, ""), RELOAD_SECONDS, "the white address is gone")


def test_requests_about_accounts(guarded: Guarded) -> None:
    """Answers to the request codes 50 to 54, and their effect on the file."""
    new = {
        "accessKey": "a-new-one",
        "secretKey": "a-new-one-secret",
        "admin": "false",
        "topicPerms": "tn=PUB",
    }
    assert guarded.ask(50, "the-admin", new) == (0, "")
    assert guarded.ask(310, "a-new-one", {"b": "tn"})[1] == ""
    assert guarded.ask(310, "a-new-one", {"b": "ta"})[1] == "No default permission for topic:ta"
    assert guarded.ask(50, "the-admin", {**new, "accessKey": "abc"})[0] == 209
    assert guarded.ask(50, "the-admin", {**new, "topicPerms": "tn=FOO"})[0] == 209
    assert guarded.ask(51, "the-admin", {"accessKey": "nobody-here"})[0] == 210
    path = str(guarded.file)
    white = {"globalWhiteAddrs": "127.0.0.1,10.0.0.*", "aclFileFullPath": path}
    assert guarded.ask(53, "the-admin", white) == (0, "")
    wait_until(lambda: guarded.ask(28, None) == (0, ""), RELOAD_SECONDS, "the white address counts")
    assert guarded.ask(53, "the-admin", {**white, "aclFileFullPath": "/etc/passwd"})[0] == 211
    with RawConnection(guarded.address) as connection:
        versions, config = connection.ask(52), connection.ask(54)
    assert versions is not None and config is not None
    assert json.loads(versions.ext_fields["version"])["counter"] == 2
    assert [*json.loads(versions.ext_fields["allAclFileVersion"])] == [path]
    document = json.loads(config.body)
    assert document["globalWhiteAddrs"] == ["127.0.0.1", "10.0.0.*"]
    assert document["plainAccessConfigs"][-1] == {
        "accessKey": "a-new-one",
        "admin": False,
        "secretKey": "a-new-one-secret",
        "topicPerms": ["tn=PUB"],
    }
    assert guarded.ask(51, "the-admin", {"accessKey": "a-new-one"}) == (0, "")
    text = guarded.file.read_text()
    assert "a-new-one" not in text and "\n- counter: 3\n  timestamp: " in text and "- ta=PUB|SUB\n" in text


def test_the_tools_of_version_4(guarded: Guarded, peers: Peers) -> None:
    """mqadmin of 4.9.7 makes an account, shows it, sends with it, and deletes it."""
    home = peers.work / f"tools-{guarded.address.rpartition(':')[2]}"
    (home / "conf").mkdir(parents=True)
    (home / "conf" / "logback_tools.xml").write_text("<configuration/>")  # they do nothing without it

    def run(who: str, *command: str) -> str:
        (home / "conf" / "tools.yml").write_text(f"accessKey: {who}\nsecretKey: {who}-secret\n")
        main = "org.apache.rocketmq.tools.command.MQAdminStartup"
        jvm = [*SMALL_JVM, f"-Drocketmq.home.dir={home}", "-cp", class_path("tools", OLD_SERVER), main]
        popen = peers.runtime.java([*jvm, *command, "-n", guarded.namesrv_address]).popen
        try:
            return popen.communicate(timeout=60)[0].decode()
        except subprocess.TimeoutExpired:
            popen.kill()
            raise

    def printed(text: str, who: str, *command: str) -> str:
        """Run a command again that does not print a text: the tool waits five seconds for a busy broker."""
        for _ in range(ATTEMPTS - 1):
            shown = run(who, *command)
            if text in shown:
                return shown
        shown = run(who, *command)
        assert text in shown
        return shown

    on = ("-b", guarded.address)
    account = ("-a", "a-sender", "-s", "a-sender-secret", "-t", "sent=PUB")
    made = f"create or update plain access config to {guarded.address} success."
    printed(made, "the-admin", "updateAclConfig", *on, *account)
    printed("a-sender", "the-admin", "getAclConfig", *on)
    success = "get broker's plain access config version success."
    assert f"{guarded.file}" in printed(success, "the-admin", "clusterAclConfigVersion", *on)
    printed("SEND_OK", "a-sender", "sendMessage", "-t", "sent", "-p", "hello")
    assert "SEND_OK" not in run("a-sender", "sendMessage", "-t", "other", "-p", "hello")
    gone = f"delete plain access config account from {guarded.address} success."
    printed(gone, "the-admin", "deleteAclConfig", *on, "-a", "a-sender")
    assert "SEND_OK" not in run("a-sender", "sendMessage", "-t", "sent", "-p", "hello")


def test_more_is_asked_by_default(tmp_path: Path) -> None:
    """Actions that 4.9.7 allows to every account: read all secrets, become an admin, send by another code."""
    with Guarded("ours", tmp_path, "strict") as guarded:
        for code in (50, 51, 52, 53, 54, 225, 513):
            fields = {"accessKey": "a", "globalWhiteAddrs": "*", "aclFileFullPath": ""}
            sentence = f"Need admin permission for request code={code}, but accessKey=the-user is not"
            assert guarded.ask(code, "the-user", fields) == (1, sentence)
        assert guarded.ask(320, "the-user", {"b": "td"}) == (1, "No default permission for topic:td")
        assert guarded.ask(54, "the-admin") == (0, "")
        assert guarded.ask(28, "the-user") == (0, "")
