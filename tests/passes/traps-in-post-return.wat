;; Gives a result and traps afterwards: the result does not count.
;; fails: trap
;; says: unreachable
(func (export "auto:pass/guard@0.1.0#calibrate") (param i32 i32 i32 i32 i32 i32 i32) (result i32) (i32.const 1024))
(func (export "cabi_post_auto:pass/guard@0.1.0#calibrate") (param i32) unreachable)
