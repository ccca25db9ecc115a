// The chat. What was said in a room is kept by this tab, with the id of the last message: a connection that comes back, and a
// page that is loaded again, ask for what followed.

import { connect, element, parse, people } from './socket.js';

const KEPT_MAX = 200;
const find = (selector) => document.querySelector(selector);

const name = sessionStorage.getItem('name');
const present = new Map(); // names by connection
const unconfirmed = new Map(); // what this tab has said and not yet heard, by key
let room = sessionStorage.getItem('room') ?? 'lobby';
let kept = load();
let send;

function load() {
  return JSON.parse(sessionStorage.getItem(`room:${room}`)) ?? { last: null, messages: [] };
}

function store() {
  sessionStorage.setItem(`room:${room}`, JSON.stringify(kept));
}

function keep(message) {
  kept.messages.push(message);
  kept.messages.splice(0, kept.messages.length - KEPT_MAX);
  show(message);
  store();
}

function show(message) {
  const line = element('li', message.note ? 'note' : message.from === name ? 'own' : '');
  if (!message.note) line.append(element('b', '', message.from ?? 'Announcement'));
  line.append(element('span', 'text', message.text));
  if (message.at) {
    const time = element('time', '', new Date(message.at * 1000).toLocaleTimeString([], { timeStyle: 'short' }));
    time.dateTime = new Date(message.at * 1000).toISOString();
    line.append(time);
  }
  const log = find('#log');
  const atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 40;
  log.append(line);
  while (log.children.length > KEPT_MAX) log.firstChild.remove();
  if (atEnd) log.scrollTop = log.scrollHeight;
}

function showPresent() {
  find('#present').replaceChildren(
    ...people(present).map(([one, tabs]) => element('li', one === name ? 'own' : '', tabs > 1 ? `${one} (${tabs} tabs)` : one)),
  );
}

function enter(next) {
  room = next;
  sessionStorage.setItem('room', room);
  kept = load();
  find('#log').replaceChildren();
  kept.messages.forEach(show);
  for (const button of document.querySelectorAll('[data-room]')) {
    if (button.dataset.room === room) button.setAttribute('aria-current', 'true');
    else button.removeAttribute('aria-current');
  }
  send?.({ enter: room, after: kept.last });
}

function hear(id, topic, text) {
  if (topic !== `room:${room}` && topic !== `presence:room:${room}`) return; // of the room that was left
  // The id of any message says up to where this tab has heard everything.
  kept.last = id;
  if (topic.startsWith('presence:')) {
    const change = JSON.parse(text);
    if (change.joined !== undefined) present.set(change.id, change.joined);
    else present.delete(change.id);
    showPresent();
    store();
    return;
  }
  const message = parse(text);
  if (message.key) unconfirmed.delete(message.key);
  // What was said again, because the connection was cut before the answer, may have been heard twice.
  if (!message.key || !kept.messages.some(({ key }) => key === message.key)) keep(message);
}

// All that was missed has come before this.
function entered(said) {
  if (said.room !== room) return; // another one was entered meanwhile
  present.clear();
  for (const [id, one] of Object.entries(said.present)) present.set(id, one);
  showPresent();
  if (!said.complete) {
    keep({ note: true, text: 'You were away for too long: messages are missing here.' });
  }
  for (const message of unconfirmed.values()) if (message.room === room) send(message);
}

function start() {
  find('#entrance').hidden = true;
  find('#chat').hidden = false;
  enter(room);
  send = connect(`/chat?name=${encodeURIComponent(name)}`, {
    opened: () => send({ enter: room, after: kept.last }),
    topic: hear,
    said: entered,
    state: (connected) => {
      find('#state').textContent = connected ? `Connected as ${name}` : 'Connecting again…';
      document.body.classList.toggle('cut', !connected);
    },
  });
  find('#text').focus();
}

find('#entrance').onsubmit = (event) => {
  event.preventDefault();
  sessionStorage.setItem('name', find('#name').value.trim());
  location.reload();
};
find('#composer').onsubmit = (event) => {
  event.preventDefault();
  const say = find('#text').value.trim();
  if (say === '') return;
  const message = { say, room, key: Math.random().toString(36).slice(2) };
  unconfirmed.set(message.key, message);
  send(message); // or when the connection is there again
  find('#text').value = '';
};
find('nav').onclick = ({ target }) => {
  if (target.dataset.room && target.dataset.room !== room) enter(target.dataset.room);
};
if (name) start();
