"""Content of one file; errors in it have a line."""

from __future__ import annotations

import random

import pytest

from mqgateway.engine.errors import ConfigError
from mqgateway.engine.options import BrokerOptions
from mqgateway.gateway.access.plain.documents import Document, changed_document, read_document
from mqgateway.gateway.codec.version_4 import AclDataVersion

OPTIONS = BrokerOptions(max_users=5, max_policy_entries_per_user=3)

# The example that the standard's distribution has, with two lines of its own at the end.
EXAMPLE = b"""\
globalWhiteRemoteAddresses:
- 10.10.103.*
- 192.168.0.*

accounts:
- accessKey: RocketMQ
  secretKey: 012345678
  whiteRemoteAddress:
  admin: false
  defaultTopicPerm: DENY
  defaultGroupPerm: SUB
  topicPerms:
  - topicA=DENY
  - topicB=PUB|SUB
  groupPerms:
  # a comment
  - groupA=DENY

- accessKey: rocketmq2
  secretKey: 12345678
  whiteRemoteAddress: 192.168.1.*
  admin: true
other: kept
"""


def read(text: bytes) -> Document:
    document = read_document("f.yml", text, 77, OPTIONS)
    assert document is not None
    return document


def test_the_standards_example() -> None:
    document = read(EXAMPLE)
    assert document.addresses == ("10.10.103.*", "192.168.0.*")
    assert list(document.accounts) == ["RocketMQ", "rocketmq2"]
    assert [one.secret_key for one in document.configs] == ["012345678", "12345678"]
    assert document.accounts["rocketmq2"].is_admin and not document.accounts["RocketMQ"].is_admin
    assert document.accounts["rocketmq2"].white_addresses.match("192.168.1.7")
    assert document.version == AclDataVersion(0, 77)
    assert document.warnings == ("f.yml: other is not a member of this file",)


@pytest.mark.parametrize("text", [b"", b"# nothing\n", b"{}", b"---\n..."])
def test_an_empty_file_says_nothing(text: bytes) -> None:
    assert read_document("f.yml", text, 77, OPTIONS) is None


def test_a_file_of_addresses_only() -> None:
    document = read(b"globalWhiteRemoteAddresses: [10.0.0.1, ~, '']\naccounts:\n")
    assert document.addresses == ("10.0.0.1", "") and document.accounts == {}


def test_a_change_keeps_what_is_not_changed_and_counts() -> None:
    tree = read(EXAMPLE).tree
    document, text = changed_document("f.yml", tree, 1000, OPTIONS)
    assert text.endswith(b"other: kept\ndataVersion:\n- counter: 1\n  timestamp: 1000\n")
    assert b"\n  whiteRemoteAddress: null\n  admin: false\n" in text and b"comment" not in text
    again, text = changed_document("f.yml", document.tree, 2000, OPTIONS)
    assert again.version == AclDataVersion(2, 2000) == read(text).version
    assert again.configs == read(EXAMPLE).configs


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b"- a", "f.yml: there must be members such as accounts"),
        (b"accounts: 5", "f.yml: accounts must be a list"),
        (b"accounts: {}\nx: y", ""),
        (b"accounts:\n- 5", "f.yml:2: an account must have members such as accessKey"),
        (b"accounts:\n\n- {accessKey: abc}", "f.yml:3: The accessKey=abc and secretKey=null cannot be null"),
        (
            b"accounts:\n- {accessKey: account, secretKey: a-secret, whiteRemoteAddress: 1.2}",
            "f.yml:2: Netaddress examine Exception netaddress is 1.2",
        ),
        (
            b"accounts:\n- {accessKey: account, secretKey: a-secret, topicPerms: [[a=PUB]]}",
            "f.yml:2: topicPerms must be a text, or a list of texts",
        ),
        (
            b"accounts:\n- {accessKey: account, secretKey: a-secret, topicPerms: [a=SUB, b=SUB, c=d, d=e]}",
            "f.yml:2: topicPerms: 4 are more than maxPolicyEntriesPerUser allows",
        ),
        (
            b"accounts:\n- {accessKey: account, secretKey: a-secret, admin: perhaps}",
            "f.yml:2: the member admin of PlainAccessConfig has a wrong type",
        ),
        (b"accounts: [1, 2, 3, 4, 5, 6]", "f.yml: 6 accounts are more than maxUsers=5 allows"),
        (b"globalWhiteRemoteAddresses: [1.2.3]", "f.yml: globalWhiteRemoteAddresses: Netaddress examine"),
        (b"globalWhiteRemoteAddresses: [[1.2.3.4]]", "f.yml: globalWhiteRemoteAddresses must be a list"),
        (b"globalWhiteRemoteAddresses: 1.2.3.4", "f.yml: globalWhiteRemoteAddresses must be a list"),
        (b"dataVersion: [5]", "f.yml: dataVersion must be a list of one counter"),
        (b"dataVersion: [{counter: x}]", "f.yml: dataVersion must be a list of one counter"),
        (b"accounts: [", "f.yml:2: did not find"),
    ],
)
def test_errors_have_a_place(text: bytes, problem: str) -> None:
    if not problem:
        assert read(text).accounts == {}
        return
    with pytest.raises(ConfigError) as refusal:
        read(text)
    assert str(refusal.value).startswith(problem)


def test_no_secret_is_in_a_refusal_or_shown() -> None:
    with pytest.raises(ConfigError) as refusal:
        read(b"accounts:\n- {accessKey: abc, secretKey: a-very-long-secret}")
    assert "a-very" not in str(refusal.value)
    assert "12345678" not in repr(read(EXAMPLE))


def test_doubtful_accounts_have_warnings() -> None:
    document = read(
        b"accounts:\n"
        b"- {accessKey: account, secretKey: a-secret, topicPerm: [a=PUB], groupPerms: [g=SUB, h=sub]}\n"
        b"- {accessKey: account, secretKey: other-secret}\n"
    )
    assert document.accounts["account"].secret_key == "a-secret"
    assert [one.split(";")[0] for one in document.warnings] == [
        "f.yml:2: topicPerm is not a member of an account",
        "f.yml:2: sub is not a permission, so it denies",
        "f.yml:3: accessKey account is there already",
    ]


def test_a_spoiled_file_is_read_or_refused() -> None:
    """Bytes changed, cut out and put in: nothing but a document, or a refusal with the file's name."""
    chance = random.Random(1)
    fragments = [
        b"&a ",
        b"*a ",
        b"- ",
        b"[",
        b"{",
        b": ",
        b"!!int ",
        b"<<: ",
        b"? ",
        b"'",
        b"|",
        b"\n",
        b"\t",
    ]
    outcomes = set()
    for _ in range(1500):
        text = bytearray(EXAMPLE)
        for _ in range(chance.randint(1, 5)):
            at, way = chance.randrange(len(text)), chance.random()
            if way < 0.3:
                text[at] = chance.randrange(256)
            elif way < 0.6:
                del text[at : at + chance.randint(1, 9)]
            else:
                text[at:at] = chance.choice(fragments)
        try:
            outcomes.add(type(read_document("f.yml", bytes(text), 1, OPTIONS)))
        except ConfigError as error:
            assert str(error).startswith("f.yml:")
            outcomes.add(ConfigError)
    assert outcomes == {Document, ConfigError}
