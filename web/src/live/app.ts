import { element } from "../dom";
import { shell } from "../shell";
import { curvesPanel } from "./curves";
import { dropPanel } from "./drop";
import { Feed } from "./feed";
import { runList } from "./run_list";
import { runningPanel } from "./running";
import { showSelection } from "./selection";
import { studiesPanel } from "./studies";

function showOverview(feed: Feed): void {
  const content = shell("Runs and studies", "");
  content.append(
    element("main", { id: "main", class: "live" }, runningPanel(feed), curvesPanel(feed), studiesPanel(feed), runList(feed), dropPanel(feed)),
  );
  feed.onChange(() => {
    const title = document.querySelector("h1");
    if (title && feed.store) title.textContent = feed.store;
  });
}

/** `lockstep serve`: an overview, or the page of what the address asks for. */
export function startLive(): void {
  const feed = new Feed();
  const query = new URLSearchParams(location.search);
  if (query.has("study") || query.has("runs") || query.has("all")) {
    showSelection(feed, query);
  } else {
    showOverview(feed);
  }
  const problem = element("p", { class: "live missing problem", role: "alert", hidden: true });
  document.getElementById("content")?.prepend(problem);
  feed.onChange(() => {
    if (problem.hidden === (feed.problem === "") && problem.textContent?.endsWith(feed.problem)) return;
    problem.hidden = feed.problem === "";
    problem.textContent = feed.problem ? `The store cannot be read at the moment: ${feed.problem}` : "";
  });
  feed.start();
}
