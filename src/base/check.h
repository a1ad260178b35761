// Assertions. A failed check is a defect of the library; errors of its user are Status values. Checks that
// would cost time on the data path are HEARTH_DCHECK.
#pragma once

namespace hearth {
[[noreturn, gnu::cold]] void check_failed(const char* file, int line, const char* condition);
}

#define HEARTH_CHECK(condition)                      \
  (__builtin_expect(static_cast<bool>(condition), 1) \
       ? static_cast<void>(0)                        \
       : ::hearth::check_failed(__FILE__, __LINE__, #condition))
#ifdef NDEBUG
#define HEARTH_DCHECK(condition) static_cast<void>(sizeof(static_cast<bool>(condition)))
#else
#define HEARTH_DCHECK(condition) HEARTH_CHECK(condition)
#endif
