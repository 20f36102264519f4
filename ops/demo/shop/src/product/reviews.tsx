/** What buyers say, in Markdown. */

import { marked } from 'marked';
import { useMemo } from 'preact/hooks';
import type { Review } from '../catalogue';

export function Reviews({ reviews }: { readonly reviews: readonly Review[] }) {
  const rendered = useMemo(() => reviews.map(renderReview), [reviews]);
  return (
    <section class="reviews">
      <h2>{reviews.length} reviews, {averageStars(reviews).toFixed(1)} stars</h2>
      {rendered.map((html, index) => (
        <article key={index}>
          <h3>{reviews[index]!.author}, {describeAge(reviews[index]!.date)}</h3>
          <div dangerouslySetInnerHTML={{ __html: html }} />
        </article>
      ))}
    </section>
  );
}

function renderReview(review: Review): string {
  return marked.parse(review.text, { async: false });
}

function averageStars(reviews: readonly Review[]): number {
  return reviews.reduce((sum, review) => sum + review.stars, 0) / Math.max(1, reviews.length);
}

const DAY_MS = 86_400_000;
const ages = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });

function describeAge(date: string): string {
  const days = Math.round((Date.parse(date) - Date.now()) / DAY_MS);
  return days > -60 ? ages.format(days, 'day') : ages.format(Math.round(days / 30), 'month');
}
