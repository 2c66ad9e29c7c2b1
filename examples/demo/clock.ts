/** Now, in ms, on the one monotonic clock that all processes of a host share: moments of different processes can be compared. */
export function now(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
