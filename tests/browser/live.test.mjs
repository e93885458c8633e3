// `lockstep serve` in a real browser: runs that appear and move, import, compare, copy.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { LOCKSTEP, RUNS_WRITER, STUDIES, barriers, launch, liveRun, openPage, run, scratch, serve } from "./browser.mjs";

let browser;
let place;
let store;
let server;

before(async () => {
  place = scratch();
  store = join(place.folder, "lockstep.db");
  server = await serve(store);
  browser = await launch();
});

after(async () => {
  await browser?.close();
  const code = await server?.stop();
  place?.remove();
  assert.equal(code, 0, "lockstep serve ends well when asked to");
});

test("without a store it says that there is nothing yet, and a run that begins appears and moves", async () => {
  const { page, problems, context } = await openPage(browser, server.url);
  await page.locator("#running .missing").waitFor();
  assert.match(await page.locator("#runs .missing").innerText(), /no runs yet/);
  await page.locator("#running .status.good").waitFor();
  const live = liveRun(store, "night");
  await live.advance(2);
  const bar = page.locator("#running .job[data-run] progress");
  await bar.waitFor();
  const value = () => bar.evaluate((node) => node.value);
  await page.waitForFunction(() => document.querySelector("#running .job[data-run] progress")?.value > 0);
  const before = await value();
  await live.advance(6);
  await page.waitForFunction((old) => document.querySelector("#running .job[data-run] progress")?.value > old, before);
  assert.match(await page.locator("#running .job[data-run] .told").innerText(), /examples\/s.*loss.*left/);
  await page.waitForFunction(() =>
    /0 of 1 runs done · about .* left/.test(document.querySelector("#running .job[data-study=night] .told")?.textContent ?? ""));
  await live.advance(4);
  await page.locator("#live-loss svg").first().waitFor();
  await page.locator("#runs [data-key=sort-5]").click();
  await live.advance(8);
  await live.end();
  await page.locator("#running .missing").waitFor();
  await page.locator("#runs td", { hasText: "done" }).first().waitFor();
  assert.equal(await page.locator("#runs th[aria-sort=ascending]").count(), 1, "the order outlives a new drawing");
  assert.deepEqual(problems, []);
  await context.close();
});

test("a file that is dropped on the page is shown as it was read, and stored only then", async () => {
  const { page, problems, context } = await openPage(browser, server.url);
  const log = await page.evaluateHandle(() => {
    const transfer = new DataTransfer();
    const lines = ["World size: 2", "Epoch 1: train loss 0.75, test loss 0.875, epoch time 12.5 s",
      "Epoch 2: train loss 0.5, test loss 0.625, epoch time 11.25 s"];
    transfer.items.add(new File([lines.join("\n")], "<b>net</b>.log"));
    return transfer;
  });
  await page.locator("#drop").waitFor();
  const before = await page.locator("#runs tbody tr").count();
  await page.dispatchEvent("#drop", "drop", { dataTransfer: log });
  await page.locator("#readings .reading").waitFor();
  const shown = await page.locator("#readings .reading").innerText();
  assert.match(shown, /net.*: is this right\?/);
  assert.match(shown, /workers 2/);
  assert.match(shown, /train loss 0\.5\b/);
  assert.match(shown, /test loss 0\.625/);
  assert.equal(await page.locator("#readings .reading tbody tr").count(), 3, "one row per line that says something");
  assert.equal(await page.locator("#runs tbody tr").count(), before, "nothing is stored before the reader agrees");
  await page.locator("#readings .discard").click();
  await page.locator("#readings .reading").waitFor({ state: "detached" });
  await page.waitForFunction(() => /net.*: discarded/.test(document.getElementById("import-status").textContent));
  assert.equal(await page.locator("#runs tbody tr").count(), before);
  const text = readFileSync(join(STUDIES, "c-data-parallel-resnet18.csv"), "utf8");
  const files = await page.evaluateHandle((content) => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([content], "sweep.csv", { type: "text/csv" }));
    return transfer;
  }, text);
  await page.dispatchEvent("#drop", "drop", { dataTransfer: files });
  await page.locator("#readings .store").click();
  await page.waitForFunction(() => /sweep\.csv: [1-9]\d* runs? added/.test(document.getElementById("import-status").textContent));
  await page.locator("#runs td", { hasText: "measurements" }).first().waitFor();
  const imported = page.locator("#runs tbody tr", { hasText: "measurements" }).first();
  assert.doesNotMatch(await imported.innerText(), /1970|\t0\t/, "facts that a table lacks are no zeros");
  await page.setViewportSize({ width: 1400, height: 900 });
  const room = await page.locator("#runs .scroller").evaluate((node) => node.clientWidth - node.scrollWidth);
  assert.equal(room, 0, "no column is cut off at 1400 pixels");
  const nonsense = await page.evaluateHandle(() => {
    const transfer = new DataTransfer();
    transfer.items.add(new File(["nothing of use"], "notes.txt"));
    return transfer;
  });
  await page.dispatchEvent("#drop", "drop", { dataTransfer: nonsense });
  await page.waitForFunction(() => /notes\.txt: (?!0 runs)/.test(document.getElementById("import-status").textContent));
  // The browser reports each refused request.
  assert.deepEqual(problems.filter((problem) => !/400/.test(problem)), []);
  await context.close();
});

