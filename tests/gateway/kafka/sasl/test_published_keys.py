"""Keys of an identity provider: when they are read, and what logins wait for."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from email.message import Message
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request

import pytest

from mqgateway.engine.worker import MemoryWorker
from mqgateway.gateway.kafka.sasl import published_keys
from mqgateway.gateway.kafka.sasl.key_set import InvalidKeySet, KeySet
from mqgateway.gateway.kafka.sasl.published_keys import (
    DOCUMENT_SIZE_MAX,
    FetchThreads,
    PublishedKeys,
    SecureRedirects,
    read_key_set,
)
from tests.support.gateway.kafka.access_tokens import IdentityProvider


class Scene:
    """A provider whose keys are read by hand."""

    def __init__(self) -> None:
        self.provider = IdentityProvider()
        self.now = 0.0
        self.reads = 0
        self.error: Exception | None = None
        self.worker = MemoryWorker()
        self.keys = PublishedKeys(self._read, self.worker, lambda: self.now)

    def _read(self) -> KeySet:
        self.reads += 1
        if self.error is not None:
            raise self.error
        return KeySet.parse(self.provider.document())

    def find(self, key_id: str) -> list[bool]:
        """Return a list that tells once it is known whether there is a key."""
        found: list[bool] = []
        self.keys.find(key_id, "ES256").addCallback(lambda key: found.append(key is not None))
        return found


class Loop:
    """A loop that is called by threads, and calls back at once."""

    def __init__(self) -> None:
        self.called = threading.Event()

    def callFromThread(self, callable: Callable[..., Any], /, *args: Any, **kw: Any) -> None:
        callable(*args)
        self.called.set()


def test_first_logins_wait_for_one_read() -> None:
    scene = Scene()
    first, second = scene.find("first"), scene.find("first")
    assert (first, second, scene.worker.waiting) == ([], [], 1)
    scene.worker.perform_all()
    assert (first, second, scene.reads) == ([True], [True], 1)
    assert scene.find("first") == [True]


def test_unknown_key_id_has_the_keys_read_again_at_most_every_ten_seconds() -> None:
    scene = Scene()
    scene.find("first")
    scene.worker.perform_all()
    scene.provider = IdentityProvider("second")
    assert scene.find("second") == [False] and scene.worker.waiting == 0
    scene.now = 10.0
    late = scene.find("second")
    assert late == []
    scene.worker.perform_all()
    assert (late, scene.reads, scene.find("first")) == ([True], 2, [False])


def test_keys_stay_in_use_while_they_cannot_be_read(caplog: pytest.LogCaptureFixture) -> None:
    scene = Scene()
    scene.find("first")
    scene.worker.perform_all()
    scene.now, scene.error = 60.0, OSError("no route")
    scene.keys.refresh()
    unknown = scene.find("second")
    scene.worker.perform_all()
    assert unknown == [False] and scene.find("first") == [True]
    assert "cannot be read: no route" in caplog.text


def test_key_set_without_usable_keys_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    scene = Scene()
    scene.provider = type("Empty", (), {"document": lambda self: b'{"keys": []}'})()
    scene.keys.refresh()
    scene.worker.perform_all()
    assert "no key that can verify a token" in caplog.text


def test_file_is_read_up_to_its_largest_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "keys.json"
    path.write_bytes(IdentityProvider().document())
    assert len(read_key_set(path.as_uri())) == 1
    path.write_bytes(b" " * (DOCUMENT_SIZE_MAX + 1))
    with pytest.raises(InvalidKeySet, match="larger"):
        read_key_set(path.as_uri())
    with pytest.raises(OSError):
        read_key_set((tmp_path / "missing").as_uri())
    path.write_bytes(b" ")
    monkeypatch.setattr(published_keys, "FETCH_SECONDS", -1.0)
    with pytest.raises(OSError):
        read_key_set(path.as_uri())


def test_document_that_comes_in_drops_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    drops, gone = 200, threading.Event()
    sent: list[int] = []

    def serve(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(4096)
            connection.sendall(b"HTTP/1.0 200 OK\r\nContent-Length: %d\r\n\r\n" % drops)
            try:
                while len(sent) < drops and not gone.wait(0.02):
                    connection.sendall(b" ")
                    sent.append(1)
            except OSError:
                pass

    monkeypatch.setattr(published_keys, "FETCH_SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = threading.Thread(target=serve, args=(listener,))
        server.start()
        try:
            with pytest.raises(TimeoutError):
                read_key_set(f"http://127.0.0.1:{listener.getsockname()[1]}/")
            assert len(sent) < drops
        finally:
            gone.set()
            server.join()


@pytest.mark.parametrize("target", ["http://other.example/keys", "ftp://other.example/keys"])
def test_keys_that_come_by_https_are_not_redirected_to_an_open_connection(target: str) -> None:
    request = Request("https://identity.example/keys")
    with pytest.raises(HTTPError, match="redirects to"):
        SecureRedirects().redirect_request(request, None, 302, "Found", Message(), target)


@pytest.mark.parametrize("source", ["https://identity.example/keys", "http://identity.example/keys"])
def test_redirect_to_https_is_followed(source: str) -> None:
    target = "https://other.example/keys"
    followed = SecureRedirects().redirect_request(Request(source), None, 302, "Found", Message(), target)
    assert followed is not None and followed.full_url == target


@pytest.mark.parametrize("error", [None, OSError("refused")])
def test_thread_calls_the_loop_back(error: Exception | None) -> None:
    loop, outcomes = Loop(), list[Any]()

    def work() -> str:
        if error is not None:
            raise error
        return "done"

    FetchThreads(loop).run(work, outcomes.append)
    assert loop.called.wait(60) and outcomes == [error or "done"]


def test_thread_that_cannot_be_started_is_a_failed_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    def read() -> KeySet:
        return KeySet.parse(IdentityProvider().document())

    monkeypatch.setattr(threading.Thread, "start", start)
    keys = PublishedKeys(read, FetchThreads(Loop()), lambda: 0.0)
    found: list[bool] = []
    for _ in range(2):
        keys.find("first", "ES256").addCallback(lambda key: found.append(key is not None))
    assert found == [False, False]
