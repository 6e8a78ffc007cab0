"""Members of a group, and its majority."""

import pytest

from mqgateway.engine.errors import ConfigError
from mqgateway.engine.raft.settings import STANDARD_RULES, MemberSettings, RaftRules, peers_of


def test_members_by_id() -> None:
    assert peers_of("n0-127.0.0.1:40911;n1-[::1]:40912; n2-host-name:1;") == {
        "n0": "127.0.0.1:40911",
        "n1": "[::1]:40912",
        "n2": "host-name:1",
    }


@pytest.mark.parametrize(
    "text", ["n0", "n0-host", "n0-:1", "-host:1", "n0-host:0", "n0-host:x", "n0-h:1;n0-g:1"]
)
def test_invalid_group_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"n0|host"):
        peers_of(text)


@pytest.mark.parametrize(("count", "majority"), [(1, 1), (2, 2), (3, 2), (4, 3), (5, 3)])
def test_a_majority(count: int, majority: int) -> None:
    settings = MemberSettings("group", "n0", {f"n{number}": "" for number in range(count)})
    assert settings.is_quorum(majority)
    assert not settings.is_quorum(majority - 1)


def test_the_standards_rules_are_ours_turned_off() -> None:
    names = RaftRules.__dataclass_fields__
    assert [getattr(RaftRules(), name) for name in names] == [True] * len(names)
    assert [getattr(STANDARD_RULES, name) for name in names] == [False] * len(names)
    assert MemberSettings("group", "n0", {}).leader_patience == 6000
