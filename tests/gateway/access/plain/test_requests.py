"""Requests 50 to 54, with RocketMQ's codes and texts."""

from __future__ import annotations

import errno
import json
from typing import Any

import pytest

from mqgateway.engine.clock import ManualClock
from mqgateway.engine.options import BrokerOptions
from mqgateway.engine.tables.jsonfile import write_table
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.engine.worker import InlineWorker
from mqgateway.gateway.access.plain.keeper import AclRulesKeeper
from mqgateway.gateway.access.plain.requests import BrokerNames, requests
from mqgateway.gateway.codec.command import RemotingCommand, decode_command
from mqgateway.gateway.remoting.dispatch import Dispatcher
from tests.support.gateway.broker.helpers import FakePeer

MAIN = "/rmq/conf/plain_acl.yml"


class Served:
    """A port that answers these requests only."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.disk = CrashDisk(millis=self.clock.millis)
        write_table(self.disk, MAIN, b"accounts: [{accessKey: account-1, secretKey: secret-1, admin: true}]")
        options = BrokerOptions(rocketmq_home="/rmq")
        self.keeper = AclRulesKeeper(options, self.disk, InlineWorker(), self.clock)
        self.keeper.load()
        table = requests(self.keeper, BrokerNames("b1", "10.0.0.1:10911", "c1"))
        self._port = Dispatcher(None, table, {}, clock=self.clock)

    def ask(self, code: int, **fields: str) -> RemotingCommand:
        answers: list[Any] = []
        answer: Any = self._port.dispatch(RemotingCommand(code, ext_fields=fields), FakePeer("10.0.0.7:5"))
        if isinstance(answer, bytes):
            return decode_command(answer[4:])
        answer.addBoth(answers.append)
        return decode_command(answers[0][4:])


@pytest.fixture
def served() -> Served:
    return Served()


def outcome(answer: RemotingCommand) -> tuple[int, str | None]:
    return answer.code, answer.remark


def test_an_account_is_made_changed_and_shown(served: Served) -> None:
    given = {
        "accessKey": "account-2",
        "secretKey": "secret-2",
        "admin": "true",
        "topicPerms": "a=PUB,b=PUB|SUB,",
    }
    assert outcome(served.ask(50, **given)) == (0, None)
    given = {
        "accessKey": "account-2",
        "secretKey": "secret-9",
        "groupPerms": "g=SUB",
        "defaultTopicPerm": "SUB",
    }
    assert outcome(served.ask(50, **given)) == (0, None)
    shown = served.ask(54)
    assert json.loads(shown.body) == {
        "globalWhiteAddrs": [],
        "plainAccessConfigs": [
            {"accessKey": "account-1", "secretKey": "secret-1", "admin": True},
            {
                "accessKey": "account-2",
                "secretKey": "secret-9",
                "admin": False,
                "defaultTopicPerm": "SUB",
                "topicPerms": ["a=PUB", "b=PUB|SUB"],
                "groupPerms": ["g=SUB"],
            },
        ],
    }
    assert outcome(shown) == (0, None) and not shown.ext_fields
    assert outcome(served.ask(51, accessKey="account-2")) == (0, None)
    assert len(json.loads(served.ask(54).body)["plainAccessConfigs"]) == 1


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        (
            {"accessKey": "abc", "secretKey": "new-secret"},
            "The accessKey=abc and secretKey=****** cannot be null and length should longer than 6",
        ),
        (
            {"accessKey": "account-2"},
            "The accessKey=account-2 and secretKey=null cannot be null and length should longer than 6",
        ),
        (
            {"accessKey": "account-2", "secretKey": "secret-2", "topicPerms": "x=FOO"},
            "Parse resource permission error for x=FOO.\n"
            "The expected permissions are 'SUB' or 'PUB' or 'SUB|PUB' or 'PUB|SUB'.",
        ),
        (
            {"accessKey": "account-2", "secretKey": "secret-2", "groupPerms": ""},
            "Parse Resource format error for .\n"
            "The expected resource format is 'Res=Perm'. For example: topicA=SUB",
        ),
        (
            {"accessKey": "account-2", "secretKey": "secret-2", "whiteRemoteAddress": "1.2.3"},
            "Netaddress examine Exception netaddress is 1.2.3",
        ),
    ],
)
def test_an_account_that_is_refused(served: Served, fields: dict[str, str], sentence: str) -> None:
    assert outcome(served.ask(50, **fields)) == (209, sentence)
    assert len(served.keeper.rules) == 1


def test_an_account_that_is_not_there_cannot_be_deleted(served: Served) -> None:
    for name in ("nobody", ""):
        sentence = f"The accesskey[{name}] corresponding to accessConfig has been deleted failed."
        assert outcome(served.ask(51, accessKey=name)) == (210, sentence)
    assert served.ask(51).code == 1


def test_white_addresses(served: Served) -> None:
    assert outcome(served.ask(53, globalWhiteAddrs="10.0.0.1,10.0.1.*", aclFileFullPath="")) == (0, None)
    assert json.loads(served.ask(54).body)["globalWhiteAddrs"] == ["10.0.0.1", "10.0.1.*"]
    assert outcome(served.ask(53, globalWhiteAddrs="10.0.0.1,10.0.1.*")) == (0, None)
    refused = served.ask(53, globalWhiteAddrs="*", aclFileFullPath="/etc/passwd")
    assert outcome(refused) == (211, "The globalWhiteAddresses[*] has been updated failed.")
    wrong = served.ask(53, globalWhiteAddrs="1.2.3", aclFileFullPath=MAIN)
    assert outcome(wrong) == (211, "Netaddress examine Exception netaddress is 1.2.3")
    assert outcome(served.ask(53, globalWhiteAddrs=",", aclFileFullPath=MAIN)) == (0, None)
    assert json.loads(served.ask(54).body)["globalWhiteAddrs"] == []


def test_versions_count_changes(served: Served) -> None:
    began = served.clock.millis()
    fields = served.ask(52).ext_fields
    version = json.dumps({"counter": 0, "timestamp": began}, separators=(",", ":"))
    assert fields == {
        "version": version,
        "allAclFileVersion": f'{{"{MAIN}":{version}}}',
        "brokerName": "b1",
        "brokerAddr": "10.0.0.1:10911",
        "clusterName": "c1",
    }
    served.clock.advance(1000)
    served.ask(51, accessKey="account-1")
    assert json.loads(served.ask(52).ext_fields["version"]) == {"counter": 1, "timestamp": began + 1000}


def test_disk_that_takes_nothing_is_reported(served: Served) -> None:
    for code, refusal in ((50, 209), (51, 210), (53, 211)):
        served.disk.fail_next("write", MAIN, errno.ENOSPC)
        fields = {
            "accessKey": "account-1",
            "secretKey": "secret-1",
            "globalWhiteAddrs": "*",
            "aclFileFullPath": "",
        }
        assert served.ask(code, **fields).code == refusal
    assert served.keeper.config().global_white_addrs == [] and len(served.keeper.rules) == 1
