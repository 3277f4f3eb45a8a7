// What the script of the dashboard does where a page stays open: whether its mark tells the truth,
// and where the focus goes. Against a small stage of its own, since no gateway goes away, comes back
// and ends a session at a word.
//
// Called with one argument, JSON: {modules, chromium}. Ends with 0 only if everything was seen.

import { createRequire } from "node:module";
import { createServer } from "node:http";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import assert from "node:assert/strict";

const told = JSON.parse(process.argv[2]);
const require = createRequire(join(told.modules, "live.cjs"));
const { chromium } = require("playwright-core");
const script = readFileSync(new URL("../../../../web/assets/live.js", import.meta.url));

const LOOK = 11000; // more than between two looks, in milliseconds of the page

// Answers as the dashboard does: pages and a stream to who is logged in, the login to others.
const stage = async () => {
  const stage = { logged: true, up: true, main: "", streams: new Set() };
  const frame = (main) => `<!doctype html><title>t</title><script src="/live.js" defer></script>
    <nav><span id="waiting" data-live></span></nav>
    <main><p data-live-state hidden><span data-live-text>Live</span>
    <button type="button" data-live-pause>Pause</button>
    <a data-live-login hidden href="/ui/login">Log in</a></p>${main}<p data-live-said></p></main>`;
  const answer = (request, response) => {
    if (request.url === "/live.js") return response.end(script);
    if (!stage.up) return request.socket.destroy();
    if (request.url === "/ui/events") {
      if (!stage.logged) return response.writeHead(401).end();
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write("retry: 20\n\n");
      stage.streams.add(response);
      return undefined;
    }
    const sent = stage.logged || request.url.startsWith("/ui/login");
    if (!sent) return response.writeHead(303, { location: "/ui/login" }).end();
    response.setHeader("content-type", "text/html");
    return response.end(request.url.startsWith("/ui/login") ? "<h1>Log in</h1>" : frame(stage.main));
  };
  const server = createServer(answer);
  await new Promise((done) => { server.listen(0, "127.0.0.1", done); });
  stage.base = `http://127.0.0.1:${server.address().port}`;
  stage.cut = () => { for (const one of stage.streams) one.destroy(); stage.streams.clear(); };
  stage.say = (kind) => { for (const one of stage.streams) one.write(`event: ${kind}\ndata: {}\n\n`); };
  stage.heard = async () => { while (stage.streams.size === 0) await new Promise((done) => { setTimeout(done, 10); }); };
  return stage;
};

const browser = await chromium.launch({ executablePath: told.chromium, args: ["--no-sandbox", "--disable-gpu"] });

const open = async (on, main) => {
  on.main = main;
  const context = await browser.newContext();
  context.setDefaultTimeout(15000);
  const page = await context.newPage();
  await page.clock.install();
  await page.goto(`${on.base}/ui/approvals`);
  await on.heard();
  return page;
};

const says = (page, word) => page.waitForFunction(
  (word) => document.querySelector("[data-live-text]").textContent === word, word, { polling: 50 },
);

// Regression for #8: the mark said "Live" for ever after the gateway was gone or the session over.
const mark = async () => {
  const on = await stage();
  const page = await open(on, '<div id="part" data-live>one</div>');
  await says(page, "Live");
  // A stream that is opened anew, as every few minutes, was not gone.
  on.cut();
  await on.heard();
  await page.clock.runFor(6000);
  await says(page, "Live");
  on.up = false;
  on.cut();
  await page.waitForTimeout(200);
  await page.clock.runFor(6000);
  await says(page, "Not connected");
  on.up = true;
  await on.heard();
  await says(page, "Live");
  // The gateway was started anew: nobody is logged in there, and what is not heard is fetched.
  on.logged = false;
  on.cut();
  await page.waitForTimeout(200);
  await page.clock.runFor(LOOK);
  await says(page, "Logged out");
  assert.equal(await page.getByRole("button", { name: "Pause" }).isVisible(), false);
  const login = page.getByRole("link", { name: "Log in" });
  assert.equal(await login.getAttribute("href"), "/ui/approvals");
  // Logged in again in another window, the page follows again by itself.
  on.logged = true;
  on.main = '<div id="part" data-live>two</div>';
  await page.clock.runFor(LOOK);
  await says(page, "Live");
  await page.getByText("two").waitFor();
  await on.heard();
  on.logged = false;
  await page.clock.runFor(LOOK);
  await says(page, "Logged out");
  await login.click();
  await page.getByRole("heading", { name: "Log in" }).waitFor();
};

