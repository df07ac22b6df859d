;; Refuses with a message that is no UTF-8.
;; fails: bad-output
;; says: utf-8
(data (i32.const 1024) "\01\00\00\00\00\08\00\00\03\00\00\00\00\08\00\00\03\00\00\00")
(data (i32.const 2048) "\ff\fe\fd")
(func (export "auto:pass/guard@0.1.0#calibrate") (param i32 i32 i32 i32 i32 i32 i32) (result i32) (i32.const 1024))
