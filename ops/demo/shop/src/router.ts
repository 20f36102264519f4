/** Addresses and pages. A click on a link of the shop changes the address without a load. */

export type PageName = '/' | '/category/:name' | '/product/:id' | '/checkout';

export interface Route {
  readonly page: PageName;
  /** The part of the address that the page is about: a category, or the number of a product. */
  readonly value: string;
}

declare global {
  interface Window {
    fieldflame?: (command: 'page' | 'tags', value: unknown) => void;
  }
}

export function readRoute(path: string): Route {
  const [, first, second = ''] = path.split('/');
  switch (first) {
    case 'category':
      return { page: '/category/:name', value: decodeURIComponent(second) };
    case 'product':
      return { page: '/product/:id', value: second };
    case 'checkout':
      return { page: '/checkout', value: '' };
    default:
      return { page: '/', value: '' };
  }
}

type Listener = (route: Route) => void;
let listener: Listener = () => {};

export function navigate(path: string): void {
  const route = readRoute(path);
  window.fieldflame?.('page', route.page); // the recording's next page view
  history.pushState(null, '', path);
  listener(route);
}

export function onNavigation(run: Listener): void {
  listener = run;
  addEventListener('popstate', () => run(readRoute(location.pathname)));
  document.addEventListener('click', (event) => {
    const link = (event.target as Element).closest('a');
    if (link?.origin === location.origin && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      navigate(link.pathname);
    }
  });
}
