/**
 * The process of one broker: `node main.ts URL BROKER_ID TTL_MS FOLDER [PORT]`. SIGTERM is a
 * controlled shutdown.
 */

import { type Leadership, openStore } from 'incumbent';
import { ValidSpans } from './valid-spans.ts';
import { Broker } from './broker.ts';
import { type Command, isCommand, report } from './commands.ts';
import { now, type BrokerEventBody } from './events.ts';
import { Faults } from './faults.ts';
import type { Address } from './keys.ts';
import { View } from './view.ts';
import type { Routes } from './wire.ts';

const [url = '', brokerId = '', ttlMs = '', folder = '', port = '0'] = process.argv.slice(2);

const view = new View(process.send === undefined ? undefined : (request) => report({ type: 'asked', request }));
const tell = (told: BrokerEventBody): void => {
  report({ type: 'event', event: { ...told, at: now() } });
  view.show(told);
};
const validSpans = new ValidSpans((validSpan) => report({ type: 'valid', ...validSpan }));
let stoppedIn = 0n;
const faults = new Faults({
  stopping: (before) => {
    stoppedIn = broker.election.leadership?.term ?? 0n;
    tell({ type: 'stopping', before, term: stoppedIn });
  },
  refused: () => tell({ type: 'refused', by: 'store', what: 'write', from: brokerId, stale: stoppedIn, seen: undefined }),
});
const store = faults.within(await openStore(url));
const elected = (leadership: Leadership<Address>): void => validSpans.ask(leadership);
const routes = (served: Broker): Routes => view.routes(served, faults);
const about = { brokerId, ttlMs: Number(ttlMs), folder, port: Number(port) };
const { broker, finished } = await Broker.start({ ...about, store, faults, tell, elected, routes });
const stop = Promise.withResolvers<void>();

process.on('message', (message) => {
  if (!isCommand(message)) return;
  obey(message);
  report({ type: 'obeyed' });
});
process.on('SIGINT', () => {}); // Ctrl-C reaches all processes of a terminal; whoever has started this one ends it
process.once('disconnect', () => process.exit(1)); // a broker whose starter has died is not needed
process.once('SIGTERM', () => stop.resolve());

report({ type: 'ready', url: broker.url });
await Promise.race([finished, stop.promise]);
view.close();
await broker.shutDown();
await store.close();
validSpans.stop();
process.removeAllListeners('disconnect');
process.disconnect?.();

function obey(command: Command): void {
  switch (command.type) {
    case 'cutOff':
      return faults.cutOff();
    case 'heal':
      return faults.heal();
    case 'stopBefore':
      return faults.stopBefore(command.moment);
    case 'goOn':
      return faults.stopBefore(undefined);
    case 'cluster':
      view.cluster = command.cluster;
      return;
    default:
      return command satisfies never;
  }
}