// Regression for #8: pages of which nothing follows were "Live" as well.
const still = async () => {
  const on = await stage();
  const page = await open(on, "<div>as it was when it was loaded</div>");
  const shown = page.locator("[data-live-state]");
  assert.equal(await shown.isVisible(), false);
  on.logged = false;
  await page.clock.runFor(LOOK);
  await says(page, "Logged out");
  assert.equal(await shown.isVisible(), true);
  assert.equal(await page.getByRole("button", { name: "Pause" }).isVisible(), false);
};

// Regression for #8: buttons have neither an address nor a label, and an update put the focus on the
// first of the part, which belongs to another question: one key further it would be answered.
const focus = async () => {
  const on = await stage();
  const question = (id) => `<article id="q-${id}"><a href="/ui/flows/s">session</a><pre tabindex="0">text</pre>
    <form method="post" action="/ui/approvals/${id}">
    <button name="decision" value="approve">Approve once</button>
    <button name="decision" value="deny">Deny</button></form></article>`;
  const row = (name) => `<tr><td><a href="/ui/tools/s/${name}">${name}</a></td><td>
    <form method="post" action="/ui/tools/s/${name}"><a class="button" href="/ui/tools/s/${name}">Review</a>
    <button name="act" value="block">Block</button></form><details><summary>${name}</summary>all</details></td></tr>`;
  const all = (ids, names) => `<div id="questions" data-live>${ids.map(question).join("")}</div>
    <div id="withheld" data-live><table>${names.map(row).join("")}</table></div>`;
  const page = await open(on, all([1, 2], ["b", "c"]));
  const update = async (ids, names) => {
    on.main = all(ids, names);
    on.say("approval.requested");
    await page.waitForTimeout(200);
    await page.clock.runFor(3000);
    await page.locator("article").nth(ids.length - 1).waitFor();
    await page.waitForFunction((count) => document.querySelectorAll("article").length === count, ids.length, { polling: 50 });
  };
  const has = () => page.evaluate(() => {
    const one = document.activeElement;
    return `${one.form ? one.form.getAttribute("action") : one.closest("article")?.id || ""} ${one.textContent}`;
  });
  await page.locator("article").nth(1).getByRole("button", { name: "Deny" }).focus();
  await update([0, 1, 2], ["b", "c"]);
  assert.equal(await has(), "/ui/approvals/2 Deny");
  await page.locator("#q-2 pre").focus();
  await update([4, 0, 1, 2], ["b", "c"]);
  assert.equal(await has(), "q-2 text");
  await page.locator("tr").nth(1).getByRole("button", { name: "Block" }).focus();
  await update([0, 1, 2], ["a", "b", "c"]);
  assert.equal(await has(), "/ui/tools/s/c Block");
  await page.locator("tr").nth(2).getByRole("link", { name: "Review" }).focus();
  await update([0, 1, 2, 3], ["0", "a", "b", "c"]);
  assert.equal(await page.evaluate(() => document.activeElement.closest("tr").rowIndex), 3);
  await page.locator("tr").nth(1).locator("summary").click();
  await update([0, 1, 2], ["a", "b", "c"]);
  const opened = await page.locator("details[open]").allTextContents();
  assert.deepEqual(opened, ["aall"]);
  // What had the focus is gone: nothing else has it.
  await page.locator("#q-2").getByRole("button", { name: "Approve once" }).focus();
  await update([0, 1], ["a", "b", "c"]);
  assert.equal(await page.evaluate(() => document.activeElement.tagName), "BODY");
};

try {
  for (const part of [mark, still, focus]) await part();
  console.log("seen");
} finally {
  await browser.close();
}
process.exit(0);
