;; A shell script.
;; raw: #!/bin/sh
;; fails: not-wasm
;; says: not WebAssembly
