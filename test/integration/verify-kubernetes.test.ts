import { groups } from './checks/index.ts';
import { verifyOnce } from './verify-once.ts';

verifyOnce(groups.kubernetes);
