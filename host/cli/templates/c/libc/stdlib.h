// What the bindings need of a C library; see libc.c.
#pragma once
#include <stddef.h>

void *malloc(size_t size);
void *realloc(void *old, size_t size);
void free(void *old);
_Noreturn void abort(void);
