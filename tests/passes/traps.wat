;; Runs into `unreachable`, as a panic without a message does.
;; fails: trap
;; says: unreachable
(func (export "auto:pass/guard@0.1.0#calibrate") (param i32 i32 i32 i32 i32 i32 i32) (result i32) unreachable)
