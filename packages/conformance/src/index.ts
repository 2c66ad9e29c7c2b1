export type { Area, Need, StoreCase } from './case.ts';
export { storeCases } from './cases/index.ts';
export { electionCases } from './election/index.ts';
export { checkHistory, type HistoryEvent, type HistoryRules } from './check-history.ts';
export type { Cluster, FaultKind, Faults, FaultyClient, Operator, Server, StoreHarness, UseHarness } from './harness.ts';
export { clusterCases, outageCases, scenarioCases } from './scenarios/index.ts';
export { runCase, runCases, type Runner, type TestContext } from './run.ts';
