/** Blurred pictures, shown until the real ones are there. Only phones get them: their networks are slow. */

import { decode } from 'blurhash';

const WIDTH = 40;
const HEIGHT = 30;

export function isPhone(): boolean {
  return matchMedia('(pointer: coarse)').matches;
}

/** Paints the placeholders of all pictures below an element. */
export function decodePlaceholders(parent: ParentNode): void {
  if (!isPhone()) {
    return;
  }
  for (const canvas of parent.querySelectorAll<HTMLCanvasElement>('canvas[data-placeholder]')) {
    const pixels = decode(canvas.dataset.placeholder!, WIDTH, HEIGHT);
    const context = canvas.getContext('2d')!;
    const picture = context.createImageData(WIDTH, HEIGHT);
    picture.data.set(pixels);
    context.putImageData(picture, 0, 0);
    delete canvas.dataset.placeholder;
  }
}
