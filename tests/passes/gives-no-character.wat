;; Returns a surrogate where a character is due.
;; wit: package hostile:pass@1.0.0; interface chars { f: func() -> char; } world w { export chars; }
;; call: hostile:pass/chars@1.0.0#f []
;; fails: bad-output
;; says: char
(func (export "hostile:pass/chars@1.0.0#f") (result i32) (i32.const 0xd800))
