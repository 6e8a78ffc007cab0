"""Records the JSON forms that RocketMQ's reader of bodies accepts for each Java type, for the unit tests.

    python -m compat_tests.support.body_reads        writes tests/gateway/codec/bodies/java_reads.json

`MEMBERS` has the members, one or more for each type, with a body around each; `FORMS` has the forms of JSON
that are inserted. The unit tests compare our bodies with the file; ``test_body_reads`` checks that the file
still agrees with RocketMQ.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from compat_tests.support.artifacts import SMALL_JVM, program
from mqgateway.engine import lenient_json

FILE = Path(__file__).parents[2] / "tests" / "gateway" / "codec" / "bodies" / "java_reads.json"

REFUSED = "refused"
"""The recorded result of an error."""

Path_ = tuple[str | int, ...]

_PROTOCOL = "org.apache.rocketmq.remoting.protocol"
_HEARTBEAT = f"{_PROTOCOL}.heartbeat.HeartbeatData"
_CONSUMER = '{"clientID":"c","consumerDataSet":[{"groupName":"g","%s":?}]}'
_SUBSCRIPTION = (
    '{"clientID":"c","consumerDataSet":[{"groupName":"g","subscriptionDataSet":[{"topic":"t","%s":?}]}]}'
)
_LOCK = '{"consumerGroup":"g","clientId":"c","%s":?}'
_QUEUE = '{"consumerGroup":"g","clientId":"c","mqSet":[{"topic":"t","brokerName":"b","%s":?}]}'


def _consumer(name: str) -> tuple[str, str, Path_]:
    return _HEARTBEAT, _CONSUMER % name, ("consumerDataSet", 0, name)


def _subscription(name: str) -> tuple[str, str, Path_]:
    return _HEARTBEAT, _SUBSCRIPTION % name, ("consumerDataSet", 0, "subscriptionDataSet", 0, name)


MEMBERS: dict[str, tuple[str, str, Path_]] = {
    "boolean, unitMode": _consumer("unitMode"),
    "boolean, classFilterMode": _subscription("classFilterMode"),
    "boolean, onlyThisBroker": (
        f"{_PROTOCOL}.body.LockBatchRequestBody",
        _LOCK % "onlyThisBroker",
        ("onlyThisBroker",),
    ),
    "boolean, consumeEnable": (
        f"{_PROTOCOL}.subscription.SubscriptionGroupConfig",
        '{"groupName":"g","consumeEnable":?}',
        ("consumeEnable",),
    ),
    "Boolean, readable": (
        f"{_PROTOCOL}.subscription.GroupForbidden",
        '{"topic":"t","group":"g","readable":?}',
        ("readable",),
    ),
    "int, heartbeatFingerprint": (
        _HEARTBEAT,
        '{"clientID":"c","heartbeatFingerprint":?}',
        ("heartbeatFingerprint",),
    ),
    "int, queueId": (
        f"{_PROTOCOL}.body.LockBatchRequestBody",
        _QUEUE % "queueId",
        ("mqSet", 0, "queueId"),
    ),
    "int, readQueueNums": (
        "org.apache.rocketmq.common.TopicConfig",
        '{"topicName":"t","readQueueNums":?}',
        ("readQueueNums",),
    ),
    "long, subVersion": _subscription("subVersion"),
    "long, brokerId": (
        f"{_PROTOCOL}.subscription.SubscriptionGroupConfig",
        '{"groupName":"g","brokerId":?}',
        ("brokerId",),
    ),
    "double, consumeTps": (f"{_PROTOCOL}.admin.ConsumeStats", '{"consumeTps":?}', ("consumeTps",)),
    "String, subString": _subscription("subString"),
    "enum, consumeType": _consumer("consumeType"),
    "enum, messageModel": _consumer("messageModel"),
    "enum, consumeFromWhere": _consumer("consumeFromWhere"),
    "enum, topicFilterType": (
        "org.apache.rocketmq.common.TopicConfig",
        '{"topicName":"t","topicFilterType":?}',
        ("topicFilterType",),
    ),
    "Set<String>, tagsSet": _subscription("tagsSet"),
    "Set<Integer>, codeSet": _subscription("codeSet"),
    "Set of objects, producerDataSet": (
        _HEARTBEAT,
        '{"clientID":"c","producerDataSet":?}',
        ("producerDataSet",),
    ),
    "Map<String, String>, table": (f"{_PROTOCOL}.body.KVTable", '{"table":?}', ("table",)),
    "Map<Long, String>, brokerAddrs": (
        f"{_PROTOCOL}.route.BrokerData",
        '{"cluster":"c","brokerName":"b","brokerAddrs":?}',
        ("brokerAddrs",),
    ),
    "object, brokerMemberGroup": (
        f"{_PROTOCOL}.body.GetBrokerMemberGroupResponseBody",
        '{"brokerMemberGroup":?}',
        ("brokerMemberGroup",),
    ),
}
"""By type and member: RocketMQ's class, the text with the member's value as `?`, and the member's path."""

