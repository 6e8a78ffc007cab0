"""A Spark session that knows the formats `rocketmq` and `rocketmq-store`; see `mqgateway.pipeline.spark`."""

from mqgateway.pipeline.spark import register, session

__all__ = ["register", "session"]
