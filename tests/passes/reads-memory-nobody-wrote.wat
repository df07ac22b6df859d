;; Adds up the memory it has just been given: it is all zero, whoever had it before.
;; wit: package hostile:pass@1.0.0; interface memory { f: func() -> u64; } world w { export memory; }
;; call: hostile:pass/memory@1.0.0#f []
;; gives: 0
(func (export "hostile:pass/memory@1.0.0#f") (result i64)
  (local $at i32) (local $sum i64)
  (drop (memory.grow (i32.const 16)))
  (loop $again
    (local.set $sum (i64.or (local.get $sum) (i64.load (local.get $at))))
    ;; What it leaves behind for whoever comes next.
    (i64.store (local.get $at) (i64.const -1))
    (br_if $again (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 8))) (i32.const 0x200000))))
  (local.get $sum))
