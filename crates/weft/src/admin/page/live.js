
// The page: asks once a second, keeps five minutes, and shows them.
//
// Must not know how the server counts. Invariants: nothing that it sends changes anything; it asks nothing while nobody can see it; the token is in
// this tab's storage and nowhere else; what is shown while the server is silent is marked as old.

/** Above this part of the time, others use the machine's cores, and the cell says so. */
const CROWDED = 0.2;
const EVERY_MS = 1000;
const PATIENCE_MS = 5000;
/** What is older than this is not compared with. */
const STALE_MS = 15_000;
const KEY = "weft.token";
const find = (selector) => document.querySelector(selector);

/** The time at which the pointer or the keys are, for all plots; null: now. */
const cursor = {
  time: null,
  plots: [],
  move(time) {
    this.time = time;
    for (const plot of this.plots) plot.drawCursor();
  },
};

const plotOf = (options) => {
  const plot = new Plot(find("#plots"), cursor, options);
  cursor.plots.push(plot);
  return plot;
};
const CLASSES = [["2xx", "2xx", "c-good"], ["3xx", "3xx", "c-blue"], ["4xx", "4xx", "c-amber"], ["5xx", "5xx", "c-bad"], ["1xx", "1xx", "c-grey"]];
const plots = {
  rate: plotOf({ id: "plot-rate", title: "Answers", note: "per second, by class of status", stacked: true, least: 4, format: short, series: CLASSES.slice(0, 4) }),
  times: plotOf({ id: "plot-times", title: "Durations", note: "percentiles of five seconds, logarithmic", log: true, format: duration,
    series: [["p50", "p50", "c-good"], ["p90", "p90", "c-blue"], ["p99", "p99", "c-violet"]] }),
  cpu: plotOf({ id: "plot-cpu", title: "Effective CPU", note: "cores of the workers, over five seconds", stacked: true, format: short,
    series: [["php", "PHP", "c-blue"], ["engine", "engine", "c-good"], ["kernel", "kernel", "c-amber"], ["idle", "idle", "c-idle"]] }),
  waits: plotOf({ id: "plot-waits", title: "Waits", note: "coroutines that wait, by what for", stacked: true, least: 4, format: short, series: [] }),
  flight: plotOf({ id: "plot-flight", title: "Requests", note: "at this moment", stacked: true, least: 4, format: short,
    series: [["inFlight", "in flight", "c-blue"], ["queued", "queued", "c-amber"]] }),
  memory: plotOf({ id: "plot-memory", title: "Memory", note: "resident", format: bytes, least: 2 ** 24, base: 1024,
    series: [["memory", "all workers", "c-violet"], ["memoryMax", "the largest", "c-blue"]] }),
};

