"""An authorization service over the interface that Envoy publishes (package `xds-protos`).

It checks what it is shown as a policy would, and denies with what is missing.
"""

import json
from concurrent import futures

import grpc
from envoy.config.core.v3 import base_pb2
from envoy.service.auth.v3 import external_auth_pb2 as auth
from envoy.service.auth.v3 import external_auth_pb2_grpc
from google.protobuf import json_format
from google.rpc import status_pb2


def missing(request):
    attributes = request.attributes
    http = attributes.request.http
    body = json.loads(http.body)
    metadata = json_format.MessageToDict(attributes.metadata_context)["filterMetadata"]
    claims = metadata["envoy.filters.http.jwt_authn"]["jwt_payload"]
    address = attributes.source.address.socket_address
    checks = {
        "method": http.method == "POST",
        "path": http.path == "/mcp/files",
        "length": http.headers["content-length"] == str(len(http.body.encode())) == str(http.size),
        "whole": http.headers["x-envoy-auth-partial-body"] == "false",
        "type": http.headers["content-type"] == "application/json",
        "mcp headers": [http.headers[f"mcp-{name}"] for name in ("method", "name", "session-id")]
        == ["tools/call", body["params"]["name"], "s-1"],
        "headers": http.headers["user-agent"] == "test",
        "body": body["jsonrpc"] == "2.0" and body["id"] == 7,
        "metadata": metadata["envoy.filters.http.mcp"] == body,
        "claims": claims
        == {"sub": "ada", "roles": ["reader"], "scope": "files:read", "client_id": "claude-code", "team": "blue"},
        "extensions": dict(attributes.context_extensions)
        == {"hook_id": "authz", "server_id": "files", "correlation_id": "c-1"},
        "source": (attributes.source.principal, address.address, address.port_value) == ("ada", "127.0.0.1", 5000),
        "time": attributes.request.time.ToMilliseconds() == 1700000000123,
        "correlation": http.id == "c-1",
    }
    return [name for name, holds in checks.items() if not holds]


class Authorization(external_auth_pb2_grpc.AuthorizationServicer):
    def Check(self, request, context):
        wrong = missing(request)
        tool = json.loads(request.attributes.request.http.body)["params"]["name"]
        if wrong:
            return self.denied(f"wrong: {wrong}")
        if tool == "delete":
            return self.denied("deletions are not for agents")
        if tool == "deploy":
            answer = self.denied("deployments need a person")
            answer.dynamic_metadata.update({"decision": "require_approval"})
            return answer
        answer = auth.CheckResponse(status=status_pb2.Status(code=0))
        if tool == "read":
            header = base_pb2.HeaderValue(key="x-allowed-by", value="authz")
            answer.ok_response.headers.append(base_pb2.HeaderValueOption(header=header))
        return answer

    def denied(self, reason):
        answer = auth.CheckResponse(status=status_pb2.Status(code=7))
        answer.denied_response.status.code = 403
        answer.denied_response.body = reason
        return answer


server = grpc.server(futures.ThreadPoolExecutor(max_workers=4))
external_auth_pb2_grpc.add_AuthorizationServicer_to_server(Authorization(), server)
print(f"listening on {server.add_insecure_port('127.0.0.1:0')}", flush=True)
server.start()
server.wait_for_termination()
