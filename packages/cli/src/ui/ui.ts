/** The work of `incumbent ui`: opens the store, watches it, serves the page, and stops in order. */

import type { Store } from '@incumbent/core';
import { showUrl } from '@incumbent/core/adapter';

import type { Printer, Style } from '../common/printer.ts';
import { openExisting, sayWhileWaiting, storeUrl, type StoreOptions } from '../common/store.ts';
import type { CliContext } from '../context.ts';
import { Exit, toCliError, usageError } from '../exit.ts';
import type { AccessRules } from '../serve/http/access.ts';
import { listening, type ListenOptions, startServer } from '../serve/http/listen.ts';
import type { ApiServerOptions } from '../serve/http/server.ts';
import { aborted } from '../serve/until-signal.ts';
import { PAGE_PATHS, SECURITY_HEADERS } from './assets.ts';
import { UiModel } from './model.ts';
import { Operator } from './operate.ts';
import { uiRoutes } from './routes.ts';

export interface UiOptions extends StoreOptions, ListenOptions {
  readonly allowOperate?: boolean;
  readonly storeWait?: number;
}

/** Resolves with the exit code when a signal has stopped the server, in order. */
export async function ui(options: UiOptions, context: CliContext, version: string, stopping: AbortSignal): Promise<number> {
  const { err } = context;
  const tell = teller(err);
  if ('path' in options.listen) throw usageError('--listen is a Unix socket, which no browser can open: give an address and a port');
  const { access, tls } = listening(options);
  const url = storeUrl(options, context);
  const onRetry = sayWhileWaiting((why) => tell('yellow', `the store cannot be reached, waiting for it: ${why}`));
  let store: Store;
  try {
    store = await openExisting(url, context, { waitMs: options.storeWait ?? Infinity, signal: stopping, onRetry });
  } catch (error) {
    if (stopping.aborted) return Exit.OK;
    throw error;
  }
  const operate = options.allowOperate === true;
  try {
    await using model = new UiModel(store, { url: showUrl(url), version, operate });
    const failed = (error: unknown): void => tell('red', `a request has failed: ${toCliError(error).text}`);
    const routes = uiRoutes({ model, ...(operate ? { operator: new Operator(store), operated: (text) => tell('yellow', text) } : {}) });
    const server = await startServer(uiServer({ address: options.listen, access, ...(tls === undefined ? {} : { tls }), routes, failed }));
    tell('cyan', `shows ${store.name} at ${server.url}${operate ? '; whoever opens the page can end leaderships' : ''}`);
    try {
      await aborted(stopping);
    } finally {
      await server.close();
    }
    return Exit.OK;
  } finally {
    await store.close();
  }
}

/** The options of a server that browsers may use, but only its own page. */
export function uiServer(options: ApiServerOptions): ApiServerOptions {
  const access: AccessRules = { ...options.access, page: PAGE_PATHS };
  return { ...options, access, headers: SECURITY_HEADERS, pathsHint: 'the page is at /' };
}

function teller(err: Printer): (style: Style, text: string) => void {
  return (style, text) => err.line(`${err.style(style, 'incumbent:')} ${text}`);
}
