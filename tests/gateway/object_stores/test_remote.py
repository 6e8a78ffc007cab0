"""Object stores behind HTTP: a server that speaks like S3, and its faults."""

from collections.abc import Iterator
from datetime import timedelta
from itertools import count
from pathlib import Path

import pytest

pytest.importorskip("obstore")
pytest.importorskip("moto.server")

from mqgateway.engine.errors import ConfigError, CorruptFile
from mqgateway.engine.tier.object_store import (
    ObjectExists,
    ObjectMissing,
    ObjectStore,
    ObjectStoreUnavailable,
)
from mqgateway.gateway.object_stores import remote
from mqgateway.gateway.object_stores.opening import open_for_writing, open_object_store
from tests.support.gateway.object_stores.s3 import (
    CREDENTIALS,
    FaultProxy,
    delete_bucket,
    make_bucket,
    s3_server,
)

NUMBERS = count()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with s3_server(tmp_path_factory.mktemp("s3")) as address:
        yield address


@pytest.fixture
def proxy(server: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultProxy]:
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(remote, "RETRY_TIMEOUT", timedelta(seconds=0.3))
    found = FaultProxy(server)
    yield found
    found.stop()


@pytest.fixture
def bucket(server: str) -> str:
    name = f"bucket-{next(NUMBERS)}"
    make_bucket(server, name)
    return name


def url_of(proxy: FaultProxy, bucket: str) -> str:
    return f"s3://{bucket}/a/tier?endpoint=http://{proxy.address}"


@pytest.fixture
def store(proxy: FaultProxy, bucket: str) -> ObjectStore:
    return open_object_store(url_of(proxy, bucket))


class Faults:
    """A fault of the first requests of a method."""

    def __init__(self, fault: str, method: str, left: int) -> None:
        self.fault, self.method, self.left = fault, method, left

    def __call__(self, method: str, path: str) -> str | None:
        if method != self.method or self.left <= 0:
            return None
        self.left -= 1
        return self.fault


def test_right_store_passes_the_self_test(proxy: FaultProxy, bucket: str) -> None:
    store = open_for_writing(url_of(proxy, bucket), 0)
    assert list(store.list_from("")) == []
    assert all(f"/{bucket}" in request for request in proxy.requests)


def test_store_that_ignores_conditions_is_refused(
    proxy: FaultProxy, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proxy, "drops", ("if-none-match",))
    with pytest.raises(ConfigError, match="an object was created twice: the store ignores the condition"):
        open_for_writing(url_of(proxy, bucket), 0)


@pytest.mark.parametrize("name", ["a", "a/b.seg", "Default%20Cluster/a_b=c+d/%2E"])
def test_verbs(store: ObjectStore, name: str) -> None:
    assert store.head(name) is None
    with pytest.raises(ObjectMissing):
        store.get_range(name, 0, 1)
    store.create(name, b"0123456789")
    with pytest.raises(ObjectExists):
        store.create(name, b"other")
    assert (store.head(name), store.get_range(name, 3, 4)) == (10, b"3456")
    assert store.get_range(name, 5, 0) == b""
    store.put(name, b"abc")
    assert store.get_range(name, 0, 3) == b"abc"
    for start, length in ((1, 3), (3, 1), (7, 2)):
        with pytest.raises(CorruptFile, match="bytes were expected, and the object"):
            store.get_range(name, start, length)
    assert list(store.list_from("")) == [(name, 3)]
    store.delete(name)
    store.delete(name)
    assert store.head(name) is None


def test_list_has_prefix_begin_and_order(store: ObjectStore) -> None:
    names = sorted(["a-b/c", "a/b", "a/c", "a0", "b/1", *(f"many/{number:04d}" for number in range(1100))])
    for name in names:
        store.put(name, b"1")
    for prefix in ("", "a", "a/", "a-", "many/", "many/00", "x"):
        expected = [name for name in names if name.startswith(prefix)]
        assert [name for name, _ in store.list_from(prefix)] == expected
    assert [name for name, _ in store.list_from("many/", "many/1098")] == ["many/1099"]
    assert [name for name, _ in store.list_from("", "a/b")][:3] == ["a/c", "a0", "b/1"]


def test_large_object_is_written_by_one_request(store: ObjectStore, proxy: FaultProxy) -> None:
    data = bytes(range(256)) * 4096 * 24
    store.create("large", data)
    store.put("large", data)
    assert [request.split()[0] for request in proxy.requests] == ["PUT", "PUT"]
    assert store.get_range("large", len(data) - 300, 300) == data[-300:]


