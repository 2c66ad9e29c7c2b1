/** The requests that an etcd server reports itself. Shares no code with the client. */

/** gRPC messages received, by method, without renewals and the stream of watches. */
export async function unaryRequests(url: string): Promise<number> {
  const response = await fetch(`${url}/metrics`);
  let sum = 0;
  for (const line of (await response.text()).split('\n')) {
    const found = /^grpc_server_msg_received_total\{.*grpc_method="(\w+)".*\} (\S+)$/.exec(line);
    if (found !== null && found[1] !== 'LeaseKeepAlive' && found[1] !== 'Watch') sum += Number(found[2]);
  }
  return sum;
}

/** All gRPC messages received, with renewals and the stream of watches. */
export async function receivedMessages(url: string): Promise<number> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return [...text.matchAll(/^grpc_server_msg_received_total\{.*\} (\S+)$/gm)].reduce((sum, [, count]) => sum + Number(count), 0);
}
