;; Returns options in options, deeper than a value may nest.
;; wit: package hostile:pass@1.0.0; interface deep {
;; wit: type t0 = option<option<option<option<option<option<option<option<option<option<u8>>>>>>>>>>;
;; wit: type t1 = option<option<option<option<option<option<option<option<option<option<t0>>>>>>>>>>;
;; wit: type t2 = option<option<option<option<option<option<option<option<option<option<t1>>>>>>>>>>;
;; wit: type t3 = option<option<option<option<option<option<option<option<option<option<t2>>>>>>>>>>;
;; wit: type t4 = option<option<option<option<option<option<option<option<option<option<t3>>>>>>>>>>;
;; wit: type t5 = option<option<option<option<option<option<option<option<option<option<t4>>>>>>>>>>;
;; wit: type t6 = option<option<option<option<option<option<option<option<option<option<t5>>>>>>>>>>;
;; wit: f: func() -> t6; } world w { export deep; }
;; call: hostile:pass/deep@1.0.0#f []
;; fails: value-too-deep
;; says: --max-depth
(func (export "hostile:pass/deep@1.0.0#f") (result i32)
  (memory.fill (i32.const 1024) (i32.const 1) (i32.const 256))
  (i32.const 1024))
