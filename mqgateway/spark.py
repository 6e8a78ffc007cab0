"""A Spark session that knows the formats `rocketmq` and `rocketmq-store`; see `mqgateway.pipeline.spark`."""

try:
    from mqgateway.pipeline.spark import register, session
except ModuleNotFoundError as error:
    if error.name is None or error.name.startswith("mqgateway"):
        raise
    hint = f"{error.name} is not installed here: pip install 'mqgateway[spark]'"
    raise ModuleNotFoundError(hint, name=error.name) from None

__all__ = ["register", "session"]
