/** Requests of a test to the fake API server, beside those of the store. */

export interface ApiAnswer {
  readonly status: number;
  readonly body: unknown;
}

/** Sends one request. Resolves with every status. A body that is not one JSON value is text. */
export async function callApi(
  { url, token }: { readonly url: string; readonly token: string },
  method: string,
  path: string,
  body?: unknown,
): Promise<ApiAnswer> {
  const response = await fetch(new URL(path, url), {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: parsed(await response.text()) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
