// Fetches the call tree; where the slice is too large for an answer, has a job prepare it.

const ASK_EVERY_MS = 2_000;
const KIND = "flamegraph";

// What went wrong, in words; `canPrepare` where a job would do, `canRetry` where the same may work now.
export class Problem extends Error {
  constructor(words, { canPrepare = false, canRetry = false } = {}) {
    super(words);
    Object.assign(this, { canPrepare, canRetry });
  }
}

async function ask(url, options = {}) {
  let response;
  try {
    response = await fetch(url, { credentials: "same-origin", ...options });
  } catch {
    throw new Problem("This server did not answer. Check the connection and try again.", { canRetry: true });
  }
  if (response.ok) return response;
  if (response.status === 401) throw new Problem("You are logged out by now. Reload this page and log in.");
  if (response.status === 404) throw new Problem("The project is gone, or you may no longer see it.");
  const problem = await response.json().catch(() => ({}));
  if (problem.detail) {
    // What an API's client would be told of jobs is a button here.
    const words = problem.detail.split(" Or have it prepared: ")[0];
    throw new Problem(words, { canPrepare: Boolean(problem.job_kind), canRetry: response.status === 429 });
  }
  throw new Problem(`This server failed on it (status ${response.status}); its log says why.`, { canRetry: true });
}

// Of a call tree, or of whatever else an address of this API answers in JSON.
export async function fetchTree(url) {
  return (await ask(url)).json();
}

function readParams(url) {
  const params = {};
  for (const [name, value] of new URL(url, location.href).searchParams) (params[name] ??= []).push(value);
  return params;
}

// Starts a job for the same tree, and follows it.
export async function prepareTree(url, jobsUrl, onProgress) {
  const response = await ask(jobsUrl, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-CSRFToken": csrfToken() },
    body: JSON.stringify({ kind: KIND, params: readParams(url) }),
  });
  return followJob(await response.json(), onProgress);
}

// `onProgress(done, total or null)` hears how many traces were looked at.
export async function followJob(started, onProgress) {
  let job = started;
  while (isUnderWay(job)) {
    onProgress(job.done_traces, job.total_traces);
    await new Promise((resolve) => setTimeout(resolve, ASK_EVERY_MS));
    job = await (await ask(job.url)).json();
  }
  if (!job.result_url) throw new Problem(job.error?.detail ?? "The result is gone already.", { canPrepare: true });
  return fetchTree(job.result_url);
}

// Returns the newest job for the same tree that has a result or is under way, or null.
export async function findJob(url, jobsUrl) {
  const wanted = keyOf(readParams(url));
  const { jobs } = await (await ask(jobsUrl)).json();
  return jobs.find((job) => job.kind === KIND && (job.result_url || isUnderWay(job)) && keyOf(job.params) === wanted) ?? null;
}

function isUnderWay(job) {
  return job.state === "queued" || job.state === "running";
}

function keyOf(params) {
  return JSON.stringify(Object.keys(params).sort().map((name) => [name, params[name]]));
}

function csrfToken() {
  return document.querySelector("input[name=csrfmiddlewaretoken]").value; // of the form that logs out
}
