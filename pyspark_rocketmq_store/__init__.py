"""Makes Spark find the format `rocketmq-store`; see `pyspark_rocketmq`."""

from mqgateway.pipeline.store_source import StoreDataSource as DefaultSource

__all__ = ["DefaultSource"]
