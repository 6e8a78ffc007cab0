"""The code tables: a few landmarks, and the names of versions."""

import pytest

from mqgateway.gateway.codec.codes import (
    CURRENT_VERSION,
    LanguageCode,
    RequestCode,
    ResponseCode,
    version_name,
)


def test_landmarks() -> None:
    """The numbers a client cannot do without."""
    assert RequestCode.SEND_MESSAGE_V2.value == 310
    assert RequestCode.GET_ROUTEINFO_BY_TOPIC.value == 105
    assert RequestCode.POP_MESSAGE.value == 200050
    assert ResponseCode.PULL_OFFSET_MOVED.value == 21
    assert LanguageCode(9) is LanguageCode.GO


def test_the_tables_are_whole() -> None:
    assert len(RequestCode) == 169
    assert len(ResponseCode) == 68


@pytest.mark.parametrize(
    ("ordinal", "name"),
    [
        (26, "V3_0_6_SNAPSHOT"),
        (0, "V3_0_0_SNAPSHOT"),
        (62, "V3_1_8_SNAPSHOT"),
        (211, "V3_9_9"),
        (212, "V4_0_0_SNAPSHOT"),
        (611, "V5_9_9"),
        (612, "HIGHER_VERSION"),
        (32767, "HIGHER_VERSION"),
        (-1, "HIGHER_VERSION"),
        (121, "V3_4_9"),
        (213, "V4_0_0"),
        (335, "V4_6_1"),
        (409, "V4_9_8"),
        (413, "V5_0_0"),
        (492, "V5_4_0_SNAPSHOT"),
        (CURRENT_VERSION, "V5_5_0"),
    ],
)
def test_version_names(ordinal: int, name: str) -> None:
    assert version_name(ordinal) == name
