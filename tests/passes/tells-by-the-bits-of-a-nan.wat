;; Looks at the bits of a number that is none, which processors choose as they like.
;; wit: package hostile:pass@1.0.0; interface bits { f: func() -> u32; } world w { export bits; }
;; call: hostile:pass/bits@1.0.0#f []
;; gives: 2143289344
(func (export "hostile:pass/bits@1.0.0#f") (result i32)
  (i32.reinterpret_f32 (f32.div (f32.const -0) (f32.const 0))))
