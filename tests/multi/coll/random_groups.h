/* Communicators of all kinds, and their members. */
#ifndef TESTS_MULTI_COLL_RANDOM_GROUPS_H
#define TESTS_MULTI_COLL_RANDOM_GROUPS_H

#include "random_values.h"

enum { kRanksMax = 256 };

/* All processes that take part: MPI_COMM_WORLD, or also those that it has started. */
static MPI_Comm all_;

typedef struct {
  MPI_Comm comm; /* MPI_COMM_NULL on ranks that are not members */
  const char* kind;
  int inter, rank, size, others;
  int side;                              /* of an intercommunicator: side 0 has rank 0 of all_ */
  int own[kRanksMax], remote[kRanksMax]; /* ranks in all_ */
} Group;

static void list_members(MPI_Group group, int size, int* members) {
  MPI_Group world;
  int ranks[kRanksMax];
  MPI_Comm_group(all_, &world);
  for (int i = 0; i < size; ++i) ranks[i] = i;
  MPI_Group_translate_ranks(group, size, ranks, world, members);
  MPI_Group_free(&world);
  MPI_Group_free(&group);
}

static void look_at(Group* group) {
  MPI_Group members;
  group->others = 0;
  if (group->comm == MPI_COMM_NULL) return;
  MPI_Comm_rank(group->comm, &group->rank);
  MPI_Comm_size(group->comm, &group->size);
  MPI_Comm_test_inter(group->comm, &group->inter);
  MPI_Comm_group(group->comm, &members);
  list_members(members, group->size, group->own);
  if (!group->inter) return;
  MPI_Comm_remote_size(group->comm, &group->others);
  MPI_Comm_remote_group(group->comm, &members);
  list_members(members, group->others, group->remote);
}

/* Replaces a communicator by another one of the same members. */
static void replace_by_copy(Stream* stream, Group* group) {
  const int idle = chance(stream, 50);
  MPI_Comm copy;
  if (group->comm == MPI_COMM_NULL) return;
  if (idle) {
    MPI_Request request;
    MPI_Comm_idup(group->comm, &copy, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else {
    MPI_Comm_dup(group->comm, &copy);
  }
  if (group->comm != all_) MPI_Comm_free(&group->comm);
  group->comm = copy;
}

/* Two groups that are adjacent in all_. */
static void make_inter(Stream* stream, Group* group) {
  const int first = 1 + (int)draw(stream, size_ - 1);
  MPI_Comm own;
  group->side = rank_ >= first;
  MPI_Comm_split(all_, group->side, rank_, &own);
  MPI_Intercomm_create(own, 0, all_, group->side ? 0 : first, 9, &group->comm);
  MPI_Comm_free(&own);
}

/* `stream` is the same on all ranks. */
static Group draw_group(Stream* stream) {
  Group group = {.comm = all_, .kind = "MPI_COMM_WORLD"};
  const int kind = (int)draw(stream, 12), colors = 1 + (int)draw(stream, 4);
  const uint64_t seed = draw_word(stream);
  const int own_draw = (int)(hash_of(seed, rank_, 0, 0) % 1000);
  MPI_Group world, some;
  switch (kind) {
    case 3:
      group.kind = "a split by colors, ranks in any order";
      MPI_Comm_split(all_, own_draw % colors, own_draw, &group.comm);
      break;
    case 4:
      group.kind = "a split that leaves ranks out";
      MPI_Comm_split(all_, own_draw % 3 == 0 ? MPI_UNDEFINED : own_draw % colors, rank_, &group.comm);
      break;
    case 5:
      group.kind = "all ranks backwards";
      MPI_Comm_split(all_, 0, -rank_, &group.comm);
      break;
    case 6: {
      const int first = (int)draw(stream, size_);
      int range[1][3] = {{first, size_ - 1, 1 + (int)draw(stream, 2)}};
      group.kind = "some ranks, by MPI_Comm_create";
      MPI_Comm_group(all_, &world);
      MPI_Group_range_incl(world, 1, range, &some);
      MPI_Comm_create(all_, some, &group.comm);
      MPI_Group_free(&some);
      MPI_Group_free(&world);
      break;
    }
    case 7:
      group.kind = "MPI_COMM_SELF, duplicated";
      MPI_Comm_dup(MPI_COMM_SELF, &group.comm);
      break;
    case 8:
    case 9:
      if (size_ == 1) break;
      group.kind = "an intercommunicator";
      make_inter(stream, &group);
      break;
    case 10:
      if (size_ == 1) break;
      group.kind = "an intercommunicator, merged";
      make_inter(stream, &group);
      {
        MPI_Comm inter = group.comm;
        MPI_Intercomm_merge(inter, group.side, &group.comm);
        MPI_Comm_free(&inter);
      }
      break;
    default:
      break;
  }
  if (kind == 0 || chance(stream, 30)) {
    if (group.comm == all_) group.kind = "a duplicate of MPI_COMM_WORLD";
    replace_by_copy(stream, &group);
  }
  look_at(&group);
  return group;
}

static void free_group(Group* group) {
  if (group->comm != all_ && group->comm != MPI_COMM_NULL) MPI_Comm_free(&group->comm);
}

#endif
