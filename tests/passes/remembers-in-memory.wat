;; Counts its calls in a memory it has not initialised: every call is the first.
;; wit: package hostile:pass@1.0.0; interface memory { f: func() -> u32; } world w { export memory; }
;; call: hostile:pass/memory@1.0.0#f []
;; gives: 1
(func (export "hostile:pass/memory@1.0.0#f") (result i32)
  (i32.store (i32.const 0xf0000) (i32.add (i32.load (i32.const 0xf0000)) (i32.const 1)))
  (i32.load (i32.const 0xf0000)))
