;; Declares a table of more entries than it may have.
;; flags: --table-entries 100000
;; fails: out-of-table
;; says: --table-entries
(table 150000 funcref)
(func (export "auto:pass/guard@0.1.0#calibrate") (param i32 i32 i32 i32 i32 i32 i32) (result i32) unreachable)
