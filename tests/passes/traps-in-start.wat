;; The same before anything can be called.
;; fails: trap
;; says: unreachable
(func $start unreachable)
(start $start)
(func (export "auto:pass/guard@0.1.0#calibrate") (param i32 i32 i32 i32 i32 i32 i32) (result i32) unreachable)
