// The part of the PMIx binary interface that a rank needs, as the PMIx standard (versions 3 to 5) specifies
// it. Declared here because Hearth loads the library at run time and is built without its headers.
// tests/unit/launch compares these types with the installed header, if there is one.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hearth::launch::pmix {

constexpr int kSuccess = 0;
constexpr int kErrorTimeout = -24;
constexpr uint32_t kRankWildcard = UINT32_MAX - 1;
constexpr uint8_t kScopeGlobal = 3;

constexpr uint16_t kTypeBool = 1;
constexpr uint16_t kTypeString = 3;
constexpr uint16_t kTypeInt = 6;
constexpr uint16_t kTypeUint32 = 14;

constexpr const char* kKeyJobSize = "pmix.job.size";  // uint32; asked of the job, with kRankWildcard
constexpr const char* kKeyAppNumber = "pmix.appnum";  // uint32
constexpr const char* kKeyCollect = "pmix.collect";   // bool: the fence exchanges the published data
constexpr const char* kKeyTimeout = "pmix.timeout";   // int, seconds: time limit of a call

struct Process {
  char space[256];
  uint32_t rank;
};

struct Value {
  uint16_t type;
  union {
    bool flag;
    char* string;
    int integer;
    uint32_t uint32;
    struct {
      void* first;
      void* second;
      char third;
    } largest;
  } data;
};

struct Info {
  char key[512];
  uint32_t flags;
  Value value;
};

static_assert(sizeof(Process) == 260 && sizeof(Value) == 32 && sizeof(Info) == 552);

struct Functions {
  int (*init)(Process* self, Info* info, size_t count);
  int (*finalize)(const Info* info, size_t count);
  int (*abort)(int status, const char* text, Process* processes, size_t count);
  int (*put)(uint8_t scope, const char* key, Value* value);
  int (*commit)();
  int (*fence)(const Process* processes, size_t count, const Info* info, size_t info_count);
  int (*get)(const Process* process, const char* key, const Info* info, size_t count, Value** value);
  const char* (*error_string)(int status);
};

}  // namespace hearth::launch::pmix
