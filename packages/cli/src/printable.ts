/** Text of others, made safe to show on a terminal. */

/**
 * Control characters of ASCII and of Latin-1, which move a cursor or hide what stands there; line and paragraph separators; and characters that turn the
 * direction of writing around.
 */
const HIDDEN = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu;

/** The text, with such characters written as `\u001b`: what is JSON means the same after it. */
export function printable(text: string): string {
  return text.replace(HIDDEN, (hidden) => `\\u${hidden.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
