import * as Plot from "@observablehq/plot";
import { element } from "../dom";
import type { LineChart, Mark, Role } from "../document";
import { withUnit } from "../format";
import { axisScale, axisTitle, tickText } from "./axes";
import { framed, legend, type Place, type Swatch } from "./frame";
import { colour, distinct, glyph, symbol } from "./palette";

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

const MARK_ROWS = 4;
const MARK_ROW_HEIGHT = 15;

/** Room above the frame for the labels of vertical lines: inside they would lie on the data. */
function markRoom(marks: Mark[]): number {
  return MARK_ROW_HEIGHT * Math.min(MARK_ROWS, marks.filter((mark) => mark.axis === "x").length);
}

/**
 * Labels of vertical lines are above them, on the side that has more room, below each other. That of a
 * horizontal line is above it too, unless it is the uppermost element: above it are the others.
 */
function markLines(marks: Mark[], chart: LineChart, xs: number[], ys: number[]): Plot.Markish[] {
  const out: Plot.Markish[] = [];
  const [low, high] = [Math.min(...xs), Math.max(...xs)];
  const middle = chart.x.scale === "log" ? Math.sqrt(low * high) : (low + high) / 2;
  const line = { stroke: "var(--accent)", strokeWidth: 1.5, strokeDasharray: "2 3" };
  const label = { text: "label", fill: "var(--accent)", fontWeight: 600, stroke: "var(--plot-background)", strokeWidth: 4, paintOrder: "stroke" } as const;
  marks.filter((mark) => mark.axis === "x").forEach((mark, at) => {
    const right = mark.at > middle;
    const up = MARK_ROW_HEIGHT * (at % MARK_ROWS);
    out.push(
      Plot.ruleX([mark.at], { ...line, insetTop: -up - 4 }),
      Plot.text([mark], {
        ...label, x: mark.at, frameAnchor: "top", textAnchor: right ? "end" : "start", dx: right ? -6 : 6, dy: -2 - up, lineAnchor: "bottom",
      }),
    );
  });
  for (const mark of marks.filter((one) => one.axis === "y")) {
    const dy = mark.at < Math.max(...ys) ? -8 : 9;
    out.push(Plot.ruleY([mark.at], line), Plot.text([mark], { ...label, y: mark.at, frameAnchor: "left", textAnchor: "start", dx: 4, dy }));
  }
  return out;
}

/** Symbols on so many points would hide the line. */
function isDense(chart: LineChart, role: Role): boolean {
  return chart.series.some((one) => one.role === role && one.points.length > MANY);
}

/** Whether a predicted line begins at this measured point, whose tip is that of the measurement. */
function continues(row: Row, rows: Row[]): boolean {
  return row.role === "predicted" && rows.some((one) => one.role === "measured" && one.series === row.series && one.x === row.x);
}

function seriesMarks(chart: LineChart, rows: Row[]): Plot.Markish[] {
  const by = (test: (row: Row) => boolean): Row[] => rows.filter(test);
  const interval = (row: Row): boolean => row.low !== null && row.high !== null;
  const banded = by((row) => row.joined && interval(row) && (row.role === "predicted" || row.role === "simulated" || isDense(chart, row.role)));
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
    Plot.line(by((row) => row.joined && row.role === "simulated"), {
      ...xy, z: "series", stroke: "series", strokeWidth: 1.5, strokeDasharray: "2 3",
    }),
    Plot.line(by((row) => row.joined && row.role === "derived"), {
      ...xy, z: "series", stroke: "series", strokeWidth: 1.5, strokeDasharray: "9 3",
    }),
    Plot.line(by((row) => row.joined && row.role === "measured"), { ...xy, z: "series", stroke: "series", strokeWidth: 2 }),
    Plot.ruleX(barred, { x: "x", y1: "low", y2: "high", stroke: "series", strokeWidth: 1.5 }),
    ...(rows.length > 12 * MANY || isDense(chart, "measured")
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
    Plot.tip(by((row) => row.role !== "limit" && row.role !== "ideal" && !continues(row, rows)), Plot.pointer({
      ...xy, title: "title", maxRadius: Infinity, fill: "var(--panel)", stroke: "var(--line-strong)", fontSize: 12.5,
    })),
  ];
}

/** Where points lie on each other, those of a series with a ring are on top. */
function ringedLast(chart: LineChart, rows: Row[]): Row[] {
  const ringed = new Set(chart.series.filter((one) => one.role === "limit").map((one) => one.name));
  return [...rows.filter((row) => !ringed.has(row.series)), ...rows.filter((row) => ringed.has(row.series))];
}

function heightOf(chart: LineChart, place: Place): number {
  return markRoom(chart.marks) + (place.narrow ? 300 : Math.min(440, Math.max(340, Math.round(place.width * 0.44))));
}

