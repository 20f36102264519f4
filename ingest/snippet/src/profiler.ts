/** The parts of the JS Self-Profiling API (WICG) that TypeScript's DOM library does not have. Only Chromium has it. */

export interface ProfilerTrace {
  readonly frames: readonly unknown[];
  readonly resources: readonly string[];
  readonly samples: readonly unknown[];
  readonly stacks: readonly unknown[];
}

export interface Profiler extends EventTarget {
  /** Effective interval in ms: the requested one, rounded up to a multiple of the browser's base. */
  readonly sampleInterval: number;
  /** True as soon as `stop` was called. */
  readonly stopped: boolean;
  stop(): Promise<ProfilerTrace>;
}

declare global {
  interface Window {
    readonly Profiler?: new (options: { sampleInterval: number; maxBufferSize: number }) => Profiler;
  }
  interface Navigator {
    readonly deviceMemory?: number;
    readonly userAgentData?: { readonly mobile: boolean };
  }
}
