// Says how the TypeScript SDK reads messages: a file of base64 lines in, a JSON list out.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [file, modules] = process.argv.slice(2);
const require = createRequire(`${modules}/`);
const { JSONRPCMessageSchema } = await import(
  pathToFileURL(require.resolve("@modelcontextprotocol/sdk/types.js")).href
);

// Numbers as text, so that no reader of the list rounds them again.
function spelled(value) {
  // What is no character cannot be handed on as one.
  if (typeof value === "string") return value.toWellFormed();
  if (typeof value === "number") return { $number: String(value) };
  if (Array.isArray(value)) return value.map(spelled);
  if (value === null || typeof value !== "object") return value;
  const pairs = Object.keys(value).map((key) => [key.toWellFormed(), spelled(value[key])]);
  return Object.fromEntries(pairs);
}

function read(raw) {
  let said;
  try {
    said = JSONRPCMessageSchema.parse(JSON.parse(raw.toString("utf8")));
  } catch {
    return null;
  }
  const kind = ["result", "error"].find((name) => name in said) ?? "call";
  return spelled({
    kind,
    id: said.id ?? null,
    method: said.method ?? null,
    params: said.params ?? null,
    payload: kind === "result" ? said.result : null,
  });
}

const lines = readFileSync(file, "ascii").trim().split("\n");
process.stdout.write(JSON.stringify(lines.map((line) => read(Buffer.from(line, "base64")))));
