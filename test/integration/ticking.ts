/** A program that works all the time: it reports each 5 ms that it runs. */

import { emit } from '@incumbent/test-support/child';

setInterval(() => emit('tick'), 5);
