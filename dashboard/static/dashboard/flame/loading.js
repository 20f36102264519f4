// Fetches the call tree. If the slice is too large for one answer, a job can prepare it.

const ASK_EVERY_MS = 2_000;
const KIND = "flamegraph";

// An error with a message for the user. `canPrepare`: a job can do it. `canRetry`: the same request may work now.
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
    throw new Problem("The server did not answer. Check the connection and try again.", { canRetry: true });
  }
  if (response.ok) return response;
  if (response.status === 401) throw new Problem("You are logged out. Reload this page and log in.");
  if (response.status === 404) throw new Problem("The project is gone, or you may no longer see it.");
  const problem = await response.json().catch(() => ({}));
  if (problem.detail) {
    // The page has a button for jobs, so this part of the API's message is left out.
    const words = problem.detail.split(" Or start a job: ")[0];
    throw new Problem(words, { canPrepare: Boolean(problem.job_kind), canRetry: response.status === 429 });
  }
  throw new Problem(`The server failed (status ${response.status}). Its log says why.`, { canRetry: true });
}

// Returns the call tree, or any other JSON answer of this API.
export async function fetchTree(url) {
  return (await ask(url)).json();
}

function readParams(url) {
  const params = {};
  for (const [name, value] of new URL(url, location.href).searchParams) (params[name] ??= []).push(value);
  return params;
}

// Starts a job for the same tree, and waits for its result.
export async function prepareTree(url, jobsUrl, onProgress) {
  const response = await ask(jobsUrl, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-CSRFToken": csrfToken() },
    body: JSON.stringify({ kind: KIND, params: readParams(url) }),
  });
  return followJob(await response.json(), onProgress);
}

// Calls `onProgress(done, total or null)` with the number of traces read.
export async function followJob(started, onProgress) {
  let job = started;
  while (isUnderWay(job)) {
    onProgress(job.done_traces, job.total_traces);
    await new Promise((resolve) => setTimeout(resolve, ASK_EVERY_MS));
    job = await (await ask(job.url)).json();
  }
  if (!job.result_url) throw new Problem(job.error?.detail ?? "The result has expired.", { canPrepare: true });
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
  return document.querySelector("input[name=csrfmiddlewaretoken]").value; // in the logout form
}
