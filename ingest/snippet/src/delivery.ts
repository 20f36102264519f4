/** Delivery: finished chunks wait here, are compressed, and travel together. Nothing is lost between these steps. */

import { endpoint } from './page';

/**
 * All requests with keepalive of a page share 65,536 bytes in flight, its own beacons among them: half of it is for
 * the page.
 */
const KEEPALIVE_BYTES = 32_768;
/** At the exit, when nothing else is left. Not a beacon: that would send cookies. */
const LAST_BYTES = 60_000;
/** Chunks that wait for a server that does not answer. A view of a minute has 14. */
const MAX_WAITING = 40;
const MAX_TRIES = 3;
const RETRY_S = 5;
/** Longer delays than 2^31 ms make `setTimeout` fire at once. */
const RETRY_MAX_S = 1e6;
const GZIP = 31;

/** How a line is on its way. A request without keepalive ends with the page. */
const UNKEPT = 1;
const KEPT = 2;

/** A line of JSON: plain at first, and as soon as that is done, a gzip member. */
interface Part {
  readonly id: string;
  bytes: Uint8Array<ArrayBuffer>;
  tries: number;
  flight: number;
}

export interface Answer {
  /** 0 if there was none. */
  status: number;
  /** Seconds for which the server wants nothing more of this page. */
  readonly stop?: number;
  readonly detail?: string;
}

let waiting: Part[] = [];
let keptBytes = 0;
/** How many times are running that the server asked for, or that follow no answer. Nothing is sent meanwhile. */
let holds = 0;
let deferral: AbortController | undefined;
let heard: (answer: Answer, viewId: string) => void;

/** Calls `run` for each answer, with the view of the first line. */
export function onAnswer(run: typeof heard): void {
  heard = run;
}

/** Forgets all that waits. */
export function clear(): void {
  takeBack();
  waiting = [];
}

function takeBack(): void {
  if (deferral) {
    deferral.abort();
  }
}

/**
 * Leaves what waits with the browser, which sends it when the page ends in any way, a crash too. The next flush takes
 * it back. Only secure contexts have this.
 */
function defer(): void {
  takeBack();
  const parts = waiting.filter(({ bytes, flight }) => !flight && bytes[0] === GZIP);
  if (window.fetchLater && parts.length) {
    deferral = new AbortController();
    const { signal } = deferral;
    window.fetchLater(endpoint, { method: 'POST', body: join(parts), credentials: 'omit', signal });
  }
}

function join(parts: readonly Part[]): Uint8Array<ArrayBuffer> {
  const body = new Uint8Array(parts.reduce((length, { bytes }) => length + bytes.length, 0));
  let at = 0;
  for (const { bytes } of parts) {
    body.set(bytes, at);
    at += bytes.length;
  }
  return body;
}

/** Sends all that waits. `isLeaving`: the page may end at any moment. */
export function flush(isLeaving?: boolean): void {
  if (holds && !isLeaving) {
    defer();
    return;
  }
  takeBack();
  for (const isZipped of [true, false]) {
    // What may be lost with the page goes a second time. That is harmless: view and number are a trace's identity.
    send(waiting.filter(({ bytes, flight }) => (
      (bytes[0] === GZIP) === isZipped
        && (!flight || (isLeaving && flight === UNKEPT && keptBytes + bytes.length <= LAST_BYTES))
    )), isLeaving);
  }
}

function halve(parts: readonly Part[], isLeaving?: boolean): void {
  const half = parts.length >> 1;
  send(parts.slice(0, half), isLeaving);
  send(parts.slice(half), isLeaving);
}

/** The bytes go as they are and without a type, which needs no preflight. */
function send(parts: readonly Part[], isLeaving?: boolean): void {
  if (!parts.length) {
    return;
  }
  const body = join(parts);
  const { length } = body;
  if (length > KEEPALIVE_BYTES && parts.length > 1) {
    halve(parts, isLeaving);
    return;
  }
  const keepalive = keptBytes + length <= (isLeaving ? LAST_BYTES : KEEPALIVE_BYTES);
  for (const part of parts) {
    part.tries++;
    part.flight = keepalive ? KEPT : UNKEPT;
  }
  const kept = keepalive ? length : 0;
  keptBytes += kept;
  const end = (answer: Answer, retryAfterS = 0): void => {
    keptBytes -= kept;
    finish(parts, answer, retryAfterS);
  };
  // A page's own `fetch` may throw.
  new Promise<Response>((resolve) => {
    resolve(fetch(endpoint, { method: 'POST', body, credentials: 'omit', keepalive }));
  }).then((response) => {
    const { status } = response;
    const retryAfterS = Number(response.headers.get('Retry-After'));
    response.json().catch(() => {}).then((said) => end(Object.assign({}, said, { status }), retryAfterS));
  }, () => end({ status: 0 }));
}

function finish(parts: readonly Part[], answer: Answer, retryAfterS: number): void {
  const { status } = answer;
  const isLater = !status || status === 408 || status === 429 || status >= 500;
  const isSplit = status === 413 && parts.length > 1;
  waiting = waiting.filter((part) => !parts.includes(part) || isSplit || (isLater && part.tries < MAX_TRIES));
  for (const part of parts) {
    part.flight = 0;
  }
  heard(answer, parts[0]!.id);
  if (isSplit) {
    halve(parts.filter((part) => waiting.includes(part)));
  } else if (isLater) {
    holds++;
    setTimeout(() => {
      holds--;
      flush();
    }, Math.min(retryAfterS || RETRY_S, RETRY_MAX_S) * 1e3);
  }
}

/** Keeps a line, of the view `id`, until it is delivered. `isDue`: sends all lines once it is compressed. */
export function add(id: string, line: string, isDue: boolean): void {
  const part: Part = { id, bytes: new TextEncoder().encode(`${line}\n`), tries: 0, flight: 0 };
  if (waiting.push(part) > MAX_WAITING) {
    waiting.shift();
  }
  const zipped = new Blob([part.bytes]).stream().pipeThrough(new CompressionStream('gzip'));
  new Response(zipped).arrayBuffer().then((buffer) => {
    if (!part.flight) {
      part.bytes = new Uint8Array(buffer);
    }
    if (isDue) {
      flush();
    } else {
      defer();
    }
  }).catch(() => {});
}
