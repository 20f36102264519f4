/** Delivery: finished chunks wait here, are compressed, and travel together. Nothing is lost between these steps. */

import { endpoint } from './page';

declare const BARE: boolean;

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

/** How a line is on its way. A request without keepalive ends with the page. */
const UNKEPT = 1;
const KEPT = 2;

/** A line of JSON: plain at first, and as soon as that is done, a gzip member. */
interface Part {
  readonly viewId_: string;
  body_: Blob;
  isZipped_: boolean;
  tries_: number;
  /** 0 while it waits. */
  flight_: number;
}

export interface Answer {
  /** 0 if there was none. */
  readonly status: number;
  /** Seconds for which the server wants nothing more of this page. */
  readonly stop?: number;
  readonly detail?: string;
}

let waiting: Part[] = [];
let keptBytes = 0;
/** More than that never travels together. An answer 413 halves it. */
let togetherBytes = KEEPALIVE_BYTES;
/** How many times are running that the server asked for, or that follow no answer. Nothing is sent meanwhile. */
let holds = 0;
/** The page may end at any moment. */
let isLeaving = false;
let deferral: AbortController | undefined;
let heard: (answer: Answer, viewId: string) => void;

/** Calls `run` for each answer, with the view of the first line. */
export const onAnswer = (run: typeof heard): void => {
  heard = run;
};

/** Forgets all that waits. */
export const clear = (): void => {
  waiting = [];
  defer();
};

/** The bytes go as they are and without a type, which needs no preflight. */
const requestOf = (parts: readonly Part[]): { method: string; credentials: 'omit'; body: Blob } => ({
  method: 'POST',
  credentials: 'omit',
  body: new Blob(parts.map((part) => part.body_)),
});

/**
 * Leaves what waits with the browser, which sends it when the page ends in any way, a crash too. The next call takes it
 * back. Only secure contexts have this.
 */
const defer = (): void => {
  if (BARE) {
    return;
  }
  deferral?.abort();
  const parts = waiting.filter((part) => part.isZipped_ && !part.flight_);
  if (parts[0]) {
    deferral = new AbortController();
    try {
      window.fetchLater?.(endpoint, { ...requestOf(parts), signal: deferral.signal });
    } catch {
      // It has a quota.
    }
  }
};

/** Sends all that waits. `leaves`: whether the page may end at any moment, from now on. */
export const flush = (leaves = isLeaving): void => {
  isLeaving = leaves;
  if (!holds || isLeaving) {
    for (const isZipped of [true, false]) {
      // What may be lost with the page goes a second time. That is harmless: view and number are a trace's identity.
      send(waiting.filter((part) => part.isZipped_ === isZipped && (!part.flight_
        || (isLeaving && part.flight_ === UNKEPT && keptBytes + part.body_.size <= LAST_BYTES))));
    }
  }
  defer();
};

const send = async (parts: readonly Part[]): Promise<void> => {
  const request = requestOf(parts);
  const { size } = request.body;
  if (size > togetherBytes && parts[1]) {
    const half = parts.length >> 1;
    send(parts.slice(0, half));
    send(parts.slice(half));
  } else if (size) {
    const keepalive = keptBytes + size <= (isLeaving ? LAST_BYTES : KEEPALIVE_BYTES);
    const kept = keepalive ? size : 0;
    keptBytes += kept;
    for (const part of parts) {
      part.flight_ = keepalive ? KEPT : UNKEPT;
    }
    let status = 0;
    let retryAfterS = 0;
    let said: Partial<Answer> | undefined;
    try {
      const response = await fetch(endpoint, { ...request, keepalive });
      status = response.status;
      retryAfterS = Number(response.headers.get('Retry-After'));
      said = await response.json();
    } catch {
      // No answer, or one without JSON. A page's own `fetch` may throw too.
    }
    keptBytes -= kept;
    const isLater = !status || status === 408 || status === 429 || status >= 500;
    const isSplit = status === 413 && parts[1];
    for (const part of parts) {
      part.flight_ = 0;
      part.tries_ += !BARE && isSplit ? 0 : isLater ? 1 : MAX_TRIES;
    }
    waiting = waiting.filter((part) => part.tries_ < MAX_TRIES);
    heard({ ...said, status }, parts[0]!.viewId_);
    if (!BARE && isSplit) {
      togetherBytes = size / 2;
      flush();
    } else if (isLater) {
      holds++;
      setTimeout(() => {
        holds--;
        flush();
      }, Math.min(retryAfterS || RETRY_S, RETRY_MAX_S) * 1e3);
    }
  }
};

/** Keeps a line of a view until it is delivered. `isDue`: sends all lines once it is compressed. */
export const add = async (viewId_: string, line: string, isDue: boolean): Promise<void> => {
  const part: Part = { viewId_, body_: new Blob([line, '\n']), isZipped_: false, tries_: 0, flight_: 0 };
  if (waiting.push(part) > MAX_WAITING) {
    waiting.shift();
  }
  if (isLeaving) {
    flush();
  }
  try {
    const zipped = await new Response(part.body_.stream().pipeThrough(new CompressionStream('gzip'))).blob();
    if (!part.flight_) {
      part.body_ = zipped;
      part.isZipped_ = true;
    }
  } catch {
    // Then it goes as it is.
  }
  if (isDue) {
    flush();
  } else {
    defer();
  }
};
