
// What two answers of /status say together: how much of everything there was between them.
//
// Must not know how it is shown. Invariant: whatever is missing or has fallen, because the server was reloaded between the two,
// counts as nothing.

const number = (value) => (typeof value === "number" && Number.isFinite(value) ? value : 0);
const grown = (now, before) => Math.max(0, number(now) - number(before));
const list = (value) => (Array.isArray(value) ? value : []);
const entries = (value) => (value && typeof value === "object" ? Object.entries(value) : []);
const sum = (all, of) => all.reduce((total, one) => total + of(one), 0);

/** By its value under a key, each entry of a list. */
function byKey(all, key) {
  return new Map(list(all).map((one) => [one?.[key], one]));
}

/** The classes of durations with these upper bounds (null: none), and how many requests fell into each. */
function timesBetween(before, now, bounds) {
  const [was, is] = [byKey(before, "to_ms"), byKey(now, "to_ms")];
  return bounds.map((to) => ({ to, count: grown(is.get(to)?.count, was.get(to)?.count) }));
}

/** The time, in milliseconds, below which this part of the requests stayed, estimated within its class; null: there were none. */
function percentile(times, part) {
  const wanted = sum(times, (one) => one.count) * part;
  if (wanted === 0) return null;
  let [below, from] = [0, 0];
  for (const { to, count } of times) {
    if (count > 0 && below + count >= wanted) {
      return to === null ? from : from + ((to - from) * (wanted - below)) / count;
    }
    below += count;
    from = to ?? from;
  }
  return from;
}

const boundsOf = (histogram) => list(histogram?.durations).map((one) => one.to_ms);

function workerBetween(before, now, seconds) {
  const user = grown(now.cpu_user_s, before?.cpu_user_s) / seconds;
  const system = grown(now.cpu_system_s, before?.cpu_system_s) / seconds;
  const run = grown(now.run_ms, before?.run_ms) / 1e3 / seconds;
  return {
    slot: number(now.worker), pid: number(now.pid), stage: now.held ? "held" : String(now.stage), held: now.held === true,
    requests: grown(now.requests, before?.requests) / seconds,
    inFlight: number(now.in_flight), queued: number(now.queued), connections: number(now.connections),
    // What the application does in the kernel is the kernel's part, so that the parts add up.
    cpu: user + system, system, php: Math.min(run, user), engine: Math.max(0, user - run), run,
    stolen: grown(now.run_queue_s, before?.run_queue_s) / seconds,
    lag: percentile(timesBetween(before?.loop_lag?.durations, now.loop_lag?.durations, boundsOf(now.loop_lag)), 0.99),
    memory: number(now.memory_bytes),
    waiting: entries(now.waiting).sort((a, b) => b[1] - a[1]),
  };
}

/** What connections do, and streams of HTTP/2. */
function statesOf(connections) {
  const [own, streams] = [connections?.by_state ?? {}, connections?.http2_streams_by_state ?? {}];
  const names = [...new Set([...Object.keys(own), ...Object.keys(streams)])];
  return names.map((name) => ({ name: name.replaceAll("_", " "), connections: number(own[name]), streams: number(streams[name]) }));
}

/** The places at which calls have blocked. */
function blockingBetween(before, now, seconds) {
  const key = (one) => JSON.stringify([one.function, one.file, one.line]);
  const were = new Map(list(before).map((one) => [key(one), one]));
  return list(now).map((one) => ({
    function: `${one.function}()`, place: one.file ? `${one.file}:${number(one.line)}` : "",
    rate: grown(one.count, were.get(key(one))?.count) / seconds, count: number(one.count),
  }));
}

function routeBetween(before, now, seconds, bounds) {
  const requests = grown(now.requests, before?.requests);
  const waits = entries(now.wait_ms).map(([kind, ms]) => [kind, grown(ms, before?.wait_ms?.[kind])]);
  const times = timesBetween(before?.durations, now.durations, bounds);
  const [run, wait] = [grown(now.run_ms, before?.run_ms), sum(waits, (one) => one[1])];
  return {
    name: String(now.route), requests: requests / seconds,
    errors: grown(now.answers?.["5xx"], before?.answers?.["5xx"]) / seconds,
    p50: percentile(times, 0.5), p99: percentile(times, 0.99),
    run, wait, time: run + wait,
    runEach: requests > 0 ? run / requests : null, waitEach: requests > 0 ? wait / requests : null,
    waits: waits.filter((one) => one[1] > 0).sort((a, b) => b[1] - a[1]).map((one) => one[0]),
  };
}

/** What happened between two answers, so many seconds apart; rates are by second. */
function sampleBetween(before, now, seconds) {
  const [was, is] = [before.requests ?? {}, now.requests ?? {}];
  const bounds = boundsOf(is); // those of a route are only the ones that it has met
  const workersWere = byKey(before.workers, "pid");
  const routesWere = byKey(before.routes, "route");
  const workers = list(now.workers).map((one) => workerBetween(workersWere.get(one.pid), one, seconds));
  const waits = entries(now.waits_by_kind).map(([kind, one]) => {
    const earlier = before.waits_by_kind?.[kind];
    const [ended, ms] = [grown(one.ended, earlier?.ended), grown(one.sum_ms, earlier?.sum_ms)];
    return { kind, lasting: number(one.lasting), ended: ended / seconds, each: ended > 0 ? ms / ended : null, ms: ms / seconds };
  });
  return {
    requests: grown(is.begun, was.begun) / seconds,
    answers: new Map(entries(is.answers).map(([kind, count]) => [kind, grown(count, was.answers?.[kind]) / seconds])),
    times: timesBetween(was.durations, is.durations, bounds),
    inFlight: number(is.in_flight), queued: number(is.queued), room: number(is.max),
    turnedAway: grown(is.turned_away, was.turned_away) / seconds,
    connections: number(now.connections?.open), websockets: number(now.connections?.websockets),
    states: statesOf(now.connections),
    blocking: blockingBetween(before.blocking_calls_at, now.blocking_calls_at, seconds),
    memory: sum(workers, (one) => one.memory),
    memoryMax: Math.max(0, ...workers.map((one) => one.memory)),
    waits: waits.filter((one) => one.lasting > 0 || one.ended > 0),
    routes: list(now.routes).map((one) => routeBetween(routesWere.get(one.route), one, seconds, bounds)),
    workers,
  };
}
