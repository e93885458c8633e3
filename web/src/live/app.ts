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
  feed.start().catch((problem: Error) => {
    document.getElementById("content")?.prepend(
      element("p", { class: "live missing", role: "alert" }, `The server does not answer: ${problem.message}`),
    );
  });
}
