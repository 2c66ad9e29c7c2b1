import { replayCorpus } from '@incumbent/test-support/fuzz-replay';

import { targets } from './targets.ts';

replayCorpus(import.meta.dirname, targets);
