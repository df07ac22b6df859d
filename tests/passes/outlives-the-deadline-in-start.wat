;; The same in the start function.
;; flags: --fuel 18446744073709551615 --deadline 1
;; fails: deadline
;; says: --deadline
(func $start (loop $again (br $again)))
(start $start)
(func (export "auto:pass/guard@0.1.0#calibrate") (param i32 i32 i32 i32 i32 i32 i32) (result i32) unreachable)
