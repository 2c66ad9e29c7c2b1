import { serveDeadlinesEtcd, serveDeadlinesSqlite } from './checks/serve-deadlines.ts';
import { verifyOnce } from './verify-once.ts';

verifyOnce([serveDeadlinesEtcd, serveDeadlinesSqlite]);
