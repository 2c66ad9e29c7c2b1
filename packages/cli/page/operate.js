/**
 * Ends a term from the page: shows what will happen, asks for a confirmation, and tells the result.
 */

import { ask } from './connection.js';
import { by, element, setHidden, setText } from './dom.js';

/** What the open dialog is about. A late answer for an earlier one is dropped. */
let request;

export function confirmResign(election) {
  return open({ election, title: `Make the leader of ${election} step down`, yes: 'Step down', path: 'resign' });
}

export function confirmHandover(election, to) {
  return open({ election, to, title: `Hand ${election} over to ${to}`, yes: 'Hand over', path: 'handover' });
}

by('confirm-no').addEventListener('click', () => by('confirm').close());
by('confirm-yes').addEventListener('click', () => void send(request));

async function open(asked) {
  request = asked;
  setText(by('confirm-title'), asked.title);
  setText(by('confirm-yes'), asked.yes);
  setText(by('confirm-no'), 'Cancel');
  setText(by('confirm-result'), 'Reading who leads…');
  by('confirm-steps').replaceChildren();
  setHidden(by('confirm-yes'), true);
  by('confirm').showModal();
  by('confirm-no').focus();
  const query = asked.to === undefined ? '' : `?to=${encodeURIComponent(asked.to)}`;
  try {
    const preview = await ask('GET', `${urlOf(asked)}/preview${query}`);
    if (request === asked) showPreview(preview);
  } catch (error) {
    if (request === asked) setText(by('confirm-result'), `This is not possible: ${error.message}`);
  }
}

function showPreview({ member, term, steps }) {
  request.preview = { member, term };
  by('confirm-steps').replaceChildren(...steps.map((step) => element('li', '', step)));
  setText(by('confirm-result'), `${member} leads in term ${term}. If that term is over when you confirm, nothing happens.`);
  by('confirm-yes').disabled = false;
  setHidden(by('confirm-yes'), false);
}

async function send(asked) {
  const { path, to, preview } = asked;
  by('confirm-yes').disabled = true;
  setText(by('confirm-result'), `${preview.member} is asked. This can take up to half a minute…`);
  const body = { term: preview.term, ...(to === undefined ? {} : { to }) };
  const { text } = await ask('POST', `${urlOf(asked)}/${path}`, body).catch((error) => ({ text: `It has failed: ${error.message}` }));
  if (request !== asked) return;
  setHidden(by('confirm-yes'), true);
  setText(by('confirm-result'), text);
  setText(by('confirm-no'), 'Close');
  by('confirm-no').focus();
}

function urlOf({ election }) {
  return `/elections/${encodeURIComponent(election)}`;
}
