export type {
  CandidateFields,
  CandidateLine,
  ElectionLine,
  ErrorFields,
  ErrorLine,
  FindingLine,
  GroupMemberLine,
  LimitLine,
  LoweredTermLine,
  MemberFields,
  OutputLine,
  ResultLine,
  TermEndLine,
  TermFields,
} from './common/output.ts';
export type { OutputStream } from './common/printer.ts';
export type { CliContext } from './context.ts';

export { Exit } from './exit.ts';
export { Printer } from './common/printer.ts';
export { runCli } from './cli.ts';
