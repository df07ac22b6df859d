// As much of a C library as a pass needs. Every call runs in an instance of its own, so memory is
// taken and never given back.

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// Where the linker has put the end of everything else.
extern unsigned char __heap_base;

#define ALIGNMENT 16
#define PAGE 65536u

static uintptr_t next;

void *malloc(size_t size) {
  if (next == 0) next = (uintptr_t)&__heap_base;
  // The size stands before the block, for realloc.
  uintptr_t start = (next + sizeof(size_t) + ALIGNMENT - 1) & ~(uintptr_t)(ALIGNMENT - 1);
  uintptr_t end = start + size;
  if (end < start) abort();
  uintptr_t had = (uintptr_t)__builtin_wasm_memory_size(0) * PAGE;
  if (end > had) {
    size_t pages = (end - had + PAGE - 1) / PAGE;
    if (__builtin_wasm_memory_grow(0, pages) == (size_t)-1) abort();
  }
  *(size_t *)(start - sizeof(size_t)) = size;
  next = end;
  return (void *)start;
}

void *realloc(void *old, size_t size) {
  void *new = malloc(size);
  if (old != NULL) {
    size_t had = *(size_t *)((uintptr_t)old - sizeof(size_t));
    memcpy(new, old, had < size ? had : size);
  }
  return new;
}

void free(void *old) { (void)old; }

_Noreturn void abort(void) { __builtin_trap(); }

void *memcpy(void *to, const void *from, size_t size) {
  unsigned char *out = to;
  const unsigned char *in = from;
  while (size-- > 0) *out++ = *in++;
  return to;
}

void *memmove(void *to, const void *from, size_t size) {
  unsigned char *out = to;
  const unsigned char *in = from;
  if (out < in) return memcpy(to, from, size);
  while (size-- > 0) out[size] = in[size];
  return to;
}

void *memset(void *to, int byte, size_t size) {
  unsigned char *out = to;
  while (size-- > 0) *out++ = (unsigned char)byte;
  return to;
}

int memcmp(const void *one, const void *other, size_t size) {
  const unsigned char *a = one, *b = other;
  for (; size > 0; size--, a++, b++) {
    if (*a != *b) return *a < *b ? -1 : 1;
  }
  return 0;
}

size_t strlen(const char *text) {
  size_t length = 0;
  while (text[length] != 0) length++;
  return length;
}
