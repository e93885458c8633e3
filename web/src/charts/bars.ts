import * as Plot from "@observablehq/plot";
import { element } from "../dom";
import type { BarChart } from "../document";
import { tick, withUnit } from "../format";
import { framed, legend, type Place } from "./frame";
import { phaseColour } from "./palette";

interface Row {
  category: string;
  part: string;
  value: number;
  title: string;
}

function rowsOf(chart: BarChart, hidden: Set<string>): Row[] {
  const sums = chart.categories.map((_, at) => chart.parts.reduce((sum, part) => sum + (part.values[at] ?? 0), 0));
  const rows: Row[] = [];
  for (const part of chart.parts) {
    if (hidden.has(part.name)) continue;
    chart.categories.forEach((category, at) => {
      const value = part.values[at] ?? 0;
      const sum = sums[at] ?? 0;
      if (value <= 0) return;
      const share = sum > 0 ? `${((100 * value) / sum).toFixed(1)} % of ${withUnit(sum, chart.value.unit)}` : "";
      rows.push({
        category, part: part.name, value,
        title: `${category}\n${part.name}: ${withUnit(value, chart.value.unit)}\n${share}`,
      });
    });
  }
  return rows;
}

/** Long names stand above their bars. */
function namesAbove(chart: BarChart, place: Place): boolean {
  return place.narrow || longestName(chart) > 34;
}

function longestName(chart: BarChart): number {
  return Math.max(...chart.categories.map((name) => name.length));
}

function heightOf(chart: BarChart, place: Place): number {
  return chart.categories.length * (namesAbove(chart, place) ? 46 : 30) + 52;
}

function draw(chart: BarChart, hidden: Set<string>, parts: string[], place: Place): Element {
  const rows = rowsOf(chart, hidden);
  const above = namesAbove(chart, place);
  return Plot.plot({
    className: "lockstep-plot",
    width: place.width,
    height: heightOf(chart, place),
    marginLeft: above ? 8 : Math.min(260, 18 + longestName(chart) * 7),
    marginRight: 22,
    marginTop: 6,
    marginBottom: 42,
    style: { fontSize: "12.5px", fontFamily: "inherit", color: "var(--ink-2)", background: "none" },
    x: {
      label: `${chart.value.label} (${chart.value.unit})`, labelAnchor: "center", labelArrow: "none", grid: true,
      tickFormat: tick, ticks: place.narrow ? 4 : 8, zero: true,
    },
    y: { label: null, domain: chart.categories, padding: 0.25, ...(above ? { axis: null } : {}) },
    color: { type: "ordinal", domain: parts, range: parts.map((name, at) => phaseColour(name, at)) },
    marks: [
      Plot.barX(rows, {
        y: "category", x: "value", fill: "part", insetLeft: 0.5, insetRight: 0.5, ...(above ? { insetTop: 17 } : {}),
        order: parts,
      }),
      ...(above
        ? [
            Plot.text(chart.categories, {
              y: (name: string) => name, text: (name: string) => name, frameAnchor: "left", textAnchor: "start",
              lineAnchor: "bottom", dy: -4, fill: "var(--ink)", stroke: "var(--plot-background)", strokeWidth: 4, paintOrder: "stroke",
            }),
          ]
        : []),
      Plot.tip(rows, Plot.pointerY(Plot.stackX({
        y: "category", x: "value", order: parts, z: "part", title: "title", maxRadius: Infinity, fill: "var(--panel)", stroke: "var(--line-strong)",
        fontSize: 12.5,
      }))),
      Plot.ruleX([0], { stroke: "var(--line-strong)" }),
    ],
  });
}

export function barChart(chart: BarChart, hidden: Set<string>): HTMLElement {
  const parts = chart.parts.filter((part) => part.values.some((value) => value > 0)).map((part) => part.name);
  const { box, redraw } = framed(
    { height: (place) => heightOf(chart, place), draw: (place) => draw(chart, hidden, parts, place) },
    chart.title,
  );
  const swatches = parts.map((name, at) => ({ name, colour: phaseColour(name, at), mark: "box" }));
  return element("div", {}, legend(swatches, [], hidden, redraw), box);
}
