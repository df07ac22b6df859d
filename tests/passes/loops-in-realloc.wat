;; An endless loop in the allocator, where the host puts the arguments.
;; flags: --fuel 100000000
;; call: auto:pass/guard@0.1.0#calibrate [[], "AAAA", [], {"quantile": 950000}]
;; fails: out-of-fuel
;; says: --fuel
(module
  (memory (export "memory") 1)
  (func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32) (loop $again (br $again)) unreachable)
  (func (export "auto:pass/guard@0.1.0#calibrate") (param i32 i32 i32 i32 i32 i32 i32) (result i32) unreachable))
