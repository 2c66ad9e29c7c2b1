/** Simulates a process that is stopped between two readings of its clock. */

/** Lets this much time pass before the reading with this number, where 1 is the next one. */
export function stall(clock: { monotonic(): number }, before: number, forMs: number): void {
  const look = clock.monotonic.bind(clock);
  let looks = 0;
  clock.monotonic = () => {
    looks += 1;
    return look() + (looks < before ? 0 : forMs);
  };
}
