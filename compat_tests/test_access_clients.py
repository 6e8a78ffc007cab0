"""Clients that sign, with right and wrong credentials: the results for their users, on both servers.

Java clients of both versions and the Go client, each as every user of a table, with a broker that has users
and policies (ACL 2.0) and with one that has accounts in files (ACL 1.0; Apache's is 4.9.7 there). The name
servers authenticate no request, like Apache's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from compat_tests.support.artifacts import CLIENT_VERSIONS
from compat_tests.support.driver import PATIENCE_SECONDS
from compat_tests.support.peers import Peers
from compat_tests.support.raw import RawConnection
from compat_tests.support.servers import BROKER_NAME
from compat_tests.support.signing import GO, OPS, Signer
from compat_tests.test_access import ACCESS, broker
from compat_tests.test_acl1 import Guarded
from mqgateway.gateway.access.signature import Credentials
from mqgateway.gateway.codec.codes import RequestCode
from mqgateway.gateway.codec.command import RemotingCommand

pytestmark = pytest.mark.overlap

PROGRAMS = (*CLIENT_VERSIONS, GO)
AT_ONCE = 4
"""Limit of concurrent tries.

Our server delays its answers to wrong signatures and disconnects a client with more of them pending.
"""
SOMETHING_MILLIS, NOTHING_MILLIS = PATIENCE_SECONDS * 1000, 2500
"""Time limits of a consumer that is to get a message, and of one that is not."""
OP_SECONDS = PATIENCE_SECONDS + 60

SUCCESS = {"sync": "SEND_OK", "async": "SEND_OK", "transaction": "SEND_OK", "pull": "FOUND", "push": "hello"}
JAVA_ERRORS: dict[str, tuple[tuple[str, bool], ...]] = {
    "sync": (("MQClientException", True), ("MQBrokerException", True)),
    "async": (("MQBrokerException", True),),
    "transaction": (("MQClientException", False), ("MQClientException", True), ("MQBrokerException", True)),
    "pull": (("MQBrokerException", True),),
}
"""The exception and its causes, each with True if it carries the broker's code.

The last one carries the broker's remark.
"""


class Try(NamedTuple):
    """An operation of a user; `refusal` is the expected remark of its refusal, empty if it succeeds."""

    op: str
    who: str
    topic: str
    group: str
    refusal: str = ""


class Error(NamedTuple):
    """An error of a client: classes and codes from the outermost exception to the cause, and its remark."""

    shape: tuple[tuple[str, int | None], ...]
    sentence: str


def tries(
    topics: Mapping[str, str], groups: Mapping[str, str], unknown: Mapping[str, str], known: Iterable[str]
) -> list[Try]:
    """Return the whole table.

    `topics` and `groups` are given with the refusals for known users, `unknown` users with theirs.
    """
    topic, other = topics
    group, barred = groups
    rows = [Try(op, who, topic, group, refusal) for op in OPS for who, refusal in unknown.items()]
    rows += [Try(op, who, topic, f"{group}_{who}") for op in OPS for who in known]
    user = list(known)[-1]
    rows += [Try(op, user, other, group, topics[other]) for op in OPS]
    rows += [Try(op, user, topic, barred, groups[barred]) for op in ("pull", "push")]
    return rows


def expected(row: Try, program: str, code: int) -> object:
    """Return the expected result, by the client's program."""
    if not row.refusal:
        return SUCCESS[row.op]
    if row.op == "push":
        return "nothing"  # the client's log has the reason
    if program == GO:
        return Error((("*errors.errorString", code),), row.refusal)
    return Error(
        tuple((name, code if has_code else -1) for name, has_code in JAVA_ERRORS[row.op]), row.refusal
    )


def seen(result: Any) -> object:
    """Return the result of a program in the form of `expected`."""
    if not isinstance(result, dict):
        return result
    errors = result["errors"]
    last = errors[-1]["message"]
    match = re.search(r"(?:CODE|Code): (\d+),? +(?:DESC|remark): (.*)", last)
    if match is None:
        return last
    # Java clients add the broker and a link to the documentation; ACL 1.0 adds the exception and its
    # location.
    sentence = re.sub(r" BROKER: 127\.0\.0\.1:\d+$", "", match[2])
    sentence = re.sub(r"^org\.apache\.[\w.]+Exception: (.*), org\.apache\.[^ ]+$", r"\1", sentence)
    return Error(tuple((one["type"], one.get("code", int(match[1]))) for one in errors), sentence)


