;; A core module where a component is due.
;; fails: core-module
;; says: not a component
(module $core)
