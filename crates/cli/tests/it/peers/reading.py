"""Says how the Python SDK reads messages: a file of base64 lines in, a JSON list out."""

import base64
import json
import sys

from mcp import types


def spelled(value):
    """Numbers as text, so that no reader of the list rounds them again."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, (int, float)):
        return {"$number": str(value)}
    if isinstance(value, list):
        return [spelled(item) for item in value]
    return {key: spelled(item) for key, item in value.items()}


def read(raw):
    try:
        message = types.jsonrpc_message_adapter.validate_json(raw, by_name=False)
    except Exception:
        return None
    said = message.model_dump(by_alias=True, exclude_unset=True)
    kind = next((name for name in ("result", "error") if name in said), "call")
    return spelled({
        "kind": kind,
        "id": said.get("id"),
        "method": said.get("method"),
        "params": said.get("params"),
        "payload": said.get(kind) if kind == "result" else None,
    })


with open(sys.argv[1], "rb") as lines:
    print(json.dumps([read(base64.b64decode(line)) for line in lines]))
