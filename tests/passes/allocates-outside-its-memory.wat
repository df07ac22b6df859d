;; Tells the host to put the arguments where there is no memory.
;; call: auto:pass/guard@0.1.0#calibrate [[], "AAAA", [], {"quantile": 950000}]
;; fails: bad-output
;; says: realloc
(module
  (memory (export "memory") 1)
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (i32.const 0x7ffffff8))
  (func (export "auto:pass/guard@0.1.0#calibrate") (param i32 i32 i32 i32 i32 i32 i32) (result i32) unreachable))
