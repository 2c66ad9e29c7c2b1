/** A process that stands still between two looks at its clock. */

/** So much time passes before the look of this number from here, 1 the next one. */
export function stall(clock: { monotonic(): number }, before: number, forMs: number): void {
  const look = clock.monotonic.bind(clock);
  let looks = 0;
  clock.monotonic = () => {
    looks += 1;
    return look() + (looks < before ? 0 : forMs);
  };
}
