"""Servers with a console, and a browser that fails a test on any complaint of a page."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Request, expect, sync_playwright

from compat_tests.support.processes import free_ports

CHROMIUM = ("/usr/lib/chromium/chromium-headless-shell", "chromium", "chromium-browser")
AXE = (Path(__file__).parent / "vendor" / "axe.js").read_text()
START_SECONDS = 60
LOADED_MILLIS = 30_000


class Server:
    """`mqgateway serve` with a console; `url` opens it."""

    def __init__(self, folder: Path, *settings: str) -> None:
        command = [sys.executable, "-m", "mqgateway.gateway.cli.main", "serve", "--output", "json"]
        command += ["--bind", "127.0.0.1", "--advertise", "127.0.0.1", "--data-dir", str(folder)]
        command += ["--namesrv-port", str(free_ports()), "--broker-port", str(free_ports((-2, 0, 1)))]
        for front_end in ("console", "grpc", "kafka"):
            command += [f"--{front_end}-port", str(free_ports())]
        for setting in settings:
            command += [setting] if setting.startswith("--") else ["--set", setting]
        log = (folder / "log").open("wb")
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, (folder / "log").read_text()
        self.summary = json.loads(line)
        self.url: str = self.summary["console"]

    def stop(self) -> None:
        """Stop cleanly by SIGTERM."""
        self.process.terminate()
        assert self.process.wait(START_SECONDS) == 0


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Return a function that starts a server with settings as KEY=VALUE, or with flags; the first uses
    `tmp_path / "0"`."""
    started: list[Server] = []

    def start(*settings: str) -> Server:
        folder = tmp_path / str(len(started))
        folder.mkdir(exist_ok=True)
        started.append(Server(folder, *settings))
        return started[-1]

    yield start
    for server in started:
        server.stop()


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """Start Debian's Chromium; no browser is downloaded."""
    found = next((path for name in CHROMIUM if (path := shutil.which(name))), None)
    assert found, "there is no Chromium: apt-get install chromium"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield browser
        browser.close()


class Visitor:
    """A browser context with one page. It records complaints of pages and requests that leave the host."""

    def __init__(self, browser: Browser, **options: Any) -> None:
        self.context = browser.new_context(viewport={"width": 1280, "height": 860}, **options)
        self.page: Page = self.context.new_page()
        self.complaints: list[str] = []
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", self._asked)

    def first_paint(self) -> float:
        """Reload the page; return the ms until something was painted."""
        self.page.reload()
        self.page.wait_for_selector("nav")
        # The browser reports a paint some frames after the element is there.
        painted = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
        millis: float = self.page.wait_for_function(painted).json_value()
        return millis

    def _asked(self, request: Request) -> None:
        if not request.url.startswith(("http://127.0.0.1:", "blob:", "data:")):
            self.complaints.append(f"a request left the host: {request.url}")

    def open(self, url: str) -> None:
        """Open the link that the server printed."""
        self.page.goto(url)
        self.page.wait_for_selector("nav")

    def visit(self, address: str) -> None:
        """Open a page and wait until its content is loaded."""
        self.page.evaluate("address => { location.hash = '#/' + address }", address)
        self.page.wait_for_selector("main h1")
        expect(self.page.locator(".loading")).to_have_count(0, timeout=LOADED_MILLIS)
        self.page.wait_for_timeout(150)

    def barriers(self) -> list[str]:
        """Return the accessibility violations that axe finds."""
        self.page.evaluate(AXE)
        found = self.page.evaluate(
            "axe.run({runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa']}).then(found => found.violations)"
        )
        return [f"{one['id']}: {node['html'][:120]}" for one in found for node in one["nodes"]]

    def press(self, name: str, *, exact: bool = True) -> None:
        """Click a button."""
        self.page.get_by_role("button", name=name, exact=exact).first.click()

    def fill(self, **values: str) -> None:
        """Fill the fields of the open form."""
        place = self.page.locator("dialog form" if self.page.locator("dialog").count() else "form").first
        for name, value in values.items():
            field = place.locator(f"[name={name}]")
            if field.evaluate("one => one.tagName") == "SELECT":
                field.select_option(value)
            else:
                field.fill(value)

    def send(self) -> None:
        """Submit the open form."""
        self.page.locator(
            "dialog form button[type=submit]"
            if self.page.locator("dialog").count()
            else "form button[type=submit]"
        ).first.click()

    def sees(self, text: str) -> None:
        """Wait until the page shows the text."""
        self.page.get_by_text(text).first.wait_for()


@pytest.fixture
def visit(chromium: Browser) -> Iterator[Callable[..., Visitor]]:
    """Return a function that makes visitors; fail if any of their pages complained."""
    visitors: list[Visitor] = []

    def make(**options: Any) -> Visitor:
        visitors.append(Visitor(chromium, **options))
        return visitors[-1]

    yield make
    complaints = [complaint for visitor in visitors for complaint in visitor.complaints]
    for visitor in visitors:
        visitor.context.close()
    assert not complaints


def fill(visitor: Visitor) -> None:
    """A topic, a group that is behind, and two dead letters of it, through the API of the page."""
    ask = """async ([method, path, body]) => {
      const { ask } = await import('./static/api.js');
      return ask(method, path, body);
    }"""
    make = ("POST", "/topics")
    wanted: list[tuple[str, str, object]] = [
        (*make, {"topic": "Orders", "readQueues": 4, "writeQueues": 4}),
        (*make, {"topic": "%DLQ%Billing", "readQueues": 1, "writeQueues": 1}),
        (*make, {"topic": "Chat", "attributes": {"message.type": "LITE"}}),
        ("POST", "/groups", {"group": "Billing"}),
        ("POST", "/groups/Billing/reset", {"topic": "Orders", "to": "beginning"}),
    ]
    for number in range(12):
        body = json.dumps({"order": number, "amount": 10 * number})
        message = {"body": body, "tags": "paid", "keys": f"o{number}", "queueId": number % 4}
        wanted.append(("POST", "/topics/Orders/messages", message))
    for number in range(2):
        dead = {"body": f"bad order {number}", "properties": {"RETRY_TOPIC": "Orders"}}
        wanted.append(("POST", "/topics/%25DLQ%25Billing/messages", dead))
    wanted.append(
        ("POST", "/topics/Orders/messages", {"body": "later", "properties": {"TIMER_DELAY_SEC": "1800"}})
    )
    for one in wanted:
        visitor.page.evaluate(ask, list(one))


@pytest.fixture
def server(serve: Callable[..., Server]) -> Server:
    """A small broker."""
    return serve()


@pytest.fixture
def visitor(server: Server, visit: Callable[..., Visitor]) -> Visitor:
    """At a small broker that has something of everything."""
    made = visit()
    made.open(server.url)
    fill(made)
    return made


@pytest.fixture(scope="session")
def pictures() -> Path | None:
    """Return the folder for screenshots that `CONSOLE_PICTURES` names, else None."""
    named = os.environ.get("CONSOLE_PICTURES")
    return Path(named) if named else None
