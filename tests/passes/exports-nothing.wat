;; A component with nothing to call.
;; fails: no-exports
;; says: nothing to call
(component)