def check(peers: Peers, namesrv: str, rows: list[Try], code: int) -> None:
    """Run all rows with each program."""
    wrong = []
    for number, program in enumerate(PROGRAMS):
        signer = Signer(peers.runtime, program, peers.work)
        here = {"namesrv": namesrv, "broker": BROKER_NAME, "body": "hello"}
        try:
            with ThreadPoolExecutor(AT_ONCE) as threads:
                results = threads.map(do, repeat(signer), rows, repeat(f"_{number}"), repeat(here))
                pairs = zip(rows, results, strict=True)
                wrong += [(program, *one) for one in pairs if one[1] != expected(one[0], program, code)]
        finally:
            signer.close()
    assert not wrong, "\n".join(map(str, wrong))


def do(signer: Signer, row: Try, end: str, here: Mapping[str, str]) -> object:
    """Run one row and return its result. A group that gets messages is new each time."""
    name, _, secret = row.who.partition("/")
    key = {"accessKey": name, "secretKey": secret or f"{name}-secret"} if name else {}
    if row.refusal:
        how = {"group": row.group, "millis": NOTHING_MILLIS}
    else:
        how = {"group": row.group + end, "millis": SOMETHING_MILLIS}
    return seen(signer.ask(row.op, OP_SECONDS, **here, topic=row.topic, **how, **key))


def administer(address: str, code: int, fields: Mapping[str, str], document: object = None) -> None:
    """Send a request as the super user."""
    body = b"" if document is None else json.dumps(document).encode()
    command = RemotingCommand(code, ext_fields=dict(fields), body=body)
    Credentials("root", "root-secret").sign(command)
    with RawConnection(address) as connection:
        answer = connection.ask(code, command.ext_fields, body)
    assert answer is not None and answer.code == 0, answer


def topic_fields(topic: str) -> dict[str, str]:
    """The header of a request for a topic with one queue."""
    shape = {"defaultTopic": "TBW102", "readQueueNums": "1", "writeQueueNums": "1", "perm": "6"}
    return {"topic": topic, **shape, "topicFilterType": "SINGLE_TAG", "topicSysFlag": "0", "order": "false"}


def test_clients_with_users_and_policies(kind: str, peers: Peers, tmp_path: Path) -> None:
    """ACL 2.0."""
    may = [
        {"resource": resource, "actions": ["Pub", "Sub"], "decision": "Allow"}
        for resource in ("Topic:Open", "Group:Readers*")
    ]
    refusal = "User:alice has no permission to access {} from 127.0.0.1, no matched policies."
    rows = tries(
        {"Open": "", "Other": refusal.format("Topic:Other")},
        {"Readers": "", "Strangers": refusal.format("Group:Strangers")},
        {
            "": "username cannot be null.",
            "root/guess": "check signature failed.",
            "zed": "User:zed is not found.",
            "dis": "User:dis is disabled.",
        },
        ("root", "alice"),
    )
    with broker(kind, tmp_path, ACCESS) as (namesrv, address):
        for user in ("alice", "dis"):
            fields = {"password": f"{user}-secret"}
            administer(address, RequestCode.AUTH_CREATE_USER, {"username": user}, fields)
        off = {"userStatus": "disable"}
        administer(address, RequestCode.AUTH_UPDATE_USER, {"username": "dis"}, off)
        policies = {"subject": "User:alice", "policies": [{"policyType": "Custom", "entries": may}]}
        administer(address, RequestCode.AUTH_CREATE_ACL, {"subject": "User:alice"}, policies)
        for topic in ("Open", "Other"):
            administer(address, RequestCode.UPDATE_AND_CREATE_TOPIC, topic_fields(topic))
        check(peers, namesrv, rows, 16)


def test_clients_with_accounts_in_files(kind: str, peers: Peers, tmp_path: Path) -> None:
    """ACL 1.0."""
    rows = tries(
        {"ta": "", "td": "No default permission for topic:td"},
        {"g": "", "gd": "No default permission for group:gd"},
        {
            "": "No accessKey is configured",
            "the-user/guess": "Check signature failed for accessKey=the-user",
            "the-stranger": "No acl config for the-stranger",
        },
        ("the-admin", "the-user"),
    )
    with Guarded(kind, tmp_path) as guarded:
        for topic in ("ta", "td"):
            assert guarded.ask(RequestCode.UPDATE_AND_CREATE_TOPIC, "the-admin", topic_fields(topic))[0] == 0
        check(peers, guarded.namesrv_address, rows, 1)
