#!/usr/bin/env node
// How long large stores take to be looked at: a study of 500 runs and a run of a million steps (made up),
// as a report and live. Needs web/node_modules and chromium.
// usage: bench/serve/open.mjs BIN_DIR [ROUNDS]
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const [bin, rounds] = [process.argv[2], Number(process.argv[3] ?? 3)];
if (!bin) {
  console.error("usage: bench/serve/open.mjs BIN_DIR [ROUNDS]");
  process.exit(2);
}
const root = join(dirname(fileURLToPath(import.meta.url)), "../..");
const { chromium } = createRequire(join(root, "web/package.json"))("playwright-core");
const folder = mkdtempSync(join(tmpdir(), "lockstep-open-"));

function timed(work) {
  const from = performance.now();
  const result = work();
  return [(performance.now() - from) / 1000, result];
}
function must(program, ...words) {
  const done = spawnSync(join(bin, program), words, { encoding: "utf8" });
  if (done.status !== 0) throw new Error(`${program} ${words.join(" ")}: ${done.stderr}`);
}
const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
const shown = (values) => `${median(values).toFixed(2)} s (${values.map((value) => value.toFixed(2)).join(" ")})`;

/** Seconds until what is in sight is drawn, and until every chart of the page is. */
async function open(browser, url) {
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  const from = performance.now();
  await page.goto(url);
  await page.waitForSelector(".plot[data-drawn]");
  const sight = (performance.now() - from) / 1000;
  const charts = await page.evaluate(() => {
    const plots = [...document.querySelectorAll(".plot")];
    for (const plot of plots) plot.dispatchEvent(new Event("draw-now"));
    return plots.filter((plot) => plot.dataset.drawn).length;
  });
  const all = (performance.now() - from) / 1000;
  await page.close();
  return { sight, all, charts };
}

async function serve(store) {
  const child = spawn(join(bin, "lockstep"), ["serve", "--json", "--port", "0", "--store", store], { stdio: ["ignore", "pipe", "inherit"] });
  const line = await new Promise((resolve) => createInterface({ input: child.stdout }).once("line", resolve));
  const ended = new Promise((resolve) => child.once("exit", resolve));
  return { url: JSON.parse(line).url, stop: () => { child.kill("SIGINT"); return ended; } };
}

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
});
try {
  for (const [name, runs, steps] of [["500 runs of 200 steps", 500, 200], ["2 runs of 1,000,000 steps", 2, 1_000_000]]) {
    const store = join(folder, `${runs}.db`);
    must("runs_writer", "finished", store, "made-up", String(runs), String(steps));
    const html = join(folder, `${runs}.html`);
    const [writing, opening, drawing, live] = [[], [], [], []];
    let charts = 0;
    for (let round = 0; round < rounds; ++round) {
      writing.push(timed(() => must("lockstep", "report", "--store", store, "--html", html))[0]);
      const times = await open(browser, `file://${html}`);
      opening.push(times.sight);
      drawing.push(times.all);
      charts = times.charts;
      const server = await serve(store); // a new one each time: the first client waits for the page to be generated
      live.push((await open(browser, `${server.url}?study=made-up`)).sight);
      await server.stop();
    }
    console.log(`${name} (store ${(statSync(store).size / 1e6).toFixed(0)} MB, report ${(statSync(html).size / 1e3).toFixed(0)} kB)`);
    console.log(`  report written           ${shown(writing)}`);
    console.log(`  opened from disk         ${shown(opening)}`);
    console.log(`  all ${String(charts).padStart(2)} charts drawn      ${shown(drawing)}`);
    console.log(`  study opened in serve    ${shown(live)}`);
  }
} finally {
  await browser.close();
  rmSync(folder, { recursive: true });
}
