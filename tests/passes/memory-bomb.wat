;; Grows its memory for as long as it is given more, and fails when it is not.
;; flags: --memory 33554432
;; fails: out-of-memory
;; says: 33554432 bytes
;; says: --memory
(func (export "auto:pass/guard@0.1.0#calibrate") (param i32 i32 i32 i32 i32 i32 i32) (result i32)
  (loop $again (br_if $again (i32.ne (memory.grow (i32.const 16)) (i32.const -1)))) unreachable)
