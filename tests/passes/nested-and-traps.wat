;; A component in a component, and the inner one traps.
;; call: hostile:pass/sums@1.0.0#add [1, 2]
;; fails: trap
;; says: unreachable
(component
  (component $inner
    (core module $m (func (export "add") (param i32 i32) (result i32) unreachable))
    (core instance $i (instantiate $m))
    (func $add (param "a" u32) (param "b" u32) (result u32) (canon lift (core func $i "add")))
    (export "add" (func $add)))
  (instance $i (instantiate $inner))
  (instance $sums (export "add" (func $i "add")))
  (export "hostile:pass/sums@1.0.0" (instance $sums)))
