;; Nine hundred instances of one module.
;; repeat: 900 (core instance (instantiate $m))
;; call: hostile:pass/bomb@1.0.0#f []
;; fails: out-of-instances
;; says: --instances
(component
  (core module $m (memory 1) (func (export "f")))
  REPEATED
  (core instance $i (instantiate $m))
  (func $f (canon lift (core func $i "f")))
  (instance $bomb (export "f" (func $f)))
  (export "hostile:pass/bomb@1.0.0" (instance $bomb)))
