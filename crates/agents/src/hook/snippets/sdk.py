"""Asks mcpproxy before each tool call and tells it what came back; @MARK@.

Run that command again to change it. Use: ClaudeAgentOptions(hooks=mcpproxy_hooks.hooks()).
"""

import asyncio
import json

COMMAND = @COMMAND@
ON_FAILURE = "@FAIL@"
TIMEOUT_S = @TIMEOUT_S@
MATCHER = "@MATCHER@"


async def ask(data):
    """Runs the hook and returns its answer; raises where there is none."""
    child = await asyncio.create_subprocess_exec(
        *COMMAND,
        "--event",
        data["hook_event_name"],
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        payload = json.dumps(data, default=str).encode()
        stdout, _ = await asyncio.wait_for(child.communicate(payload), TIMEOUT_S)
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    if child.returncode != 0:
        raise RuntimeError(f"mcpproxy ended with {child.returncode}")
    return json.loads(stdout) if stdout.strip() else {}


async def before(data, tool_use_id, context):
    """Asks; where that fails, says what was installed for this case."""
    try:
        return await ask(data)
    except Exception:
        if ON_FAILURE == "continue":
            return {}
    return {
        "hookSpecificOutput": {
            "hookEventName": data["hook_event_name"],
            "permissionDecision": "deny",
            "permissionDecisionReason": "mcpproxy: the call could not be checked",
        }
    }


async def after(data, tool_use_id, context):
    """Tells what came back; a failure changes nothing."""
    try:
        await ask(data)
    except Exception:
        pass
    return {}


def hooks():
    """Returns what the options of the SDK take as hooks."""
    from claude_agent_sdk import HookMatcher

    return {
        "PreToolUse": [HookMatcher(matcher=MATCHER, hooks=[before])],
        "PostToolUse": [HookMatcher(matcher=MATCHER, hooks=[after])],
    }