const numeric = (key, label, title, value, text, mark) => ({ key, label, title, value, text: (row) => text(value(row)), mark });
const named = (...of) => ({ ...numeric(...of), isName: true });
const worded = (key, label, title, text, mark) => ({ key, label, title, text, mark });
const tables = {
  workers: new Table(find("#workers"), { label: "Workers", sort: "slot", empty: "no worker yet", columns: [
    named("slot", "Worker", "its slot", (w) => w.slot, String),
    named("pid", "PID", "its process", (w) => w.pid, String),
    worded("stage", "Stage", "booting, ready, held by one computation, or draining", (w) => w.stage, (w) => (w.held ? "bad" : "")),
    numeric("requests", "Req/s", "requests per second", (w) => w.requests, perSecond),
    numeric("flight", "In flight", "requests that have begun", (w) => w.inFlight, whole),
    numeric("queued", "Queued", "requests that wait for a place", (w) => w.queued, whole, (w) => (w.queued > 0 ? "warn" : "")),
    numeric("connections", "Conns", "open connections", (w) => w.connections, whole),
    numeric("cpu", "CPU", "part of a core", (w) => w.cpu, percentOf),
    numeric("kernel", "Kernel", "part of a core, in the kernel", (w) => w.system, percentOf),
    numeric("php", "App", "effective CPU: the part of its CPU time in which the application had the loop",
      (w) => (w.cpu > 0 ? Math.min(1, w.run / w.cpu) : null), (part) => (part === null ? "–" : percentOf(part))),
    numeric("stolen", "Stolen", "part of the time in which it could have run and had no core", (w) => w.stolen, percentOf, (w) => (w.stolen >= CROWDED ? "warn" : "")),
    numeric("lag", "Lag p99", "in 99 of 100 turns its loop was busy for less, until it looked again at what had become ready", (w) => w.lag, duration),
    numeric("memory", "Memory", "resident", (w) => w.memory, bytes),
    worded("waiting", "Waiting for", "", (w) => w.waiting.map(([kind, count]) => `${kind} ${count}`).join(", ")),
  ] }),
  routes: new Table(find("#routes"), { label: "Routes", sort: "time", empty: "no request has been answered yet", columns: [
    worded("route", "Route", "", (r) => r.name),
    numeric("requests", "Req/s", "requests per second", (r) => r.requests, perSecond),
    numeric("errors", "5xx/s", "answers with a status of 5xx", (r) => r.errors, perSecond, (r) => (r.errors > 0 ? "bad" : "")),
    numeric("p50", "p50", "half of its requests took less", (r) => r.p50, duration),
    numeric("p99", "p99", "99 of 100 took less", (r) => r.p99, duration),
    numeric("run", "Run", "time with the loop, per request", (r) => r.runEach, duration),
    numeric("wait", "Wait", "time that was waited, per request", (r) => r.waitEach, duration),
    numeric("time", "Time", "run and wait of all its requests", (r) => r.time, duration),
    worded("waits", "Waits for", "", (r) => r.waits.slice(0, 3).join(", ")),
  ] }),
  waits: new Table(find("#waits"), { label: "Waits", sort: "lasting", empty: "nobody waits", columns: [
    worded("kind", "Kind", "what for", (w) => w.kind),
    numeric("lasting", "Waiting", "coroutines that wait now", (w) => w.lasting, whole),
    numeric("ended", "Ended/s", "waits that ended, per second", (w) => w.ended, perSecond),
    numeric("each", "Each", "how long one took on the average", (w) => w.each, duration),
    numeric("ms", "Together", "time waited, per second", (w) => w.ms, (ms) => `${duration(ms)}/s`),
  ] }),
  connections: new Table(find("#connections"), { label: "Connections", sort: "count", empty: "there is no connection", columns: [
    worded("state", "State", "what they do", (s) => s.name),
    numeric("count", "Connections", "", (s) => s.connections, whole),
    numeric("streams", "Streams", "of connections that speak HTTP/2", (s) => s.streams, whole),
  ] }),
  blocking: new Table(find("#blocking"), { label: "Calls that block whole workers", sort: "rate", empty: "no call has blocked a worker", columns: [
    worded("function", "Function", "of the C library", (b) => b.function),
    worded("place", "Place", "in PHP code", (b) => b.place),
    numeric("rate", "Calls/s", "calls per second", (b) => b.rate, perSecond, (b) => (b.rate > 0 ? "bad" : "")),
    numeric("count", "All", "since the server began, or was reloaded", (b) => b.count, whole),
  ] }),
  requests: new Table(find("#requests"), { label: "Requests in flight", sort: "age", empty: "no request is in flight", columns: [
    numeric("age", "Age", "since it began to run", (r) => number(r.age_ms), duration, (r) => (r.age_ms >= 1e4 ? "warn" : "")),
    worded("what", "Request", "without its query", (r) => String(r.what)),
    worded("state", "State", "waits, computes, or could run and has no processor", (r) => String(r.state)),
    worded("for", "Waits for", "", (r) => [r.kind ?? "", ...list(r.peers)].join(" ").trim()),
    worded("place", "Stands in", "the place of its PHP code", (r) => String(r.place ?? "")),
    named("pid", "PID", "the worker’s process", (r) => number(r.pid), String),
  ] }),
};

const tiles = new Map([["rate", "Requests/s"], ["p50", "p50"], ["p99", "p99"], ["errors", "5xx/s"], ["flight", "In flight"],
  ["queued", "Queued"], ["connections", "Connections"], ["cpu", "CPU"]].map(([key, label]) => {
  const value = element("dd", "", "–");
  value.id = `tile-${key}`;
  find("#tiles").append(element("div", "", element("dt", "", label), value));
  return [key, value];
}));

