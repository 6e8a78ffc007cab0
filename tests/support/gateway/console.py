"""A console on a broker in memory, and browsers that send it requests."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from twisted.internet.error import ConnectionDone
from twisted.internet.task import Clock
from twisted.python.failure import Failure

from mqgateway.engine.message import Message, pack_host
from mqgateway.engine.options import RemotingOptions
from mqgateway.engine.testing.crash_disk import CrashDisk
from mqgateway.gateway.access.administration import AccessAdministration
from mqgateway.gateway.access.policies import read_policies
from mqgateway.gateway.access.tables import AccessTables
from mqgateway.gateway.access.users import UserType
from mqgateway.gateway.broker.operations import Operations
from mqgateway.gateway.codec.bodies import PolicyEntryInfo, PolicyInfo
from mqgateway.gateway.remoting.server import RemotingServer
from mqgateway.gateway.runtime.http import LimitedSite
from mqgateway.gateway.runtime.schedule import Schedule
from mqgateway.gateway.web.console import Console
from mqgateway.gateway.web.entrance import Entrance
from mqgateway.gateway.web.guard import Guard
from mqgateway.gateway.web.route import PREFIX
from mqgateway.gateway.web.site import ConsolePages, LimitedRequest
from tests.support.gateway.broker.helpers import MemoryBroker
from tests.support.gateway.broker.operating import InlineRunner
from tests.support.gateway.remoting.pair import Net
from tests.support.gateway.web import Browser, Response

HOST = "localhost:8088"
PORT = 10911
"""Port of the broker, in memory."""
HOST_BYTES = pack_host("10.0.0.1", 4001)


class ConsoleWorld:
    """A broker with a console. With `users` a login is required, with the name as password; `root` is a super
    user.

    `memory` makes the broker. `policies` has pairs of a resource and an action for each user; with it
    requests are authorized.
    """

    def __init__(
        self,
        *,
        users: tuple[str, ...] = (),
        policies: dict[str, list[tuple[str, str]]] | None = None,
        hosts: str = "",
        memory: Callable[..., MemoryBroker] = MemoryBroker,
        **options: Any,
    ) -> None:
        given = {"authentication_enabled": bool(users), "authorization_enabled": policies is not None}
        self.memory = memory(options=given | options)
        self.broker = self.memory.broker
        if users:
            tables = AccessTables(CrashDisk(), "/config", self.memory.clock, None)
            tables.load()
            access = AccessAdministration(tables, self.memory.options)
            access.create_user("", "root", "root", UserType.SUPER, None)
            for user in users:
                access.create_user("", user, user, None, None)
            for user, pairs in (policies or {}).items():
                entries = [
                    PolicyEntryInfo(resource=resource, actions=[action], decision="Allow")
                    for resource, action in pairs
                ]
                access.update_acl(user, read_policies([PolicyInfo("Custom", entries)]))
            self.broker.access = access
        self.net = Net()
        self.server = RemotingServer(self.net, self.memory.dispatcher, RemotingOptions())
        self.server.listen("0.0.0.0", PORT)
        self.clockwork = Clock()
        self.entrance = Entrance(self.memory.options, self.broker.access, self.memory.clock)
        schedule = Schedule(self.clockwork)
        self.console = Console(
            Operations(self.broker, InlineRunner(self.memory)),
            self.server,
            self.entrance,
            schedule,
            self.memory.clock,
        )
        self.pages = ConsolePages(self.console, Guard(hosts), port=8088, version="1")
        self.site = LimitedSite(self.pages, LimitedRequest)

    def put(self, topic: str, body: bytes = b"x", *, queue: int = 0, **properties: str) -> None:
        """Store a message."""
        now = self.memory.clock.millis()
        message = Message(topic, queue, body, properties, now, HOST_BYTES, self.broker.store_host)
        self.broker.store.put(message)
        self.broker.store.dispatch()


class ConsoleBrowser:
    """A browser with its cookie and token; not logged in yet."""

    def __init__(self, world: ConsoleWorld) -> None:
        self.world = world
        self.cookie = self.csrf = ""

    def log_in(self, user: str = "") -> ConsoleBrowser:
        """Log in by password, or by the link."""
        given = {"user": user, "password": user} if user else {"token": self.world.entrance.link_token}
        response = self.ask("POST", "/session", given)
        assert response.code == 200, response.body
        self.cookie = response.headers["Set-Cookie"].partition(";")[0]
        self.csrf = json.loads(self.ask("GET", "/session").body)["csrf"]
        return self

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: dict[str, str] | None = None,
        prefix: str = PREFIX,
    ) -> Response:
        """Send a request and return its response; empty headers are left out."""
        data = b"" if body is None else json.dumps(body).encode()
        sent = {
            "Host": HOST,
            "Cookie": self.cookie,
            "x-console-token": self.csrf if method != "GET" else "",
            "Content-Type": "application/json" if method != "GET" else "",
            "Content-Length": str(len(data)) if data else "",
            **(headers or {}),
        }
        lines = [
            f"{method} {prefix}{path} HTTP/1.1",
            *(f"{name}: {text}" for name, text in sent.items() if text),
        ]
        browser = self.open()
        browser.send("\r\n".join([*lines, "", ""]).encode() + data)
        for _ in range(100):
            if browser.responses:
                break
            self.world.clockwork.advance(0.01)
        browser.protocol.connectionLost(Failure(ConnectionDone()))
        return browser.responses[-1]

    def open(self) -> Browser:
        """Open a connection."""
        return Browser(self.world.site)

    def get(self, path: str) -> Any:
        """Return the body of a GET, which must succeed."""
        response = self.ask("GET", path)
        assert response.code == 200, (path, response)
        return json.loads(response.body)

    def do(self, method: str, path: str, body: Any = None) -> Any:
        """Return the body of a request with another method, which must succeed."""
        response = self.ask(method, path, {} if body is None and method != "DELETE" else body)
        assert response.code == 200, (path, response)
        return json.loads(response.body)

    def refused(self, method: str, path: str, body: Any = None) -> tuple[int, str]:
        """Return the status and the text of a refusal."""
        response = self.ask(method, path, {} if body is None and method == "POST" else body)
        assert response.code >= 400, (path, response)
        return response.code, json.loads(response.body)["error"]


def console(**given: Any) -> ConsoleBrowser:
    """Return a browser that is logged in by the link, with a broker of its own."""
    return ConsoleBrowser(ConsoleWorld(**given)).log_in()
