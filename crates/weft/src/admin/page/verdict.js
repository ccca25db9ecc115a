
// What holds the server back, in one sentence: the same bounds in the same order as in `weft top`.
//
// Must not know how it is shown. Invariant: a bound is named only with the figures that show it.

/** Above this part of a core, a worker has no time left. */
const BUSY = 0.9;
/** Above this part of the time, others use the machine's cores. */
const CROWDED = 0.2;

function most(routes, of) {
  const first = [...routes].sort((a, b) => of(b) - of(a))[0];
  return first && of(first) > 0 ? first.name : null;
}

function verdictOf({ workers, routes, waits, blocking, inFlight, queued, room }) {
  const percent = (part) => `${Math.round(part * 100)} %`;
  const runs = most(routes, (route) => route.run);
  const held = workers.find((worker) => worker.held);
  if (held) {
    const whose = runs ? `, probably of ${runs}` : "";
    return `worker ${held.slot} is held by one computation or a call that blocks${whose}: see watchdog_ms in the log for where`;
  }
  if (blocking > 0) {
    return `calls block whole workers, ${blocking.toFixed(1)} a second: weft doctor --extensions and the log name them`;
  }
  const serving = workers.filter((worker) => worker.stage === "ready");
  const busiest = [...serving].sort((a, b) => b.cpu - a.cpu)[0];
  if (busiest && busiest.cpu >= BUSY) {
    const part = percent(Math.min(1, busiest.run / busiest.cpu));
    const whose = runs ? `, most for ${runs}` : "";
    return `the processor: worker ${busiest.slot} has used ${percent(busiest.cpu)} of a core, ${part} of that in the application${whose}`;
  }
  const longest = [...waits].sort((a, b) => b.lasting - a.lasting || b.ms - a.ms)[0];
  const wait = longest && longest.lasting > 0 ? longest : null;
  const forWhat = wait ? `, and ${wait.lasting} wait for ${wait.kind}` : "";
  if (queued > 0 && inFlight >= room) {
    return `places: all ${room} are taken${forWhat}; ${queued} requests wait (coroutines_max, instances_max)`;
  }
  if (queued > 0) {
    return `${queued} requests wait for a place, or for their share (limits.shares)${forWhat}`;
  }
  const crowded = serving.find((worker) => worker.stolen >= CROWDED);
  if (crowded) {
    return `other programs: worker ${crowded.slot} could have run for ${percent(crowded.stolen)} of the time, and had no core`;
  }
  if (!wait) return "nothing";
  const whose = most(routes, (route) => route.wait);
  return `nothing of weft’s; ${wait.lasting} wait for ${wait.kind}${whose ? `, most of ${whose}` : ""}`;
}