/** Answers of /status with their times, of the last ten seconds; and what they said, of the last five minutes. */
let answers = [];
let latest = null;
let points = [];
let colours = new Map();
let isPaused = false;
let silentSince = null;

/** Series for what is waited for, each with the colour it had first; what has none is one series. */
function waitSeries() {
  const seen = new Set(points.flatMap((point) => Object.keys(point.waits)));
  for (const kind of colours.keys()) if (!seen.has(kind)) colours.delete(kind);
  for (const kind of seen) {
    const free = WAIT_COLOURS.find((colour) => ![...colours.values()].includes(colour));
    if (!colours.has(kind) && free) colours.set(kind, free);
  }
  const rest = [...seen].filter((kind) => !colours.has(kind));
  return { series: [...[...colours].map(([kind, colour]) => [kind, kind, colour]), ...(rest.length ? [["others", "others", "c-grey"]] : [])], rest };
}
const WAIT_COLOURS = ["c-blue", "c-good", "c-amber", "c-violet", "c-bad", "c-teal", "c-rose"];

function pointOf(now, second, five) {
  const total = (of) => sum(five.workers, of);
  const idle = Math.max(0, five.workers.length - total((worker) => worker.cpu));
  const waits = Object.fromEntries(second.waits.filter((one) => one.lasting > 0).map((one) => [one.kind, one.lasting]));
  const times = Object.fromEntries([["p50", 0.5], ["p90", 0.9], ["p99", 0.99]].map(([key, part]) => [key, percentile(five.times, part)]));
  return {
    t: now, waits, times, rate: Object.fromEntries(second.answers),
    cpu: { php: total((w) => w.php), engine: total((w) => w.engine), kernel: total((w) => w.system), idle },
    flight: { inFlight: second.inFlight, queued: second.queued },
    memory: { memory: second.memory, memoryMax: second.memoryMax },
  };
}

function take(status) {
  const now = Date.now();
  latest = status;
  answers = answers.filter((one) => now - one.t <= STALE_MS);
  const since = (ms) => {
    const before = answers.find((one) => now - one.t <= ms + EVERY_MS / 2) ?? answers.at(-1);
    return sampleBetween(before.status, status, Math.max(0.001, (now - before.t) / 1e3));
  };
  if (answers.length > 0) {
    const [second, five, ten] = [since(EVERY_MS), since(5000), since(10_000)];
    points = [...points.filter((point) => now - point.t <= SPAN_MS), pointOf(now, second, five)];
    showPlots(now);
    showTiles(second, five);
    judge(now);
    tables.workers.show(ten.workers);
    tables.routes.show(ten.routes.filter((route) => route.requests > 0 || route.time > 0));
    tables.waits.show(ten.waits);
    tables.connections.show(ten.states);
    tables.blocking.show(ten.blocking);
  }
  answers.push({ t: now, status });
  const ready = status.ready ? "ready" : "not ready";
  const workers = `${list(status.workers).length} of ${number(status.workers_wanted)} workers`;
  setText(find("#server"), `${status.version} · ${status.mode} mode · ${ready} · up ${span(number(status.uptime_s))} · ${workers}`);
}

/** Has the server say what held it back for ten seconds, as it says it to `weft top`. An old sentence stays if it does not. */
async function judge(now) {
  const before = answers.find((one) => now - one.t <= 10_000 + EVERY_MS / 2) ?? answers.at(-1);
  const body = { before: before.status, now: latest, seconds: Math.max(0.001, (now - before.t) / 1e3) };
  const isBulk = (key) => key === "durations";
  try {
    const said = await ask("held-back-by", JSON.stringify(body, (key, value) => (isBulk(key) ? undefined : value)));
    setText(find("#verdict b"), said.held_back_by);
  } catch (error) {
    if (error instanceof Refused) note(error);
  }
}

function showPlots(now) {
  const hasInterim = points.some((point) => point.rate["1xx"] > 0);
  plots.rate.setSeries(hasInterim ? CLASSES : CLASSES.slice(0, 4));
  for (const key of ["rate", "times", "cpu", "flight", "memory"]) {
    plots[key].show(points.map((point) => ({ t: point.t, values: point[key] })), now);
  }
  const { series, rest } = waitSeries();
  plots.waits.setSeries(series);
  const values = (waits) => ({ ...waits, others: sum(rest, (kind) => waits[kind] ?? 0) });
  plots.waits.show(points.map((point) => ({ t: point.t, values: values(point.waits) })), now);
}

