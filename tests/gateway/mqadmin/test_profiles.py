"""Profiles in a user's file."""

from __future__ import annotations

import pytest

from mqgateway.gateway.mqadmin.configuration import AdminConfiguration, configured
from mqgateway.gateway.mqadmin.declaration import GivenOptions, UsageError
from mqgateway.gateway.mqadmin.profiles import Profile, Profiles, parsed, path_of

PATH = "/home/me/.config/mqgateway/profiles.toml"
TEXT = """
current = "test"
[profiles.test]
name-servers = "a:1;b:1"
timeout = 2
[profiles.live]
name-servers = "c:1"
access-key = "me"
secret-key = "hidden"
tls-ca = "ca.pem"
"""


def _configured(given: dict[str, str], **environment: str) -> AdminConfiguration:
    files = {PATH: TEXT}
    return configured(GivenOptions(given), {"HOME": "/home/me", **environment}, files.get)


def test_path_follows_home_and_xdg_config_home() -> None:
    assert path_of({"HOME": "/home/me"}) == PATH
    assert path_of({"HOME": "/home/me", "XDG_CONFIG_HOME": "/x"}) == "/x/mqgateway/profiles.toml"


def test_precedence_of_options_profiles_and_environment() -> None:
    assert _configured({}).name_servers == ("a:1", "b:1") and _configured({}).timeout == 2
    assert _configured({}, NAMESRV_ADDR="e:1").name_servers == ("e:1",), "the current profile comes last"
    live = _configured({"profile": "live"}, NAMESRV_ADDR="e:1", ROCKETMQ_ACCESS_KEY="env")
    assert live.name_servers == ("c:1",), "one that was named comes before the environment"
    assert live.credentials is not None and live.credentials.access_key == "me"
    assert (live.tls, live.certificates, live.timeout) == (True, "ca.pem", 5.0)
    assert _configured({"profile": "live", "n": "f:1"}).name_servers == ("f:1",)
    given = _configured({"profile": "live", "access-key": "you", "secret-key": "s"})
    assert given.credentials is not None and given.credentials.access_key == "you"


def test_missing_profile_is_refused() -> None:
    with pytest.raises(UsageError, match=f"{PATH} has no profile 'tset'; there are: live, test"):
        _configured({"profile": "tset"})
    with pytest.raises(UsageError, match="there are: none"):
        configured(GivenOptions({"profile": "x"}), {"HOME": "/h"}, lambda path: None)
    assert Profiles("p", None, {}).chosen(None) == Profile()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("current = ", r"p: Invalid value \(at"),
        ("[profile.x]", "p: profile: only current and "),
        ("current = 3", "p: current = 3: must be the name of a profile in quotes"),
        ("profiles = 3", r"p: profiles = 3: must be a table \[profiles.NAME\]"),
        ("profiles.x = 3", "p: profiles.x: must be a table"),
        ("[profiles.x]\nnamesrv = 'a'", r"p: \[profiles.x\] namesrv: there are name-servers, access-key"),
        ("[profiles.x]\ntls = 'yes'", r"p: \[profiles.x\] tls = 'yes': must be true or false"),
        ("[profiles.x]\ntimeout = true", "timeout = True: must be a number"),
        ("[profiles.x]\ntimeout = 0", "timeout = 0: must be a number of seconds"),
        ("[profiles.x]\nsecret-key = 1234", r"secret-key = \.\.\.: must be a text in quotes"),
    ],
)
def test_invalid_file_is_refused(text: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        parsed(text, "p")
