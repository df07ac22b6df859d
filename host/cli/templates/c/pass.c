// What the host calls: a guard over the guard beneath it.

#include "few.h"
#include "gen/mine.h"

// True with `ret`, false with `err`; a fault from beneath is handed on as it is.
bool exports_auto_pass_guard_calibrate(
    exports_auto_pass_guard_list_observation_t *on, exports_auto_pass_guard_graph_t *program,
    exports_auto_pass_guard_list_scored_t *held_out, exports_auto_pass_guard_policy_t *policy,
    exports_auto_pass_guard_graph_t *ret, exports_auto_pass_guard_fault_t *err) {
  const char *message = too_few(on->len);
  if (message != NULL) {
    mine_string_dup(&err->code, "too-few-observations");
    mine_string_dup(&err->message, message);
    err->at.is_some = true;
    mine_string_dup(&err->at.val, "/on");
    return false;
  }
  auto_pass_guard_list_observation_t seen = {on->ptr, on->len};
  auto_pass_guard_list_scored_t answered = {held_out->ptr, held_out->len};
  auto_pass_guard_policy_t careful = {policy->quantile};
  return auto_pass_guard_calibrate(&seen, program, &answered, &careful, ret, err);
}
