#!/usr/bin/env node
// Makes docs/images/report.png, the README's picture, from a report of examples/studies.
// usage: tools/make-screenshot.mjs LOCKSTEP      (the program; needs web/node_modules and chromium)
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const program = process.argv[2];
if (!program) {
  console.error("usage: tools/make-screenshot.mjs LOCKSTEP");
  process.exit(2);
}
const { chromium } = createRequire(join(root, "web/package.json"))("playwright-core");
const folder = mkdtempSync(join(tmpdir(), "lockstep-screenshot-"));
const html = join(folder, "report.html");
const made = spawnSync(program, ["report", "--from", join(root, "examples/studies/c-data-parallel-resnet18.csv"), "--html", html], { stdio: "inherit" });
if (made.status !== 0) process.exit(made.status ?? 1);
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
});
const page = await browser.newPage({ viewport: { width: 1180, height: 1600 }, colorScheme: "light" });
await page.goto(`file://${html}`);
await page.waitForSelector("#decision .plot svg");
mkdirSync(join(root, "docs/images"), { recursive: true });
// From the verdict to the end of the decision chart.
const chart = await page.locator("#decision .plot").first().boundingBox();
const clip = { x: 0, y: 0, width: 1180, height: Math.ceil(chart.y + chart.height) };
await page.screenshot({ path: join(root, "docs/images/report.png"), clip });
await browser.close();
rmSync(folder, { recursive: true });
