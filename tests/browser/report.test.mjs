// The file that `lockstep report --html` writes, in a real browser, from disk.
import assert from "node:assert/strict";
import { statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { LOCKSTEP, RUNS_WRITER, STUDIES, barriers, drawAll, launch, openPage, run, scratch } from "./browser.mjs";

const VIEWS = ["decision", "scaling", "time", "batch", "bandwidth", "learning", "steps", "backtest", "simulation", "runs"];
let browser;
let place;
let full;
let study;

before(async () => {
  place = scratch();
  const store = join(place.folder, "lockstep.db");
  run(RUNS_WRITER, "finished", store, "sweep", "12", "120");
  full = join(place.folder, "full.html");
  run(LOCKSTEP, "report", "sweep", "--store", store, "--html", full);
  study = join(place.folder, "study.html");
  run(LOCKSTEP, "report", "--from", join(STUDIES, "c-data-parallel-resnet18.csv"), "--html", study);
  browser = await launch();
});

after(async () => {
  await browser?.close();
  place?.remove();
});

test("every view draws its charts, asks nobody for anything, and breaks no rule of its policy", async () => {
  const { page, problems, context } = await openPage(browser, `file://${full}`);
  await drawAll(page);
  for (const view of VIEWS) {
    const drawn = await page.locator(`#${view} .plot svg`).count();
    const tables = await page.locator(`#${view} details.folded`).count();
    assert.ok(view === "runs" ? tables > 0 : drawn > 0, `${view} has nothing to see`);
    assert.equal(await page.locator(`section#${view} > .missing`).count(), 0, `${view} says it has nothing`);
  }
  assert.match(await page.locator(".headline").innerText(), /Use \d+ worker/);
  assert.deepEqual(problems, []);
  await context.close();
});

test("views without data say what would fill them", async () => {
  const table = join(place.folder, "little.csv");
  writeFileSync(table, "model,workers,metric,value,unit\nnet,1,val_accuracy,0.5,\n");
  const empty = join(place.folder, "empty.html");
  run(LOCKSTEP, "report", "--from", table, "--html", empty);
  const { page, problems, context } = await openPage(browser, `file://${empty}`);
  for (const view of VIEWS.filter((name) => name !== "learning")) {
    assert.match(await page.locator(`section#${view} > .missing`).innerText(), /Nothing to show yet/, view);
  }
  assert.deepEqual(problems, []);
  await context.close();
});

test("of many verdicts the first few are shown, names of any length stay on the page", async () => {
  const table = join(place.folder, "many.csv");
  const rows = Array.from({ length: 20 }, (_, at) => `net${at}${"x".repeat(10 * at)}`)
    .flatMap((name) => [`${name},1,32,throughput,100,examples/s`, `${name},2,32,throughput,190,examples/s`]);
  writeFileSync(table, ["model,workers,batch_per_worker,metric,value,unit", ...rows, ""].join("\n"));
  const many = join(place.folder, "many.html");
  run(LOCKSTEP, "report", "--from", table, "--html", many);
  const { page, problems, context } = await openPage(browser, `file://${many}`, { viewport: { width: 390, height: 800 } });
  assert.equal(await page.locator(".headline").innerText(), "20 series were compared, each on its own.");
  const verdicts = page.locator("#verdict dd p").filter({ hasText: "as fast as 1", visible: true });
  assert.equal(await verdicts.count(), 5);
  await page.locator("#verdict .more summary").first().click();
  assert.equal(await verdicts.count(), 20);
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390);
  assert.deepEqual(problems, []);
  await context.close();
});

test("a table sorts by any column, both ways, unknown cells last", async () => {
  const { page, context } = await openPage(browser, `file://${study}`);
  const table = page.locator("#scaling details[open] table").first();
  const head = table.locator("th", { hasText: "epoch time" });
  const column = await head.evaluate((cell) => cell.cellIndex);
  const values = async () => (await table.locator(`tbody td:nth-child(${column + 1})`).allInnerTexts()).map(Number);
  await drawAll(page);  // charts that are drawn when they come into view move the table
  await head.locator("button").click();
  assert.equal(await head.getAttribute("aria-sort"), "ascending");
  const up = await values();
  assert.deepEqual(up, [...up].sort((a, b) => a - b));
  await head.locator("button").press("Enter");
  assert.equal(await head.getAttribute("aria-sort"), "descending");
  const down = await values();
  assert.deepEqual(down, [...up].reverse());
  await context.close();
});

