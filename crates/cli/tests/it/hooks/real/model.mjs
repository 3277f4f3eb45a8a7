// A model that says what it was told to say: one item of `steps.json` for each request, then a
// last message. What it was asked is written down beside it.

import { createServer } from "node:http";
import { readFileSync, writeFileSync } from "node:fs";

const steps = JSON.parse(readFileSync("steps.json", "utf8"));
const done = { type: "message", role: "assistant", content: [{ type: "output_text", text: "done" }] };
const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
let asked = 0;

createServer((request, response) => {
  const pieces = [];
  request.on("data", (piece) => pieces.push(piece));
  request.on("end", () => {
    if (request.method !== "POST") {
      response.writeHead(200, { "content-type": "application/json" });
      response.end('{"data":[],"models":[]}');
      return;
    }
    const number = asked++;
    writeFileSync(`asked-${number}.json`, Buffer.concat(pieces));
    const id = `r${number}`;
    const item = { id: `i${number}`, ...(steps[number] ?? done) };
    const events = [
      { type: "response.created", response: { id } },
      { type: "response.output_item.done", output_index: 0, item },
      { type: "response.completed", response: { id, usage } },
    ];
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const event of events) {
      response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    }
    response.end();
  });
}).listen(18901, "127.0.0.1");
