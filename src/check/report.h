// A rank's view of the job under --check, and the output of findings: to standard error as whole lines, and
// to the board for mpiexec's summary. Under the check library's lock.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "launch/symbols.h"
#include "shm/check_board.h"

namespace hearth::check {

struct Finding {
  shm::CheckClass kind;
  std::string what;                  // one sentence, without the rank
  std::vector<std::string> details;  // ranks and sites, one per line
  std::string why;                   // section of the standard, and the remedy
  uint64_t key = 0;                  // a finding is reported once per key and job; 0: derived from its text
};

class Report {
 public:
  /// Reads the environment. Without mpiexec --check there is no board: only findings that one rank can detect
  /// are reported.
  void open();

  bool has_board() const { return board_.usable(); }
  const shm::CheckBoard& board() const { return board_; }
  shm::RankPart& own() { return board_.part(rank_); }
  uint32_t rank() const { return rank_; }
  bool strict() const { return strict_; }

  /// The number of a call site, given by its return address.
  uint32_t site_of(const void* return_address);
  /// "solve+0x4c in solver": the site of a rank.
  std::string site_words(uint32_t rank, uint32_t site) const;
  std::string site_words(uint32_t site) const { return site_words(rank_, site); }

  /// Reports a finding. With --check=fatal, then ends the job, unless `at_end`.
  void add(const Finding& finding, bool at_end = false);
  /// Whether this key has not been reported yet in the job; marks it as reported.
  bool first_to_tell(uint64_t key);

 private:
  std::string words_for(const void* address);

  shm::CheckBoard board_;
  uint32_t rank_ = 0;
  bool fatal_ = false;
  bool strict_ = false;
  SymbolTables tables_;
  std::unordered_map<const void*, uint32_t> sites_;
  std::vector<std::string> own_sites_;
  std::unordered_map<uint64_t, bool> told_;
};

uint64_t mix(uint64_t hash, uint64_t value);
uint64_t hash_of(const std::string& text);

}  // namespace hearth::check
