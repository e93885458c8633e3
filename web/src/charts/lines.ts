import * as Plot from "@observablehq/plot";
import { element } from "../dom";
import type { Axis, LineChart, Mark, Role } from "../document";
import { tick, withUnit } from "../format";
import { framed, legend, type Place } from "./frame";
import { colour, distinct, symbol } from "./palette";

interface Row {
  series: string;
  role: Role;
  joined: boolean;
  x: number;
  y: number;
  low: number | null;
  high: number | null;
  title: string;
}

/** With more points than this, spreads are a band and points have no symbols. */
const MANY = 40;

function rowsOf(chart: LineChart): Row[] {
  const rows: Row[] = [];
  for (const series of chart.series) {
    for (const [x, y, low, high, note] of series.points) {
      if (y === null || (chart.x.scale === "log" && x <= 0) || (chart.y.scale === "log" && y <= 0)) continue;
      const lines = [
        series.name,
        `${chart.x.label}: ${withUnit(x, chart.x.unit)}`,
        `${chart.y.label}: ${withUnit(y, chart.y.unit)} (${series.role})`,
      ];
      if (low !== undefined && low !== null && high !== undefined && high !== null && low !== high) {
        lines.push(`${withUnit(low, chart.y.unit)} to ${withUnit(high, chart.y.unit)}`);
      }
      if (note) lines.push(note);
      rows.push({
        series: series.name, role: series.role, joined: series.joined, x, y,
        low: low ?? null, high: high ?? null, title: lines.join("\n"),
      });
    }
  }
  return rows;
}

function axisTitle(axis: Axis): string {
  return axis.unit ? `${axis.label} (${axis.unit})` : axis.label;
}

/** Counts of workers and batches are few: every one gets its tick. */
function xTicks(chart: LineChart, rows: Row[], place: Place): number[] | number {
  const values = [...new Set(rows.map((row) => row.x))].sort((a, b) => a - b);
  const whole = values.every((value) => Number.isInteger(value));
  if (chart.x.scale === "log" && whole && values.length <= (place.narrow ? 7 : 14)) return values;
  if (chart.x.scale === "log" && values.length > 0) return logTicks(values);
  return place.narrow ? 5 : 9;
}

/** 1, 2, 5 and their powers of ten: few enough to read on a logarithmic axis. */
function logTicks(values: number[]): number[] {
  const low = Math.min(...values);
  const high = Math.max(...values);
  const decades = Math.log10(high / low);
  const steps = decades > 4 ? [1] : decades > 1.5 ? [1, 3] : decades > 0.3 ? [1, 2, 5] : [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8];
  const ticks: number[] = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); ++power) {
    for (const step of steps) ticks.push(Number((step * 10 ** power).toPrecision(3)));
  }
  return ticks.filter((tick) => tick >= low / 1.5 && tick <= high * 1.5);
}

function yTicks(chart: LineChart, rows: Row[]): number[] | number {
  if (chart.y.scale === "linear" || rows.length === 0) return 6;
  return logTicks(rows.flatMap((row) => [row.y, row.low ?? row.y, row.high ?? row.y]).filter((value) => value > 0));
}

function markLines(marks: Mark[], rows: Row[]): Plot.Markish[] {
  const out: Plot.Markish[] = [];
  const xs = rows.map((row) => row.x);
  const middle = (Math.min(...xs) + Math.max(...xs)) / 2;
  marks.forEach((mark, at) => {
    if (mark.axis === "x") {
      const right = mark.at > middle;
      out.push(
        Plot.ruleX([mark.at], { stroke: "var(--accent)", strokeWidth: 1.5, strokeDasharray: "2 3" }),
        Plot.text([mark], {
          x: mark.at, frameAnchor: "top", text: "label", fill: "var(--accent)", fontWeight: 600,
          textAnchor: right ? "end" : "start", dx: right ? -6 : 6, dy: 4 + 14 * (at % 4), lineAnchor: "top",
          stroke: "var(--plot-background)", strokeWidth: 4, paintOrder: "stroke",
        }),
      );
    } else {
      out.push(
        Plot.ruleY([mark.at], { stroke: "var(--accent)", strokeWidth: 1.5, strokeDasharray: "2 3" }),
        Plot.text([mark], {
          y: mark.at, frameAnchor: "right", text: "label", fill: "var(--accent)", fontWeight: 600,
          textAnchor: "end", dy: -8, stroke: "var(--plot-background)", strokeWidth: 4, paintOrder: "stroke",
        }),
      );
    }
  });
  return out;
}

