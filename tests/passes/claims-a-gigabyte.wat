;; Returns a list that claims a gigabyte of a memory of one megabyte.
;; fails: bad-output
;; says: out of bounds
(data (i32.const 1024) "\00\00\00\00\00\00\00\00\00\00\00\40")
(func (export "auto:pass/guard@0.1.0#calibrate") (param i32 i32 i32 i32 i32 i32 i32) (result i32) (i32.const 1024))
