"""Names of retry topics, in both spellings."""

import pytest

from mqgateway.engine.pop.names import kind_of, normal_topic, real_topic, retry_topic, revive_topic


@pytest.mark.parametrize(
    ("is_v2", "name", "kind"), [(False, "%RETRY%g_t", "1"), (True, "%RETRY%g+t", "2")], ids=["v1", "v2"]
)
def test_retry_topic_reports_its_kind_and_its_topic(is_v2: bool, name: str, kind: str) -> None:
    assert retry_topic("t", "g", is_v2) == name == real_topic("t", "g", kind)
    assert kind_of(name) == kind
    assert normal_topic(name, "g") == "t"


def test_a_topic_is_itself() -> None:
    assert real_topic("t", "g", "0") == "t" == normal_topic("t", "g")
    assert kind_of("t") == "0"


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="kind"):
        real_topic("t", "g", "3")


def test_check_points_have_a_topic_of_the_cluster() -> None:
    assert revive_topic("DefaultCluster") == "rmq_sys_REVIVE_LOG_DefaultCluster"
