/** The routes of a candidacy. All but its creation need its secret. */

import type { SwapResult } from '@incumbent/core';
import { onAbort } from '@incumbent/core/adapter';

import { ApiError } from '../api-error.ts';
import type { Candidacy } from '../candidacy.ts';
import { entryDocument } from './entry-document.ts';
import {
  candidacySettings,
  changesOf,
  DEFAULT_RENEW_WITHIN_MS,
  type JsonObject,
  readJson,
  successorOf,
  termOf,
  valueOf,
} from './requests.ts';
import type { ApiRequest, OpenSidecar, Route } from './route.ts';

const CANDIDACY = '/elections/{election}/candidacies/{candidacy}';

export function candidacyRoutes(sidecar: OpenSidecar): readonly Route[] {
  return [
    putRoute(sidecar),
    { method: 'GET', path: CANDIDACY, handle: (request) => ({ status: 200, body: own(sidecar, request).document() }) },
    {
      method: 'DELETE',
      path: CANDIDACY,
      handle: async (request) => {
        const candidacy = own(sidecar, request);
        candidacy.end('withdrawn');
        await candidacy.released();
        return { status: 204 };
      },
    },
    {
      method: 'GET',
      path: `${CANDIDACY}/events`,
      handle: (request) => {
        const candidacy = own(sidecar, request);
        return {
          stream: (stream) => {
            const stop = candidacy.openStream((event) => {
              stream.send(event);
              if (event.event === 'over') stream.end();
            });
            onAbort(stream.closed, stop);
          },
        };
      },
    },
    aboutTerm(sidecar, 'acknowledge', [], (candidacy, term) => candidacy.acknowledge(term)),
    aboutTerm(sidecar, 'resign', [], (candidacy, term) => candidacy.resign(term)),
    aboutTerm(sidecar, 'handover', ['to'], (candidacy, term, body) => candidacy.handover(term, successorOf(body))),
    aboutTerm(sidecar, 'publish', ['value'], (candidacy, term, body) => candidacy.leadership(term).publish(valueOf(body))),
    aboutTerm(sidecar, 'swap', ['changes'], async (candidacy, term, body) =>
      swapDocument(await candidacy.leadership(term).swap(changesOf(body))),
    ),
  ];
}

function putRoute(sidecar: OpenSidecar): Route {
  return {
    method: 'PUT',
    path: CANDIDACY,
    handle: async (request) => {
      const { election = '', candidacy: id = '' } = request.parameters;
      const body = await readJson(request.request);
      if (request.request.headers['candidacy-secret'] !== undefined) {
        const candidacy = own(sidecar, request);
        candidacy.configure(candidacySettings(body));
        return { status: 200, body: candidacy.document() };
      }
      const candidacy = sidecar().create(election, id, { renewWithinMs: DEFAULT_RENEW_WITHIN_MS, ...candidacySettings(body) });
      return { status: 201, body: { ...candidacy.document(), secret: candidacy.secret } };
    },
  };
}

/** The candidacy of the request, whose client proves by the secret that it is its own. */
function own(sidecar: OpenSidecar, { request, parameters }: ApiRequest): Candidacy {
  const { election = '', candidacy: id = '' } = parameters;
  const candidacy = sidecar().find(election, id);
  if (candidacy === undefined)
    throw new ApiError(
      'NO_SUCH_CANDIDACY',
      `the election "${election}" has no candidacy "${id}" at this sidecar: it is over, or was never made`,
    );
  const secret = request.headers['candidacy-secret'];
  if (typeof secret !== 'string') throw new ApiError('WRONG_SECRET', 'the header "candidacy-secret" is missing');
  if (!candidacy.accepts(secret)) throw new ApiError('WRONG_SECRET', 'the header "candidacy-secret" is not the secret of this candidacy');
  candidacy.renew();
  return candidacy;
}

type Act = (candidacy: Candidacy, term: bigint, body: JsonObject) => Promise<object | void> | void;

/**
 * A route about one term of a candidacy. The answer is the candidacy after it, or what `act`
 * returns.
 */
function aboutTerm(sidecar: OpenSidecar, name: string, fields: readonly string[], act: Act): Route {
  return {
    method: 'POST',
    path: `${CANDIDACY}/${name}`,
    handle: async (request) => {
      const candidacy = own(sidecar, request);
      const body = await readJson(request.request);
      // A slow store may take longer than the client has for its next request.
      request.onClosed(candidacy.hold());
      const result = await act(candidacy, termOf(body, ...fields), body);
      return { status: 200, body: result ?? candidacy.document() };
    },
  };
}

function swapDocument(result: SwapResult): object {
  if (result.swapped) return { swapped: true, revisions: result.revisions.map((revision) => revision ?? null) };
  return {
    swapped: false,
    failed: result.failed.map(({ index, current }) => ({ index, current: current === undefined ? null : entryDocument(current) })),
  };
}
