/** From a stream of text to its lines. */

/** Calls `take` with each line that is whole; what has no end yet waits for it. */
export function linesTo(take: (line: string) => void): (chunk: string) => void {
  let rest = '';
  return (chunk) => {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) take(line);
  };
}
