;; A component whose code is not valid.
;; fails: malformed
(component
  (core module $m (func (export "f") (result i32)))
  (core instance $i (instantiate $m))
  (func $f (canon lift (core func $i "f")))
  (instance $e (export "f" (func $f)))
  (export "hostile:pass/bad@1.0.0" (instance $e)))
