"""The pages of connections, settings and access, and the audit."""

from __future__ import annotations

import socket
from collections.abc import Callable

import pytest

from browser_tests.conftest import Server, Visitor


def test_a_connection_is_closed(visitor: Visitor, server: Server) -> None:
    host, port = server.summary["broker"].rsplit(":", 1)
    with socket.create_connection((host, int(port))) as client:
        address = ":".join(map(str, client.getsockname()))
        visitor.visit("connections")
        visitor.press(f"Close the connection {address}")
        visitor.press("Apply")
        visitor.sees("The connection is closed")
        with pytest.raises(ConnectionResetError):  # it never began to speak
            client.recv(1)
    visitor.visit("audit")
    visitor.sees("DELETE /connections/{connection}")


def test_settings_are_changed_with_the_difference_shown(visitor: Visitor) -> None:
    visitor.visit("settings?search=maxMessageSize")
    visitor.press("Change maxMessageSize")
    visitor.fill(value="1000000")
    visitor.send()
    visitor.sees("+ maxMessageSize=1000000")
    visitor.press("Apply")
    visitor.page.locator(".settings code", has_text="1000000").first.wait_for()
    visitor.visit("audit")
    visitor.sees("PUT /settings")


def test_users_log_in_and_are_looked_after(
    serve: Callable[..., Server], visit: Callable[..., Visitor]
) -> None:
    server = serve(
        "authenticationEnabled=true",
        "authorizationEnabled=true",
        'initAuthenticationUser={"username":"root","password":"secret"}',
        'innerClientAuthenticationCredentials={"accessKey":"inner","secretKey":"inner-secret"}',
    )
    assert "token" not in server.url
    visitor = visit()
    visitor.page.goto(server.url)
    visitor.page.wait_for_selector("form")
    assert not visitor.barriers()
    visitor.fill(user="root", password="wrong")
    visitor.send()
    visitor.sees("the user or the password is wrong")
    visitor.fill(user="root", password="secret")
    visitor.send()
    visitor.page.wait_for_selector("nav")
    visitor.visit("access")
    visitor.press("Create a user")
    visitor.fill(user="alice", password="alice")
    visitor.send()
    visitor.page.get_by_role("cell", name="alice", exact=True).wait_for()
    visitor.press("Add a policy")
    visitor.fill(name="Orders")
    visitor.send()
    visitor.sees("Choose at least one")
    visitor.page.get_by_label("Pub: send").check()
    visitor.send()
    visitor.sees("Allow Pub Topic:Orders")
    assert not visitor.barriers()
    visitor.fill(user="alice", action="Pub", resource="Topic:Orders")
    visitor.send()
    visitor.sees("yes: Topic:Orders")
    visitor.press("Log out")
    visitor.page.wait_for_selector("input[name=password]")
