"""Clients whose metrics are wanted: what they are asked for, and which requests are refused."""

from __future__ import annotations

import pytest

from mqgateway.gateway.kafka import telemetry as module
from mqgateway.gateway.kafka.codec.error_codes import ErrorCode
from mqgateway.gateway.kafka.codec.schema import NO_UUID
from mqgateway.gateway.kafka.telemetry import PUSH_BYTES_MAX, Instance, Telemetry

ID = bytes(range(16))
CLIENT = {"client_id": "app-1", "client_software_name": "lib", "client_source_port": ""}
DEFAULT = 300_000


class Scene:
    """A table of clients over resources that a test changes, and the time."""

    def __init__(self) -> None:
        self.resources: list[dict[str, str]] = []
        self.version = 0
        self.now = 10 * DEFAULT
        self.telemetry = Telemetry(lambda: list(self.resources), lambda: self.version)

    def change(self, *resources: dict[str, str]) -> None:
        """Replace the resources."""
        self.resources = list(resources)
        self.version += 1

    def get(self, instance_id: bytes = ID) -> Instance:
        """Return a client that asks, and is answered."""
        found = self.telemetry.get(instance_id, CLIENT, self.now)
        assert isinstance(found, Instance)
        return found

    def push(
        self, subscription: int, *, compression: int = 4, size: int = 10, is_last: bool = False
    ) -> ErrorCode:
        """Push metrics and return the error."""
        return self.telemetry.push(
            ID,
            CLIENT,
            self.now,
            subscription_id=subscription,
            compression=compression,
            size=size,
            is_last=is_last,
        )


@pytest.fixture
def scene() -> Scene:
    """A table of clients."""
    return Scene()


def test_without_resources_nothing_is_wanted(scene: Scene) -> None:
    found = scene.get()
    assert (found.metrics, found.interval, found.id) == ([], DEFAULT, ID)


def test_metrics_of_all_matching_resources_are_wanted_at_the_shortest_interval(scene: Scene) -> None:
    scene.change(
        {"metrics": "b, a", "interval.ms": "2000"},
        {"metrics": "c,a", "interval.ms": "1000", "match": "client_id=app-.*,client_software_name=lib"},
        {"metrics": "d", "interval.ms": "500", "match": "client_id=other"},
        {"metrics": "e", "match": "client_source_port=.*"},
    )
    found = scene.get()
    assert (found.metrics, found.interval) == (["a", "b", "c"], 1000)


@pytest.mark.parametrize("length, wanted", [(256, ["a"]), (257, [])])
def test_attribute_that_is_too_long_meets_no_condition(scene: Scene, length: int, wanted: list[str]) -> None:
    scene.change({"metrics": "a", "match": "client_id=x+"})
    found = scene.telemetry.get(ID, {"client_id": "x" * length}, scene.now)
    assert isinstance(found, Instance) and found.metrics == wanted


def test_star_stands_for_all_metrics(scene: Scene) -> None:
    scene.change({"metrics": "a,*"})
    assert scene.get().metrics == ["*"]


def test_interval_is_never_longer_than_the_default(scene: Scene) -> None:
    scene.change({"metrics": "a", "interval.ms": "3600000"})
    assert scene.get().interval == DEFAULT


def test_subscription_id_depends_on_metrics_interval_and_client(scene: Scene) -> None:
    ids = set()
    chosen = (("a", "1000", ID), ("b", "1000", ID), ("a", "2000", ID), ("a", "1000", ID[::-1]))
    for metrics, interval, instance_id in chosen:
        scene.change({"metrics": metrics, "interval.ms": interval})
        ids.add(scene.get(instance_id).subscription_id)
    assert len(ids) == 4 and all(-(2**31) <= one < 2**31 for one in ids)


def test_request_before_the_interval_is_refused_unless_resources_change(scene: Scene) -> None:
    scene.get()
    scene.now += DEFAULT - 1
    assert scene.telemetry.get(ID, CLIENT, scene.now) is ErrorCode.THROTTLING_QUOTA_EXCEEDED
    scene.change({"metrics": "a"})
    assert scene.get().metrics == ["a"]


def test_pushes_are_counted(scene: Scene) -> None:
    wanted = scene.get().subscription_id
    assert scene.push(wanted, size=100) is ErrorCode.NONE  # the first one comes early
    scene.now += DEFAULT
    assert scene.push(wanted, compression=0, size=11) is ErrorCode.NONE
    assert scene.telemetry.figures() == (1, 2, 111, {})


def test_second_push_before_the_interval_is_refused_unless_it_is_the_last(scene: Scene) -> None:
    wanted = scene.get().subscription_id
    assert scene.push(wanted) is ErrorCode.NONE
    scene.now += DEFAULT - 1
    assert scene.push(wanted) is ErrorCode.THROTTLING_QUOTA_EXCEEDED
    assert scene.push(wanted, is_last=True) is ErrorCode.NONE
    scene.now += DEFAULT
    assert scene.push(wanted) is ErrorCode.INVALID_REQUEST
    assert scene.telemetry.figures().refused == {"THROTTLING_QUOTA_EXCEEDED": 1, "INVALID_REQUEST": 1}


def test_wrong_push_is_refused(scene: Scene) -> None:
    scene.change({"metrics": "a", "interval.ms": "100"})
    wanted = scene.get().subscription_id
    for code, more in (
        (ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, {"compression": 5}),
        (ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, {"compression": -1}),
        (ErrorCode.TELEMETRY_TOO_LARGE, {"size": PUSH_BYTES_MAX + 1}),
        (ErrorCode.NONE, {"size": PUSH_BYTES_MAX}),
    ):
        assert scene.push(wanted, **more) is code  # type: ignore[arg-type]
        scene.now += 100
    assert scene.push(wanted ^ 1) is ErrorCode.UNKNOWN_SUBSCRIPTION_ID


@pytest.mark.parametrize("instance_id", [NO_UUID, (1).to_bytes(16, "big")])
def test_push_with_a_reserved_id_is_refused(scene: Scene, instance_id: bytes) -> None:
    code = scene.telemetry.push(
        instance_id, CLIENT, scene.now, subscription_id=0, compression=0, size=1, is_last=False
    )
    assert code is ErrorCode.INVALID_REQUEST and scene.telemetry.figures().clients == 0


def test_silent_clients_are_forgotten(scene: Scene) -> None:
    scene.get()
    scene.telemetry.expire(scene.now + 3 * DEFAULT - 1)
    assert scene.telemetry.figures().clients == 1
    scene.telemetry.expire(scene.now + 3 * DEFAULT)
    assert scene.telemetry.figures().clients == 0


def test_number_of_clients_is_limited(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "INSTANCES_MAX", 2)
    for number in (2, 3, 2, 4):
        scene.telemetry.get(bytes([number] * 16), CLIENT, scene.now)
    assert scene.telemetry.figures().clients == 2
    scene.get(bytes([3] * 16))  # it was forgotten, so that it may ask at once
