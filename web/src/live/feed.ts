import type { Change, Run, Snapshot, Study } from "./run";

const ASK_AGAIN_MS = 3000;
const REFUSED_MS = 15_000;
/** Twice what the server sends of a run at most: a page that stays open must not grow without end. */
const MOST_SAMPLES = 1024;

export type Link = "connecting" | "live" | "lost";

/** Runs and studies as the server has them, kept up to date by its stream. */
export class Feed {
  readonly runs = new Map<number, Run>();
  studies: Study[] = [];
  store = "";
  link: Link = "connecting";
  /** whether runs and studies have been heard of at all */
  known = false;
  /** why the server could not tell, in words; empty when it could */
  problem = "";
  private again: ReturnType<typeof setTimeout> | undefined;
  private listeners: ((changed: Run[]) => void)[] = [];

  onChange(listener: (changed: Run[]) => void): void {
    this.listeners.push(listener);
  }

  private tell(changed: Run[]): void {
    for (const listener of this.listeners) listener(changed);
  }

  start(): void {
    const source = new EventSource("/api/live");
    source.addEventListener("hello", () => {
      this.link = "live";
      // All of it now: what happened while there was no stream is in no message of it.
      void this.fetchAll();
    });
    source.addEventListener("runs", (event) => this.take(JSON.parse((event as MessageEvent<string>).data) as Change));
    source.addEventListener("lost", () => void this.fetchAll());
    source.onerror = () => {
      this.link = "lost";
      // A browser tries again by itself unless it was refused, as when too many watch already.
      if (source.readyState === EventSource.CLOSED) setTimeout(() => this.start(), REFUSED_MS);
      if (this.known) this.tell([]);
      else void this.fetchAll();
    };
  }

  /** Never throws: a store that cannot be read now is asked for again, and the page says so. */
  async fetchAll(): Promise<void> {
    try {
      const answer = await fetch("/api/runs");
      const told = (await answer.json()) as Snapshot & { error?: string; hint?: string };
      if (!answer.ok) throw new Error([told.error ?? `the server answered ${answer.status}`, told.hint].filter((text) => text).join("; "));
      this.store = told.store;
      this.studies = told.studies;
      this.runs.clear();
      for (const run of told.runs) this.runs.set(run.id, run);
      this.known = true;
      this.problem = "";
    } catch (problem) {
      this.problem = (problem as Error).message;
      clearTimeout(this.again);
      this.again = setTimeout(() => void this.fetchAll(), ASK_AGAIN_MS);
    }
    this.tell([...this.runs.values()]);
  }

  private take(change: Change): void {
    this.problem = "";
    for (const run of change.runs) {
      const before = this.runs.get(run.id);
      const samples = before?.started === run.started ? before.samples ?? [] : [];
      const last = samples[samples.length - 1];
      if (run.sample && (!last || run.sample[0] > last[0])) samples.push(run.sample);
      this.runs.set(run.id, { ...run, samples });
    }
    for (const id of change.removed) this.runs.delete(id);
    this.studies = change.studies;
    this.tell(change.runs);
    // The server keeps a thinner curve of the same run.
    if (change.runs.some((run) => (this.runs.get(run.id)?.samples?.length ?? 0) > MOST_SAMPLES)) void this.fetchAll();
  }
}
