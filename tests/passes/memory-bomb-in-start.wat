;; The same before anything can be called.
;; flags: --memory 33554432
;; fails: out-of-memory
;; says: --memory
(func $start (loop $again (br_if $again (i32.ne (memory.grow (i32.const 16)) (i32.const -1)))) unreachable)
(start $start)
(func (export "auto:pass/guard@0.1.0#calibrate") (param i32 i32 i32 i32 i32 i32 i32) (result i32) unreachable)
