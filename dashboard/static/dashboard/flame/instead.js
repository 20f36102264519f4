// What the page "Flame graph" shows instead of a tree: what went wrong, how far a job is, or that no call matches.
import { fetchTree, findJob, followJob, prepareTree, Problem } from "./loading.js";
import { counted } from "./words.js";

const { url, jobsUrl } = document.getElementById("flame").dataset;
const facts = document.getElementById("flame-facts");

// Shows an error. Its buttons call `load` with what fetches the tree.
export async function showProblem(error, load) {
  if (!(error instanceof Problem)) console.error(error);
  facts.textContent = "";
  const panel = document.getElementById("flame-problem");
  panel.querySelector(".words").textContent = error instanceof Problem ? error.message : "The call tree could not be shown. See the browser’s console for details.";
  panel.querySelector(".way").textContent = error.canPrepare ? "This takes a while, because traces are read one by one. You can leave this page and come back." : "";
  const [prepare, ready, again] = ["prepare", "ready", "again"].map((word) => document.getElementById(`flame-${word}`));
  prepare.hidden = !error.canPrepare;
  again.hidden = !error.canRetry;
  ready.hidden = true;
  const onClick = (button, fetching) => { button.onclick = () => { panel.hidden = true; load(fetching); }; };
  onClick(prepare, (isLong) => { isLong(); return prepareTree(url, jobsUrl, showProgress); });
  onClick(again, () => fetchTree(url));
  panel.hidden = false;
  if (!error.canPrepare) return;
  // There may be a finished or running job for the same tree.
  const job = await findJob(url, jobsUrl).catch(() => null);
  if (!job || panel.hidden) return;
  const at = new Date(job.finished_at ?? job.created_at).toLocaleString();
  ready.textContent = job.result_url ? `Show result of ${at}` : "Show progress";
  ready.hidden = false;
  onClick(ready, (isLong) => { isLong(); return followJob(job, showProgress); });
}

function showProgress(done, total) {
  facts.textContent = total === null ? "Waiting for a worker…" : `Reading traces: ${done} of ${total}`;
}

// `views`: how many page views match.
export function showEmpty(views) {
  const panel = document.getElementById("flame-empty");
  panel.querySelector(".words").textContent = views
    ? `${counted(views, "page view")} match the filters, but no sample has a stack.`
    : "No page view matches the filters.";
  panel.hidden = false;
}
