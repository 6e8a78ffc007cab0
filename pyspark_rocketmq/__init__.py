"""Makes Spark find the format `rocketmq`: it looks for `DefaultSource` in packages called `pyspark_*`."""

from pipeline.source import RocketMQDataSource as DefaultSource

__all__ = ["DefaultSource"]
