import { element, replace } from "../dom";
import { digits, duration } from "../format";
import type { Feed } from "./feed";
import { epochText, runName, type Run, type Study } from "./run";

function bar(fraction: number | undefined, label: string): HTMLElement {
  const attributes = fraction === undefined ? {} : { value: fraction, max: 1 };
  return element("progress", { ...attributes, "aria-label": label });
}

function job(name: HTMLElement, small: string, progress: HTMLElement, told: string): HTMLElement {
  return element(
    "div",
    { class: "job" },
    element("div", { class: "name" }, name, element("small", {}, small)),
    progress,
    element("div", { class: "told" }, told),
  );
}

function runRow(run: Run): HTMLElement {
  const told = [
    run.fraction !== undefined ? `${Math.round(100 * run.fraction)} %` : run.epochs_done > 0 || run.examples_per_s ? "running" : "starting",
    run.examples_per_s ? `${digits(Math.round(run.examples_per_s))} examples/s` : "",
    run.loss === null || run.loss === undefined ? "" : `loss ${digits(run.loss)}`,
    run.remaining_s === undefined ? "" : `${duration(run.remaining_s)} left`,
  ];
  const row = job(
    element("a", { href: `/?runs=${run.id}` }, `Run ${run.id}`),
    [runName(run), epochText(run)].filter((text) => text).join("; "),
    bar(run.fraction, `Progress of run ${run.id}`),
    told.filter((text) => text).join(" · "),
  );
  row.dataset["run"] = String(run.id);
  return row;
}

/** Between two runs of a study nothing runs; it is still under way. */
const BETWEEN_RUNS_MS = 20_000;

function studyRow(study: Study): HTMLElement {
  const planned = study.planned ?? 0;
  const over = study.done + study.failed;
  const told = [
    planned > 0 ? `${over} of ${study.at_most ? "at most " : ""}${planned} runs done` : `${over} of ${study.runs} runs done so far`,
    study.failed > 0 ? `${study.failed} of them failed` : "",
    study.running === 0 ? "starting the next run" : study.remaining_s === undefined ? "" : `about ${duration(study.remaining_s)} left`,
  ];
  const row = job(
    element("a", { href: `/?study=${encodeURIComponent(study.name)}` }, `Study ${study.name}`),
    "",
    planned > 0 ? bar(Math.min(1, over / planned), `Progress of study ${study.name}`) : bar(undefined, `Study ${study.name} is running`),
    told.filter((text) => text).join(" · "),
  );
  row.dataset["study"] = study.name;
  return row;
}

/** Studies and runs that go on now, with progress and the time left. */
export function runningPanel(feed: Feed): HTMLElement {
  const status = element("span", { class: "status" });
  const list = element("div", { class: "jobs", "aria-live": "off" });
  const panel = element("section", { id: "running", class: "panel view", tabindex: "-1" }, element("h2", {}, "Running now", status), list);
  const seen = new Map<string, number>();
  const underWay = (study: Study): boolean => {
    if (study.running > 0) seen.set(study.name, Date.now());
    const more = (study.planned ?? 0) > study.done + study.failed;
    return study.running > 0 || (more && Date.now() - (seen.get(study.name) ?? 0) < BETWEEN_RUNS_MS);
  };
  const show = (): void => {
    status.className = `status ${feed.link === "live" ? "good" : feed.link === "lost" ? "bad" : ""}`;
    status.textContent = feed.link === "live" ? "live" : feed.link === "lost" ? "connection lost, reconnecting" : "connecting";
    const studies = feed.studies.filter(underWay);
    const runs = [...feed.runs.values()].filter((run) => run.state === "running");
    if (runs.length === 0 && studies.length === 0) {
      replace(list, element("p", { class: "missing" }, "Nothing is running. Runs of lockstep run, study and train in this store appear here automatically."));
      return;
    }
    replace(list, ...studies.map(studyRow), ...runs.map(runRow));
    // No message reports that a study stopped.
    if (runs.length === 0) setTimeout(() => panel.isConnected && show(), BETWEEN_RUNS_MS + 500);
  };
  feed.onChange(show);
  show();
  return panel;
}
