"""A client of the Python SDK: lists and calls the tools behind a gateway, and prints what came.

Usage: client.py URL MODE FOLDER REPOSITORY
"""

import asyncio
import json
import sys

from mcp import Client
from mcp.types import ElicitResult, TextContent


async def run(url: str, mode: str, folder: str, repository: str) -> dict:
    progress = []
    asked = []

    async def note(done: float, total: float | None, _message: str | None) -> None:
        progress.append([done, total])

    async def answer(_context, params) -> ElicitResult:
        asked.append(params.message)
        return ElicitResult(action="accept", content={"name": "Ada Lovelace", "check": True})

    async with Client(url, mode=mode, elicitation_callback=answer) as client:

        async def call(tool: str, arguments: dict, **more) -> str:
            result = await client.call_tool(tool, arguments, **more)
            if result.is_error:
                raise RuntimeError(f"{tool}: {result.content}")
            return "\n".join(part.text for part in result.content if isinstance(part, TextContent))

        entity = {"name": f"{mode} engine", "entityType": "machine", "observations": ["has a mill"]}
        steps = {"duration": 0.4, "steps": 4}
        return {
            "version": client.protocol_version,
            "server": client.server_info and client.server_info.name,
            "tools": [tool.name for tool in (await client.list_tools()).tools],
            "file": await call("files__read_text_file", {"path": f"{folder}/note.txt"}),
            "log": await call("git__git_log", {"repo_path": repository}),
            "stored": await call("memory__create_entities", {"entities": [entity]}),
            "read": await call("memory__open_nodes", {"names": [entity["name"]]}),
            "sum": await call("everything__get-sum", {"a": 2, "b": 40}),
            "long": await call(
                "everything__trigger-long-running-operation", steps, progress_callback=note
            ),
            "progress": progress,
            "elicited": await call("everything__trigger-elicitation-request", {}),
            "asked": asked,
        }


print(json.dumps(asyncio.run(run(*sys.argv[1:]))))
