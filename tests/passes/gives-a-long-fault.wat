;; Refuses with a message longer than the output limit.
;; flags: --max-output 1000000
;; fails: output-too-large
;; says: --max-output
(func (export "auto:pass/guard@0.1.0#calibrate") (param i32 i32 i32 i32 i32 i32 i32) (result i32)
  (drop (memory.grow (i32.const 256)))
  (i32.store (i32.const 1024) (i32.const 1))
  (i32.store (i32.const 1036) (i32.const 0x10000))
  (i32.store (i32.const 1040) (i32.const 0x1000000))
  (i32.const 1024))
