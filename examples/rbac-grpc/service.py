"""Access by role as a gRPC hook of mcpproxy.

`policy.json` names the tools of each role. A caller without a role that has the tool is denied;
tools that need a second look are asked about; tools of which no role has any are left out of listings.
"""

import argparse
import json
import sys
from concurrent import futures
from fnmatch import fnmatchcase
from pathlib import Path

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent.parent / "crates/hooks-remote/proto"))
hook, hook_grpc = grpc.protos_and_services("mcpproxy/hook/v1/hook.proto")


class Policy:
    def __init__(self, path):
        policy = json.loads(Path(path).read_text())
        self.roles = policy["roles"]
        self.confirm = policy["confirm"]

    def allows(self, roles, tool):
        patterns = (pattern for role in roles for pattern in self.roles.get(role, ()))
        return any(fnmatchcase(tool, pattern) for pattern in patterns)

    def is_for_somebody(self, tool):
        return self.allows(self.roles, tool)

    def needs_a_person(self, tool):
        return any(fnmatchcase(tool, pattern) for pattern in self.confirm)


def violation(rule, description):
    return hook.Violation(
        rule_id=rule,
        severity=hook.SEVERITY_HIGH,
        threat_type=hook.THREAT_UNAUTHORIZED_ACCESS,
        description=description,
    )


class Hook(hook_grpc.HookServicer):
    def __init__(self, policy):
        self.policy = policy
        self.observed = 0

    def Inspect(self, inspection, context):
        who = inspection.context
        subject = inspection.WhichOneof("subject")
        # The gateway lists for itself, once for all callers, so that nobody stands behind a listing.
        if subject == "response" and inspection.response.kind == hook.Response.KIND_LISTING:
            return self.listing(inspection.response.body)
        if not who.HasField("identity"):
            return hook.Decision(require_auth=hook.RequireAuth(what="a token that says who you are"))
        if subject == "request" and inspection.request.method == "tools/call":
            return self.call(list(who.identity.roles), inspection.request.name)
        return hook.Decision(allow=hook.Allow())

    def call(self, roles, tool):
        if not self.policy.allows(roles, tool):
            return hook.Decision(deny=violation("RBAC-1", f"no role of the caller has tool {tool}"))
        if self.policy.needs_a_person(tool):
            return hook.Decision(ask=violation("RBAC-2", f"tool {tool} needs a second look"))
        return hook.Decision(allow=hook.Allow())

    def listing(self, body):
        listing = json.loads(body)
        tools = listing.get("tools")
        if tools is None:
            return hook.Decision(allow=hook.Allow())
        kept = [tool for tool in tools if self.policy.is_for_somebody(tool["name"])]
        if len(kept) == len(tools):
            return hook.Decision(allow=hook.Allow())
        listing["tools"] = kept
        audit = json.dumps({"hidden": len(tools) - len(kept)})
        return hook.Decision(modify=hook.Modification(result=json.dumps(listing).encode(), audit=audit))

    def Observe(self, batch, context):
        self.observed += len(batch.inspections)
        print(f"observed {self.observed}, lost {batch.lost}", flush=True)
        return hook.Received()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=9000)
    parser.add_argument("--policy", default=HERE / "policy.json")
    arguments = parser.parse_args()
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=8))
    hook_grpc.add_HookServicer_to_server(Hook(Policy(arguments.policy)), server)
    status = health.HealthServicer()
    status.set("", health_pb2.HealthCheckResponse.SERVING)
    health_pb2_grpc.add_HealthServicer_to_server(status, server)
    port = server.add_insecure_port(f"127.0.0.1:{arguments.port}")
    server.start()
    print(f"listening on {port}", flush=True)
    server.wait_for_termination()


if __name__ == "__main__":
    main()
