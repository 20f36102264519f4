// Jobs that prepare a call tree: found by what they are of, and followed until their result is there.
import assert from "node:assert/strict";
import { mock, test } from "node:test";

import { load, openPage, settle } from "../page.mjs";

const { fetchTree, findJob, followJob, Problem } = await load("flame/loading.js");
const job = (more) => ({ kind: "flamegraph", params: { tag: ["cache:warm"], page: ["/a", "/b"] }, state: "done", result_url: "/result", ...more });

test("a job is found by its parameters in any order, if it has a result or is under way", async () => {
  const others = [job({ kind: "functions" }), job({ params: { page: ["/b", "/a"], tag: ["cache:warm"] } }), job({ state: "failed", result_url: null })];
  const find = (...jobs) => {
    openPage("", { answers: { "/jobs": { jobs: [...others, ...jobs] } } });
    return findJob("/tree?page=/a&page=/b&tag=cache:warm", "/jobs");
  };
  assert.equal(await find(), null);
  for (const found of [job(), job({ state: "queued", result_url: null }), job({ state: "running", result_url: null })]) assert.deepEqual(await find(found), found);
});

test("a job is asked for until it has a result, and its progress is told", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  const states = [job({ state: "running", result_url: null, done_traces: 5, total_traces: 9 }), job()];
  openPage("", { answers: { "/job": () => states.shift(), "/result": { nodes: 1 } } });
  const progress = [];
  const following = followJob({ state: "queued", url: "/job", done_traces: 0, total_traces: null }, (...told) => progress.push(told));
  await settle();
  states[0].url = "/job";
  for (let n = 0; n < 2; n++) {
    mock.timers.tick(2_000);
    await settle();
  }
  assert.deepEqual(await following, { nodes: 1 });
  assert.deepEqual(progress, [[0, null], [5, 9]]);
});

test("a job without a result says why, and can be started again", async () => {
  const isProblem = (words) => (error) => error instanceof Problem && error.message === words && error.canPrepare;
  await assert.rejects(followJob(job({ result_url: null, error: { detail: "It was cancelled." } })), isProblem("It was cancelled."));
  await assert.rejects(followJob(job({ result_url: null })), isProblem("The result has expired."));
});

test("an answer of 429 may be another one soon, and other refusals not", async () => {
  for (const [status, canRetry] of [[429, true], [422, false]]) {
    openPage("", { answers: { "/tree": Response.json({ detail: "No." }, { status }) } });
    await assert.rejects(fetchTree("/tree"), (error) => error.canRetry === canRetry && !error.canPrepare);
  }
});
