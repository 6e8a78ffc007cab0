"""JSON schema of the output of `--json`, generated from the declarations of the commands; pure.

    python -m mqgateway.gateway.mqadmin.schema > docs/mqadmin.schema.json

One schema covers all commands. The values of a row follow from the command's help and text.
"""

from __future__ import annotations

import sys
from typing import Any

import orjson

from mqgateway.gateway.mqadmin.catalogue import MQADMIN, Catalogue

_NAME = {"pattern": "^[a-z][A-Za-z0-9]*$"}
_ROW = {"type": "object", "propertyNames": _NAME}


def schema(catalogue: Catalogue = MQADMIN) -> dict[str, Any]:
    """Return the schema of a program's commands, which differ in their names only."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"Output of {catalogue.program} with --json",
        "type": "object",
        "required": ["command", "rows", "summary", "errors"],
        "additionalProperties": False,
        "properties": {
            "command": {"enum": list(catalogue.places)},
            "rows": {
                "description": "results; times in ms since the epoch",
                "type": "array",
                "items": {"anyOf": [{"$ref": "#/$defs/row"}, {"$ref": "#/$defs/withheld"}]},
            },
            "summary": {"description": "values that belong to no row, as totals", **_ROW},
            "errors": {"type": "array", "items": {"$ref": "#/$defs/error"}},
        },
        "$defs": {
            "row": _ROW,
            "withheld": {
                "description": "request that a dry run did not send",
                "type": "object",
                "required": ["server", "request", "fields"],
                "additionalProperties": False,
                "properties": {
                    "server": {"type": "string"},
                    "request": {"type": "string", "pattern": "^[A-Z][A-Z0-9_]*$"},
                    "fields": {"type": "object", "additionalProperties": {"type": "string"}},
                    "body": {"type": "string"},
                },
            },
            "error": {
                "type": "object",
                "required": ["server", "error"],
                "additionalProperties": False,
                "properties": {
                    "server": {"description": "server that failed, if known", "type": "string"},
                    "error": {"type": "string"},
                    "code": {"description": "response code of a refused request", "type": "integer"},
                },
            },
        },
    }


if __name__ == "__main__":
    sys.stdout.write(orjson.dumps(schema(), option=orjson.OPT_INDENT_2).decode() + "\n")
