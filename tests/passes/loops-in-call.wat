;; An endless loop when it is called.
;; flags: --fuel 100000000
;; fails: out-of-fuel
;; says: 100000000 units of fuel
;; says: --fuel
(func (export "auto:pass/guard@0.1.0#calibrate") (param i32 i32 i32 i32 i32 i32 i32) (result i32)
  (loop $again (br $again)) unreachable)
