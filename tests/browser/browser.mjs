// What the browser tests share: a browser, a folder, and the program under test.
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

export const { LOCKSTEP, RUNS_WRITER, CHROMIUM, STUDIES, WEB } = process.env;
const fromWeb = createRequire(join(WEB, "package.json"));
const { chromium } = fromWeb("playwright-core");
const AXE = readFileSync(fromWeb.resolve("axe-core/axe.min.js"), "utf8");

export function scratch() {
  const folder = mkdtempSync(join(tmpdir(), "lockstep-browser-"));
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

export function run(program, ...words) {
  const done = spawnSync(program, words, { encoding: "utf8", timeout: 60_000 });
  if (done.status !== 0) throw new Error(`${program} ${words.join(" ")}: ${done.status} ${done.stderr}`);
  return done.stdout;
}

export function launch() {
  return chromium.launch({
    executablePath: CHROMIUM,
    args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
  });
}

/** A page whose console errors, failed requests and requests to elsewhere are collected. */
export async function openPage(browser, url, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(30_000);
  const problems = [];
  page.on("console", (message) => {
    if (message.type() === "error") problems.push(message.text());
  });
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("request", (request) => {
    const address = request.url();
    if (!/^(file:|data:|http:\/\/127\.0\.0\.1)/.test(address)) problems.push(`asked for ${address}`);
  });
  await page.goto(url);
  await page.waitForSelector("html[data-ready]");
  return { page, problems, context };
}

/** Scrolls through the page, so that every chart is drawn. */
export async function drawAll(page) {
  await page.evaluate(async () => {
    for (let y = 0; y < document.documentElement.scrollHeight; y += 500) {
      window.scrollTo({ top: y, behavior: "instant" });
      await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 20)));
    }
  });
  await page.waitForFunction(() =>
    [...document.querySelectorAll(".plot")].filter((plot) => plot.clientWidth > 0).every((plot) => plot.dataset.drawn));
  await page.evaluate(() => window.scrollTo({ top: 0, behavior: "instant" }));
}

/** What axe-core finds against the page: sentences with an example each. */
export async function barriers(page) {
  await page.evaluate(AXE);
  return page.evaluate(async () =>
    (await window.axe.run(document)).violations.map((one) => `${one.help}: ${one.nodes[0].html.slice(0, 120)}`));
}

/** `lockstep serve` on a free port; stop() asks it to end, as Ctrl-C does, and gives its exit code. */
export async function serve(store, ...words) {
  const child = spawn(LOCKSTEP, ["serve", "--json", "--port", "0", "--store", store, ...words], { stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  const lines = createInterface({ input: child.stdout });
  const line = await Promise.race([
    new Promise((resolve) => lines.once("line", resolve)),
    ended.then((code) => { throw new Error(`lockstep serve ended with ${code}`); }),
  ]);
  const { url } = JSON.parse(line);
  return { url, stop: () => { child.kill("SIGINT"); return ended; } };
}

/** The only run of a study, which takes one step for every call of advance(). */
export function liveRun(store, study) {
  const child = spawn(RUNS_WRITER, ["live", store, study], { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const ended = new Promise((resolve) => child.once("exit", resolve));
  return {
    advance: async (times = 1) => {
      for (let i = 0; i < times; ++i) {
        child.stdin.write("\n");
        await lines.next();
      }
    },
    end: async () => { child.stdin.end(); await ended; },
  };
}
