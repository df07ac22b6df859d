;; A pass that wants the network.
;; fails: unknown-import
;; says: wasi:http/outgoing-handler@0.2.0
(component
  (import "wasi:http/outgoing-handler@0.2.0" (instance (export "f" (func))))
  (core module $m (func (export "f")))
  (core instance $i (instantiate $m))
  (func $f (canon lift (core func $i "f")))
  (instance $e (export "f" (func $f)))
  (export "hostile:pass/http@1.0.0" (instance $e)))
