/** epochs so far, loss, examples/s */
export type Sample = [number, number | null, number | null];

/** What /api/runs and the stream tell of a run; the C++ side computed all of it. */
export interface Run {
  id: number;
  study: string;
  cell: string;
  repeat: number;
  state: "running" | "done" | "interrupted" | "failed" | "killed";
  recipe: string;
  data: string;
  synthetic: boolean;
  device: string;
  workers: number;
  batch: number;
  global_batch: number;
  strategy: string;
  started: string;
  epochs: number;
  epochs_done: number;
  examples_per_s: number | null;
  val_accuracy: number | null;
  total_s: number | null;
  fraction?: number;
  remaining_s?: number;
  loss?: number | null;
  /** epoch, train loss, train accuracy, val loss, val accuracy, seconds, examples/s */
  curve?: (number | null)[][];
  samples?: Sample[];
  sample?: Sample;
}

export interface Study {
  name: string;
  runs: number;
  done: number;
  running: number;
  failed: number;
  planned?: number;
  /** a ladder may end before all that is planned */
  at_most?: boolean;
  remaining_s?: number;
}

export interface Snapshot {
  store: string;
  runs: Run[];
  studies: Study[];
}

export interface Change {
  runs: Run[];
  removed: number[];
  studies: Study[];
}

export function runName(run: Run): string {
  return `${run.recipe}, ${run.workers} × ${run.batch}${run.workers > 1 ? `, ${run.strategy}` : ""}`;
}
