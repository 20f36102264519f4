/** What a page can set for the bare core, which docs/snippet.md explains. */
export interface Options {
  /** The project's public key. */
  readonly key: string;
  /** Where to post: `https://fieldflame.example/ingest/v1/traces`. */
  readonly endpoint: string;
  /** The build that the page runs. */
  readonly release: string;
  /** Route template of the page that was loaded, such as `/product/:id`. */
  readonly page?: string;
  /** Share of page views to record, 0 to 1. */
  readonly rate?: number;
  /** How long to record a page view, in ms. */
  readonly duration?: number;
  /** Wanted time between samples, in ms. */
  readonly interval?: number;
  /** Samples that one chunk may hold. */
  readonly buffer?: number;
}

/** Records this page. A second call does nothing. Never throws. */
export function start(options: Options): void;

/** Names the page's route. Another one than before begins a view. */
export function fieldflame(command: 'page', route: string): void;
/** Up to 20 short texts, which are sent with all following chunks. */
export function fieldflame(command: 'tags', tags: readonly string[]): void;
/** The recording ends, or begins again. */
export function fieldflame(command: 'stop' | 'start'): void;
