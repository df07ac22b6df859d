;; Reads beyond the end of its memory.
;; fails: trap
;; says: out of bounds memory access
(func (export "auto:pass/guard@0.1.0#calibrate") (param i32 i32 i32 i32 i32 i32 i32) (result i32) (i32.load (i32.const 0x7fffffff)))
