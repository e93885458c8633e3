/** The document that the C++ side makes; docs/formats/page.md describes it. */

export type Role = "measured" | "derived" | "predicted" | "simulated" | "ideal" | "limit";

/** x, y, and where known: low, high, note. */
export type Point = [number, number | null, (number | null)?, (number | null)?, string?];

export interface Axis {
  label: string;
  unit: string;
  scale: "linear" | "log";
  zero: boolean;
}

export interface Series {
  name: string;
  role: Role;
  joined: boolean;
  points: Point[];
}

export interface Mark {
  axis: "x" | "y";
  at: number;
  label: string;
}

/** Text, or text and the number behind it, or unknown. */
export type Cell = string | [string, number] | null;

export interface Column {
  key: string;
  header: string;
  unit: string;
  align: "left" | "right";
  definition: string;
}

export interface Table {
  title: string;
  columns: Column[];
  rows: Cell[][];
  notes: string[];
}

interface ChartHead {
  id: string;
  title: string;
  caption: string;
  family: string;
  choice: string;
  tables: Table[];
}

export interface LineChart extends ChartHead {
  kind: "lines";
  x: Axis;
  y: Axis;
  series: Series[];
  marks: Mark[];
}

export interface BarChart extends ChartHead {
  kind: "bars";
  value: Axis;
  categories: string[];
  parts: { name: string; values: number[] }[];
}

export interface SpanChart extends ChartHead {
  kind: "spans";
  time: Axis;
  lanes: string[];
  /** lane, start, end, name */
  spans: [number, number, number, string][];
}

export type Chart = LineChart | BarChart | SpanChart;

export interface View {
  id: string;
  title: string;
  missing: string;
  notes: string[];
  charts: Chart[];
  tables: Table[];
}

export interface Advice {
  job: string;
  sentence: string;
  workers: number;
  series: string;
  time_s: number;
  time_low_s: number;
  time_high_s: number;
  time_text: string;
  interval_text: string;
  time: string;
  cost: number;
  cost_text: string;
  cost_means: string;
  /** how well it learned, where that is known: the metric and its value */
  quality_means: string;
  quality_text: string;
  origin: string;
}

export interface PageDocument {
  format: string;
  version: number;
  lockstep: string;
  title: string;
  made: string;
  headline: string;
  findings: { topic: string; sentence: string }[];
  rule: string;
  advice: Advice[];
  facts: [string, string][];
  notices: string[];
  views: View[];
  /** id, state and finished epochs of each run that the page is about */
  runs?: [number, string, number][];
}

const KNOWN_VERSION = 1;

/** Throws a sentence for a person when the document is none that this page can draw. */
export function readDocument(text: string): PageDocument {
  const parsed = JSON.parse(text) as Partial<PageDocument>;
  if (parsed.format !== "lockstep-page" || typeof parsed.version !== "number") {
    throw new Error("this is not a lockstep page");
  }
  if (parsed.version > KNOWN_VERSION) {
    throw new Error(`the page has version ${parsed.version}, newer than this viewer`);
  }
  return parsed as PageDocument;
}
