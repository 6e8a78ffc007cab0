"""Requests with random fields: each has an intended answer, and other clients are not affected."""

from __future__ import annotations

import random
from typing import Any

import pytest
from google.protobuf.descriptor import FieldDescriptor

from mqgateway.gateway.grpc import v2
from mqgateway.gateway.grpc.call import ServerStream
from mqgateway.gateway.grpc.service.messaging import Messaging
from tests.support.gateway.grpc.messaging import LITE_STORE, Service

ROUNDS = 300
TEXTS = ["", " ", "T", "G", "chat", "R", "a b", "x" * 200, "é", "\x01", "9 9", "||", "*", "K=AK", "%RETRY%G"]
TEXTS += [
    "0 1 2 3 0 broker-a 0 0 0",
    "0 1700000000000 20000 0 0 broker-a 0 0 0",
    "0 1700000000000 20000 999 7 broker-a 1 5",
]
NUMBERS = [0, 1, -1, 3, 7, 32, 1000, 2**31 - 1, -(2**31)]
LONGS = [*NUMBERS, 2**63 - 1, -(2**63), 1_700_000_000]
LIMITS = {"max_grpc_clients": 20, "max_remembered_transactions": 5, "max_renewed_messages": 10}
METHODS = sorted(path.rpartition("/")[2] for path in Service().methods)


def spoil(message: Any, chance: random.Random, depth: int = 0) -> Any:
    """Put anything into the fields of a message."""
    for field in message.DESCRIPTOR.fields:
        if chance.random() < 0.3:
            continue
        repeated = field.is_repeated if hasattr(field, "is_repeated") else field.label == 3
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            for _ in range(chance.randrange(3)):
                getattr(message, field.name)[chance.choice(TEXTS)] = chance.choice(TEXTS)
        elif field.message_type is not None:
            if depth < 5 and repeated:
                for _ in range(chance.randrange(3)):
                    spoil(getattr(message, field.name).add(), chance, depth + 1)
            elif depth < 5:
                inner = getattr(message, field.name)
                inner.SetInParent()
                spoil(inner, chance, depth + 1)
        elif repeated:
            getattr(message, field.name).extend(value(field, chance) for _ in range(chance.randrange(3)))
        else:
            setattr(message, field.name, value(field, chance))
    return message


def value(field: FieldDescriptor, chance: random.Random) -> Any:
    """Anything that a field may hold."""
    kinds = FieldDescriptor
    if field.type == kinds.TYPE_STRING:
        return chance.choice(TEXTS)
    if field.type == kinds.TYPE_BYTES:
        return chance.choice([b"", b"a", bytes(100), b"\x1f\x8b\x08" + bytes(20)])
    if field.type == kinds.TYPE_BOOL:
        return chance.random() < 0.5
    if field.type in (kinds.TYPE_INT32, kinds.TYPE_ENUM):
        return chance.choice(NUMBERS)
    return chance.choice(LONGS) if field.type == kinds.TYPE_INT64 else 1.5


def prepared() -> Service:
    """With topics, groups and clients of all kinds."""
    service = Service(store_options=LITE_STORE, options=LIMITS)
    service.topic("chat", "LITE")
    service.group("R", attributes={"lite.bind.topic": "chat"})
    service.consumer()
    service.consumer("R", "chat", v2.ClientType.LITE_PUSH_CONSUMER, "c2")
    service.producer(client_id="c3")
    return service


@pytest.mark.parametrize("method", [name for name in METHODS if name != "Telemetry"])
def test_a_spoiled_request(method: str, caplog: pytest.LogCaptureFixture) -> None:
    service, chance = prepared(), random.Random(method)
    for number in range(ROUNDS):
        request = spoil(getattr(v2, f"{method}Request")(), chance)
        call, answers = service.begin(request, chance.choice(["c1", "c2", "c3", "c9"]))
        if isinstance(service.methods[call.path], ServerStream):
            call.leave()
        while not isinstance(service.methods[call.path], ServerStream) and not answers:
            service.turn()
        assert "Traceback" not in caplog.text, f"{number}: {request}"
    service.send(b"still here")
    service.consumer("Other", client_id="c8")
    service.pass_time(200_000, 5_000)
    assert "Traceback" not in caplog.text
    bounded(service.service)


def test_spoiled_settings_and_answers(caplog: pytest.LogCaptureFixture) -> None:
    service, chance = prepared(), random.Random(7)
    for number in range(ROUNDS * 2):
        stream = service.telemetry(chance.choice(["c1", "c2", "c3", f"n{number}"]))
        for _ in range(3):
            command = spoil(v2.TelemetryCommand(), chance)
            stream.say(**{field.name: given for field, given in command.ListFields()})
            assert "Traceback" not in caplog.text, f"{number}: {command}"
        if chance.random() < 0.5:
            stream.call.leave()
    service.pass_time(130_000, 5_000)
    assert "Traceback" not in caplog.text
    bounded(service.service)


def bounded(service: Messaging) -> None:
    """Check that the state of the service is within its limits."""
    assert len(service.sessions) <= LIMITS["max_grpc_clients"]
    assert len(service.transactions) <= LIMITS["max_remembered_transactions"]
    assert len(service.acknowledger.renewals) <= LIMITS["max_renewed_messages"]
