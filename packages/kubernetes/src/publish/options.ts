/** The options of {@link publishLeader}, and their checks. */

import { hostname } from 'node:os';

import type { IncumbentError } from '@incumbent/core';
import { checkBoolean, checkFunction, checkKnown, checkNumber, invalidText } from '@incumbent/core/adapter';

/** What to publish. */
export interface PublishOptions {
  /**
   * The name of the `Lease`: 1 to 200 of `a-z 0-9 . -`, with a letter or digit at both ends and on
   * both sides of each dot. No other program may use it to elect a leader.
   */
  readonly lease: string;
  /**
   * How long tools may take the `Lease` for current after its `renewTime`, in ms: 3,000 to
   * 3,600,000, rounded up to whole seconds. The leader renews it three times as often. Default
   * 15,000.
   */
  readonly leaseDurationMs?: number | undefined;
  /** Labels the leader's pod. Default: no label. */
  readonly podLabel?: PodLabel | undefined;
  /** Whether to create Events: `LeaderElected`, and `LeaderLost` with the reason. Default false. */
  readonly events?: boolean | undefined;
  /** Called with the error of each request that failed. Errors that it throws are ignored. */
  readonly onError: (error: IncumbentError) => unknown;
}

/** The label of the leader's pod. Each election needs a label with a name of its own. */
export interface PodLabel {
  /**
   * 1 to 63 of `A-Z a-z 0-9 . _ -`, with a letter or digit at both ends, and before it, if you
   * wish, a domain and `/`: `example.com/leads`. An annotation of this name says for which term the
   * label is.
   */
  readonly name: string;
  /** 1 to 63 of `A-Z a-z 0-9 . _ -`, with a letter or digit at both ends. */
  readonly value: string;
  /**
   * The name of this process's pod. Default: the host name, which Kubernetes takes from the pod.
   */
  readonly pod?: string | undefined;
}

/** The same with its default. */
export interface PodLabelSettings extends PodLabel {
  readonly pod: string;
}

/** The options with their defaults. */
export interface PublishSettings {
  readonly lease: string;
  readonly leaseDurationMs: number;
  readonly podLabel: PodLabelSettings | undefined;
  readonly events: boolean;
  readonly onError: (error: IncumbentError) => unknown;
}

/** Parts of `a-z 0-9 -` with dots between them. */
const SUBDOMAIN = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*$/;
const LABEL_PART = /^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$/;

/** The name of an Event begins with that of the Lease, and may have 253 characters. */
const MAX_LEASE_CHARACTERS = 200;
const MAX_NAME_CHARACTERS = 253;
const MAX_LABEL_CHARACTERS = 63;

const LABEL_ALLOWED = `1 to ${MAX_LABEL_CHARACTERS} of A-Z a-z 0-9 . _ -, with a letter or digit at both ends`;

function subdomainOf(maxCharacters: number): string {
  return `1 to ${maxCharacters} of a-z 0-9 . -, with a letter or digit at both ends and on both sides of each dot`;
}

/** @throws `TypeError` or `RangeError` with the code `INVALID_OPTION`. */
export function checkPublishOptions(options: PublishOptions): PublishSettings {
  checkKnown('publishLeader', options, ['lease', 'leaseDurationMs', 'podLabel', 'events', 'onError']);
  const { lease, podLabel, onError } = options;
  if (!matches(SUBDOMAIN, lease, MAX_LEASE_CHARACTERS)) throw invalidText('lease', lease, subdomainOf(MAX_LEASE_CHARACTERS));
  const leaseDurationMs = checkNumber('leaseDurationMs', options.leaseDurationMs, 15_000, { min: 3_000, max: 3_600_000 });
  const events = checkBoolean('events', options.events, false);
  checkFunction('onError', onError);
  return { lease, leaseDurationMs, podLabel: podLabel === undefined ? undefined : checkPodLabel(podLabel), events, onError };
}

function checkPodLabel(podLabel: PodLabel): PodLabelSettings {
  checkKnown('podLabel', podLabel, ['name', 'value', 'pod']);
  const { name, value, pod = hostname() } = podLabel;
  if (!isLabelName(name))
    throw invalidText(
      'podLabel.name',
      name,
      `${LABEL_ALLOWED}, and before it, if you wish, a domain and /: ${subdomainOf(MAX_NAME_CHARACTERS)}`,
    );
  if (!matches(LABEL_PART, value, MAX_LABEL_CHARACTERS)) throw invalidText('podLabel.value', value, LABEL_ALLOWED);
  if (!matches(SUBDOMAIN, pod, MAX_NAME_CHARACTERS))
    throw invalidText('podLabel.pod', pod, `the name of a pod: ${subdomainOf(MAX_NAME_CHARACTERS)}`);
  return { name, value, pod };
}

/** `name`, or `prefix/name` with a prefix that is a domain. */
function isLabelName(name: unknown): boolean {
  if (typeof name !== 'string') return false;
  const [last = '', prefix, ...more] = name.split('/').toReversed();
  const hasPrefix = prefix === undefined || matches(SUBDOMAIN, prefix, MAX_NAME_CHARACTERS);
  return more.length === 0 && hasPrefix && matches(LABEL_PART, last, MAX_LABEL_CHARACTERS);
}

function matches(pattern: RegExp, text: unknown, maxCharacters: number): text is string {
  return typeof text === 'string' && text.length <= maxCharacters && pattern.test(text);
}