function draw(chart: LineChart, hidden: Set<string>, names: string[], place: Place): Element {
  const all = rowsOf(chart);
  const rows = ringedLast(chart, all.filter((row) => !hidden.has(row.series)));
  const marked = (axis: "x" | "y"): number[] => chart.marks.filter((mark) => mark.axis === axis).map((mark) => mark.at);
  const xs = [...all.map((row) => row.x), ...marked("x")];
  const ys = [...rows.flatMap((row) => [row.y, row.low ?? row.y, row.high ?? row.y]), ...marked("y")];
  const x = axisScale(chart.x, xs, place.narrow ? (chart.x.unit === "B" ? 4 : 6) : 14);
  const y = axisScale(chart.y, ys, 7);
  return Plot.plot({
    className: "lockstep-plot",
    width: place.width,
    height: heightOf(chart, place),
    marginLeft: place.narrow ? 46 : 60,
    marginRight: 18,
    marginTop: 34 + markRoom(chart.marks),
    marginBottom: 42,
    style: { fontSize: "12.5px", fontFamily: "inherit", color: "var(--ink-2)", background: "none" },
    x: {
      type: chart.x.scale, axis: null, inset: 8, nice: chart.x.scale === "linear",
      ...(x.domain ? { domain: x.domain } : {}), ...(chart.x.zero ? { zero: true } : {}),
    },
    y: {
      type: chart.y.scale, axis: null, insetTop: 4, nice: chart.y.scale === "linear",
      ...(y.domain ? { domain: y.domain } : {}), ...(chart.y.zero ? { zero: true } : {}),
    },
    color: { type: "ordinal", domain: names, range: names.map((_, at) => colour(at)) },
    symbol: { domain: names, range: names.map((_, at) => symbol(at)) },
    marks: [
      Plot.gridY({ ticks: y.ticks }),
      // Texts are given as such: Plot drops some labels of logarithmic axes otherwise.
      Plot.axisX({ ticks: x.ticks as number, text: tickText(chart.x), label: axisTitle(chart.x), labelAnchor: "center", labelArrow: "none" }),
      Plot.axisY({ ticks: y.ticks as number, text: tickText(chart.y), label: axisTitle(chart.y), labelArrow: "none" }),
      Plot.frame({ anchor: "bottom", stroke: "var(--line-strong)" }),
      ...markLines(chart.marks, chart, xs, ys),
      ...seriesMarks(chart, rows),
    ],
  });
}

const ROLE_NAMES: Record<Role, string> = {
  measured: "measured", derived: "derived", predicted: "predicted", simulated: "simulated", ideal: "ideal", limit: "",
};

/** What the kinds of line mean, where there are several. */
function roleSwatches(chart: LineChart): Swatch[] {
  const roles = (Object.keys(ROLE_NAMES) as Role[]).filter((role) => ROLE_NAMES[role] && chart.series.some((one) => one.role === role));
  // Series that are named by their role say it themselves.
  if (roles.length < 2 || chart.series.every((one) => one.name === one.role)) return [];
  const joined = (role: Role): boolean => chart.series.some((one) => one.role === role && one.joined);
  return roles.map((role) => ({ name: ROLE_NAMES[role], colour: "var(--ink-2)", mark: joined(role) ? role : `${role} point` }));
}

function namesOf(chart: LineChart): string[] {
  return distinct(chart.series.filter((one) => one.role !== "ideal" && one.role !== "limit").map((one) => one.name));
}

function legendOf(chart: LineChart, hidden: Set<string>, redraw: () => void): HTMLElement {
  const dense = isDense(chart, "measured");
  const swatches = namesOf(chart).map((name, at) => ({
    name, colour: colour(at), mark: "line", ...(dense ? {} : { glyph: glyph(at) }),
  }));
  return legend(swatches, roleSwatches(chart), hidden, redraw);
}

/** A chart whose data may change: it is redrawn in its place, so that nothing around it moves. */
export function changingLineChart(first: LineChart, hidden: Set<string>): { node: HTMLElement; show: (chart: LineChart) => void } {
  let chart = first;
  const { box, redraw } = framed(
    { height: (place) => heightOf(chart, place), draw: (place) => draw(chart, hidden, namesOf(chart), place) },
    first.title,
  );
  let above = legendOf(first, hidden, redraw);
  const node = element("div", {}, above, box);
  const show = (next: LineChart): void => {
    const renamed = namesOf(next).join("\n") !== namesOf(chart).join("\n") || isDense(next, "measured") !== isDense(chart, "measured");
    chart = next;
    if (renamed) {
      const fresh = legendOf(chart, hidden, redraw);
      above.replaceWith(fresh);
      above = fresh;
    }
    redraw();
  };
  return { node, show };
}

export function lineChart(chart: LineChart, hidden: Set<string>): HTMLElement {
  return changingLineChart(chart, hidden).node;
}
