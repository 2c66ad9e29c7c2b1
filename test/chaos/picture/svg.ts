/** The part of SVG that the picture needs. */

export type Attributes = Readonly<Record<string, string | number>>;

/** An element. `children` are already markup. */
export function element(name: string, attributes: Attributes, ...children: readonly string[]): string {
  const written = Object.entries(attributes).map(
    ([key, value]) => ` ${key}="${typeof value === 'number' ? round(value) : escaped(value)}"`,
  );
  return children.length === 0 ? `<${name}${written.join('')}/>` : `<${name}${written.join('')}>${children.join('')}</${name}>`;
}

export function label(x: number, y: number, text: string, kind: string): string {
  return element('text', { x, y, class: kind }, escaped(text));
}

/** The approximate width of a text in the picture's font, in px. */
export function widthOf(text: string, fontPx: number): number {
  return text.length * fontPx * 0.58;
}

function round(value: number): string {
  return String(Math.round(value * 10) / 10);
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
