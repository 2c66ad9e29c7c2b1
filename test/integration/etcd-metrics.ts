/** What an etcd server says it has been asked: an account that shares no code with the client. */

/** gRPC messages received, by method; renewals and the watches' own stream left out. */
export async function unaryRequests(url: string): Promise<number> {
  const response = await fetch(`${url}/metrics`);
  let sum = 0;
  for (const line of (await response.text()).split('\n')) {
    const found = /^grpc_server_msg_received_total\{.*grpc_method="(\w+)".*\} (\S+)$/.exec(line);
    if (found !== null && found[1] !== 'LeaseKeepAlive' && found[1] !== 'Watch') sum += Number(found[2]);
  }
  return sum;
}
