/**
 * The routes of `incumbent ui`: the page, the stream of documents, and what viewers may ask for.
 */

import { checkName, onAbort } from '@incumbent/core/adapter';

import { ApiError } from '../serve/api-error.ts';
import { readJson, successorOf, termOf } from '../serve/http/requests.ts';
import type { Route } from '../serve/http/route.ts';
import { pageRoutes } from './assets.ts';
import type { DocumentKey } from './documents.ts';
import type { UiModel } from './model.ts';
import type { OperateResult, Operator } from './operate.ts';
import { sendBoard } from './viewer.ts';

export interface UiRoutesOptions {
  readonly model: UiModel;
  /** Absent without `--allow-operate`. */
  readonly operator?: Operator;
  /** Called with what a viewer has done, for the log. */
  readonly operated?: (text: string) => void;
}

export function uiRoutes({ model, operator, operated = () => {} }: UiRoutesOptions): readonly Route[] {
  return [...pageRoutes(), streamRoute(model), checkRoute(model), ...operateRoutes(operator, operated)];
}

/**
 * `GET /documents?queue=NAME` or `?members=NAME`, and `&since=EPOCH.VERSION` to go on after a
 * break.
 */
function streamRoute(model: UiModel): Route {
  return {
    method: 'GET',
    path: '/documents',
    handle: ({ query }) => {
      const opened = openedOf(query);
      const [, epoch = '', version = ''] = /^([0-9a-f]+)\.(\d{1,15})$/.exec(query.get('since') ?? '') ?? [];
      const since = epoch === '' ? {} : { since: { epoch, version: Number(version) } };
      return {
        stream: (stream) => {
          onAbort(stream.closed, model.join(opened));
          sendBoard(model.board, stream, { clock: model.clock, ...(opened === undefined ? {} : { opened }), ...since });
        },
      };
    },
  };
}

function openedOf(query: URLSearchParams): DocumentKey | undefined {
  const [queue, members] = [query.get('queue'), query.get('members')];
  if (queue !== null) return `queue/${checkName('election', queue)}`;
  return members === null ? undefined : `members/${checkName('group', members)}`;
}

function checkRoute({ health }: UiModel): Route {
  return {
    method: 'POST',
    path: '/check',
    handle: async () => {
      await health.check();
      return { status: 204 };
    },
  };
}

function operateRoutes(operator: Operator | undefined, operated: (text: string) => void): readonly Route[] {
  const allowed = (): Operator => {
    if (operator === undefined) throw new ApiError('FORBIDDEN', 'incumbent ui only reads: it was started without --allow-operate');
    return operator;
  };
  const done = (what: string, result: OperateResult): { readonly status: number; readonly body: object } => {
    operated(`${what}: ${result.text}`);
    return { status: 200, body: result };
  };
  return [
    {
      method: 'GET',
      path: '/elections/{election}/preview',
      handle: async ({ parameters: { election = '' }, query }) => ({
        status: 200,
        body: await allowed().preview(election, query.get('to') ?? undefined),
      }),
    },
    {
      method: 'POST',
      path: '/elections/{election}/resign',
      handle: async ({ parameters: { election = '' }, request }) => {
        const by = allowed();
        const term = termOf(await readJson(request));
        return done(`resign "${election}" from term ${term}`, await by.resign(election, term));
      },
    },
    {
      method: 'POST',
      path: '/elections/{election}/handover',
      handle: async ({ parameters: { election = '' }, request }) => {
        const by = allowed();
        const body = await readJson(request);
        const [term, to] = [termOf(body, 'to'), successorOf(body)];
        if (to === undefined) throw new ApiError('BAD_REQUEST', 'to must be the member id of a candidate');
        return done(`hand "${election}" over to "${to}" from term ${term}`, await by.handover(election, term, to));
      },
    },
  ];
}
