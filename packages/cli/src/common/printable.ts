/** Makes text of other processes safe to print on a terminal. */

/**
 * Control characters of ASCII and Latin-1, which move the cursor or hide text; line and paragraph
 * separators; and characters that change the direction of writing.
 */
const UNSAFE = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu;

/** The text with such characters escaped as `\u001b`. JSON keeps its meaning. */
export function printable(text: string): string {
  return text.replace(UNSAFE, (unsafe) => `\\u${unsafe.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
