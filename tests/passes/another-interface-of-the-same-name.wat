;; A guard that means something else by the published name and version.
;; fails: interface-mismatch
;; says: function `calibrate`
;; says: expected 4 parameters, found 0
(component
  (core module $m (func (export "f")))
  (core instance $i (instantiate $m))
  (func $f (canon lift (core func $i "f")))
  (instance $e (export "calibrate" (func $f)))
  (export "auto:pass/guard@0.1.0" (instance $e)))
