export type { DropHow, DropOptions } from './client/call-faults.ts';
export type { MemoryLink, StallWatchesOptions } from './client/link.ts';
export { ManualClock, type ManualClockOptions, type RunOptions } from './manual-clock.ts';
export { openMemory, type MemoryOptions } from './open.ts';
export type { ConnectOptions, Latency, MemoryServerOptions, Message, Operation } from './options.ts';
export { MemoryServer, type LiveLease, type MemoryStore, type Requests } from './store.ts';
export { TestCluster, type TestClusterOptions, type TestProcess, type Who } from './test-cluster.ts';
