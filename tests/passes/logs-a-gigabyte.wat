;; Writes a line to the log that claims a gigabyte.
;; wit: package hostile:pass; world w { import auto:host/log@0.1.0; export auto:pass/guard@0.1.0; }
;; fails: bad-output
;; says: out of bounds
(import "auto:host/log@0.1.0" "log" (func $log (param i32 i32 i32 i32 i32)))
;; imports end
(func (export "auto:pass/guard@0.1.0#calibrate") (param i32 i32 i32 i32 i32 i32 i32) (result i32)
  (call $log (i32.const 2) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0x40000000))
  unreachable)
