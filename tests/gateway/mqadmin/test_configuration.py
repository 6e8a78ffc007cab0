"""Sources of a call's credentials, name servers and other settings."""

from __future__ import annotations

import pytest

from mqgateway.gateway.mqadmin.configuration import configured
from mqgateway.gateway.mqadmin.declaration import GivenOptions, UsageError


def _configured(given: dict[str, str], environment: dict[str, str], **files: str):  # type: ignore[no-untyped-def]
    return configured(GivenOptions(given), environment, lambda path: files.get(path.rsplit("/", 1)[1][:-4]))


def test_options_take_precedence_over_the_environment() -> None:
    found = _configured({"n": "a:1; b:2"}, {"NAMESRV_ADDR": "c:3"})
    assert found.name_servers == ("a:1", "b:2")
    assert _configured({}, {"NAMESRV_ADDR": "c:3"}).name_servers == ("c:3",)
    assert _configured({}, {}).name_servers == ()


def test_keys_come_from_flags_environment_or_the_tools_file() -> None:
    keys = {"ROCKETMQ_ACCESS_KEY": "env", "ROCKETMQ_SECRET_KEY": "s"}
    assert _configured({"access-key": "flag", "secret-key": "t"}, keys).credentials.access_key == "flag"
    assert _configured({}, keys).credentials.access_key == "env"
    found = _configured({}, {"ROCKETMQ_HOME": "/r"}, tools="# x\naccessKey: file\nsecretKey: 'q'\n")
    assert (found.credentials.access_key, found.credentials.secret_key) == ("file", "q")
    assert _configured({}, {"ROCKETMQ_HOME": "/r"}).credentials is None
    with pytest.raises(UsageError, match="secret key"):
        _configured({"access-key": "flag"}, {})


@pytest.mark.parametrize("text", ["0", "-1", "soon", "nan", "inf"])
def test_a_time_is_a_number_of_seconds(text: str) -> None:
    with pytest.raises(UsageError, match="--timeout"):
        _configured({"timeout": text}, {})
    assert _configured({"timeout": "0.5"}, {}).timeout == 0.5


def test_a_file_of_certificates_means_tls() -> None:
    assert _configured({"tls-ca": "ca.pem"}, {}).tls and not _configured({}, {}).tls


def test_credentials_file_counts_before_environment_and_tools_file() -> None:
    environment = {"ROCKETMQ_ACCESS_KEY": "env", "ROCKETMQ_SECRET_KEY": "s", "ROCKETMQ_HOME": "/r"}
    text = "accessKey: mine\nsecretKey: q\n"
    found = _configured({"credentials": "/home/mine.yml"}, environment, mine=text)
    assert (found.credentials.access_key, found.credentials.secret_key) == ("mine", "q")
    flags = {"credentials": "/home/mine.yml", "access-key": "flag", "secret-key": "t"}
    assert _configured(flags, environment, mine=text).credentials.access_key == "flag"
    with pytest.raises(UsageError, match="there is no such file"):
        _configured({"credentials": "/home/none.yml"}, environment)
    with pytest.raises(UsageError, match="accessKey and secretKey are missing"):
        _configured({"credentials": "/home/mine.yml"}, environment, mine="accessKey: mine\n")
