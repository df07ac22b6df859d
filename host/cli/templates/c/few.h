// A guard refuses a rule which was seen on too few inputs.
#pragma once
#include <stddef.h>

// Why so many inputs are too few; NULL where they are enough. Of nothing at all the guard beneath
// says so itself.
const char *too_few(size_t inputs);
