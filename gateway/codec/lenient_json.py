"""The standard's JSON that is none, for bodies: see `engine.lenient_json`, which this hands on."""

from mqgateway.engine.lenient_json import JsonError, ObjectKey, dumps, loads

__all__ = ["JsonError", "ObjectKey", "dumps", "loads"]
