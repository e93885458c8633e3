import { element, replace } from "../dom";
import { digits, duration } from "../format";
import type { Feed } from "./feed";
import { runName, type Run, type Study } from "./run";

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
    run.fraction === undefined ? "starting" : `${Math.round(100 * run.fraction)} %`,
    run.examples_per_s ? `${digits(Math.round(run.examples_per_s))} examples/s` : "",
    run.loss === null || run.loss === undefined ? "" : `loss ${digits(run.loss)}`,
    run.remaining_s === undefined ? "" : `${duration(run.remaining_s)} left`,
  ];
  const row = job(
    element("a", { href: `/?runs=${run.id}` }, `Run ${run.id}`),
    `${runName(run)}; epoch ${Math.min(run.epochs, run.epochs_done + 1)} of ${run.epochs}`,
    bar(run.fraction, `Progress of run ${run.id}`),
    told.filter((text) => text).join(" · "),
  );
  row.dataset["run"] = String(run.id);
  return row;
}

function studyRow(study: Study): HTMLElement {
  const planned = study.planned ?? 0;
  const told = [
    planned > 0 ? `${study.done} of ${planned} runs done` : `${study.done} of ${study.runs} runs so far done`,
    study.failed > 0 ? `${study.failed} failed` : "",
    study.remaining_s === undefined ? "" : `about ${duration(study.remaining_s)} left`,
  ];
  return job(
    element("a", { href: `/?study=${encodeURIComponent(study.name)}` }, `Study ${study.name}`),
    "",
    planned > 0 ? bar(study.done / planned, `Progress of study ${study.name}`) : bar(undefined, `Study ${study.name} is running`),
    told.filter((text) => text).join(" · "),
  );
}

/** Studies and runs that go on now, with progress and the time left. */
export function runningPanel(feed: Feed): HTMLElement {
  const status = element("span", { class: "status" });
  const list = element("div", { class: "jobs", "aria-live": "off" });
  const panel = element("section", { id: "running", class: "panel view", tabindex: "-1" }, element("h2", {}, "Running now", status), list);
  const show = (): void => {
    status.className = `status ${feed.link === "live" ? "good" : feed.link === "lost" ? "bad" : ""}`;
    status.textContent = feed.link === "live" ? "live" : feed.link === "lost" ? "connection lost, trying again" : "connecting";
    const studies = feed.studies.filter((study) => study.running > 0);
    const runs = [...feed.runs.values()].filter((run) => run.state === "running");
    if (runs.length === 0 && studies.length === 0) {
      replace(list, element("p", { class: "missing" }, "Nothing is running. lockstep train or lockstep study into this store shows up here by itself."));
      return;
    }
    replace(list, ...studies.map(studyRow), ...runs.map(runRow));
  };
  feed.onChange(show);
  show();
  return panel;
}
