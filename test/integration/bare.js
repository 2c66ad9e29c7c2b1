/**
 * A process that does nothing, to be measured against: JavaScript, as to read TypeScript takes
 * memory.
 */

setInterval(() => {}, 2 ** 30);
console.log(JSON.stringify({ event: 'there', at: '0' }));
