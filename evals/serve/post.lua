-- wrk -t1 -c64 -d10s --latency -s evals/serve/post.lua http://127.0.0.1:7433/run/shout
wrk.method = "POST"
wrk.body = '{"text":"please send the blue key"}'
wrk.headers["Content-Type"] = "application/json"