test("files that are no logs are refused one by one, with the reason", async () => {
  const { page, context } = await openPage(browser, server.url);
  await page.locator("#drop").waitFor();
  const runs = await page.locator("#runs tbody tr").count();
  const files = await page.evaluateHandle(() => {
    const transfer = new DataTransfer();
    const noise = Uint8Array.from({ length: 200_000 }, (_, at) => (at * 7919) % 256);
    transfer.items.add(new File([noise], "weights.bin"));
    transfer.items.add(new File([], "empty.log"));
    transfer.items.add(new File(["x".repeat(300_000)], "<b>line</b>.txt"));
    return transfer;
  });
  await page.dispatchEvent("#drop", "drop", { dataTransfer: files });
  await page.waitForFunction(() => {
    const said = document.getElementById("import-status").textContent;
    return /weights\.bin: \D/.test(said) && /empty\.log: the file is empty/.test(said) && /<b>line<\/b>\.txt: \D/.test(said);
  });
  assert.equal(await page.locator("#runs tbody tr").count(), runs);
  await context.close();
});

test("runs are filtered and compared, and tables copied", async () => {
  run(RUNS_WRITER, "finished", store, "sweep", "4", "60");
  const { page, problems, context } = await openPage(browser, server.url);
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.locator("#filter").fill("sweep done");
  await page.waitForFunction(() => document.querySelectorAll("#runs tbody tr").length === 4);
  for (const box of await page.locator("#runs tbody input[type=checkbox]").all()) await box.check();
  assert.equal(await page.locator("#compare").innerText(), "Compare 4 runs");
  await page.locator("#compare").click();
  // Charts are drawn when they come into view, and the page may be redrawn while it is scrolled.
  await page.waitForFunction(() => {
    document.querySelector("#scaling")?.scrollIntoView();
    return document.querySelector("#scaling .plot svg") !== null;
  });
  await page.locator("#scaling .plot svg").first().waitFor();
  const table = page.locator("#scaling details.folded", { hasText: "Time and speedup" }).first();
  await table.evaluate((node) => { node.open = true; });
  await table.locator("button[data-copy=CSV]").click();
  const csv = await page.evaluate(() => navigator.clipboard.readText());
  assert.match(csv.split("\n")[0], /workers,batch_per_worker,global_batch/);
  assert.ok(csv.trim().split("\n").length > 2);
  await table.locator("button[data-copy=Markdown]").click();
  await page.waitForFunction(async () => (await navigator.clipboard.readText()).startsWith("| "));
  assert.deepEqual(problems, []);
  await context.close();
});

test("a command that runs shows its epochs as it prints them, and no number that it has not stated", async () => {
  const { page, context } = await openPage(browser, server.url);
  const script = 'for e in 1 2 3 4 5; do echo "Epoch $e: loss 0.$((9 - e)), time 1.5s"; sleep 1.5; done';
  const command = spawn(LOCKSTEP, ["--store", store, "run", "--no-watch", "--", "sh", "-c", script], { stdio: "ignore" });
  const ended = new Promise((resolve) => command.on("exit", resolve));
  await page.waitForFunction(() => /[1-9] epochs? done/.test(document.querySelector("#running .job[data-run] small")?.textContent ?? ""));
  const told = await page.locator("#running .job[data-run]").innerText();
  assert.doesNotMatch(told, /× 0|of 0|0 ×/);
  assert.match(told, /running/);
  assert.equal(await ended, 0);
  await context.close();
});

test("a study has its page, and an unknown one says so", async () => {
  const { page, context } = await openPage(browser, `${server.url}?study=sweep`);
  await page.locator("#verdict .headline").waitFor();
  await page.goto(`${server.url}?study=nosuch`);
  await page.locator("[role=alert]", { hasText: "nosuch" }).waitFor();
  await context.close();
});

test("nothing keeps a screen reader or weak eyes out of the live pages", async () => {
  for (const address of ["", "?study=sweep"]) {
    const { page, context } = await openPage(browser, `${server.url}${address}`, { bypassCSP: true });
    await page.locator(address ? "#verdict .headline" : "#runs tbody tr").first().waitFor();
    assert.deepEqual(await barriers(page), []);
    await context.close();
  }
});

test("a store that is damaged while it is shown is named, and shown again when it is back", async (t) => {
  const other = join(place.folder, "other.db");
  run(RUNS_WRITER, "finished", other, "first", "2", "20");
  const own = await serve(other);
  t.after(() => own.stop());
  const { page, context } = await openPage(browser, own.url);
  await page.waitForFunction(() => document.querySelectorAll("#runs tbody tr").length === 2);
  renameSync(other, `${other}.away`);
  writeFileSync(other, "x".repeat(10_000));
  await page.reload();
  await page.locator(".problem", { hasText: "not a lockstep store" }).waitFor();
  rmSync(other);
  run(RUNS_WRITER, "finished", other, "second", "3", "20");
  await page.waitForFunction(() => document.querySelectorAll("#runs tbody tr").length === 3);
  await page.locator(".problem").waitFor({ state: "hidden" });
  await context.close();
});
