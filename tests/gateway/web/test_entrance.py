import pytest

from mqgateway.engine.errors import ConfigError
from mqgateway.engine.options import BrokerOptions
from mqgateway.gateway.access.needs import Need
from mqgateway.gateway.access.policies import Action, cluster, topic
from mqgateway.gateway.access.users import UserStatus
from mqgateway.gateway.web.call import Caller
from mqgateway.gateway.web.entrance import WRONG, check, read_roles
from mqgateway.gateway.web.route import ApiError, Role
from tests.support.gateway.console import ConsoleWorld


def test_a_link_opens_once() -> None:
    entrance = ConsoleWorld().entrance
    token = entrance.link_token
    session = entrance.enter(token)
    assert entrance.caller(session, "::1") == Caller("", Role.ADMIN, "::1")
    for wrong in (token, "", "guess"):
        with pytest.raises(ApiError) as refusal:
            entrance.enter(wrong)
        assert refusal.value.status == 401
    assert entrance.link_token not in ("", token)


def test_users_log_in_by_their_secrets() -> None:
    world = ConsoleWorld(users=("alice", "bob"), console_roles="alice:operator")
    entrance = world.entrance
    assert entrance.asks_passwords and not entrance.link_token
    roles = {
        user: entrance.caller(entrance.log_in(user, user, "::1"), "::1").role
        for user in ("root", "alice", "bob")
    }
    assert roles == {"root": Role.ADMIN, "alice": Role.OPERATOR, "bob": Role.VIEWER}
    for user, password in (("alice", "bob"), ("nobody", ""), ("", "")):
        with pytest.raises(ApiError) as refusal:
            entrance.log_in(user, password, "::1")
        assert (refusal.value.status, refusal.value.message) == (401, WRONG)
    with pytest.raises(ApiError):
        entrance.enter("")


def test_backoff_applies_to_the_right_password_too() -> None:
    world = ConsoleWorld(users=("alice",))
    for _ in range(3):
        with pytest.raises(ApiError):
            world.entrance.log_in("alice", "wrong", "::1")
    with pytest.raises(ApiError) as refusal:
        world.entrance.log_in("alice", "alice", "::1")
    assert refusal.value.status == 429
    world.entrance.log_in("alice", "alice", "10.0.0.1")
    world.memory.clock.advance(1_000)
    world.entrance.log_in("alice", "alice", "::1")


def test_disabling_a_user_ends_the_session() -> None:
    world = ConsoleWorld(users=("alice",))
    session = world.entrance.log_in("alice", "alice", "::1")
    assert world.broker.access is not None
    world.broker.access.update_user("", "alice", None, None, UserStatus.DISABLE)
    with pytest.raises(ApiError):
        world.entrance.caller(session, "::1")
    assert world.entrance.sessions.find(session.id) is None
    with pytest.raises(ApiError):
        world.entrance.log_in("alice", "alice", "::1")


def test_policies_count_where_they_are_on() -> None:
    needs = [Need(topic("T"), (Action.SUB,))]
    alice = Caller("alice", Role.OPERATOR, "10.0.0.9")
    for policies, is_allowed in (
        (None, True),
        ({}, False),
        ({"alice": [("Topic:T", "Sub")]}, True),
        ({"alice": [("Topic:U", "Sub"), ("Topic:T", "Pub")]}, False),
    ):
        entrance = ConsoleWorld(users=("alice",), policies=policies).entrance
        if is_allowed:
            entrance.check_needs(alice, needs)
        else:
            with pytest.raises(ApiError, match="no matched"):
                entrance.check_needs(alice, needs)
        entrance.check_needs(Caller("root", Role.ADMIN, "10.0.0.9"), [Need(cluster("c"), (Action.UPDATE,))])


def test_others_than_this_machine_need_a_login() -> None:
    for host in ("0.0.0.0", "10.0.0.1", "::", ""):
        with pytest.raises(ConfigError, match="consoleHost"):
            check(BrokerOptions(console_host=host))
        check(BrokerOptions(console_host=host, authentication_enabled=True))
    check(BrokerOptions(console_host="127.0.0.1"))


def test_roles_of_users() -> None:
    assert read_roles(" alice:reader, bob:ADMIN ,") == {"alice": Role.READER, "bob": Role.ADMIN}
    for text in ("alice", "alice:king", ":reader", "alice:nobody"):
        with pytest.raises(ConfigError, match="consoleRoles"):
            read_roles(text)
        with pytest.raises(ConfigError):
            check(BrokerOptions(console_roles=text))
