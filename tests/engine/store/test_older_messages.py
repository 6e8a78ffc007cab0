import pytest

from mqgateway.engine.errors import StoreError
from mqgateway.engine.store.older_messages import NothingYet


def test_missing_messages_are_an_error_of_the_store_with_a_reason() -> None:
    with pytest.raises(StoreError, match="the store is away"):
        raise NothingYet("the store is away")
