/** The settings from the `data-*` attributes of the script element. */

export interface Settings {
  readonly key: string;
  readonly release: string;
  /** Route template, such as `/product/:id`; without one the server derives it from the URL. */
  readonly page: string | undefined;
  /** Share of page views to sample. NaN, from a value that is not a number, samples none. */
  readonly sampleRate: number;
  readonly intervalMs: number;
  readonly durationMs: number;
  readonly bufferSamples: number;
  readonly endpoint: string;
}

/** Returns the number of an attribute; an absent or empty one means the default. */
function readNumber(text: string | undefined, otherwise: number): number {
  return text ? Number(text) : otherwise;
}

/** Throws an Error whose message says what is missing. */
export function readSettings(script: HTMLScriptElement): Settings {
  const { key, release, page, rate, interval, duration, buffer, endpoint } = script.dataset;
  if (!key || !release) {
    throw new Error('data-key and data-release are required');
  }
  const url = endpoint ? new URL(endpoint, document.baseURI) : new URL('/ingest/v1/traces', script.src);
  url.searchParams.set('key', key);
  return {
    key,
    release,
    page: page || undefined,
    sampleRate: Math.min(readNumber(rate, 1), 1), // the door accepts no rate above 1
    intervalMs: readNumber(interval, 10),
    durationMs: readNumber(duration, 1e4),
    bufferSamples: readNumber(buffer, 1e4), // bursts give up to 14 times as many samples as the interval promises
    endpoint: url.href,
  };
}
