import * as Plot from "@observablehq/plot";
import { announce, element } from "../dom";
import type { SpanChart } from "../document";
import { digits, tick, withUnit } from "../format";
import { framed, legend, type Place } from "./frame";
import { byPhase, distinct, phaseColour } from "./palette";

type Domain = [number, number];

function heightOf(chart: SpanChart): number {
  return chart.lanes.length * 34 + 58;
}

/** Room for the names of the lanes. */
function leftOf(chart: SpanChart): number {
  return Math.max(62, 16 + 7 * Math.max(...chart.lanes.map((name) => name.length)));
}

function draw(chart: SpanChart, hidden: Set<string>, names: string[], domain: Domain, place: Place): Element {
  const rows = chart.spans
    .filter(([, , , name]) => !hidden.has(name))
    .map(([lane, start, end, name]) => ({
      lane: chart.lanes[lane] ?? "",
      start,
      end,
      middle: (Math.max(start, domain[0]) + Math.min(end, domain[1])) / 2,
      name,
      title:
        `${chart.lanes[lane]}: ${name}\n${withUnit(end - start, chart.time.unit)}` +
        `\nfrom ${digits(start)} to ${withUnit(end, chart.time.unit)}`,
    }))
    .filter((row) => row.end > domain[0] && row.start < domain[1]);
  return Plot.plot({
    className: "lockstep-plot",
    width: place.width,
    height: heightOf(chart),
    marginLeft: leftOf(chart),
    marginRight: 22,
    marginTop: 6,
    marginBottom: 42,
    style: { fontSize: "12.5px", fontFamily: "inherit", color: "var(--ink-2)", background: "none" },
    x: {
      domain, label: `${chart.time.label} (${chart.time.unit})`, labelAnchor: "center", labelArrow: "none", grid: true,
      tickFormat: tick, ticks: place.narrow ? 4 : 9,
    },
    y: { label: null, domain: chart.lanes, padding: 0.2 },
    color: { type: "ordinal", domain: names, range: names.map((name, at) => phaseColour(name, at)) },
    marks: [
      Plot.barX(rows, { y: "lane", x1: "start", x2: "end", fill: "name", clip: true }),
      Plot.tip(rows, Plot.pointer({
        y: "lane", x: "middle", title: "title", maxRadius: Infinity, fill: "var(--panel)", stroke: "var(--line-strong)", fontSize: 12.5,
      })),
    ],
  });
}

/** Drag across the chart to look closer; the buttons do the same from the keyboard. */
export function spanChart(chart: SpanChart, hidden: Set<string>): HTMLElement {
  const whole: Domain = [0, Math.max(...chart.spans.map(([, , end]) => end))];
  let domain: Domain = [...whole];
  const names = byPhase(distinct(chart.spans.map(([, , , name]) => name)));
  const { box, redraw } = framed(
    { height: () => heightOf(chart), draw: (place) => draw(chart, hidden, names, domain, place) },
    chart.title,
  );
  const show = (from: number, to: number): void => {
    const least = (whole[1] - whole[0]) / 2000;
    const low = Math.max(whole[0], Math.min(from, to));
    const high = Math.min(whole[1], Math.max(from, to));
    if (high - low < least) return;
    domain = [low, high];
    redraw();
    announce(`Shows ${digits(low)} to ${withUnit(high, chart.time.unit)}`);
  };
  const zoom = (factor: number, shift = 0): void => {
    const half = ((domain[1] - domain[0]) / 2) * factor;
    const centre = (domain[0] + domain[1]) / 2 + shift * (domain[1] - domain[0]);
    const kept = Math.min(Math.max(centre, whole[0] + half), whole[1] - half);
    show(half * 2 >= whole[1] - whole[0] ? whole[0] : kept - half, half * 2 >= whole[1] - whole[0] ? whole[1] : kept + half);
  };
  let from: number | null = null;
  const at = (event: PointerEvent): number => {
    const svg = box.querySelector("svg");
    if (!svg) return 0;
    const left = svg.getBoundingClientRect().left + leftOf(chart);
    const width = svg.getBoundingClientRect().width - leftOf(chart) - 22;
    return domain[0] + ((event.clientX - left) / width) * (domain[1] - domain[0]);
  };
  // On their way down: Plot's hints keep what happens to them for themselves.
  const early = { capture: true };
  box.addEventListener("pointerdown", (event) => {
    from = at(event);
  }, early);
  box.addEventListener("pointerup", (event) => {
    if (from !== null && Math.abs(at(event) - from) > (domain[1] - domain[0]) / 50) show(from, at(event));
    from = null;
  }, early);
  const button = (label: string, text: string, act: () => void): HTMLElement =>
    element("button", { type: "button", class: "quiet", "aria-label": label, title: label, click: act }, text);
  const tools = element(
    "div",
    { class: "tools", role: "group", "aria-label": "Zoom" },
    button("Zoom in", "+", () => zoom(0.5)),
    button("Zoom out", "−", () => zoom(2)),
    button("Earlier", "←", () => zoom(1, -0.4)),
    button("Later", "→", () => zoom(1, 0.4)),
    button("Reset to the whole step", "Reset", () => show(...whole)),
  );
  const swatches = names.map((name, place) => ({ name, colour: phaseColour(name, place), mark: "box" }));
  return element("div", {}, legend(swatches, [], hidden, redraw), tools, box);
}
