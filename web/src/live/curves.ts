import { changingLineChart } from "../charts/lines";
import { append, element } from "../dom";
import type { LineChart, Point, Series } from "../document";
import type { Feed } from "./feed";
import { runName, type Run } from "./run";

/** Finished runs that stay on the chart beside those that go on. */
const MOST_LINES = 8;

/** The line of a run, if it has values and advances: without known epochs all samples are at the same place. */
function lineOf(run: Run, points: Point[]): Series[] {
  const advances = points.length < 2 || points.some((point) => point[0] !== points[0]?.[0]);
  const hasValues = points.some((point) => point[1] !== null);
  return advances && hasValues ? [{ name: `run ${run.id}: ${runName(run)}`, role: "measured", joined: true, points }] : [];
}

function lossSeries(run: Run): Series[] {
  const live = (run.samples ?? []).map((sample): Point => [sample[0], sample[1]]);
  const epochs = (run.curve ?? []).map((row): Point => [row[0] ?? 0, row[1] ?? null]);
  return lineOf(run, live.length > 1 ? live : epochs);
}

function rateSeries(run: Run): Series[] {
  const points = (run.samples ?? []).map((sample): Point => [sample[0], sample[2]]);
  return points.length > 1 ? lineOf(run, points) : [];
}

function accuracySeries(run: Run): Series[] {
  return lineOf(run, (run.curve ?? []).map((row): Point => [row[0] ?? 0, row[4] ?? null]));
}

function chart(id: string, title: string, label: string, unit: string, series: Series[]): LineChart {
  return {
    kind: "lines", id, title, caption: "", family: "", choice: "", tables: [], marks: [], series,
    x: { label: "epochs", unit: "", scale: "linear", zero: true },
    y: { label, unit, scale: "linear", zero: unit !== "" },
  };
}

/** A figure that follows its data; hidden while there is none. */
class LiveFigure {
  readonly node = element("figure", { hidden: true });
  private show: ((chart: LineChart) => void) | null = null;

  follow(one: LineChart): boolean {
    this.node.hidden = one.series.length === 0;
    if (this.show) {
      this.show(one);
    } else if (one.series.length > 0) {
      const made = changingLineChart(one, new Set());
      this.show = made.show;
      this.node.id = one.id;
      append(this.node, element("h3", {}, one.title), made.node);
    }
    return !this.node.hidden;
  }
}

/** Loss, accuracy and speed of the runs that go on, drawn as they come. */
export function curvesPanel(feed: Feed, wanted: (run: Run) => boolean = () => true): HTMLElement {
  const figures = [new LiveFigure(), new LiveFigure(), new LiveFigure()] as const;
  const box = element("div", { class: "family" }, ...figures.map((figure) => figure.node));
  const panel = element("section", { id: "curves", class: "panel view", hidden: true, tabindex: "-1" }, element("h2", {}, "Live curves"), box);
  const seen = new Set<number>();
  let drawn = 0;
  const show = (): void => {
    const all = [...feed.runs.values()];
    for (const run of all) if (run.state === "running" && wanted(run)) seen.add(run.id);
    const runs = all.filter((run) => seen.has(run.id)).slice(-MOST_LINES);
    panel.hidden = runs.length === 0;
    const any = [
      figures[0].follow(chart("live-loss", "Training loss", "training loss", "", runs.flatMap(lossSeries))),
      figures[1].follow(chart("live-accuracy", "Validation accuracy", "validation accuracy", "", runs.flatMap(accuracySeries))),
      figures[2].follow(chart("live-rate", "Speed", "all workers", "examples/s", runs.flatMap(rateSeries))),
    ];
    panel.hidden = !any.includes(true);
  };
  feed.onChange((changed) => {
    // At most one drawing per second.
    if (changed.length === 0 || Date.now() - drawn < 900) return;
    drawn = Date.now();
    show();
  });
  show();
  return panel;
}
