;; A pass that wants another component.
;; wit: package hostile:pass@1.0.0; interface other { f: func(); } world w { import other; export auto:pass/guard@0.1.0; }
;; fails: unknown-import
;; says: hostile:pass/other@1.0.0
(import "hostile:pass/other@1.0.0" "f" (func))
;; imports end
(func (export "auto:pass/guard@0.1.0#calibrate") (param i32 i32 i32 i32 i32 i32 i32) (result i32) unreachable)
