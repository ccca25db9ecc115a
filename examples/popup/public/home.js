// What a client of the service does: ask, show, report.
'use strict';

const by = id => document.getElementById(id);
let popup = null;

function log(line) {
  by('log').textContent = `${line}\n${by('log').textContent}`;
}

async function post(path, body) {
  const answer = await fetch(path, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });
  const text = await answer.text();
  log(`POST ${path} ${JSON.stringify(body)}\n  ${answer.status} ${text}`);
  return JSON.parse(text);
}

function report(operation) {
  return post('/v1/operations', { display: popup.display, operation });
}

async function open() {
  popup = (await post('/v1/ask', { user: by('user').value, platform: 'web', version: '1.0' })).popup;
  if (!popup) return;
  by('title').textContent = popup.title;
  by('body').textContent = popup.body;
  by('popup').showModal();
  await report('shown');
}

function somebody() {
  by('user').value = `user-${Math.floor(Math.random() * 1e9)}`;
  return open();
}

by('open').onclick = open;
by('other').onclick = somebody;
by('close').onclick = async () => { by('popup').close(); await report('closed'); };
by('click').onclick = async () => { by('popup').close(); await report('clicked'); await open(); };
somebody();
