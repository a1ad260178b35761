// What a rank knows of the job under --check, and how it says what it finds: to standard error as whole
// lines, and onto the board for mpiexec's summary. Under the check library's lock, but for fail-safe readers.
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
  std::vector<std::string> details;  // who and where, a line each
  std::string why;                   // section of the standard, and the remedy
  uint64_t key = 0;                  // findings of one key are told once in the job; 0: by its words
};

class Report {
 public:
  /// Reads the environment; without mpiexec --check there is no board, and only what one rank can see is
  /// told.
  void open();

  bool has_board() const { return board_.usable(); }
  const shm::CheckBoard& board() const { return board_; }
  shm::RankPart& own() { return board_.part(rank_); }
  uint32_t rank() const { return rank_; }
  bool strict() const { return strict_; }

  /// A number for a place in the program, from where a call returns to.
  uint32_t site_of(const void* return_address);
  /// "solve+0x4c in solver" of a place of a rank.
  std::string site_words(uint32_t rank, uint32_t site) const;
  std::string site_words(uint32_t site) const { return site_words(rank_, site); }

  /// Ends the job under --check=fatal, unless it is about to end anyway.
  void tell(const Finding& finding, bool at_end = false);
  /// Whether somebody has told of this key.
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
