import re

from mqgateway.gateway.doctor.texts import TEXTS


def test_every_finding_has_a_problem_and_a_remedy() -> None:
    for check, (what, cure) in TEXTS.items():
        assert what and cure, check
        assert re.fullmatch("[a-z-]+", check)
        assert not what.endswith(".") and not cure.endswith("."), check
