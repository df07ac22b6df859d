;; An endless loop after the result was given, where memory is to be freed.
;; flags: --fuel 100000000
;; fails: out-of-fuel
;; says: --fuel
(func (export "auto:pass/guard@0.1.0#calibrate") (param i32 i32 i32 i32 i32 i32 i32) (result i32) (i32.const 1024))
(func (export "cabi_post_auto:pass/guard@0.1.0#calibrate") (param i32) (loop $again (br $again)))
