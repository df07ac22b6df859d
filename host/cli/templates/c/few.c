#include "few.h"

// A rule that was seen on fewer inputs may fit them by chance.
#define LEAST 5

const char *too_few(size_t inputs) {
  static const char *const messages[LEAST] = {
    NULL,
    "the rule was seen on 1 inputs, and 5 are the least; record more",
    "the rule was seen on 2 inputs, and 5 are the least; record more",
    "the rule was seen on 3 inputs, and 5 are the least; record more",
    "the rule was seen on 4 inputs, and 5 are the least; record more",
  };
  return inputs < LEAST ? messages[inputs] : NULL;
}
