/**
 * `@incumbent/network/http`, for the stores that speak HTTP. Importing it loads Node's HTTP client,
 * which the other stores do without.
 */

export { http, HttpAgent, type HttpAgentOptions, withoutPacket } from './connect/http-agent.ts';
