/** The routes of the HTTP API. `serve.openapi.json` describes the same paths. */

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

import type { ElectionView, LeaderView } from '@incumbent/core';
import { onAbort } from '@incumbent/core/adapter';

import { ApiError } from '../api-error.ts';
import { candidacyRoutes } from './candidacy-routes.ts';
import { entryDocument } from './entry-document.ts';
import type { StreamEvent } from './event-stream.ts';
import { groupRoutes } from './group-routes.ts';
import type { Answer, OpenSidecar, Route } from './route.ts';

/** Pages that do not depend on a candidacy: the caller makes them. */
export interface Pages {
  readonly health: () => Answer;
  readonly ready: () => Answer;
  readonly metrics: () => Answer;
  /** Undefined without a campaign of the sidecar's own. */
  readonly ownLeader: (() => Promise<Answer>) | undefined;
}

export function routesOf(sidecar: OpenSidecar, pages: Pages): readonly Route[] {
  return [...pageRoutes(pages), ...lookupRoutes(sidecar), ...groupRoutes(sidecar), ...candidacyRoutes(sidecar)];
}

function pageRoutes(pages: Pages): readonly Route[] {
  return [
    {
      method: 'GET',
      path: '/',
      handle: () => pages.ownLeader?.() ?? Promise.reject(new ApiError('NOT_FOUND', 'the sidecar has no --election')),
    },
    { method: 'GET', path: '/healthz', handle: pages.health },
    { method: 'GET', path: '/readyz', handle: pages.ready },
    { method: 'GET', path: '/metrics', handle: pages.metrics },
    { method: 'GET', path: '/openapi.json', handle: () => ({ status: 200, text: description(), contentType: 'application/json' }) },
  ];
}

function lookupRoutes(sidecar: OpenSidecar): readonly Route[] {
  return [
    {
      method: 'GET',
      path: '/elections/{election}/leader',
      handle: async ({ parameters: { election = '' } }) => {
        const leader = await sidecar().leader(election);
        return { status: 200, body: { election, ...(leader === undefined ? { state: 'vacant' } : leaderDocument(leader)) } };
      },
    },
    {
      method: 'GET',
      path: '/elections/{election}/candidates',
      handle: async ({ parameters: { election = '' } }) => {
        const candidates = await sidecar().candidates(election);
        return {
          status: 200,
          body: { election, candidates: candidates.map(({ memberId, value, leads }) => ({ member: memberId, value, leads })) },
        };
      },
    },
    {
      method: 'GET',
      path: '/elections/{election}/events',
      handle: ({ parameters: { election = '' } }) => {
        sidecar().checkCanObserve(election);
        return {
          stream: (stream) => {
            const stop = sidecar().observe(election, (view) => stream.send(viewEvent(election, view)));
            onAbort(stream.closed, stop);
          },
        };
      },
    },
    {
      method: 'GET',
      path: '/keys',
      handle: async ({ query }) => {
        const key = query.get('key') ?? '';
        const entry = await sidecar().read(key);
        if (entry === undefined) throw new ApiError('NOT_FOUND', `the store has no key ${JSON.stringify(key)}`);
        return { status: 200, body: entryDocument(entry) };
      },
    },
  ];
}

let openapi: string | undefined;

/** The text of `serve.openapi.json`. */
function description(): string {
  openapi ??= readFileSync(createRequire(import.meta.url).resolve('@incumbent/cli/serve.openapi.json'), 'utf8');
  return openapi;
}

function leaderDocument({ term, memberId, value, previous }: LeaderView): object {
  const before = previous === undefined ? {} : { previous: { term: previous.term, member: previous.memberId, reason: previous.reason } };
  return { state: 'leader', term, member: memberId, ...(value === undefined ? {} : { value }), ...before };
}

function viewEvent(election: string, view: ElectionView): StreamEvent {
  const common = { event: view.state, election };
  switch (view.state) {
    case 'leader':
      return { ...common, ...leaderDocument(view) };
    case 'vacant':
      return { ...common, ...{ state: view.state, reason: view.reason }, ...(view.term === undefined ? {} : { term: view.term }) };
    case 'unknown':
      return { ...common, ...{ state: view.state } };
    default:
      return view satisfies never;
  }
}
