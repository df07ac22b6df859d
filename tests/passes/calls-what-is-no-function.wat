;; Calls an empty entry of a table.
;; fails: trap
;; says: uninitialized
(table 1 funcref)
(func (export "auto:pass/guard@0.1.0#calibrate") (param i32 i32 i32 i32 i32 i32 i32) (result i32)
  (call_indirect (result i32) (i32.const 0)))
