;; An empty file.
;; cut: 0
;; fails: not-wasm
;; says: not WebAssembly
(component)
