;; Middleware with nothing underneath.
;; wit: package hostile:pass@1.0.0; interface under { f: func() -> u32; } world w { import under; export under; }
;; call: hostile:pass/under@1.0.0#f []
;; fails: missing-import
;; says: hostile:pass/under@1.0.0
(import "hostile:pass/under@1.0.0" "f" (func $f (result i32)))
;; imports end
(func (export "hostile:pass/under@1.0.0#f") (result i32) (call $f))
