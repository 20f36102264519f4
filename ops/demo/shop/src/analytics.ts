/** Tells the vendor of our statistics what people look at. Its tag is a script of its own, from another origin. */

interface MetricsEvent {
  readonly name: string;
  readonly page?: string;
  readonly value?: number;
}

declare global {
  interface Window {
    /** What waits for the tag; once it is there, the tag itself. */
    metricsQueue?: { push(event: MetricsEvent): unknown };
  }
}

function send(event: MetricsEvent): void {
  window.metricsQueue ??= [];
  window.metricsQueue.push(event);
}

export function reportView(page: string): void {
  send({ name: 'view', page });
}

export function reportPurchase(cents: number): void {
  send({ name: 'purchase', value: cents });
}
