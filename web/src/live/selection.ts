import { readDocument, type PageDocument } from "../document";
import { element, replace } from "../dom";
import { Choices } from "../page/figure";
import { followAddress } from "../page/navigation";
import { pageBody } from "../page/page";
import { shell } from "../shell";
import { curvesPanel } from "./curves";
import type { Feed } from "./feed";
import { runningPanel } from "./running";

/** New epochs and ended runs change the page; steps do not, so that a reader is left in peace. */
type Stand = [id: number, state: string, epochs: number];

function standOfPage(page: PageDocument): string {
  return JSON.stringify(page.runs ?? []);
}

function standOfFeed(feed: Feed, wanted: (study: string, id: number) => boolean): string {
  const stand = [...feed.runs.values()]
    .filter((run) => wanted(run.study, run.id))
    .map((run): Stand => [run.id, run.state, run.epochs_done]);
  return JSON.stringify(stand);
}

/** Draws the page in its place; what its reader has opened and where they were stays. */
function draw(place: HTMLElement, page: PageDocument, choices: Choices, first: boolean): void {
  const scroll = window.scrollY;
  const open = [...place.querySelectorAll("details[open] > summary")].map((node) => node.textContent);
  replace(place, pageBody(page, choices));
  for (const summary of place.querySelectorAll("details > summary")) {
    if (open.includes(summary.textContent)) (summary.parentElement as HTMLDetailsElement).open = true;
  }
  if (first) followAddress(false);
  else window.scrollTo({ top: scroll, behavior: "instant" });
}

/** The page of a study or of some runs, made again by the server whenever its runs progress. */
export function showSelection(feed: Feed, query: URLSearchParams): void {
  const study = query.get("study") ?? "";
  const ids = (query.get("runs") ?? "").split(",").filter((id) => id).map(Number);
  const back = element("a", { href: "/", class: "button" }, "All runs");
  const title = ids.length > 1 ? `Runs ${ids.join(", ")}` : ids.length === 1 ? `Run ${ids[0]}` : study ? `Study ${study}` : "All runs";
  const content = shell(title, "", back);
  const running = element("div", { class: "live" });
  const place = element("div", {}, element("p", { class: "live missing" }, "Reading the store…"));
  content.append(running, place);
  const choices = new Choices();
  const wanted = (of: string, id: number): boolean => (ids.length > 0 ? ids.includes(id) : study ? of === study : true);
  let drawn: string | null = null;
  const refresh = async (): Promise<void> => {
    const asked = standOfFeed(feed, wanted);
    // Exactly the address that the server asked the browser to preload.
    const answer = await fetch(`/api/page${location.search}`);
    const text = await answer.text();
    if (answer.ok) {
      const page = readDocument(text);
      draw(place, page, choices, drawn === null);
      drawn = standOfPage(page);
      return;
    }
    drawn = asked;
    const said = JSON.parse(text) as { error?: string; hint?: string };
    replace(place, element("p", { class: "live missing", role: "alert" }, `${said.error ?? answer.status} ${said.hint ?? ""}`));
  };
  // One request at a time: the page of a large store takes a moment to be made.
  let busy = false;
  const ask = (delay: number): void => {
    busy = true;
    setTimeout(() => {
      // A server that is briefly unavailable is asked again when the stream is back.
      void refresh().catch(() => undefined).finally(() => {
        busy = false;
        follow();
      });
    }, delay);
  };
  const follow = (): void => {
    if (!busy && feed.known && standOfFeed(feed, wanted) !== drawn) ask(2500);
  };
  feed.onChange(() => {
    const some = [...feed.runs.values()].some((run) => run.state === "running" && wanted(run.study, run.id));
    if (some && running.childElementCount === 0) {
      running.append(runningPanel(feed));
      // Of a study the verdict comes first; its runs have their curves on their own pages.
      if (ids.length > 0) running.append(curvesPanel(feed, (run) => wanted(run.study, run.id)));
    }
    if (!some) running.replaceChildren();
    follow();
  });
  window.addEventListener("hashchange", () => followAddress(true));
  ask(0);
}
