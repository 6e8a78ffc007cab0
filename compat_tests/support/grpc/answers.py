"""Responses of both gRPC front ends to the cases: Apache's in a file, ours where it differs on purpose.

python -m compat_tests.support.grpc.answers        queries Apache's proxy and writes the file
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import grpc

from compat_tests.support.grpc import cases
from compat_tests.support.grpc.builds import PROGRAMS
from compat_tests.support.grpc.doors import LIGHT, GrpcServer
from compat_tests.support.grpc.probe import Probe, described, normalised, refusal
from compat_tests.support.peers import TUNED
from compat_tests.support.servers import BROKER_NAME

TRIES = 5
"""Polls for a sent message: Apache's broker makes it readable a little later."""

FILE = PROGRAMS / "apache_answers.json"

_NORMAL, _FIFO, _ANY = (
    [f"(/{topic}:broker-a.0.{queue} READ_WRITE {kind} at 127.0.0.1)" for queue in queues]
    for topic, kind, queues in (
        (cases.NORMAL, "NORMAL", range(4)),
        (cases.FIFO, "FIFO", range(4)),
        (cases.NORMAL, "", (-1,)),
    )
)
_IN_ORDER = [one.replace(" NORMAL ", "  ") for one in _NORMAL]
_NOT_FOUND = (
    "TOPIC_NOT_FOUND CODE: 17  DESC: No topic route info in name server for the topic: ProbeMissing For more "
    "information, please visit the url, https://rocketmq.apache.org/docs/bestPractice/06FAQ"
)
_SETTINGS = (
    "20000 attempts 17 waits [1, 5, 10, 30, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600, 1200, 1800, "
    "3600, 7200] from 0 to 0 by 0.0 fifo False batch 32 poll 20000 lite 2000 of 64"
)

DEPARTURES: dict[str, str] = {
    "route: of a topic": " ".join(["OK OK", *_NORMAL]),
    "route: of ordered messages": " ".join(["OK OK", *_FIFO]),
    "assignment: of a group": " ".join(["OK OK", *_ANY]),
    "assignment: in order": " ".join(["OK OK", *_IN_ORDER]),
    "assignment: unknown group": " ".join(["OK OK", *_ANY]),
    "send: missing topic": _NOT_FOUND,
    "send: wrong digest": "MESSAGE_CORRUPTED the digest of the message body is not that of the body",
    "receive: without settings": "MESSAGE_NOT_FOUND no new message",
    "change: without settings": "OK OK",
    "dead letter: expired": "INVALID_RECEIPT_HANDLE org.apache.rocketmq.proxy.common.ProxyException: receipt "
    "handle is expired",
    "pull": _NOT_FOUND,
    "update offset": "ILLEGAL_TOPIC The specified topic is blank",
    "get offset": "ILLEGAL_TOPIC The specified topic is blank",
    "query offset": "OK OK",
    "telemetry: pull consumer": _SETTINGS,
    "telemetry: lite simple consumer": _SETTINGS,
}
"""Cases with another response of ours, and that response; ``docs/compatibility.md`` has the reasons."""


def prepare(server: GrpcServer) -> None:
    """Create the topics and groups of the cases."""
    for topic, kind in cases.TYPES.items():
        server.make_topic(topic, kind)
    server.make_group(cases.READERS)
    server.make_group(cases.ORDERED, orderly=True)
    server.make_group(cases.GUESTS, lite_topic=cases.LITE)


def ask(server: GrpcServer) -> dict[str, str]:
    """Return a front end's response to each case."""
    prepare(server)
    with Probe(server.endpoints) as probe:
        for client, settings in cases.SETTINGS.items():
            probe.telemetry(settings, client)
        found = {case.name: _answer(probe, case) for case in cases.CASES}
        for name, settings in cases.TELEMETRY.items():
            found[f"telemetry: {name}"] = _settings(probe, settings)
    return found


def _answer(probe: Probe, case: cases.Case) -> str:
    request = case.request(lambda: _received(probe)) if callable(case.request) else case.request
    try:
        return described(probe.call(case.method, request, case.client))
    except grpc.RpcError as error:
        return refusal(error)


def _settings(probe: Probe, settings: cases.Shape) -> str:
    try:
        answer = probe.telemetry(settings, "another", keep=False)
    except grpc.RpcError as error:
        return refusal(error)
    return f"{answer.status.code} {normalised(_in_short(answer.settings))}"


def _in_short(settings: Any) -> str:
    """Return the settings that the server fills in, as text."""
    policy = settings.backoff_policy
    waits = [one.seconds for one in policy.customized_backoff.next]
    exponential = policy.exponential_backoff
    first, most = exponential.initial.ToMilliseconds(), exponential.max.ToMilliseconds()
    text = f"attempts {policy.max_attempts} waits {waits} from {first} to {most} by {exponential.multiplier}"
    if settings.WhichOneof("pub_sub") == "publishing":
        publishing = settings.publishing
        return f"{text} max {publishing.max_body_size} checks {publishing.validate_message_type}"
    subscription = settings.subscription
    poll = subscription.long_polling_timeout.ToMilliseconds()
    lite = f"{subscription.lite_subscription_quota} of {subscription.max_lite_topic_size}"
    return f"{text} fifo {subscription.fifo} batch {subscription.receive_batch_size} poll {poll} lite {lite}"


def _received(probe: Probe) -> str:
    """Send and receive a message; return its receipt handle."""
    probe.call("SendMessage", {"messages": [cases.message(cases.HANDLED)]}, cases.WRITER)
    queue, every = {"topic": cases.one(cases.HANDLED), "broker": cases.one(BROKER_NAME)}, {"expression": "*"}
    case = cases.receive("one", messageQueue=queue, filterExpression={"type": "TAG", **every})
    assert isinstance(case.request, dict)
    for _ in range(TRIES):
        for answer in probe.call(case.method, case.request, cases.READER):
            if answer.WhichOneof("content") == "message":
                return str(answer.message.system_properties.receipt_handle)
    raise AssertionError("a message that was sent is not received")


def recorded() -> dict[str, str]:
    """Return the recorded responses of Apache's proxy."""
    found: dict[str, str] = json.loads(FILE.read_text())
    return found


def main() -> None:
    """Write the file."""
    with (
        tempfile.TemporaryDirectory(prefix="answers-") as folder,
        GrpcServer("apache", Path(folder), {**TUNED, **LIGHT}) as server,
    ):
        found = ask(server)
    FILE.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
