// Asks mcpproxy before each tool call and tells it what came back; @MARK@.
// Run that command again to change it.

import { spawn } from "node:child_process";

const COMMAND = @COMMAND@;
const ON_FAILURE: string = "@FAIL@";
const TIMEOUT_MS = @TIMEOUT_MS@;

type Answer = { exit: number | null; stdout: string };

/** Runs the hook; exit is null where it could not be run or was late. */
function ask(event: string, payload: unknown): Promise<Answer> {
  return new Promise((resolve) => {
    const [program, ...args] = COMMAND;
    const child = spawn(program, [...args, "--event", event], {
      stdio: ["pipe", "pipe", "ignore"],
      timeout: TIMEOUT_MS,
    });
    let stdout = "";
    child.stdout.setEncoding("utf8");
    child.stdout.on("data", (part: string) => (stdout += part));
    child.on("error", () => resolve({ exit: null, stdout: "" }));
    child.on("close", (exit: number | null) => resolve({ exit, stdout }));
    // A hook that ended early has answered all the same.
    child.stdin.on("error", () => {});
    child.stdin.end(JSON.stringify(payload));
  });
}

/** Throws where the call must not run. */
function judge(answer: Answer): void {
  let failed = answer.exit !== 0;
  let said: { decision?: string; reason?: string } = {};
  if (!failed && answer.stdout.trim() !== "") {
    try {
      said = JSON.parse(answer.stdout);
    } catch {
      failed = true;
    }
  }
  if (said.decision === "deny") {
    throw new Error(`mcpproxy: ${said.reason ?? "this call is not allowed"}`);
  }
  if (failed && ON_FAILURE === "block") {
    throw new Error("mcpproxy: the call could not be checked");
  }
}

export const Mcpproxy = async ({ directory }: { directory: string }) => ({
  "tool.execute.before": async (
    input: { tool: string; sessionID: string; callID: string },
    output: { args: unknown },
  ) => {
    const event = "tool.execute.before";
    judge(await ask(event, { ...input, args: output.args, cwd: directory }));
  },
  "tool.execute.after": async (
    input: { tool: string; sessionID: string; callID: string; args?: unknown },
    output: { output: string },
  ) => {
    await ask("tool.execute.after", { ...input, output: output.output, cwd: directory });
  },
});
