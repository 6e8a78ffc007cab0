"""Requests to a name server of which a field or the body is missing or wrong: the codes are Apache's.

Apache's name server requires no field, and takes a body that is empty, `null` or an empty text as none. Where
our answer has another code on purpose, `DEPARTURES` says why.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from compat_tests.support.peers import Peers
from compat_tests.support.raw import RawConnection
from mqgateway.gateway.codec.codes import RequestCode

pytestmark = [pytest.mark.overlap, pytest.mark.both_servers, pytest.mark.timeout(600)]

Fields = dict[str, str]
REGISTRATION = json.dumps({"topicConfigSerializeWrapper": {"topicConfigTable": {}}}).encode()
VALUES = (None, "x", "5", "-1")
BODIES = (b"", b"{}", b"null", b"[]", b'{"a":', b'""', b"5", b"xx")
ALL, BODY = "all", "body"
"""In the place of a field: none comes, or another body."""
NO_ANSWER_SECONDS = 2.0


class Spoiled(NamedTuple):
    """A request with one wrong field, None for a missing one, or another body."""

    code: RequestCode
    field: str
    value: str | bytes | None


DEPARTURES = {
    (RequestCode.REGISTER_BROKER, "brokerName"): "Apache's registers a broker without a name",
    (RequestCode.REGISTER_BROKER, "brokerAddr"): "Apache's registers a broker that nobody can reach",
    (RequestCode.REGISTER_BROKER, "clusterName"): "Apache's registers a broker of no cluster",
    (RequestCode.REGISTER_TOPIC_IN_NAMESRV, "topic"): "Apache's registers a topic without a name",
    (RequestCode.REGISTER_TOPIC_IN_NAMESRV, ALL): "Apache's registers a topic without a name",
    (RequestCode.PUT_KV_CONFIG, "value"): "Apache's keeps a key without a value",
}
"""Intended differences of our response code, by code and field, with reasons."""


def good_requests(name: str, port: int) -> dict[RequestCode, tuple[Fields, bytes]]:
    """Return requests that do what they should, about a broker, a topic and a namespace of this name."""
    address = f"127.9.9.9:{port}"
    broker = {"brokerName": name, "brokerAddr": address, "clusterName": "Spoiling", "brokerId": "0"}
    registration = {**broker, "haServerAddr": "127.9.9.9:1", "heartbeatTimeoutMillis": "120000"}
    queues = json.dumps({"queueDatas": [{"brokerName": name, "readQueueNums": 1, "writeQueueNums": 1}]})
    return {
        RequestCode.REGISTER_BROKER: ({**registration, "bodyCrc32": "0"}, REGISTRATION),
        RequestCode.UNREGISTER_BROKER: (broker, b""),
        RequestCode.BROKER_HEARTBEAT: (broker, b""),
        RequestCode.QUERY_DATA_VERSION: (broker, b'{"counter":1,"timestamp":1}'),
        RequestCode.GET_BROKER_MEMBER_GROUP: ({"clusterName": "Spoiling", "brokerName": name}, b""),
        RequestCode.GET_ROUTEINFO_BY_TOPIC: ({"topic": name}, b""),
        RequestCode.GET_TOPICS_BY_CLUSTER: ({"cluster": "Spoiling"}, b""),
        RequestCode.REGISTER_TOPIC_IN_NAMESRV: ({"topic": name}, queues.encode()),
        RequestCode.DELETE_TOPIC_IN_NAMESRV: ({"topic": name, "clusterName": "Spoiling"}, b""),
        RequestCode.WIPE_WRITE_PERM_OF_BROKER: ({"brokerName": name}, b""),
        RequestCode.ADD_WRITE_PERM_OF_BROKER: ({"brokerName": name}, b""),
        RequestCode.PUT_KV_CONFIG: ({"namespace": name, "key": "k", "value": "v"}, b""),
        RequestCode.GET_KV_CONFIG: ({"namespace": name, "key": "k"}, b""),
        RequestCode.DELETE_KV_CONFIG: ({"namespace": name, "key": "k"}, b""),
        RequestCode.GET_KVLIST_BY_NAMESPACE: ({"namespace": name}, b""),
    }


def spoiled_requests() -> Iterator[tuple[Spoiled, str, int, Fields, bytes]]:
    """Each request with each field and the body spoiled in turn, about names of its own."""
    numbers = itertools.count(1)
    for code, (fields, _) in good_requests("", 0).items():
        spoiled = [Spoiled(code, ALL, None), *(Spoiled(code, BODY, body) for body in BODIES)]
        spoiled += [Spoiled(code, field, value) for field in fields for value in VALUES]
        for one in spoiled:
            number = next(numbers)
            name = f"Spoiled{number}"
            good, body = good_requests(name, number)[code]
            if isinstance(one.value, bytes):
                yield one, name, number, good, one.value
            elif one.field == ALL:
                yield one, name, number, {}, body
            else:
                rest = {key: value for key, value in good.items() if key != one.field}
                yield one, name, number, rest if one.value is None else {**rest, one.field: one.value}, body


def codes(peers: Peers, kind: str) -> dict[Spoiled, int | None]:
    """The codes that a server of its own answers; None where no answer comes."""
    found: dict[Spoiled, int | None] = {}
    with peers.fresh(kind) as server:
        for spoiled, name, number, fields, body in spoiled_requests():
            good = good_requests(name, number)
            with RawConnection(server.namesrv_address) as connection:
                for code in (RequestCode.REGISTER_BROKER, RequestCode.PUT_KV_CONFIG):
                    if code is not spoiled.code:
                        connection.ask(code, *good[code])
                answer = connection.ask(spoiled.code, fields, body, seconds=NO_ANSWER_SECONDS)
                found[spoiled] = None if answer is None else answer.code
    return found


def test_codes_of_the_name_server_are_the_same(peers: Peers) -> None:
    theirs, ours = peers.transcripts.both(__name__, "codes", lambda kind: list(codes(peers, kind).values()))
    spoiled = [one[0] for one in spoiled_requests()]
    assert len(theirs) > 250
    different = {
        one: (their_code, our_code)
        for one, their_code, our_code in zip(spoiled, theirs, ours, strict=True)
        if their_code != our_code and (one.code, one.field) not in DEPARTURES
    }
    assert not different, "\n".join(f"{one}: {pair}" for one, pair in different.items())
