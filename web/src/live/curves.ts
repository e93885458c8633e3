import { lineChart } from "../charts/lines";
import { element, replace } from "../dom";
import type { LineChart, Point, Series } from "../document";
import type { Feed } from "./feed";
import { runName, type Run } from "./run";

/** Finished runs that stay on the chart beside those that go on. */
const MOST_LINES = 8;

function lossSeries(run: Run): Series[] {
  const name = `run ${run.id}: ${runName(run)}`;
  const live = (run.samples ?? []).map((sample): Point => [sample[0], sample[1]]);
  const epochs = (run.curve ?? []).map((row): Point => [row[0] ?? 0, row[1] ?? null]);
  const series: Series[] = [];
  if (live.length > 1) series.push({ name, role: "measured", joined: true, points: live });
  if (epochs.length > 0) series.push({ name, role: "measured", joined: false, points: epochs });
  return series;
}

function rateSeries(run: Run): Series[] {
  const points = (run.samples ?? []).map((sample): Point => [sample[0], sample[2]]);
  return points.length > 1 ? [{ name: `run ${run.id}: ${runName(run)}`, role: "measured", joined: true, points }] : [];
}

function accuracySeries(run: Run): Series[] {
  const points = (run.curve ?? []).map((row): Point => [row[0] ?? 0, row[4] ?? null]);
  return points.length > 0 ? [{ name: `run ${run.id}: ${runName(run)}`, role: "measured", joined: true, points }] : [];
}

function chart(id: string, title: string, label: string, unit: string, series: Series[]): LineChart {
  return {
    kind: "lines", id, title, caption: "", family: "", choice: "", tables: [], marks: [], series,
    x: { label: "epochs", unit: "", scale: "linear", zero: true },
    y: { label, unit, scale: "linear", zero: false },
  };
}

/** Loss, accuracy and speed of the runs that go on, drawn as they come. */
export function curvesPanel(feed: Feed): HTMLElement {
  const box = element("div", { class: "family" });
  const panel = element("section", { id: "curves", class: "panel view", hidden: true, tabindex: "-1" }, element("h2", {}, "Live curves"), box);
  const hidden = new Map<string, Set<string>>();
  const seen = new Set<number>();
  let drawn = 0;
  const show = (): void => {
    const all = [...feed.runs.values()];
    for (const run of all) if (run.state === "running") seen.add(run.id);
    const runs = all.filter((run) => seen.has(run.id)).slice(-MOST_LINES);
    const charts = [
      chart("live-loss", "Training loss", "training loss", "", runs.flatMap(lossSeries)),
      chart("live-accuracy", "Validation accuracy", "validation accuracy", "", runs.flatMap(accuracySeries)),
      chart("live-rate", "Speed", "all workers", "examples/s", runs.flatMap(rateSeries)),
    ].filter((one) => one.series.length > 0);
    panel.hidden = charts.length === 0;
    replace(
      box,
      ...charts.map((one) => {
        const names = hidden.get(one.id) ?? new Set<string>();
        hidden.set(one.id, names);
        return element("figure", { id: one.id }, element("h3", {}, one.title), lineChart(one, names));
      }),
    );
  };
  feed.onChange((changed) => {
    // At most one drawing a second, whatever comes in.
    if (changed.length === 0 || Date.now() - drawn < 900) return;
    drawn = Date.now();
    show();
  });
  show();
  return panel;
}
