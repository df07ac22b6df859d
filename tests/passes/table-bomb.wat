;; Grows a table for as long as it is given more, and fails when it is not.
;; fails: out-of-table
;; says: --table-entries
(table $t 1 funcref)
(func (export "auto:pass/guard@0.1.0#calibrate") (param i32 i32 i32 i32 i32 i32 i32) (result i32)
  (loop $again (br_if $again (i32.ne (table.grow $t (ref.null func) (i32.const 1000)) (i32.const -1)))) unreachable)
