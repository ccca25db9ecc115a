-- The load of every wrk run: requests that differ in query and headers, so that no server can answer one it has seen.
--
-- The variants are formatted once, before the clock starts: the generator must stay cheaper than the servers it loads.
-- The count is prime so that the order never falls into step with the number of connections.
-- Arguments after "--": PATH, where "{site}" stands for the number of a site, then "close" for one request per connection or "keep",
-- then a number of sites to ask in turn (0: none), then the bytes of a body to send, if any. Of large bodies there are fewer variants: each is kept whole.
local VARIANTS, LARGE_VARIANTS = 4093, 13
local requests, next_one, variants = {}, 0, VARIANTS

function init(args)
  local path, close = args[1] or "/", args[2] == "close"
  local sites = tonumber(args[3] or 0)
  local bytes = tonumber(args[4] or 0)
  if bytes > 0 then variants = LARGE_VARIANTS end
  local mark = path:find("?", 1, true) and "&" or "?"
  for i = 1, variants do
    local agent = string.format("bench/%d (%s)", i % 17, string.rep("x", i % 23))
    local page = sites > 0 and path:gsub("{site}", i % sites) or path
    requests[i] = wrk.format(bytes > 0 and "POST" or "GET", string.format("%s%sid=%d&part=%d", page, mark, i * 7919, i % 11), {
      ["Host"] = sites > 0 and string.format("site%d.test", i % sites) or wrk.headers["Host"],
      ["User-Agent"] = agent,
      ["Accept"] = "text/html",
      ["X-Request-Id"] = string.format("%08x", i * 2654435 % 4294967296),
      ["Connection"] = close and "close" or nil,
    }, bytes > 0 and string.rep(string.char(64 + i), bytes) or nil)
  end
end

function request()
  next_one = next_one % variants + 1
  return requests[next_one]
end

function done(summary, latency, _)
  local e = summary.errors
  io.write(string.format(
    '\nBENCH {"requests":%d,"wall_us":%d,"p50_us":%d,"p90_us":%d,"p99_us":%d,"max_us":%d,' ..
    '"bad_status":%d,"connect_errors":%d,"read_errors":%d,"write_errors":%d,"timeouts":%d}\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(90), latency:percentile(99),
    latency.max, e.status, e.connect, e.read, e.write, e.timeout))
end
