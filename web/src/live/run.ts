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

/** "fashion, 2 × 128, overlap"; of a command without what it does not state. */
export function runName(run: Run): string {
  const workers = run.workers > 1 ? `${run.workers} workers` : run.workers === 1 ? "1 worker" : "";
  const size = run.workers > 0 && run.batch > 0 ? `${run.workers} × ${run.batch}` : workers;
  return [run.recipe, size, run.workers > 1 ? run.strategy : ""].filter((part) => part).join(", ");
}

/** "epoch 2 of 6", or how many are done where their number is not known before the end. */
export function epochText(run: Run): string {
  if (run.epochs > 0) return `epoch ${Math.min(run.epochs, run.epochs_done + 1)} of ${run.epochs}`;
  if (run.epochs_done > 0) return `${run.epochs_done} ${run.epochs_done === 1 ? "epoch" : "epochs"} done`;
  return "";
}
