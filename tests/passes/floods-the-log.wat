;; Writes to the log for ever.
;; wit: package hostile:pass; world w { import auto:host/log@0.1.0; export auto:pass/guard@0.1.0; }
;; flags: --deadline 20
;; fails: log-too-large
;; says: --max-log
(import "auto:host/log@0.1.0" "log" (func $log (param i32 i32 i32 i32 i32)))
;; imports end
(func (export "auto:pass/guard@0.1.0#calibrate") (param i32 i32 i32 i32 i32 i32 i32) (result i32)
  (loop $again
    (call $log (i32.const 2) (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0x8000))
    (br $again))
  unreachable)
