"""Rules from names of certificates to users. Source of the examples: `SslPrincipalMapperTest`."""

from __future__ import annotations

import pytest

from mqgateway.engine.options.option import BadValue
from mqgateway.engine.options.principal_rules import PrincipalRules, check_principal_rules

RULES = (
    "RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/L,"
    "RULE:^CN=(.*?),OU=(.*?),O=(.*?),L=(.*?),ST=(.*?),C=(.*?)$/$1@$2/L,"
    "RULE:^.*[Cc][Nn]=([a-zA-Z0-9.]*).*$/$1/U,"
    "DEFAULT"
)


@pytest.mark.parametrize(
    ("name", "user"),
    [
        ("CN=Duke,OU=ServiceUsers,O=Org,C=US", "duke"),
        ("CN=duke,OU=SME,O=mycp,L=Fulton,ST=MD,C=US", "duke@sme"),
        ("cn=duke1,ou=sme,o=mycp,l=fulton,st=md,c=us", "DUKE1"),
        ("OU=JavaSoft,O=Sun Microsystems,C=US", "OU=JavaSoft,O=Sun Microsystems,C=US"),
    ],
)
def test_the_first_rule_that_applies_counts(name: str, user: str) -> None:
    assert PrincipalRules.parse(RULES).user_of(name) == user


def test_without_a_rule_that_applies_there_is_no_user() -> None:
    assert PrincipalRules.parse("RULE:CN=a/b/").user_of("CN=aa") is None


@pytest.mark.parametrize("text", ["", " DEFAULT ", "DEFAULT"])
def test_by_default_the_whole_name_is_the_user(text: str) -> None:
    assert PrincipalRules.parse(text).user_of("CN=a,O=b") == "CN=a,O=b"


def test_slashes_in_patterns_and_dollars_in_replacements_are_escaped() -> None:
    rules = PrincipalRules.parse(r"RULE:CN=(a)\/b/\$1-$1-$2/")
    assert rules.user_of("CN=a/b") == "$1-a-$2"


@pytest.mark.parametrize(
    "text", ["deny", "RULE:a", "RULE:a/b", "RULE:a/b/X", "DEFAULT DEFAULT", "RULE:(/b/", "RULE:a/b/LU"]
)
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(BadValue):
        check_principal_rules(text)
