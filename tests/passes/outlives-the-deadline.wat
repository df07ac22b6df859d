;; An endless loop with all the fuel in the world.
;; flags: --fuel 18446744073709551615 --deadline 1
;; fails: deadline
;; says: --deadline
(func (export "auto:pass/guard@0.1.0#calibrate") (param i32 i32 i32 i32 i32 i32 i32) (result i32) (loop $again (br $again)) unreachable)
