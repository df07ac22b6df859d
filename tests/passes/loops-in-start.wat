;; An endless loop in the start function, before anything can be called.
;; flags: --fuel 100000000
;; fails: out-of-fuel
;; says: --fuel
(func $start (loop $again (br $again)))
(start $start)
(func (export "auto:pass/guard@0.1.0#calibrate") (param i32 i32 i32 i32 i32 i32 i32) (result i32) unreachable)
