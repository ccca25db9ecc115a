// A WebSocket that comes back. It must not know what is said over it.

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 8000;

/**
 * Connects to a path of this site, and again whenever the connection ends.
 *
 * - opened(): the connection is there, for the first time or again.
 * - topic(id, topic, text): a message of a topic. Whoever comes back says the last id it has seen.
 * - said(data): what the service itself has sent.
 * - state(connected): has changed.
 *
 * Returns a function that sends an object as JSON; it is false when there is no connection.
 */
export function connect(path, { opened = () => {}, topic, said, state }) {
  let socket, timer, attempts = 0;

  function open() {
    clearTimeout(timer);
    timer = undefined;
    socket = new WebSocket(new URL(path, location.href.replace(/^http/, 'ws')));
    socket.onopen = () => {
      attempts = 0;
      state(true);
      opened();
    };
    socket.onmessage = ({ data }) => {
      // The service sends objects; a message of a topic begins with a line: its id, a space, the topic.
      if (data.startsWith('{')) return said(JSON.parse(data));
      const end = data.indexOf('\n');
      const [id, name] = data.slice(0, end).split(' ', 2);
      topic(id, name, data.slice(end + 1));
    };
    socket.onclose = () => {
      state(false);
      // At random, so that not everybody comes back at the same moment.
      const pause = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** attempts++) * (0.5 + Math.random());
      timer = setTimeout(open, pause);
    };
  }

  addEventListener('online', () => timer && open());
  open();

  return (data) => {
    if (socket.readyState !== WebSocket.OPEN) return false;
    socket.send(JSON.stringify(data));
    return true;
  };
}

/** The names of who is present, each once, and at how many places: people have several tabs. */
export function people(present) {
  const count = new Map();
  for (const name of present.values()) count.set(name, (count.get(name) ?? 0) + 1);
  return [...count].sort(([one], [other]) => one.localeCompare(other));
}

/** An element with a class and a text; the text is never HTML. */
export function element(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  made.textContent = text ?? '';
  return made;
}

/** What was published: an object, or a plain text such as `weft publish` sends. */
export function parse(text) {
  try {
    const data = JSON.parse(text);
    if (data !== null && typeof data === 'object') return data;
  } catch {
    // It is a text.
  }
  return { text };
}
