"""In-memory JSON gateway of etcd: HTTP on a port of a `Net`, in front of an `EtcdModel`."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Callable
from typing import Any

from twisted.internet.protocol import Protocol

from mqgateway.engine.controller.key_values import Delete, KeyRange, KeyValue, Put, Transaction, Unanswered
from tests.support.engine.controller.etcd_model import EtcdModel
from tests.support.gateway.remoting.pair import Net

Json = dict[str, Any]


class EtcdServer:
    """Server; `version` is the prefix of its paths. A `silent` one accepts requests without an answer."""

    noisy = False

    def __init__(self, net: Net, port: int, model: EtcdModel, *, version: str = "v3", user: str = "") -> None:
        self.net, self.port, self.model = net, port, model
        self.version = version
        self.user = user
        self.tokens: list[str] = []
        self.silent = self.closes = self.breaks_off = False
        self.says: bytes | None = None
        self.asked: list[tuple[str, Json]] = []
        self.connections: list[Talk] = []
        self.begin()

    def begin(self) -> None:
        """Listen."""
        self.net.listenTCP(self.port, self)

    def end(self) -> None:
        """Stop listening and break open connections."""
        del self.net.ports[self.port]
        for one in self.connections:
            one.transport.abortConnection()  # type: ignore[union-attr]

    def doStart(self) -> None: ...

    def buildProtocol(self, address: object) -> Talk:
        self.connections.append(Talk(self))
        return self.connections[-1]

    def answer(self, path: str, headers: dict[str, str], body: Json) -> tuple[int, bytes]:
        """Return status and text of the answer to a request."""
        self.asked.append((path, body))
        if self.says is not None:
            return 200, self.says
        version, _, call = path.removeprefix("/").partition("/")
        if version != self.version or call not in CALLS:
            return 404, b"404 page not found\n"
        if call == "auth/authenticate":
            if (body["name"], body["password"]) != (self.user, "secret"):
                return _refusal(400, "authentication failed, invalid user ID or password")
            self.tokens.append(f"token{len(self.tokens)}")
            return 200, json.dumps({"header": {}, "token": self.tokens[-1]}).encode()
        if self.user and headers.get("authorization") not in self.tokens[-1:]:
            return _refusal(401, "invalid auth token")
        try:
            answer = CALLS[call](self.model, body)
        except Unanswered as error:
            return _refusal(503, str(error))
        return 200, json.dumps(answer).encode()


class Talk(Protocol):
    """Connection: requests with a body and a Content-Length."""

    def __init__(self, server: EtcdServer) -> None:
        self.server = server
        self.data = b""

    def dataReceived(self, data: bytes) -> None:
        self.data += data
        while b"\r\n\r\n" in self.data:
            head, _, rest = self.data.partition(b"\r\n\r\n")
            first, *lines = head.decode().split("\r\n")
            headers = {
                name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)
            }
            length = int(headers["content-length"])
            if len(rest) < length:
                return
            self.data = rest[length:]
            status, text = self.server.answer(first.split()[1], headers, json.loads(rest[:length]))
            if self.server.closes:
                self.transport.loseConnection()  # type: ignore[union-attr]
            elif not self.server.silent:
                reply = f"HTTP/1.1 {status} Said\r\nContent-Length: {len(text)}\r\n\r\n".encode() + text
                reply = reply[:-5] if self.server.breaks_off else reply
                self.transport.write(reply)  # type: ignore[union-attr]


def _refusal(status: int, error: str) -> tuple[int, bytes]:
    return status, json.dumps({"error": f"etcdserver: {error}", "code": 5}).encode()


def _header(model: EtcdModel) -> Json:
    return {"revision": str(model.revision), "member_id": model.server, "raft_term": "2"}


def _transact(model: EtcdModel, body: Json) -> Json:
    for one in body["compare"]:
        assert (one["target"], one["result"]) == ("MOD", "EQUAL")
    compare = {_plain(one["key"]): int(one["mod_revision"]) for one in body["compare"]}
    then, otherwise = ([_operation(one) for one in body[name]] for name in ("success", "failure"))
    reads = [one for one in otherwise if isinstance(one, KeyRange)]
    outcome = model.transact(Transaction(compare, then, reads))
    found = iter(outcome.found)
    done = then if outcome.succeeded else reads
    responses = [
        {"response_range": _kvs(next(found))} if isinstance(one, KeyRange) else {"response_put": {}}
        for one in done
    ]
    answer = {"header": _header(model), "responses": responses}
    return answer | ({"succeeded": True} if outcome.succeeded else {})


def _operation(one: Json) -> Put | Delete | KeyRange:
    ((kind, asked),) = one.items()
    key = _plain(asked["key"])
    if kind == "request_put":
        return Put(key, b64decode(asked["value"]), int(asked["lease"]))
    if kind == "request_delete_range":
        return Delete(key)
    return KeyRange(key, _plain(asked.get("range_end", "")), int(asked.get("limit", 0)))


def _kvs(found: Any) -> Json:
    kvs = [_shown(one) for one in found]
    return {"kvs": kvs, "count": str(len(kvs))} if kvs else {}


def _shown(one: KeyValue) -> Json:
    shown = {"key": b64encode(one.key.encode()).decode(), "mod_revision": str(one.mod_revision)}
    shown["value"] = b64encode(one.value).decode()
    return shown | ({"lease": str(one.lease)} if one.lease else {})


def _grant(model: EtcdModel, body: Json) -> Json:
    lease = model.grant(int(body["TTL"]))
    return {"header": _header(model), "ID": str(lease.number), "TTL": str(lease.seconds)}


def _keep(model: EtcdModel, body: Json) -> Json:
    kept = model.keep(int(body["ID"]))
    result = {"header": _header(model), "ID": body["ID"]}
    return {"result": result | ({"TTL": str(kept.seconds)} if kept.seconds else {})}


def _revoke(model: EtcdModel, body: Json) -> Json:
    model.revoke(int(body["ID"]))
    return {"header": _header(model)}


def _plain(text: str) -> str:
    return b64decode(text).decode()


CALLS: dict[str, Callable[[EtcdModel, Json], Json]] = {
    "auth/authenticate": lambda model, body: {},
    "kv/txn": _transact,
    "lease/grant": _grant,
    "lease/keepalive": _keep,
    "lease/revoke": _revoke,
}
