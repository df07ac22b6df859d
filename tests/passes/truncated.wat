;; A good component, cut off.
;; cut: 500
;; fails: truncated
;; says: cut off
(func (export "auto:pass/guard@0.1.0#calibrate") (param i32 i32 i32 i32 i32 i32 i32) (result i32) unreachable)
