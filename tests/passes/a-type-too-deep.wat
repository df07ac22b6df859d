;; A function whose type nests deeper than any value may.
;; repeat: 200 (type $t{n} (list $t{before}))
;; fails: malformed
;; says: nesting is too deep
(component
  (core module $m (memory (export "memory") 1) (func (export "f") (result i32) unreachable))
  (core instance $i (instantiate $m))
  (type $t0 (list u8))
  REPEATED
  (func $f (result $t200) (canon lift (core func $i "f") (memory (core memory $i "memory"))))
  (instance $e (export "f" (func $f)))
  (export "hostile:pass/deep@1.0.0" (instance $e)))
