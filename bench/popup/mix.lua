-- The realistic mix: 90 % ask, 8 % report shown or closed, 2 % report a click. 200,000 users, a fifth of whom have a platform
-- with pop-ups. No two requests have the same bytes: each carries a number.
--
-- A report is about a pop-up that this thread was given before, each used once; while there is none, it asks instead. Confirmed
-- operations are counted from the answers, so that the runner can compare them with the rows of the database.
local USERS = 200000
local REPORTED_MAX = 65536
local thread_count, number = 0, 0
local given, first, last = {}, 1, 0
local began, told, told_answered, told_failed, answered = os.time(), 0, 0, 0, 0
returned, recorded, refused, mistakes = 0, 0, 0, 0
local threads = {}
local post = "POST %s HTTP/1.1\r\nHost: popup\r\nContent-Type: application/json\r\nX-Request-Id: %d-%d\r\n%sContent-Length: %d\r\n\r\n%s"
local close = ""

function setup(thread)
  thread_count = thread_count + 1
  thread:set("id", thread_count)
  table.insert(threads, thread)
end

function init(args)
  math.randomseed(id * 7919)
  if args[1] == "close" then close = "Connection: close\r\n" end
end

local function message(path, body)
  number = number + 1
  return string.format(post, path, id, number, close, #body, body)
end

function request()
  local die = math.random(100)
  if die > 90 and first <= last then
    local display = given[first]
    given[first] = nil
    first = first + 1
    local operation = die > 98 and "clicked" or (die > 94 and "shown" or "closed")
    return message("/v1/operations", string.format('{"display":"%s","operation":"%s"}', display, operation))
  end
  local user = math.random(USERS)
  local platform = user % 5 == 0 and "ios" or "web"
  return message("/v1/ask", string.format('{"user":"u%d","platform":"%s","version":"5.%d.%d"}', user, platform, user % 7, number % 100))
end

-- Prints a line for each second that has passed, for the only thread.
local function tell()
  local second = os.time() - began
  if second > told then
    local failed = refused + mistakes
    io.write(string.format('SECOND {"at_s":%d,"answered":%.1f,"errors":%d}\n', second, (answered - told_answered) / (second - told), failed - told_failed))
    io.flush()
    told, told_answered, told_failed = second, answered, failed
  end
end

function response(status, headers, body)
  answered = answered + 1
  if answered % 64 == 0 then tell() end
  if status ~= 200 then
    refused = refused + 1
    return
  end
  if body == '{"recorded":true}' then
    recorded = recorded + 1
    return
  end
  local display = body:match('"display":"([^"]+)"')
  if not display then
    if not body:find('"popup":null', 1, true) then mistakes = mistakes + 1 end
    return
  end
  returned = returned + 1
  if last - first < REPORTED_MAX then
    last = last + 1
    given[last] = display
  end
end

function done(summary, latency, _)
  local sums = { returned = 0, recorded = 0, refused = 0, mistakes = 0 }
  for _, thread in ipairs(threads) do
    for name in pairs(sums) do sums[name] = sums[name] + thread:get(name) end
  end
  local e = summary.errors
  io.write(string.format(
    '\nBENCH {"requests":%d,"wall_us":%d,"p50_us":%d,"p90_us":%d,"p99_us":%d,"max_us":%d,"returned":%d,"recorded":%d,' ..
    '"refused":%d,"mistakes":%d,"errors":%d}\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(90), latency:percentile(99), latency.max,
    sums.returned, sums.recorded, sums.refused, sums.mistakes, e.status + e.connect + e.read + e.write + e.timeout))
end
