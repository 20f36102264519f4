// Times in the reader's zone, how long ago they were, and on paper.
import assert from "node:assert/strict";
import { mock, test } from "node:test";

import { fire, openPage, run } from "../page.mjs";

const plain = (text) => text.replaceAll(/[\u202f\u00a0]/g, " ");
const MINUTE = 60_000;

async function open(html) {
  process.env.TZ = "America/New_York";
  mock.timers.reset();
  mock.timers.enable({ apis: ["Date", "setInterval"], now: Date.parse("2026-11-21T12:00:00Z") });
  openPage(html);
  await run("layout/times.js");
  return document.querySelectorAll("time");
}

test("a time is the reader’s, and UTC is in the tooltip", async () => {
  const [time] = await open(`<time data-local datetime="2026-11-16T09:00:00Z">2026-11-16 09:00 UTC</time>`);
  assert.equal(plain(time.textContent), "Nov 16, 2026, 4:00 AM");
  assert.equal(time.title, "2026-11-16 09:00 UTC");
});

test("an age has the largest unit that fits, is never in the future, and goes on", async () => {
  const ages = { "2026-11-21T12:00:05Z": "just now", "2026-11-21T11:59:10Z": "just now", "2026-11-21T11:58:55Z": "1 min. ago", "2026-11-21T10:01:00Z": "1 hr. ago", "2026-11-20T11:00:00Z": "yesterday", "2026-11-11T11:00:00Z": "10 days ago" };
  const times = await open(Object.keys(ages).map((at) => `<time data-ago datetime="${at}">${at}</time>`).join(""));
  assert.deepEqual(times.map((time) => time.textContent), Object.values(ages));
  assert.match(plain(times[2].title), /^Nov 21, 2026, 6:58:55 AM EST \(2026-11-21 11:58 UTC\)$/);
  mock.timers.tick(MINUTE);
  assert.equal(times[1].textContent, "1 min. ago");
});

test("printed times are in UTC, and the reader’s again afterwards", async () => {
  const [time] = await open(`<time data-ago datetime="2026-11-21T11:00:00Z">2026-11-21 11:00 UTC</time>`);
  assert.equal(time.textContent, "1 hr. ago");
  fire(window, "beforeprint");
  assert.equal(time.textContent, "2026-11-21 11:00 UTC");
  fire(window, "afterprint");
  assert.equal(time.textContent, "1 hr. ago");
});

test("parts that are fetched later have the reader’s times too, and what is no time stays", async () => {
  await open("<p></p>");
  const part = document.querySelector("p");
  part.innerHTML = `<time data-local datetime="2026-11-16T09:00:00Z">2026-11-16 09:00 UTC</time><time data-local datetime="never">never</time>`;
  fire(part, "htmx:load");
  assert.deepEqual(part.children.map((time) => plain(time.textContent)), ["Nov 16, 2026, 4:00 AM", "never"]);
});
