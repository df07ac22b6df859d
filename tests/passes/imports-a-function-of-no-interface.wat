;; A pass that wants a function by its bare name.
;; wit: package hostile:pass@1.0.0; world w { import f: func(); export auto:pass/guard@0.1.0; }
;; fails: unknown-import
;; says: imports f
(import "$root" "f" (func))
;; imports end
(func (export "auto:pass/guard@0.1.0#calibrate") (param i32 i32 i32 i32 i32 i32 i32) (result i32) unreachable)
