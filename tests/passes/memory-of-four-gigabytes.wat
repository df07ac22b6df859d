;; Declares the largest memory there is.
;; flags: --memory 33554432
;; fails: out-of-memory
;; says: --memory
(module
  (memory (export "memory") 65536)
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) unreachable)
  (func (export "auto:pass/guard@0.1.0#calibrate") (param i32 i32 i32 i32 i32 i32 i32) (result i32) unreachable))
