export * from '@incumbent/core';
export { openStore } from './open-store.ts';
