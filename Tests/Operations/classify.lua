-- A request for wrk: posts the picture that $PICTURE names, or each of several (separated by ":") in turn.
local pictures = {}

-- Called by wrk once it has put the Host field together.
function init(args)
    for path in string.gmatch(os.getenv("PICTURE") or "", "[^:]+") do
        local file = assert(io.open(path, "rb"))
        local headers = { ["Content-Type"] = "application/octet-stream" }
        for name, value in pairs(wrk.headers) do headers[name] = value end
        pictures[#pictures + 1] = wrk.format("POST", nil, headers, file:read("*a"))
        file:close()
    end
    assert(#pictures > 0, "PICTURE names no file")
end

local turn = 0
function request()
    turn = turn % #pictures + 1
    return pictures[turn]
end

-- One line that scripts can read: latencies in microseconds.
function done(summary, latency)
    local errors = summary.errors
    io.write(string.format(
        "RESULT requests=%d seconds=%.3f p50=%d p90=%d p99=%d p999=%d max=%d status=%d read=%d timeout=%d\n",
        summary.requests, summary.duration / 1e6, latency:percentile(50), latency:percentile(90),
        latency:percentile(99), latency:percentile(99.9), latency.max, errors.status, errors.read, errors.timeout))
end
