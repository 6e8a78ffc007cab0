import datetime

import pytest

from mqgateway.gateway.mqadmin.declaration import UsageError
from mqgateway.gateway.mqadmin.times import millis_of


def test_time_is_now_or_milliseconds_or_either_date() -> None:
    assert millis_of("now", 5) == 5 and millis_of("-1", 5) == -1
    at = datetime.datetime(2026, 1, 31, 12, 0, 5, 7000)
    assert millis_of("2026-01-31#12:00:05:007", 0) == int(at.timestamp() * 1000)
    assert millis_of("2026-01-31T12:00:05.007", 0) == int(at.timestamp() * 1000)
    with pytest.raises(UsageError, match="not a time"):
        millis_of("2026-13-31", 0)
