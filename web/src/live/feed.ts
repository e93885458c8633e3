import type { Change, Run, Snapshot, Study } from "./run";

export type Link = "connecting" | "live" | "lost";

/** Runs and studies as the server has them, kept up to date by its stream. */
export class Feed {
  readonly runs = new Map<number, Run>();
  studies: Study[] = [];
  store = "";
  link: Link = "connecting";
  private listeners: ((changed: Run[]) => void)[] = [];

  onChange(listener: (changed: Run[]) => void): void {
    this.listeners.push(listener);
  }

  private tell(changed: Run[]): void {
    for (const listener of this.listeners) listener(changed);
  }

  async start(): Promise<void> {
    await this.fetchAll();
    const source = new EventSource("/api/live");
    let opened = false;
    source.addEventListener("hello", () => {
      this.link = "live";
      // What happened while there was no stream is in no message of it.
      if (opened) void this.fetchAll();
      opened = true;
      this.tell([]);
    });
    source.addEventListener("runs", (event) => this.take(JSON.parse((event as MessageEvent<string>).data) as Change));
    source.addEventListener("lost", () => void this.fetchAll());
    source.onerror = () => {
      this.link = "lost";
      this.tell([]);
    };
  }

  async fetchAll(): Promise<void> {
    const answer = await fetch("/api/runs");
    if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
    const snapshot = (await answer.json()) as Snapshot;
    this.store = snapshot.store;
    this.studies = snapshot.studies;
    this.runs.clear();
    for (const run of snapshot.runs) this.runs.set(run.id, run);
    this.tell([...this.runs.values()]);
  }

  private take(change: Change): void {
    for (const run of change.runs) {
      const samples = this.runs.get(run.id)?.samples ?? [];
      const last = samples[samples.length - 1];
      if (run.sample && (!last || run.sample[0] > last[0])) samples.push(run.sample);
      this.runs.set(run.id, { ...run, samples });
    }
    for (const id of change.removed) this.runs.delete(id);
    this.studies = change.studies;
    this.tell(change.runs);
  }
}
