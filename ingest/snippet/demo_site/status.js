// Shows on the page what happens: the work, the recording, and what the server answered to the trace.

import { runWork } from './work.js';

const RECORD_MS = Number(document.querySelector('script[data-key]').dataset.duration);
/** The snippet retries once, after some seconds; longer silence than this is worth a sentence. */
const DEADLINE_MS = 30_000;

const steps = {
  work: document.getElementById('step-work'),
  record: document.getElementById('step-record'),
  send: document.getElementById('step-send'),
};

/** `state` is one of waiting, running, done, failed; the style sheet draws it, the sentence says it. */
function show(name, state, sentence) {
  const step = steps[name];
  step.dataset.state = state;
  step.querySelector('.sentence').textContent = sentence;
}

function explainAnswer({ status, viewId }) {
  if (status === 202) {
    return `Accepted (202). It will be in the dashboard in a few seconds, as page view ${viewId}.`;
  }
  if (status === 401) {
    return 'Refused (401): no project has the key “demo”. ./run makes one, and so does ./run create_project.';
  }
  if (status === 0) {
    return 'No answer: the server could not be reached.';
  }
  return `Refused: the server answered ${status}.`;
}

function watchRecording() {
  if (!('Profiler' in window)) {
    show('record', 'failed', 'This browser has no JS Self-Profiling API. Chrome, Edge and other Chromium browsers do.');
    show('send', 'failed', 'Nothing to send.');
    return;
  }
  show('record', 'running', `Recording the first ${RECORD_MS / 1000} seconds of this page.`);
  const silence = setTimeout(() => {
    show('send', 'failed', 'No trace was sent. Was this page served with “Document-Policy: js-profiling”?');
  }, RECORD_MS + DEADLINE_MS);
  // Modules run late: the recording began with the document, not now.
  setTimeout(() => {
    if (steps.send.dataset.state === 'waiting') {
      show('record', 'done', `Recorded the first ${RECORD_MS / 1000} seconds of this page.`);
      show('send', 'running', 'Sending the trace …');
    }
  }, Math.max(0, RECORD_MS - performance.now()));
  addEventListener('fieldflame:sent', (event) => {
    if (event.detail.status === 202 && performance.now() < RECORD_MS) {
      show('send', 'running', 'The first part was accepted. A view is sent in several parts.');
      return;
    }
    clearTimeout(silence);
    show('record', 'done', `Recorded the first ${RECORD_MS / 1000} seconds of this page.`);
    show('send', event.detail.status === 202 ? 'done' : 'failed', explainAnswer(event.detail));
    document.getElementById('to-dashboard').hidden = event.detail.status !== 202;
  });
}

async function start() {
  document.getElementById('again').addEventListener('click', () => location.reload());
  watchRecording();
  show('work', 'running', 'Working …');
  const found = await runWork(document.getElementById('stage'), (done, count) => {
    show('work', 'running', `Working: round ${done} of ${count}.`);
  });
  show('work', 'done', `Done: ${found.duplicates} duplicate orders and ${found.folders} folders were counted.`);
}

start();
