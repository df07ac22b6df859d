-- wrk -t1 -c64 -d10s --latency -s evals/src/serve/post.lua http://127.0.0.1:7433/run/shout
-- BODY is what is sent; with DELAY each connection waits so many milliseconds between a reply and its
-- next request.
wrk.method = "POST"
wrk.body = os.getenv("BODY") or '{"text":"please send the blue key"}'
wrk.headers["Content-Type"] = "application/json"
local wait = tonumber(os.getenv("DELAY") or "0")
if wait > 0 then
  function delay()
    return wait
  end
end
