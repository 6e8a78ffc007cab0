"""RocketMQ's lenient JSON for bodies, re-exported from `engine.lenient_json`."""

from mqgateway.engine.lenient_json import JsonError, ObjectKey, dumps, loads

__all__ = ["JsonError", "ObjectKey", "dumps", "loads"]