@pytest.mark.parametrize("method", ["PUT", "GET", "HEAD"])
def test_refused_requests_are_repeated(store: ObjectStore, proxy: FaultProxy, method: str) -> None:
    store.create("a", b"1")
    proxy.fault = Faults("unavailable", method, 2)
    store.put("a", b"2")
    assert (store.get_range("a", 0, 1), store.head("a")) == (b"2", 1)


def test_store_that_refuses_all_requests_is_unavailable(store: ObjectStore, proxy: FaultProxy) -> None:
    proxy.fault = lambda method, path: "unavailable"
    for use in (
        lambda: store.create("a", b"1"),
        lambda: store.get_range("a", 0, 1),
        lambda: store.head("a"),
        lambda: list(store.list_from("")),
    ):
        with pytest.raises(ObjectStoreUnavailable, match=r"the object store s3://b.*/a/tier cannot be used"):
            use()


def test_slow_answers_are_awaited(store: ObjectStore, proxy: FaultProxy) -> None:
    proxy.fault, proxy.delay = lambda method, path: "slow", 0.3
    store.create("a", b"1")
    assert store.get_range("a", 0, 1) == b"1"


def test_cut_body_is_requested_again(store: ObjectStore, proxy: FaultProxy) -> None:
    store.create("a", b"0123456789")
    proxy.fault = Faults("cut", "GET", 2)
    assert store.get_range("a", 2, 8) == b"23456789"
    proxy.fault = Faults("cut", "GET", 100)
    with pytest.raises(ObjectStoreUnavailable):
        store.get_range("a", 2, 8)


def test_lost_answer_of_a_creation_leaves_the_object(store: ObjectStore, proxy: FaultProxy) -> None:
    """The request is repeated, and refused: the caller compares the content."""
    proxy.fault = Faults("lost", "PUT", 1)
    with pytest.raises(ObjectExists):
        store.create("a", b"mine")
    assert store.get_range("a", 0, 4) == b"mine"


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("ExpiredToken", r"it does not accept the credentials \(ExpiredToken\)"),
        ("InvalidAccessKeyId", r"it does not accept the credentials \(InvalidAccessKeyId\)"),
        ("RequestTimeTooSkewed", "this machine's clock is too far from the store's"),
    ],
)
def test_refusal_names_what_to_do(store: ObjectStore, proxy: FaultProxy, code: str, reason: str) -> None:
    store.create("a", b"1")
    body = f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>no</Message></Error>".encode()
    proxy.fault = lambda method, path: body
    for use in (
        lambda: store.create("b", b"1"),
        lambda: store.get_range("a", 0, 1),
        lambda: list(store.list_from("")),
    ):
        with pytest.raises(ObjectStoreUnavailable, match=reason):
            use()


def test_refused_read_asks_for_no_size(store: ObjectStore, proxy: FaultProxy) -> None:
    """The name has the words of an answer about ranges."""
    store.create("ranges/416", b"1")
    methods: list[str] = []

    def refuse(method: str, path: str) -> bytes:
        methods.append(method)
        return b"<?xml version='1.0'?><Error><Code>AccessDenied</Code><Message>no</Message></Error>"

    proxy.fault = refuse
    with pytest.raises(ObjectStoreUnavailable, match="AccessDenied"):
        store.get_range("ranges/416", 0, 1)
    assert methods == ["GET"]


def test_missing_bucket_is_no_missing_object(proxy: FaultProxy, server: str) -> None:
    store = open_object_store(url_of(proxy, "gone"))
    make_bucket(server, "gone")
    assert store.head("a") is None
    delete_bucket(server, "gone")
    for use in (
        lambda: store.create("a", b"1"),
        lambda: store.put("a", b"1"),
        lambda: store.get_range("a", 0, 1),
        lambda: store.head("a"),
        lambda: list(store.list_from("")),
    ):
        with pytest.raises(ObjectStoreUnavailable, match="its bucket does not exist"):
            use()


def test_unreachable_store_is_unavailable(proxy: FaultProxy, bucket: str) -> None:
    store = open_object_store(url_of(proxy, bucket))
    proxy.stop()
    with pytest.raises(ObjectStoreUnavailable, match="cannot be used"):
        store.head("a")


def test_missing_package_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "obstore.store", None)
    with pytest.raises(ConfigError, match=r"need the package obstore: install mqgateway\[tiered\]"):
        open_object_store("s3://bucket")
    assert open_object_store(tmp_path.as_uri()) is not None
