# Runs in a network namespace that has nothing but loopback: the gateway, the scripted model and the
# agent, until the agent has ended. Arguments: the program, node, the agent.
set -eu
program=$1 node=$2 agent=$3
ip link set lo up
"$node" model.mjs 2>model.log & model=$!
"$program" serve --config mcpproxy.yaml --data-dir data --listen 127.0.0.1:18902 2>serve.log & gateway=$!
trap 'kill $model $gateway 2>/dev/null; wait' EXIT
tries=0
until grep -q 'mcpproxy listens on' serve.log && [ -S data/mcpproxy.sock ]; do
  tries=$((tries + 1)); [ "$tries" -lt 200 ]; sleep 0.1
done
"$program" hook install --agent codex --scope user --config mcpproxy.yaml --data-dir data >install.log 2>&1
cd work
timeout 90 "$node" "$agent" exec --json --skip-git-repo-check --dangerously-bypass-hook-trust \
  --dangerously-bypass-approvals-and-sandbox go </dev/null >../agent.out 2>../agent.err