test("the theme changes by button and key, and is kept", async () => {
  const { page, context } = await openPage(browser, `file://${study}`, { colorScheme: "light" });
  const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await paper();
  await page.keyboard.press("t");
  await page.keyboard.press("t");
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
  assert.notEqual(await paper(), light);
  await page.reload();
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
  await page.locator("[data-action=theme]").click();
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), undefined);
  await context.close();
});

test("keys go from view to view, and hide a series", async () => {
  const { page, context } = await openPage(browser, `file://${study}`);
  await page.keyboard.press("j");
  const first = await page.evaluate(() => document.activeElement.id);
  await page.keyboard.press("j");
  const second = await page.evaluate(() => document.activeElement.id);
  assert.deepEqual([first, second], ["decision", "scaling"]);
  await page.keyboard.press("k");
  assert.equal(await page.evaluate(() => document.activeElement.id), "decision");
  const series = page.locator("#decision .legend button").first();
  const shapes = () => page.locator("#decision .plot svg path").count();
  await page.locator("#decision .plot svg").first().waitFor();
  const all = await shapes();
  await series.focus();
  await page.keyboard.press("Space");
  assert.equal(await series.getAttribute("aria-pressed"), "false");
  assert.ok((await shapes()) < all);
  await context.close();
});

test("a link leads to a chart, also to one that is behind another", async () => {
  const { page, context } = await openPage(browser, `file://${study}#efficiency-1`);
  assert.equal(await page.locator("select[data-family=scaling]").inputValue(), "efficiency-1");
  await page.locator("#efficiency-1 .plot svg").waitFor();
  assert.ok(await page.locator("#efficiency-1").isVisible());
  await context.close();
});

for (const width of [1440, 390]) {
  test(`nothing moves while charts are drawn, ${width} px wide`, async () => {
    const { page, context } = await openPage(browser, `file://${full}`, { viewport: { width, height: 800 } });
    const tall = () => page.evaluate(() => document.documentElement.scrollHeight);
    await page.waitForFunction(() => [...document.querySelectorAll(".plot")].every((box) => box.clientWidth === 0 || box.clientHeight > 0));
    const before = await tall();
    assert.ok(await page.locator(".plot:not([data-drawn])").count() > 0);
    await drawAll(page);
    assert.equal(await tall(), before);
    await context.close();
  });
}

test("a chart that is chosen is in the address, to be sent around", async () => {
  const { page, context } = await openPage(browser, `file://${study}`);
  await page.locator("select[data-family=scaling]").selectOption("efficiency-1");
  await page.locator("figure#efficiency-1").waitFor();
  assert.equal(new URL(page.url()).hash, "#efficiency-1");
  await context.close();
});

test("a table says what its columns mean", async () => {
  const { page, context } = await openPage(browser, `file://${study}`);
  const meanings = page.locator("#scaling details[open] .meanings").first();
  await meanings.locator("summary").click();
  assert.match(await meanings.locator("dl").innerText(), /batch per worker/);
  await context.close();
});

test("a timeline is zoomed by its buttons and by dragging", async () => {
  const { page, context } = await openPage(browser, `file://${full}#steps`);
  await drawAll(page);
  const figure = page.locator("#steps figure", { has: page.locator("[aria-label='Zoom in']") }).first();
  const ticks = () => figure.locator(".plot g[aria-label='x-axis tick label']").textContent();
  const whole = await ticks();
  await figure.locator("[aria-label='Zoom in']").press("Enter");
  assert.notEqual(await ticks(), whole);
  await figure.locator("[aria-label='Reset to the whole step']").click();
  assert.equal(await ticks(), whole);
  const plot = figure.locator(".plot");
  const { width } = await plot.boundingBox();
  await plot.hover({ position: { x: width * 0.3, y: 20 } });
  await page.mouse.down();
  await plot.hover({ position: { x: width * 0.6, y: 20 } });
  await page.mouse.up();
  assert.notEqual(await ticks(), whole);
  await context.close();
});

