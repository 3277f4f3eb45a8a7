// Asks mcpproxy before each tool call and tells it what came back; @MARK@.
// Run that command again to change it. Use: query({ prompt, options: { hooks } }).

import { spawn } from "node:child_process";

const COMMAND = @COMMAND@;
const ON_FAILURE = "@FAIL@" as "continue" | "block";
const TIMEOUT_S = @TIMEOUT_S@;
const MATCHER = "@MATCHER@";

/** Runs the hook and returns its answer; rejects where there is none. */
function ask(input: { hook_event_name: string }): Promise<Record<string, unknown>> {
  return new Promise((resolve, reject) => {
    const [program, ...args] = COMMAND;
    const child = spawn(program, [...args, "--event", input.hook_event_name], {
      stdio: ["pipe", "pipe", "ignore"],
      timeout: TIMEOUT_S * 1000,
    });
    let stdout = "";
    child.stdout.setEncoding("utf8");
    child.stdout.on("data", (part: string) => (stdout += part));
    child.on("error", reject);
    child.on("close", (exit: number | null) => {
      if (exit !== 0) {
        reject(new Error(`mcpproxy ended with ${exit}`));
        return;
      }
      try {
        resolve(stdout.trim() === "" ? {} : JSON.parse(stdout));
      } catch (fault) {
        reject(fault);
      }
    });
    // A hook that ended early has answered all the same.
    child.stdin.on("error", () => {});
    child.stdin.end(JSON.stringify(input));
  });
}

/** Asks; where that fails, says what was installed for this case. */
async function before(input: { hook_event_name: string }): Promise<Record<string, unknown>> {
  try {
    return await ask(input);
  } catch {
    if (ON_FAILURE === "continue") return {};
    return {
      hookSpecificOutput: {
        hookEventName: input.hook_event_name,
        permissionDecision: "deny",
        permissionDecisionReason: "mcpproxy: the call could not be checked",
      },
    };
  }
}

/** Tells what came back; a failure changes nothing. */
async function after(input: { hook_event_name: string }): Promise<Record<string, unknown>> {
  await ask(input).catch(() => ({}));
  return {};
}

export const hooks = {
  PreToolUse: [
    { matcher: MATCHER, hooks: [before], timeout: TIMEOUT_S + 1, onFailure: ON_FAILURE },
  ],
  PostToolUse: [{ matcher: MATCHER, hooks: [after] }],
  PostToolUseFailure: [{ matcher: MATCHER, hooks: [after] }],
};