FORMS = (
    *("null", "true", "false", "0", "1", "2", "5", "-1", "1.0", "1.5", "-1.5", "1e2", "3e9", "1e19"),
    *("3000000000", "9223372036854775807", "-2147483648", "-2147483649"),
    *('""', '" "', '"null"', '"NULL"', '"true"', '"false"', '"TRUE"', '"tRuE"', '"1"', '"0"', '"2"', '"3"'),
    *(
        '"Y"',
        '"N"',
        '"y"',
        '"n"',
        '"yes"',
        '"T"',
        '"5"',
        '" 5 "',
        '"+1"',
        '"-1"',
        '"00012"',
        '"1.0"',
        '"1.5"',
    ),
    *('"1."', '".5"', '"1e2"', '"3e9"', '"abc"', '"3000000000"', '"9223372036854775808"', '"1,000"', '"1,0"'),
    *('"1_000"', '"0x10"', '"CLUSTERING"', '"clustering"', '"CONSUME_POP"', '"MULTI_TAG"'),
    *("[]", "[1]", '["a"]', '["1"]', "[null]", "[1,2]", '["x","y"]', "[true]", "[1.5]"),
    *("{}", '{"a":"b"}', '{"a":1}', '{"1":"x"}', '{"groupName":5}'),
)
"""Forms that replace the member's value."""


def ask() -> dict[str, dict[str, Any]]:
    """Query RocketMQ's reader; return by member and form the value read, None for null, or `REFUSED`."""
    asked = [(name, form) for name in MEMBERS for form in FORMS]
    lines = [f"{MEMBERS[name][0]}\t{MEMBERS[name][1].replace('?', form)}\n" for name, form in asked]
    command = ["java", *SMALL_JVM, "-Dfile.encoding=UTF-8"]
    command += ["-cp", program("bodies", "server"), "compat.Bodies"]
    done = subprocess.run(
        command, input="".join(lines).encode(), capture_output=True, timeout=120, check=True
    )
    answers = [line for line in done.stdout.decode().splitlines() if line.startswith(("read\t", "refused\t"))]
    found: dict[str, dict[str, Any]] = {name: {} for name in MEMBERS}
    for (name, form), answer in zip(asked, answers, strict=True):
        outcome, _, text = answer.partition("\t")
        found[name][form] = REFUSED if outcome == REFUSED else at(lenient_json.loads(text), MEMBERS[name][2])
    return found


def at(value: Any, path: Path_) -> Any:
    """Return the value at a path through JSON; None if a member is missing."""
    for step in path:
        value = value.get(step) if isinstance(step, str) else value[step]
    return value


def main() -> None:
    """Write the file, with the requests."""
    table = {
        name: {"class": type_.rpartition(".")[2], "text": text, "path": path, "reads": reads}
        for (name, (type_, text, path)), reads in zip(MEMBERS.items(), ask().values(), strict=True)
    }
    text = json.dumps(table, ensure_ascii=True, separators=(",", ":"))
    FILE.write_text(text.replace('"},"', '"},\n"').replace('"reads":', '\n"reads":') + "\n")


if __name__ == "__main__":
    main()
