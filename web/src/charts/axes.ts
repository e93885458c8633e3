import type { Axis } from "../document";
import { tick, withUnit } from "../format";

/** What a scale is drawn with. Plot finds the domain and ticks of linear ones itself. */
export interface AxisScale {
  domain?: [number, number];
  ticks: number[] | number;
}

/** Steps within a power of ten, the coarsest first. */
const STEPS = [[1], [1, 3], [1, 2, 5], [1, 1.5, 2, 3, 4, 5, 7], [1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9]];
const FEWEST_TICKS = 4;

/** Ticks that lie inside, few enough to read; outside ones would be drawn over the page. */
function logTicks(low: number, high: number, most: number): number[] {
  let ticks: number[] = [];
  for (const steps of STEPS) {
    ticks = [];
    for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); ++power) {
      for (const step of steps) ticks.push(Number((step * 10 ** power).toPrecision(3)));
    }
    ticks = ticks.filter((value) => value >= low && value <= high);
    if (ticks.length >= Math.min(FEWEST_TICKS, most)) break;
  }
  return thinned(ticks, most);
}

function thinned(ticks: number[], most: number): number[] {
  const every = Math.ceil(ticks.length / most);
  return ticks.filter((_, at) => at % every === 0);
}

/** Counts of workers, batches and epochs: where they are few, each or every other gets its tick. */
function fewCounts(values: number[], most: number): number[] | null {
  const counts = [...new Set(values)].sort((a, b) => a - b);
  return counts.length <= 3 * most && counts.every((value) => Number.isInteger(value)) ? thinned(counts, most) : null;
}

/** `values` are all that the axis has to hold; `most` is how many counts fit beside each other. */
export function axisScale(axis: Axis, values: number[], most: number): AxisScale {
  const counts = fewCounts(values, most);
  if (axis.scale === "linear") return { ticks: (axis.zero ? null : counts) ?? Math.min(9, most) };
  const held = values.filter((value) => value > 0);
  if (held.length === 0) return { domain: [1, 10], ticks: [1, 10] };
  const [low, high] = [Math.min(...held), Math.max(...held)];
  if (counts && axis.unit === "") return { domain: low === high ? [low / 2, low * 2] : [low, high], ticks: counts };
  const room = Math.max(1.08, (high / low) ** 0.04);
  const domain: [number, number] = low === high ? [low / 3, low * 3] : [low / room, high * room];
  return { domain, ticks: logTicks(...domain, Math.min(8, most)) };
}

/** Bytes carry their unit at every tick, since it changes along the axis. */
export function tickText(axis: Axis): (value: number) => string {
  return axis.unit === "B" ? (value) => withUnit(value, axis.unit) : tick;
}

export function axisTitle(axis: Axis): string {
  return axis.unit && axis.unit !== "B" ? `${axis.label} (${axis.unit})` : axis.label;
}
