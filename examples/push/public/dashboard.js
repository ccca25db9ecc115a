// The dashboard: who is in which room, and how much is said. It listens to the topics of all rooms, and counts here.

import { connect, element, people } from './socket.js';

const SECONDS = 60;
const rooms = new Map();

function draw(room) {
  const count = (selector, number) => (room.card.querySelector(selector).textContent = number);
  count('.present', room.present.size);
  count('.messages', room.messages);
  room.card.querySelector('.names').replaceChildren(...people(room.present).map(([name]) => element('li', '', name)));
}

function drawMinute(room) {
  const most = Math.max(4, ...room.minute);
  const bars = room.minute.map((count, second) => {
    const bar = document.createElementNS('http://www.w3.org/2000/svg', 'rect');
    const height = (20 * count) / most;
    for (const [key, value] of Object.entries({ x: second, y: 20 - height, width: 0.8, height })) bar.setAttribute(key, value);
    return bar;
  });
  room.card.querySelector('.minute').replaceChildren(...bars);
}

function show(name, present) {
  let room = rooms.get(name);
  if (!room) {
    const card = document.querySelector('#room').content.cloneNode(true).firstElementChild;
    card.dataset.room = name;
    card.querySelector('h2').textContent = name;
    document.querySelector('#rooms').append(card);
    room = { card, messages: 0, minute: Array(SECONDS).fill(0) };
    rooms.set(name, room);
  }
  room.present = new Map(Object.entries(present));
  draw(room);
}

connect('/live', {
  said: ({ rooms: all }) => Object.entries(all).forEach(([name, present]) => show(name, present)),
  topic: (id, topic, text) => {
    const room = rooms.get(topic.split(':').at(-1));
    if (!room) return;
    if (topic.startsWith('presence:')) {
      const change = JSON.parse(text);
      if (change.joined !== undefined) room.present.set(change.id, change.joined);
      else room.present.delete(change.id);
    } else {
      room.messages++;
      room.minute[SECONDS - 1]++;
      drawMinute(room);
    }
    draw(room);
  },
  state: (connected) => {
    document.querySelector('#state').textContent = connected ? 'Live' : 'Connecting again…';
    document.body.classList.toggle('cut', !connected);
  },
});

setInterval(() => {
  for (const room of rooms.values()) {
    room.minute.shift();
    room.minute.push(0);
    drawMinute(room);
  }
}, 1000);
