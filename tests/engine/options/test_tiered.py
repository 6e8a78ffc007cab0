"""Settings of long retention."""

from mqgateway.engine.options import StoreOptions
from mqgateway.engine.options.option_set import OptionSet


def test_log_is_not_saved_by_default() -> None:
    options = StoreOptions()
    assert (options.tiered_store_path, options.tiered_range_time, options.tiered_may_lose) == (
        "",
        3_600_000,
        False,
    )


def test_settings_are_read_from_properties() -> None:
    options = StoreOptions()
    OptionSet(options).set("tieredStorePath", "s3://bucket/mq", "test")
    assert options.tiered_store_path == "s3://bucket/mq"
