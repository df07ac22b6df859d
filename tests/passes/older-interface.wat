;; A guard of an older interface than this host knows.
;; fails: version
;; says: auto:pass/guard@0.0.9
;; says: auto:pass/guard@0.1.0
(component
  (core module $m (func (export "f")))
  (core instance $i (instantiate $m))
  (func $f (canon lift (core func $i "f")))
  (instance $e (export "calibrate" (func $f)))
  (export "auto:pass/guard@0.0.9" (instance $e)))
