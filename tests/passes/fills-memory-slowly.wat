;; Copies its memory onto itself for ever: few instructions, much time.
;; flags: --fuel 18446744073709551615 --deadline 1
;; fails: deadline
;; says: --deadline
(func (export "auto:pass/guard@0.1.0#calibrate") (param i32 i32 i32 i32 i32 i32 i32) (result i32)
  (loop $again (memory.fill (i32.const 0) (i32.const 7) (i32.const 0x100000)) (br $again)) unreachable)
