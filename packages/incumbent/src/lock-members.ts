/**
 * The members of the locks that `withLock` waits for or holds now, by their incarnations. Each lock
 * has a member of its own, so the monitor counts all of them as one member: a metric with a label
 * for each lock would grow for ever.
 */
export const lockMembers: Set<string> = new Set<string>();
