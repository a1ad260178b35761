#include "launch/bootstrap.h"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "base/chaos.h"
#include "base/launcher_rank.h"
#include "base/os_process.h"
#include "launch/bootstrap_mpiexec.h"
#include "launch/bootstrap_node.h"
#include "launch/bootstrap_words.h"

namespace hearth::launch {
namespace {

void place_ranks(NodeMap& nodes, Bootstrap& result) {
  std::vector<int> places(nodes.node_of.size(), -1);
  const int own = nodes.node_of[static_cast<size_t>(result.rank)];
  const std::vector<int>& locals = nodes.ranks[static_cast<size_t>(own)];
  for (size_t i = 0; i < locals.size(); ++i) places[static_cast<size_t>(locals[i])] = static_cast<int>(i);
  result.place = places[static_cast<size_t>(result.rank)];
  result.node_of = std::move(nodes.node_of);
  if (nodes.hosts.size() == 1) return;
  result.place_of = std::move(places);
  result.hosts = std::move(nodes.hosts);
  result.secret = nodes.secret;
}

Status join_foreign_job(const LauncherSigns& signs, Bootstrap& result) {
  HEARTH_TRY(connect_to_launcher(signs, result.launcher));
  result.rank = result.launcher->rank();
  result.size = result.launcher->size();
  result.app = result.launcher->app();
  NodeMap nodes;
  HEARTH_TRY(join_node(*result.launcher, nodes, result.segment, result.arena));
  place_ranks(nodes, result);
  note_rank(signs);
  return {};
}

// A script under a launcher of one rank may run several programs one after another; none of them needs the
// server.
bool alone_by_count(const LauncherSigns& signs) {
  int count = 0;
  return signs.server == LauncherSigns::Server::pmi_descriptor && small_variable("PMI_SIZE", count) &&
         count == 1;
}

}  // namespace

void begin_chaos() {
  const char* rank = rank_from_launcher();
  chaos::begin(rank == nullptr ? 0 : std::atoi(rank));
}

Status bootstrap(Bootstrap& result) {
  HEARTH_TRY(os::check_process_id());
  const LauncherSigns signs = find_launcher();
  if (signs.server == LauncherSigns::Server::none && mpiexec_named()) return attach_to_mpiexec(result);
  if (started_by_rank(signs) || alone_by_count(signs)) return become_singleton(result);
  // Our mpiexec removes such variables, so a launcher started later set these.
  if (signs.server != LauncherSigns::Server::none) return join_foreign_job(signs, result);
  HEARTH_TRY(refuse_lost_rank());
  const std::string note = note_about_running_alone();
  if (!note.empty()) std::fprintf(stderr, "hearth: %s\n", note.c_str());
  return become_singleton(result);
}

}  // namespace hearth::launch
