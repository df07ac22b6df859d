;; Returns more than the output limit, and has it.
;; flags: --max-output 1000000
;; fails: output-too-large
;; says: --max-output
(func (export "auto:pass/guard@0.1.0#calibrate") (param i32 i32 i32 i32 i32 i32 i32) (result i32)
  (drop (memory.grow (i32.const 256)))
  (i32.store (i32.const 1028) (i32.const 0x10000))
  (i32.store (i32.const 1032) (i32.const 0x1000000))
  (i32.const 1024))
