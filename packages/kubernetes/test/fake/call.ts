/** Requests of a test to the fake API server, beside those of the store. */

export interface ApiAnswer {
  readonly status: number;
  readonly body: unknown;
}

/** Sends one request. Resolves with every status. */
export async function callApi(
  { url, token }: { readonly url: string; readonly token: string },
  method: string,
  path: string,
  body?: unknown,
): Promise<ApiAnswer> {
  const response = await fetch(new URL(path, url), {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const answer: unknown = await response.json();
  return { status: response.status, body: answer };
}
