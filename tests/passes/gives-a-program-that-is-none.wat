;; Returns bytes that are no program: who is given them says no.
;; gives: "AQID"
(data (i32.const 1024) "\00\00\00\00\00\08\00\00\03\00\00\00")
(data (i32.const 2048) "\01\02\03")
(func (export "auto:pass/guard@0.1.0#calibrate") (param i32 i32 i32 i32 i32 i32 i32) (result i32) (i32.const 1024))
