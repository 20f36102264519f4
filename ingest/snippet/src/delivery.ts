/**
 * Delivery: finished chunks wait here as lines of JSON, and travel together, as one gzip member. The browser holds each
 * meanwhile and sends it when the page ends in any way, a crash too: nothing is lost by waiting.
 */

import { counted } from './cost';
import { endpoint, log } from './page';
import { mute } from './recorder';

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

export interface Part {
  readonly viewId_: string;
  /** A line of JSON. */
  readonly line_: string;
  tries_: number;
  isSent_?: boolean;
  /** Takes it back from the browser. */
  hold_?: AbortController | undefined;
}

interface Answer {
  /** Seconds for which the server wants nothing more of this page. */
  readonly stop?: number;
  readonly detail?: string;
}

let waiting: Part[] = [];
let keptBytes = 0;
/** How many times are running that the server asked for, or that follow no answer. Nothing is sent meanwhile. */
let pauses = 0;
/** The page may end at any moment. */
let isLeaving = false;

/** Forgets all that waits. */
export const clear = (): void => {
  release(waiting);
  waiting = [];
};

const textOf = (parts: readonly Part[]): string => parts.map((part) => part.line_).join('\n');

const encode = (text: string): Bytes => new TextEncoder().encode(text);

/** The bytes go as they are and without a type, which needs no preflight. */
const POST = { method: 'POST', credentials: 'omit' } as const;

/** Leaves a line with the browser. Returns whether it took it: only secure contexts have this, and there is a quota. */
const hold = (part: Part): AbortController | true | void => {
  if (BARE) {
    return true;
  }
  const hold = new AbortController();
  try {
    window.fetchLater!(endpoint, { ...POST, body: encode(part.line_), signal: hold.signal });
    return part.hold_ = hold;
  } catch {}
};

const release = (parts: readonly Part[]): void => {
  for (const part of parts) {
    part.hold_?.abort(0); // with a reason, since the usual one takes time
    part.hold_ = undefined;
  }
};

/**
 * Sends all that waits. `leaves`: whether the page may end at any moment, from now on. `ends`: it does now. Then the browser
 * sends what it holds, since a request of ours may be lost.
 */
export const flush = (leaves = isLeaving, ends?: boolean): void => {
  isLeaving = leaves;
  if (!pauses || isLeaving) {
    send(waiting.filter((part) => BARE ? !part.isSent_ : !(part.isSent_ || (ends && part.hold_))));
  }
};

const send = Object.values({
  // Named as in `counted`: what follows an answer has no caller of ours.
  async 'fieldflame:run'(parts: Part[]): Promise<void> {
    const text = textOf(parts);
    if (text) {
      let body = encode(text);
      let kept = 0;
      let status = 0;
      let retryAfterS = 0;
      let said: Answer | null | undefined;
      for (const part of parts) {
        part.isSent_ = true;
      }
      try {
        if (!isLeaving) {
          body = await new Response(new Response(body).body!.pipeThrough(new CompressionStream('gzip'))).arrayBuffer();
        }
      } catch {
        // A browser that cannot compress sends text.
      }
      try {
        // A request without keepalive ends with the page: then the browser sends what it holds.
        if (keptBytes + body.byteLength <= (isLeaving ? LAST_BYTES : KEEPALIVE_BYTES)) {
          keptBytes += kept = body.byteLength;
          release(parts);
        }
        const response = await fetch(endpoint, { ...POST, body, keepalive: kept as unknown as boolean });
        status = response.status;
        retryAfterS = Number(response.headers.get('retry-after'));
        said = await response.json();
      } catch {
        // No answer, or one without JSON. A page's own `fetch` may throw too.
      }
      const isLater = !status || status === 408 || status === 429 || status >= 500;
      const half = status === 413 && parts.length >> 1;
      keptBytes -= kept;
      release(parts);
      for (const part of parts) {
        part.isSent_ = false;
        part.tries_ += !BARE && half ? 0 : isLater ? 1 : MAX_TRIES;
        if (!BARE && isLater && part.tries_ < MAX_TRIES) {
          hold(part);
        }
      }
      waiting = waiting.filter((part) => part.tries_ < MAX_TRIES);
      log(`${status} ${said?.detail || ''}`);
      if (!BARE) {
        dispatchEvent(new CustomEvent('fieldflame:sent', { detail: { viewId: parts[0]!.viewId_, status } }));
      }
      if (said?.stop) {
        mute(said.stop * 1e3);
      } else if (!BARE && half) {
        send(parts.splice(0, half));
        send(parts);
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

/** Keeps a line until it is delivered. `isDue`: sends all lines. */
export const add = (part: Part, isDue: boolean): void => {
  if (waiting.push(part) > MAX_WAITING) {
    release([waiting.shift()!]);
  }
  if (!BARE && isLeaving) {
    send([part]);
  } else if ((BARE && isLeaving) || !hold(part) || isDue || textOf(waiting).length > HELD_CHARS) {
    flush();
  }
};
