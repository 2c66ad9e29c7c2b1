/** The positions in the picture. */
export interface Frame {
  /** In ms since the run began. */
  readonly from: number;
  readonly to: number;
  readonly x: (at: number) => number;
  /** The top of a lane. Undefined if there is no lane of this name. */
  readonly lane: (name: string) => number | undefined;
}

export function cross(x: number, y: number): string {
  return `M${(x - 4).toFixed(1)} ${y - 4}l8 8m0 -8l-8 8`;
}

export function diamond(x: number, y: number): string {
  return `M${x.toFixed(1)} ${y - 5}l5 5l-5 5l-5 -5z`;
}
