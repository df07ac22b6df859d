;; Returns a resource, which cannot be copied from one component to another.
;; wit: package hostile:pass@1.0.0; interface things { resource thing; f: func() -> thing; } world w { export things; }
;; fails: unsupported-type
;; says: the resource `thing`
(func (export "hostile:pass/things@1.0.0#f") (result i32) (i32.const 0))
