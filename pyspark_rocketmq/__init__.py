"""Makes Spark find the format `rocketmq`: it looks for `DefaultSource` in packages called `pyspark_*`."""

from mqgateway.pipeline.source import RocketMQDataSource as DefaultSource

__all__ = ["DefaultSource"]
