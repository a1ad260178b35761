#include "topo/relation.h"

#include <cstring>

namespace hearth::topo {
namespace {

constexpr const char* kRelationNames[kRelations] = {"self",    "smt",     "l2",      "l3",     "numa",
                                                    "package", "machine", "unknown", "network"};

bool shared(int32_t a, int32_t b) {
  return a >= 0 && a == b;
}

}  // namespace

Relation relation_of(const shm::RankPlace& a, const shm::RankPlace& b) {
  if (shared(a.core, b.core)) return Relation::smt;
  if (shared(a.l2, b.l2)) return Relation::l2;
  if (shared(a.l3, b.l3)) return Relation::l3;
  if (shared(a.numa, b.numa)) return Relation::numa;
  if (shared(a.package, b.package)) return Relation::package;
  if (a.package >= 0 && b.package >= 0) return Relation::machine;
  return Relation::unknown;
}

const char* relation_name(Relation relation) {
  return kRelationNames[static_cast<int>(relation)];
}

bool find_relation(const char* name, Relation& relation) {
  for (int i = 0; i < kRelations; ++i) {
    if (std::strcmp(name, kRelationNames[i]) != 0) continue;
    relation = static_cast<Relation>(i);
    return true;
  }
  return false;
}

}  // namespace hearth::topo