function seriesMarks(chart: LineChart, rows: Row[]): Plot.Markish[] {
  const by = (test: (row: Row) => boolean): Row[] => rows.filter(test);
  const interval = (row: Row): boolean => row.low !== null && row.high !== null;
  const dense = (role: Role): boolean => chart.series.some((one) => one.role === role && one.points.length > MANY);
  const banded = by((row) => row.joined && interval(row) && (row.role === "predicted" || dense(row.role)));
  const barred = by((row) => interval(row) && row.low !== row.high && !banded.includes(row));
  const xy = { x: "x", y: "y" } as const;
  const drawn = by((row) => row.role === "measured" || row.role === "derived" || !row.joined);
  return [
    Plot.areaY(banded, { x: "x", y1: "low", y2: "high", z: "series", fill: "series", fillOpacity: 0.15 }),
    Plot.line(by((row) => row.role === "ideal"), {
      ...xy, z: "series", stroke: "var(--ink-2)", strokeWidth: 1.5, strokeDasharray: "1 4", strokeLinecap: "round",
    }),
    Plot.line(by((row) => row.joined && row.role === "predicted"), {
      ...xy, z: "series", stroke: "series", strokeWidth: 1.5, strokeDasharray: "5 4",
    }),
    Plot.line(by((row) => row.joined && row.role === "derived"), {
      ...xy, z: "series", stroke: "series", strokeWidth: 1.5, strokeDasharray: "9 3",
    }),
    Plot.line(by((row) => row.joined && row.role === "measured"), { ...xy, z: "series", stroke: "series", strokeWidth: 2 }),
    Plot.ruleX(barred, { x: "x", y1: "low", y2: "high", stroke: "series", strokeWidth: 1.5 }),
    ...(rows.length > 12 * MANY || dense("measured")
      ? []
      : [
          Plot.dot(by((row) => drawn.includes(row) && row.role === "measured"), {
            ...xy, fill: "series", symbol: "series", r: 4.5, stroke: "var(--plot-background)", strokeWidth: 1,
          }),
        ]),
    Plot.dot(by((row) => drawn.includes(row) && row.role !== "measured" && row.role !== "limit" && row.role !== "ideal"), {
      ...xy, stroke: "series", symbol: "series", r: 4, strokeWidth: 1.75, fill: "var(--plot-background)",
    }),
    Plot.dot(by((row) => row.role === "limit"), { ...xy, stroke: "var(--accent)", r: 10, strokeWidth: 2.5, fill: "none" }),
    Plot.tip(by((row) => row.role !== "limit" && row.role !== "ideal"), Plot.pointer({
      ...xy, title: "title", maxRadius: Infinity, fill: "var(--panel)", stroke: "var(--line-strong)", fontSize: 12.5,
    })),
  ];
}

function draw(chart: LineChart, hidden: Set<string>, names: string[], place: Place): Element {
  const rows = rowsOf(chart).filter((row) => !hidden.has(row.series));
  return Plot.plot({
    className: "lockstep-plot",
    width: place.width,
    height: place.narrow ? 300 : Math.min(440, Math.max(340, Math.round(place.width * 0.44))),
    marginLeft: place.narrow ? 46 : 60,
    marginRight: 18,
    marginTop: 34,
    marginBottom: 42,
    style: { fontSize: "12.5px", fontFamily: "inherit", color: "var(--ink-2)", background: "none" },
    x: {
      type: chart.x.scale, label: axisTitle(chart.x), labelAnchor: "center", labelArrow: "none",
      ticks: xTicks(chart, rows, place) as number, tickFormat: tick, ...(chart.x.zero ? { zero: true } : {}),
      inset: 8, nice: chart.x.scale === "linear",
    },
    y: {
      type: chart.y.scale, label: axisTitle(chart.y), labelArrow: "none", tickFormat: tick, ticks: yTicks(chart, rows) as number, grid: true,
      ...(chart.y.zero ? { zero: true } : {}), nice: chart.y.scale === "linear", insetTop: 4,
    },
    color: { type: "ordinal", domain: names, range: names.map((_, at) => colour(at)) },
    symbol: { domain: names, range: names.map((_, at) => symbol(at)) },
    marks: [
      Plot.frame({ anchor: "bottom", stroke: "var(--line-strong)" }),
      ...markLines(chart.marks, rowsOf(chart)),
      ...seriesMarks(chart, rows),
    ],
  });
}

export function lineChart(chart: LineChart, hidden: Set<string>): HTMLElement {
  const names = distinct(
    chart.series.filter((one) => one.role !== "ideal" && one.role !== "limit").map((one) => one.name),
  );
  const { box, redraw } = framed((place) => draw(chart, hidden, names, place), chart.title);
  const swatches = names.map((name, at) => ({ name, colour: colour(at), mark: "line" as const }));
  return element("div", {}, names.length > 1 ? legend(swatches, hidden, redraw) : null, box);
}
