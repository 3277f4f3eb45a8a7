"""A policy service over the interface that agentgateway publishes."""

import json
import sys
from concurrent import futures
from pathlib import Path

import grpc
from google.protobuf import json_format

sys.path.append(str(Path(__file__).resolve().parent))
mcp, mcp_grpc = grpc.protos_and_services("ext_mcp.proto")


class ExtMcp(mcp_grpc.ExtMcpServicer):
    def CheckRequest(self, request, context):
        params = json.loads(request.mcp_request)
        seen = json_format.MessageToDict(request.metadata_context)
        sound = (
            list(request.service_names) == ["files"]
            and request.method == "tools/call"
            and seen["session"]["id"] == "s-1"
            and seen["identity"]["roles"] == ["reader"]
            and [(header.key, header.value) for header in request.headers] == [("user-agent", b"test")]
        )
        if not sound:
            return mcp.McpRequestResult(error=mcp.AuthorizationError(reason=f"wrong: {request}"))
        if params["name"] == "delete":
            code = mcp.AuthorizationError.PERMISSION_DENIED
            return mcp.McpRequestResult(error=mcp.AuthorizationError(code=code, reason="not for agents"))
        if params["name"] == "search":
            params["arguments"]["limit"] = 10
            answer = mcp.McpRequestResult(mutated=json.dumps(params).encode())
            answer.header_mutation.set.add(key="x-limited", value=b"yes")
            answer.metadata.update({"limited": True})
            return answer
        return mcp.McpRequestResult(**{"pass": mcp.Pass()})

    def CheckResponse(self, response, context):
        if b"internal" in response.mcp_response:
            return mcp.McpResponseResult(mutated=response.mcp_response.replace(b"internal", b"********"))
        return mcp.McpResponseResult(**{"pass": mcp.Pass()})


server = grpc.server(futures.ThreadPoolExecutor(max_workers=4))
mcp_grpc.add_ExtMcpServicer_to_server(ExtMcp(), server)
print(f"listening on {server.add_insecure_port('127.0.0.1:0')}", flush=True)
server.start()
server.wait_for_termination()
