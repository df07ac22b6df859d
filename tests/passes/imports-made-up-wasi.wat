;; A pass that wants a WASI interface that does not exist.
;; fails: unknown-import
;; says: wasi:backdoor/shell@0.2.0
(component
  (import "wasi:backdoor/shell@0.2.0" (instance (export "f" (func))))
  (core module $m (func (export "f")))
  (core instance $i (instantiate $m))
  (func $f (canon lift (core func $i "f")))
  (instance $e (export "f" (func $f)))
  (export "hostile:pass/shell@1.0.0" (instance $e)))
