// A person's path through every page of the dashboard, in a real browser.
//
// Called with one argument, JSON: {modules, chromium, link, key, base, shots}. What the agent and
// the gateway are to do meanwhile is asked for on standard output, as `do NAME`; a line on standard
// input says that it is done, with whatever came of it. Ends with 0 only if everything was seen.

import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import assert from "node:assert/strict";

const told = JSON.parse(process.argv[2]);
const require = createRequire(join(told.modules, "walk.cjs"));
const { chromium } = require("playwright-core");
const axe = readFileSync(join(told.modules, "axe-core/axe.min.js"), "utf8");

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const please = async (name) => {
  console.log(`do ${name}`);
  return (await lines.next()).value;
};

const browser = await chromium.launch({
  executablePath: told.chromium,
  args: [
    "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
  ],
});
const faults = [];
const tooWide = [];

// Opens a window that writes down everything a page should not do.
const open = async (options) => {
  const context = await browser.newContext({ viewport: { width: 1360, height: 900 }, reducedMotion: "reduce", ...options });
  context.setDefaultTimeout(15000);
  const page = await context.newPage();
  page.on("console", (line) => { if (line.type() === "error") faults.push(line.text()); });
  page.on("pageerror", (fault) => faults.push(fault.message));
  page.on("request", (request) => {
    if (!request.url().startsWith(told.base)) faults.push(`asked ${request.url()}`);
  });
  return page;
};

// Takes a picture, and has axe look for what keeps people out.
const inspect = async (page, name) => {
  await page.screenshot({ path: join(told.shots, `${name}.png`), fullPage: true });
  for (const scheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme: scheme });
    await page.evaluate(axe);
    const { violations } = await page.evaluate(() => window.axe.run());
    const bad = violations.filter((one) => ["serious", "critical"].includes(one.impact));
    const said = bad.map((one) => `${one.id}: ${one.nodes[0].html}`);
    assert.deepEqual(said, [], `${name}, ${scheme}`);
  }
  await page.screenshot({ path: join(told.shots, `${name}-dark.png`), fullPage: true });
  await page.emulateMedia({ colorScheme: "light" });
  await fits(page, name);
};

// On a telephone nothing is wider than the screen: neither the page, nor what would scroll by itself,
// nor a text that is cut off at the edge of its box.
const fits = async (page, name) => {
  await page.setViewportSize({ width: 390, height: 844 });
  const wide = await page.evaluate(() => {
    const said = (one) => `${one.tagName}.${one.className} "${one.textContent.trim().slice(0, 40)}"`;
    const all = [document.documentElement, ...document.body.querySelectorAll("*")];
    // A field of a form scrolls what is typed into it, and the heads of columns are only read aloud.
    const aloud = (one) => one.closest("thead") !== null || one.clientWidth <= 1;
    const seen = (one) => !["INPUT", "TEXTAREA", "SELECT"].includes(one.tagName) && !aloud(one);
    const cuts = (one) => getComputedStyle(one).overflowX !== "visible" || one === document.documentElement;
    const over = (one) => cuts(one) && one.scrollWidth > one.clientWidth + 1;
    const beyond = (one) => one.getBoundingClientRect().right > 391;
    return all.filter((one) => seen(one) && (over(one) || beyond(one))).map(said);
  });
  tooWide.push(...wide.map((one) => `${name}: ${one}`));
  await page.screenshot({ path: join(told.shots, `${name}-narrow.png`), fullPage: true });
  await page.emulateMedia({ colorScheme: "dark" });
  await page.screenshot({ path: join(told.shots, `${name}-narrow-dark.png`), fullPage: true });
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize({ width: 1360, height: 900 });
};

const overview = async (page) => {
  await page.goto(told.link);
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  await page.getByRole("region", { name: "Picture of calls over time" }).waitFor();
  const banner = page.getByRole("complementary", { name: "Security coverage" });
  assert.match(await banner.innerText(), /MCP proxy only\. Install hooks for full agent tool/);
  await inspect(page, "overview");
  // Regression for #8: where two tables stand beside each other, long names are broken and no column is cut.
  for (const width of [1100, 1280]) {
    await page.setViewportSize({ width, height: 900 });
    const cut = await page.getByRole("region", { name: "Top flows" }).evaluate((one) => {
      const names = one.querySelectorAll("tbody td:nth-child(-n+2)");
      names.forEach((cell) => { cell.textContent = "a-long-upstream-name:list_everything_in_it"; });
      return names.length === 0 ? "nothing" : one.scrollWidth - one.clientWidth;
    });
    assert.equal(cut, 0, `top flows at ${width}`);
  }
  await page.setViewportSize({ width: 1360, height: 900 });
  await banner.getByRole("button", { name: "Dismiss" }).click();
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  assert.equal(await banner.count(), 0, "the banner stays away");
  await page.getByRole("button", { name: "dark" }).click();
  assert.equal(await page.getAttribute("html", "data-theme"), "dark");
  await page.getByRole("button", { name: "system" }).click();
};

