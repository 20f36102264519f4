/**
 * Delivery: finished chunks wait here as lines of JSON, and travel together, as one gzip member. The browser holds each
 * meanwhile and sends it when the page ends in any way, a crash too: nothing is lost by waiting.
 */

import { counted } from './cost';
import { endpoint } from './page';
import { hear } from './recorder';

declare const BARE: boolean;

/**
 * All requests with keepalive of a page share 65,536 bytes in flight, its own beacons among them: half of it is for
 * the page.
 */
const KEEPALIVE_BYTES = 32_768;
/** At the exit, when nothing else is left. Not a beacon: that would send cookies. */
const LAST_BYTES = 60_000;
/** So much text may wait: at the exit, when there is no time for gzip, it still fits. */
const HELD_CHARS = 32_768;
/** Chunks that wait for a server that does not answer. A view of a minute has 11. */
const MAX_WAITING = 40;
const MAX_TRIES = 3;
const RETRY_S = 5;
/** Longer delays than 2^31 ms make `setTimeout` fire at once. */
const RETRY_MAX_S = 1e6;

type Bytes = ArrayBuffer | Uint8Array<ArrayBuffer>;

interface Part {
  readonly viewId_: string;
  /** A line of JSON. */
  readonly line_: string;
  tries_: number;
  isSent_?: boolean;
  /** Takes it back from the browser. */
  hold_?: AbortController | undefined;
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
/** More characters than that never travel together. An answer 413 halves it. */
let togetherChars = 4 * KEEPALIVE_BYTES;
/** How many times are running that the server asked for, or that follow no answer. Nothing is sent meanwhile. */
let pauses = 0;
/** The page may end at any moment. */
let isLeaving = false;

/** Forgets all that waits. */
export const clear = (): void => {
  waiting.forEach(release);
  waiting = [];
};

const textOf = (parts: readonly Part[]): string => parts.map((part) => part.line_).join('');

const encode = (text: string): Bytes => new TextEncoder().encode(text);

/** The bytes go as they are and without a type, which needs no preflight. */
const requestOf = (body: Bytes): { method: string; credentials: 'omit'; body: Bytes } =>
  ({ method: 'POST', credentials: 'omit', body });

/** Leaves a line with the browser. Returns whether it took it: only secure contexts have this, and there is a quota. */
const hold = (part: Part): boolean => {
  if (!BARE) {
    const hold = new AbortController();
    try {
      window.fetchLater!(endpoint, { ...requestOf(encode(part.line_)), signal: hold.signal });
      part.hold_ = hold;
    } catch {
      return false;
    }
  }
  return true;
};

const release = (part: Part): void => {
  if (!BARE) {
    part.hold_?.abort(0); // with a reason, since the usual one takes time
    part.hold_ = undefined;
  }
};

const zip = (body: Bytes): Promise<Bytes> =>
  new Response(new Response(body).body!.pipeThrough(new CompressionStream('gzip'))).arrayBuffer();

/**
 * Sends all that waits. `leaves`: whether the page may end at any moment, from now on. `ends`: it does now. Then the browser
 * sends what it holds, since a request of ours may be lost.
 */
export const flush = (leaves = isLeaving, ends = false): void => {
  isLeaving = leaves;
  if (!pauses || isLeaving) {
    send(waiting.filter((part) => !part.isSent_ && (BARE || !ends || !part.hold_)));
  }
};

const send = Object.values({
  // Named as in `counted`: what follows an answer has no caller of ours.
  async 'fieldflame:run'(parts: readonly Part[]): Promise<void> {
    const text = textOf(parts);
    if (!BARE && parts[1] && text.length > togetherChars) {
      const half = parts.length >> 1;
      send(parts.slice(0, half));
      send(parts.slice(half));
    } else if (text) {
      let body = encode(text);
      let kept = 0;
      let status = 0;
      let retryAfterS = 0;
      let said: Partial<Answer> | undefined;
      for (const part of parts) {
        part.isSent_ = true;
      }
      try {
        if (!isLeaving && window.CompressionStream) {
          body = await zip(body);
        }
        // A request without keepalive ends with the page: then the browser sends what it holds.
        if (keptBytes + body.byteLength <= (isLeaving ? LAST_BYTES : KEEPALIVE_BYTES)) {
          keptBytes += kept = body.byteLength;
          parts.forEach(release);
        }
        const response = await fetch(endpoint, { ...requestOf(body), keepalive: !!kept });
        status = response.status;
        retryAfterS = Number(response.headers.get('Retry-After'));
        said = await response.json();
      } catch {
        // No answer, or one without JSON. A page's own `fetch` may throw too.
      }
      const isLater = !status || status === 408 || status === 429 || status >= 500;
      const isSplit = !BARE && status === 413 && parts[1];
      keptBytes -= kept;
      for (const part of parts) {
        release(part);
        part.isSent_ = false;
        part.tries_ += isSplit ? 0 : isLater ? 1 : MAX_TRIES;
        if (!BARE && isLater) {
          hold(part);
        }
      }
      waiting = waiting.filter((part) => part.tries_ < MAX_TRIES || (!BARE && release(part)));
      hear({ ...said, status }, parts[0]!.viewId_);
      if (isSplit) {
        togetherChars = text.length / 2;
        flush();
      } else if (isLater) {
        pauses++;
        setTimeout(counted(() => {
          pauses--;
          flush();
        }), Math.min(retryAfterS || RETRY_S, RETRY_MAX_S) * 1e3);
      }
    }
  },
})[0]!;

/** Keeps a line of a view until it is delivered. `isDue`: sends all lines. */
export const add = (viewId_: string, line: string, isDue: boolean): void => {
  const part: Part = { viewId_, line_: `${line}\n`, tries_: 0 };
  if (waiting.push(part) > MAX_WAITING) {
    release(waiting.shift()!);
  }
  if (!BARE && isLeaving) {
    send([part]);
  } else if ((BARE && isLeaving) || !hold(part) || isDue || textOf(waiting).length > HELD_CHARS) {
    flush();
  }
};
