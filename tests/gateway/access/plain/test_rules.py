"""Rules of several files."""

from __future__ import annotations

from mqgateway.engine.options import BrokerOptions
from mqgateway.gateway.access.plain.accounts import Permission
from mqgateway.gateway.access.plain.documents import read_document
from mqgateway.gateway.access.plain.folder import KnownFile
from mqgateway.gateway.access.plain.rules import TRACES, AclRules, PlainNeed, refused_need, shown
from mqgateway.gateway.access.policies import group, topic


def rules(**texts: str) -> AclRules:
    options = BrokerOptions()
    files = {
        path: KnownFile((0, 0), read_document(path, text.encode(), 1, options))
        for path, text in texts.items()
    }
    return AclRules(files)


def test_the_first_file_with_an_access_key_counts() -> None:
    others = "- {accessKey: account-1, secretKey: secret-b}\n- {accessKey: account-2, secretKey: secret-2}"
    both = rules(
        a="accounts: [{accessKey: account-1, secretKey: secret-a}]",
        b=f"accounts:\n{others}",
        c="",
    )
    one, two = both.account("account-1"), both.account("account-2")
    assert one is not None and one.secret_key == "secret-a" and two is not None
    assert both.path_of == {"account-1": "a", "account-2": "b"}
    assert list(both.repeated()) == [("account-1", "b")]
    assert both.account("account-3") is None and len(both) == 2
    assert [path for path, _ in both.documents()] == ["a", "b"]


def test_white_addresses_of_all_files_count() -> None:
    both = rules(a="globalWhiteRemoteAddresses: [10.0.0.1]", b="globalWhiteRemoteAddresses: [10.0.1.*]")
    assert [both.is_white(ip) for ip in ("10.0.0.1", "10.0.1.9", "10.0.0.2")] == [True, True, False]
    assert not rules().is_white("10.0.0.1")


def test_the_first_need_that_is_refused() -> None:
    account = rules(
        a="accounts: [{accessKey: account-1, secretKey: s-e-c-r-e-t, topicPerms: [t=PUB]}]"
    ).account("account-1")
    assert account is not None
    fine, wrong = PlainNeed(topic("t"), Permission.PUB), PlainNeed(group("g"), Permission.SUB)
    assert refused_need(account, [fine, wrong, wrong]) == wrong
    assert refused_need(account, [fine]) is None and refused_need(account, []) is None


def test_resources_as_refusals_name_them() -> None:
    assert [shown(one) for one in (topic("t"), group("g"), topic("%RETRY%g"))] == [
        "topic:t",
        "group:g",
        "group:g",
    ]
    assert TRACES.resource == topic("RMQ_SYS_TRACE_TOPIC")
