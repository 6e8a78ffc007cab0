"""A server that speaks like S3 as a process, and a proxy before it that answers with faults."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import create_connection, socket

START_SECONDS = 60


@contextmanager
def s3_server(folder: Path) -> Iterator[str]:
    """Run the server; its address without the scheme."""
    with socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with (folder / "s3.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, **CREDENTIALS})
    try:
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                assert process.poll() is None and time.monotonic() < deadline
                time.sleep(0.1)
        yield f"127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(30)


CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_REGION": "us-east-1",
}


def make_bucket(address: str, bucket: str) -> None:
    """Create a bucket, as its owner would."""
    _request(address, "PUT", f"/{bucket}")


def delete_bucket(address: str, bucket: str) -> None:
    """Delete an empty bucket."""
    _request(address, "DELETE", f"/{bucket}")


def _request(address: str, method: str, path: str) -> None:
    connection = HTTPConnection(address, timeout=30)
    try:
        connection.request(method, path)
        answer = connection.getresponse()
        answer.read()
        assert answer.status < 300, answer.status
    finally:
        connection.close()


Fault = Callable[[str, str], str | bytes | None]
"""Gets method and path of a request; None passes it on, see `FaultProxy`."""


class FaultProxy:
    """Passes requests on to a server, except as `fault` says:

    - `unavailable`: answers 503 at once.
    - `slow`: passes the request on after `delay` seconds.
    - `cut`: closes the connection in the middle of the answer's body.
    - `lost`: closes the connection instead of passing the answer back.
    - Bytes: answers 400 with them as the body.
    """

    def __init__(self, target: str) -> None:
        self.fault: Fault = lambda method, path: None
        self.delay = 0.0
        self.requests: list[str] = []
        self.drops: tuple[str, ...] = ()
        """Headers, in lower case, that are not passed on."""
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _pass(self) -> None:
                proxy.handle(self, target)

            do_GET = do_PUT = do_HEAD = do_DELETE = do_POST = _pass

            def log_message(self, format: str, *args: object) -> None:
                """Print nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()
        self.address = f"127.0.0.1:{self._server.server_address[1]}"

    def stop(self) -> None:
        """Close the proxy."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def handle(self, request: BaseHTTPRequestHandler, target: str) -> None:
        """Answer one request."""
        body = request.rfile.read(int(request.headers.get("Content-Length") or 0))
        self.requests.append(f"{request.command} {request.path}")
        fault = self.fault(request.command, request.path)
        if isinstance(fault, bytes):
            self._answer(request, 400, [], fault)
            return
        if fault == "unavailable":
            self._answer(request, 503, [], b"<Error><Code>SlowDown</Code></Error>")
            return
        if fault == "slow":
            time.sleep(self.delay)
        connection = HTTPConnection(target, timeout=60)
        try:
            headers = {
                name: value
                for name, value in request.headers.items()
                if name.lower() not in ("connection", *self.drops)
            }
            connection.request(request.command, request.path, body, headers)
            answer = connection.getresponse()
            content = answer.read()
        except (OSError, HTTPException):
            request.close_connection = True
            return
        finally:
            connection.close()
        if fault == "lost":
            request.close_connection = True
            return
        self._answer(request, answer.status, answer.getheaders(), content, is_cut=fault == "cut")

    def _answer(
        self,
        request: BaseHTTPRequestHandler,
        status: int,
        headers: list[tuple[str, str]],
        content: bytes,
        is_cut: bool = False,
    ) -> None:
        request.send_response_only(status)
        length = str(len(content))
        for name, value in headers:
            if name.lower() == "content-length" and request.command == "HEAD":
                length = value
            elif name.lower() not in ("content-length", "transfer-encoding", "connection"):
                request.send_header(name, value)
        request.send_header("Content-Length", length)
        request.end_headers()
        if request.command != "HEAD":
            request.wfile.write(content[: len(content) // 2] if is_cut else content)
        request.wfile.flush()
        if is_cut:
            request.close_connection = True
