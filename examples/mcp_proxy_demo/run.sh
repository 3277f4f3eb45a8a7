#!/bin/sh
# A session of three calls through the guard, then what the pack of it says.
# Usage: run.sh ASSAY UPSTREAM...   (run.sh assay mcpproxy-sample echo)
set -eu

here=$(cd "$(dirname "$0")" && pwd)
assay=$1
shift
work=$(mktemp -d)

call() {
    printf '{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"%s","arguments":%s}}\n' "$@"
}

{
    printf '%s\n' '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"demo","version":"1"}}}'
    printf '%s\n' '{"jsonrpc":"2.0","method":"notifications/initialized"}'
    call 1 add '{"a":1,"b":2}'
    call 2 crash '{}'
    call 3 echo '{"text":"hello"}'
} | "$assay" mcp-proxy --audit-dir "$work" --profile guard \
    --policy "$here/assay.mcp-policy.yaml" -- "$@" || echo "exit code $? (1: a violation is on record)"

for pack in "$work"/packs/*; do
    "$assay" verify-pack "$pack"
    "$assay" keys export >"$work/key.pem"
    "$here/verify.sh" "$pack" "$work/key.pem"
done