const activity = async (page) => {
  await page.getByRole("link", { name: "Activity" }).click();
  await page.getByLabel("Tool", { exact: true }).fill("read");
  await page.getByRole("button", { name: "Filter" }).click();
  const rows = page.locator("#records tbody tr");
  const before = await rows.count();
  assert.ok(before > 0, "what the agent read is on record");
  await page.evaluate(() => { window.same = true; });
  await please("read");
  await page.waitForFunction((count) => document.querySelectorAll("#records tbody tr").length > count, before);
  assert.equal(await page.evaluate(() => window.same), true, "seen without a new load");
  await inspect(page, "activity");
  await page.goto(`${told.base}/ui/activity?status=blocked&type=policy_decision`);
  await page.locator("#records tbody a").first().click();
  await page.getByText("Sensitive data (api_token) flowing").first().waitFor();
  await page.getByText("inside:read").first().waitFor();
  assert.ok(!(await page.content()).includes(told.secret), "samples are masked");
  await inspect(page, "record");
};

const flows = async (page) => {
  await page.getByRole("link", { name: "Flows" }).click();
  await inspect(page, "flows");
  await page.locator("#moved tbody a").first().click();
  await page.locator("svg .edge.critical .cross").first().waitFor();
  await page.getByRole("region", { name: "Timeline of calls" }).waitFor();
  await inspect(page, "session");
};

const approvals = async (page) => {
  await page.getByRole("link", { name: /Approvals/ }).click();
  await page.getByText("Nothing waits for you.").waitFor();
  await please("ask");
  await page.getByRole("button", { name: "Approve once" }).waitFor();
  await page.getByText("What would leave").waitFor();
  assert.match(await page.locator(".question pre").innerText(), /harbour master/);
  await page.locator("#waiting .count").waitFor();
  await inspect(page, "approvals");
  await page.getByRole("link", { name: "Make a rule" }).click();
  await page.getByRole("heading", { name: "The rule" }).waitFor();
  await page.getByText(/would have been judged otherwise/).waitFor();
  await inspect(page, "rule");
  await page.getByRole("link", { name: "Back" }).click();
  await page.getByRole("button", { name: "Approve once" }).click();
  await page.getByText("The call was approved.").waitFor();
  assert.equal(await please("released"), "posted");
};

const tools = async (page) => {
  await page.getByRole("link", { name: "Tools", exact: true }).click();
  await page.locator("#withheld").getByText("rug_pull").waitFor();
  await inspect(page, "tools");
  await page.locator("#withheld").getByRole("link", { name: "disk:backup" }).click();
  assert.match(await page.locator("del").first().innerText(), /local/);
  assert.match(await page.locator("ins").first().innerText(), /backups/);
  await inspect(page, "diff");
  await page.getByRole("button", { name: "Approve this version" }).click();
  await page.getByText("`disk:backup` is approved.").waitFor();
  assert.equal(await please("listed"), "yes");
  await page.locator("#servers").getByRole("link", { name: "outside" }).click();
  await page.getByText("Counts as").waitFor();
  await inspect(page, "server");
  await page.getByLabel("Count it as").selectOption("hybrid");
  await page.getByRole("button", { name: "Override" }).click();
  await page.getByText("`outside` now counts as hybrid.").waitFor();
};

const policy = async (page) => {
  await page.getByRole("link", { name: "Policy", exact: true }).click();
  await inspect(page, "policy");
  await page.getByRole("link", { name: "Try a call" }).click();
  await page.getByLabel("Server").fill("outside");
  await page.getByLabel("Tool").fill("post");
  await page.getByRole("button", { name: "Try it" }).click();
  await page.getByText("Tier, strongest first").waitFor();
  await inspect(page, "try");
  await page.getByRole("link", { name: "Change and replay" }).click();
  await page.getByRole("button", { name: "Show the effect" }).click();
  await page.getByText(/would have been judged otherwise/).waitFor();
  await inspect(page, "change");
  await page.getByRole("button", { name: "Save and put in force" }).click();
  await page.getByText(/The change is in force/).waitFor();
  await page.getByText("security.flow_policy.internal_to_external").waitFor();
};

// With the keyboard alone: past the navigation, to the content.
const keyboard = async (page) => {
  await page.goto(`${told.base}/ui/`);
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "Skip to the content");
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => document.activeElement.id), "main");
};

// Without a script: the key is typed, a filter asks, and a form changes something.
const plain = async () => {
  const page = await open({ javaScriptEnabled: false });
  await page.goto(`${told.base}/ui/activity`);
  await page.getByLabel("API key").fill(`${told.key}x`);
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByText("this is not the API key").waitFor();
  await page.screenshot({ path: join(told.shots, "login.png") });
  await fits(page, "login");
  await page.getByLabel("API key").fill(told.key);
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByLabel("Status", { exact: true }).selectOption("blocked");
  await page.getByRole("button", { name: "Filter" }).click();
  assert.match(page.url(), /status=blocked/);
  assert.ok((await page.locator("#records tbody tr").count()) > 0);
  await page.getByRole("button", { name: "Log out" }).click();
  await page.getByRole("heading", { name: "Log in" }).waitFor();
  await page.goto(`${told.base}/ui/`);
  await page.getByRole("heading", { name: "Log in" }).waitFor();
};

try {
  const page = await open({});
  for (const part of [overview, activity, flows, approvals, tools, policy, keyboard]) {
    await part(page);
    // A refused form is an answer with a status, which the console repeats.
    const odd = faults.filter((fault) => !/status of 4\d\d/.test(fault));
    assert.deepEqual(odd, [], part.name);
  }
  await plain();
  assert.deepEqual(tooWide, [], "on a narrow screen");
  console.log("seen");
} finally {
  await browser.close();
}
process.exit(0);
