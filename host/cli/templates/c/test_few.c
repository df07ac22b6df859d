// A rule seen on too few inputs is refused.
#include <assert.h>
#include <string.h>

#include "few.h"

int main(void) {
  assert(strstr(too_few(4), "4 inputs") != NULL);
  assert(too_few(5) == NULL && too_few(0) == NULL);
  return 0;
}
