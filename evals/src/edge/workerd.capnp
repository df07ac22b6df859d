using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [(name = "edge", worker = .edge)],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "edge")],
);

const edge :Workerd.Worker = (
  modules = [
    (name = "worker.mjs", esModule = embed "worker.mjs"),
    (name = "behavior.mjs", esModule = embed "behavior.mjs"),
    (name = "driver.mjs", esModule = embed "driver.mjs"),
    (name = "behavior.wasm", wasm = embed "behavior.wasm"),
  ],
  compatibilityDate = "2024-09-23",
);
