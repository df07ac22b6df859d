;; Calls itself until there is no stack left.
;; fails: out-of-stack
;; says: --stack
(func $down (param i32) (result i32) (i32.add (i32.const 1) (call $down (local.get 0))))
(func (export "auto:pass/guard@0.1.0#calibrate") (param i32 i32 i32 i32 i32 i32 i32) (result i32)
  (call $down (i32.const 0)))