function showTiles(second, five) {
  const cpu = sum(five.workers, (worker) => worker.cpu);
  const errors = second.answers.get("5xx") ?? 0;
  const shows = {
    rate: perSecond(second.requests), p50: duration(percentile(five.times, 0.5)), p99: duration(percentile(five.times, 0.99)),
    errors: perSecond(errors), flight: `${whole(second.inFlight)} of ${short(second.room)}`, queued: whole(second.queued),
    connections: whole(second.connections), cpu: percentOf(five.workers.length ? cpu / five.workers.length : 0),
  };
  for (const [key, value] of tiles) setText(value, shows[key]);
  tiles.get("errors").classList.toggle("bad", errors > 0);
  tiles.get("queued").classList.toggle("warn", second.queued > 0);
}

function showRequests(answer) {
  const [requests, silent] = [list(answer.requests), list(answer.silent)];
  const listed = number(answer.count) > requests.length ? `the ${requests.length} oldest of ${whole(number(answer.count))}` : "oldest first";
  const missing = silent.length ? `; worker ${silent.join(", ")} does not answer, because a computation holds it` : "";
  setText(find("#requests-note"), listed + missing);
  tables.requests.show(requests);
}

function say(state, text) {
  find("#state").dataset.state = state;
  setText(find("#state"), text);
  find("#views").classList.toggle("old", state === "bad");
}

class Refused extends Error {}

async function ask(path, body = undefined) {
  const token = sessionStorage.getItem(KEY);
  const response = await fetch(path, {
    method: body ? "POST" : "GET", body,
    headers: token ? { Authorization: `Bearer ${token}` } : {},
    cache: "no-store", credentials: "omit", redirect: "error", signal: AbortSignal.timeout(PATIENCE_MS),
  });
  if (response.status === 401) throw new Refused(token ? "That is not the token." : "");
  if (!response.ok) throw new Error(`the server answers with ${response.status}`, { cause: response.status });
  return response.json();
}

function askForToken(why) {
  sessionStorage.removeItem(KEY);
  say("token", "token wanted");
  find("#views").hidden = true;
  find("#entrance").hidden = false;
  setText(find("#refused"), why);
  find("#token").focus();
}

function isAway() {
  return isPaused || document.hidden || !find("#entrance").hidden;
}

function note(error) {
  if (error instanceof Refused) return askForToken(error.message);
  silentSince ??= new Date();
  const since = silentSince.toLocaleTimeString();
  const why = error.cause ? error.message : error instanceof SyntaxError ? "what answers is not weft" : "the server does not answer";
  say("bad", `${why} (since ${since})`);
}

/** Asks a path again and again, never twice at once. */
function poll(path, show, isMain) {
  let timer = null;
  let isAsking = false;
  const round = async () => {
    if (isAsking || isAway()) return;
    isAsking = true;
    clearTimeout(timer);
    const begun = performance.now();
    try {
      show(await ask(path));
      if (isMain) {
        silentSince = null;
        say(isPaused ? "paused" : "live", isPaused ? "paused" : "live");
      }
    } catch (error) {
      if (isMain || error instanceof Refused) note(error);
    } finally {
      isAsking = false;
      if (!isAway()) timer = setTimeout(round, Math.max(100, EVERY_MS - (performance.now() - begun)));
    }
  };
  return round;
}

const rounds = [poll("status", take, true), poll("requests", showRequests, false)];
const goOn = () => rounds.forEach((round) => round());

find("#pause").addEventListener("click", () => {
  isPaused = !isPaused;
  find("#pause").setAttribute("aria-pressed", String(isPaused));
  setText(find("#pause"), isPaused ? "Go on" : "Pause");
  if (isPaused && find("#entrance").hidden) say("paused", "paused");
  goOn();
});
find("#entrance").addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem(KEY, find("#token").value.trim());
  find("#token").value = "";
  find("#entrance").hidden = true;
  find("#views").hidden = false;
  setText(find("#refused"), "");
  say("begin", "connecting");
  goOn();
});
document.addEventListener("visibilitychange", goOn);
goOn();
