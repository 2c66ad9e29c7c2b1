/** Finds the route of a request. */

import { ApiError } from '../api-error.ts';
import type { ApiRequest, Route } from './route.ts';

export interface FoundRoute {
  readonly route: Route;
  readonly parameters: ApiRequest['parameters'];
}

/** A part of a path: a fixed text, or a parameter. */
interface Part {
  readonly text: string;
  readonly isParameter: boolean;
}

interface ParsedRoute {
  readonly route: Route;
  readonly parts: readonly Part[];
}

export class Router {
  /** By the number of parts of their paths. */
  readonly #routes: ReadonlyMap<number, readonly ParsedRoute[]>;
  readonly #pathsHint: string;

  /** `pathsHint` says which paths there are, in the answer to a request for another one. */
  constructor(routes: readonly Route[], pathsHint = 'GET /openapi.json describes all paths') {
    this.#pathsHint = pathsHint;
    this.#routes = Map.groupBy(
      routes.map((route) => ({ route, parts: route.path.split('/').map(partOf) })),
      ({ parts }) => parts.length,
    );
  }

  /** @throws `NOT_FOUND` or `METHOD_NOT_ALLOWED`. `BAD_REQUEST` for a path that is not encoded. */
  find(method: string, path: string): FoundRoute {
    const wanted = method === 'HEAD' ? 'GET' : method;
    const parts = path.split('/');
    const there = (this.#routes.get(parts.length) ?? []).filter((each) => fits(each, parts));
    const found = there.find(({ route }) => route.method === wanted);
    if (found !== undefined) return { route: found.route, parameters: parametersOf(found, parts) };
    if (there.length === 0) throw new ApiError('NOT_FOUND', `there is no such path: ${this.#pathsHint}`);
    const methods = there.map(({ route }) => route.method);
    const allow = methods.flatMap((each) => (each === 'GET' ? ['GET', 'HEAD'] : [each])).join(', ');
    throw new ApiError('METHOD_NOT_ALLOWED', `the path has ${methods.join(', ')}`, { allow });
  }
}

function partOf(text: string): Part {
  const name = /^\{(\w+)\}$/.exec(text)?.[1];
  return name === undefined ? { text, isParameter: false } : { text: name, isParameter: true };
}

function fits({ parts }: ParsedRoute, path: readonly string[]): boolean {
  return parts.every(({ text, isParameter }, index) => isParameter || text === path[index]);
}

function parametersOf({ parts }: ParsedRoute, path: readonly string[]): ApiRequest['parameters'] {
  const parameters: Record<string, string> = {};
  for (const [index, { text, isParameter }] of parts.entries()) if (isParameter) parameters[text] = decode(path[index] ?? '');
  return parameters;
}

function decode(part: string): string {
  if (!part.includes('%')) return part;
  try {
    return decodeURIComponent(part);
  } catch {
    throw new ApiError('BAD_REQUEST', 'the path has a % that no two hexadecimal digits follow');
  }
}
