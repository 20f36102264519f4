// The progress of a first trace is asked for again and again: more slowly while nothing changes, and not while nobody looks.
import assert from "node:assert/strict";
import { mock, test } from "node:test";

import { fire, openPage, run } from "../page.mjs";

const find = (id) => document.getElementById(id);
const show = (words, more = "") => { find("first-steps").innerHTML = `<ol data-said="${words}"${more}></ol>`; };
let asked = 0;

async function open() {
  mock.timers.reset();
  mock.timers.enable({ apis: ["setTimeout"] });
  openPage(`<p id="progress-state"></p><p id="parts-said"></p><div id="first-steps"></div>`);
  show("No trace yet.");
  asked = 0;
  window.htmx = { trigger: () => { asked += 1; } };
  await run("overview/first-visit.js");
}

// Lets time pass, and answers.
function answer(ms, words, more) {
  mock.timers.tick(ms);
  show(words, more);
  fire(find("first-steps"), "htmx:afterSwap");
}

test("what changed is said, and while nothing changes the page asks less often", async () => {
  await open();
  assert.equal(find("progress-state").textContent, "Updates automatically");
  answer(2_000, "No trace yet.");
  assert.deepEqual([asked, find("parts-said").textContent], [1, ""]);
  mock.timers.tick(2_399);
  assert.equal(asked, 1);
  answer(1, "A trace is pending.");
  assert.deepEqual([asked, find("parts-said").textContent], [2, "A trace is pending."]);
  mock.timers.tick(2_000);
  assert.equal(asked, 3); // at once again
  for (let n = 0; n < 20; n++) answer(30_000, "A trace is pending.");
  assert.equal(find("progress-state").textContent, "Updates every 30 seconds");
});

test("after the first trace is folded, and while the page is hidden, it does not ask", async () => {
  await open();
  document.hidden = true;
  fire(document, "visibilitychange");
  assert.equal(find("progress-state").textContent, "Paused while this page is hidden");
  mock.timers.tick(60_000);
  assert.equal(asked, 0);
  document.hidden = false;
  fire(document, "visibilitychange");
  assert.equal(asked, 1);
  answer(0, "Your first page view is here.", ` data-done=""`);
  mock.timers.tick(60_000);
  assert.deepEqual([asked, find("progress-state").textContent], [1, ""]);
});

test("while a server restarts, it keeps trying", async () => {
  await open();
  mock.timers.tick(2_000);
  fire(find("first-steps"), "htmx:sendError");
  mock.timers.tick(29_999);
  assert.equal(asked, 1);
  mock.timers.tick(1);
  assert.equal(asked, 2);
});
