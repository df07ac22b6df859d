;; A pass that wants what only drivers are lent.
;; wit: package hostile:pass@1.0.0; world w { import auto:host/sandbox@0.1.0; export auto:pass/guard@0.1.0; }
;; fails: unknown-import
;; says: auto:host/sandbox@0.1.0
(import "auto:host/sandbox@0.1.0" "run" (func (param i32 i32 i32 i32 i32)))
;; imports end
(func (export "auto:pass/guard@0.1.0#calibrate") (param i32 i32 i32 i32 i32 i32 i32) (result i32) unreachable)