test("what is printed has every chart, whole tables and no buttons", async () => {
  const A4 = { width: 718, height: 1000 }; // less its margins
  const { page, problems, context } = await openPage(browser, `file://${full}`, { colorScheme: "dark", viewport: A4 });
  await page.emulateMedia({ media: "print" });
  await page.evaluate(() => window.dispatchEvent(new Event("beforeprint")));
  const cut = await page.evaluate((width) =>
    [...document.querySelectorAll("table")].filter((table) => table.getBoundingClientRect().right > width).map((table) => table.caption.textContent), A4.width);
  assert.deepEqual(cut, []);
  const undrawn = await page.locator(".plot:not([data-drawn])").count();
  assert.equal(undrawn, 0);
  // Drawn for the paper, not shrunk to it with room left above and below.
  const shrunk = await page.evaluate(() =>
    [...document.querySelectorAll(".plot svg")].filter((svg) => svg.width.baseVal.value > 718 || Math.abs(svg.clientHeight - svg.viewBox.baseVal.height * svg.clientWidth / svg.viewBox.baseVal.width) > 2).length);
  assert.equal(shrunk, 0);
  // Browsers omit backgrounds by default, and with them the colours of a legend.
  assert.equal(await page.locator(".swatch").first().evaluate((swatch) => getComputedStyle(swatch).printColorAdjust), "exact");
  assert.equal(await page.locator("nav, .tools, .chooser, .actions").filter({ visible: true }).count(), 0);
  assert.equal(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), "rgb(255, 255, 255)");
  assert.ok((await page.pdf()).length > 20_000);
  await page.emulateMedia({ media: "screen" });
  await page.evaluate(() => window.dispatchEvent(new Event("afterprint")));
  const plot = page.locator(".plot").first();
  assert.equal(await plot.evaluate((box) => box.querySelector("svg").width.baseVal.value), await plot.evaluate((box) => box.clientWidth));
  assert.deepEqual(problems, []);
  await context.close();
});

test("hovering gives exact values", async () => {
  const { page, context } = await openPage(browser, `file://${study}`);
  const plot = page.locator("#decision .plot svg").first();
  await plot.waitFor();
  await plot.scrollIntoViewIfNeeded();
  const box = await plot.boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await page.waitForFunction(() => /workers: \d/.test(document.querySelector('#decision g[aria-label="tip"]')?.textContent ?? ""));
  await context.close();
});

for (const scheme of ["light", "dark"]) {
  test(`nothing keeps a screen reader or weak eyes out, ${scheme}`, async () => {
    for (const file of [full, study]) {
      const { page, context } = await openPage(browser, `file://${file}`, { colorScheme: scheme, bypassCSP: true });
      await drawAll(page);
      assert.deepEqual(await barriers(page), []);
      assert.equal(await page.locator("h1").count(), 1);
      assert.equal(await page.locator("main").count(), 1);
      await context.close();
    }
  });
}

test("a phone sees all of it without scrolling sideways", async () => {
  const { page, context } = await openPage(browser, `file://${full}`, { viewport: { width: 390, height: 844 } });
  await drawAll(page);
  assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 390);
  await context.close();
});

test("the file is small", () => {
  const table = join(place.folder, "one.csv");
  writeFileSync(table, "model,workers,metric,value,unit\nnet,1,val_accuracy,0.5,\n");
  const page = join(place.folder, "one.html");
  run(LOCKSTEP, "report", "--from", table, "--html", page);
  assert.ok(statSync(page).size < 400_000, `${statSync(page).size} bytes without data`);
  assert.ok(statSync(study).size < 450_000, `${statSync(study).size} bytes`);
});
