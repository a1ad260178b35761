// A folder with the profile parts that ranks have written, in which anything may be overwritten, and files
// may be truncated or extended: `hearth profile` writes its reports or names the invalid parts.
#include <stdlib.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/os_io.h"
#include "base/status.h"
#include "fuzz.h"
#include "launch/call_name.h"
#include "profile/board.h"
#include "profile/report/json.h"
#include "profile/report/page.h"
#include "profile/report/summary.h"
#include "profile/report/words.h"

using namespace hearth;

namespace {

constexpr size_t kRanksMax = 3;
constexpr size_t kStepsMax = 200;
constexpr uint64_t kBegunNs = 1'000'000'000;

/// One for all inputs, removed when the process ends.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "hearth_fuzz_XXXXXX").string();
    fuzz::demand(::mkdtemp(name.data()) != nullptr, "there is room for a folder");
    path_ = name;
  }
  ~Folder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  void empty() const {
    for (const auto& entry : std::filesystem::directory_iterator(path_)) std::filesystem::remove(entry);
  }

 private:
  std::filesystem::path path_;
};

/// The file of one rank as the rank writes it, then modified.
class PartFile {
 public:
  struct Place {
    uint64_t offset = 0;
    size_t bytes = 0;
  };

  PartFile(const Folder& folder, uint32_t ranks, int self) : ranks_(ranks) {
    profile::PartFacts facts = {};
    facts.processors = 4;
    std::strcpy(facts.host, self == 2 ? "h2" : "h1");
    std::strcpy(facts.program, "solve");
    profile::Board board;
    fuzz::demand(profile::Board::create_part(folder.path().string(), ranks, self, facts, board).ok(),
                 "a part can be made");
    const profile::Part part = board.part(self);
    part.head->attached = 1;
    part.head->begun_ns = kBegunNs;
    part.head->machine = static_cast<uint64_t>(self / 2);
    for (int comm = 0; comm < 2; ++comm) {
      part.comms[comm].used = 1;
      part.comms[comm].size = static_cast<int32_t>(ranks);
    }
    calls_ = distance(part.head, part.calls);
    peers_ = distance(part.head, part.peers);
    comms_ = distance(part.head, part.comms);
    for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
      if (file_.empty() || entry.path() > file_) file_ = entry.path();  // the newest file
    }
    opened_ = os::open_to_read_and_write(file_.c_str());
    profile::FileHead head = {};
    fuzz::demand(os::read_at(opened_.number(), &head, sizeof head, 0) == sizeof head, "it can be read");
    part_at_ = head.parts_offset;
    bytes_ = head.file_bytes;
  }

  Place some_place(fuzz::Input& input) const {
    switch (input.below(6)) {
      case 0:
        return {0, sizeof(profile::FileHead)};
      case 1:
        return {part_at_, sizeof(profile::RankHead)};
      case 2:
        return entry(calls_, sizeof(profile::CallCounts), input.below(profile::kCallsMax));
      case 3:
        return entry(peers_, sizeof(profile::PeerCounts), input.below(ranks_));
      case 4:
        return entry(comms_, sizeof(profile::CommCounts), input.below(profile::kCommsMax));
      default:
        return {0, bytes_};
    }
  }
  void write(uint64_t at, std::string_view text) const {
    fuzz::demand(::pwrite(opened_.number(), text.data(), text.size(), static_cast<off_t>(at)) >= 0,
                 "there is room for a part");
  }
  void set_length(uint64_t bytes) const { std::filesystem::resize_file(file_, bytes); }
  uint64_t length() const { return bytes_; }

 private:
  static uint64_t distance(const void* from, const void* to) {
    return static_cast<uint64_t>(static_cast<const std::byte*>(to) - static_cast<const std::byte*>(from));
  }
  Place entry(uint64_t first, size_t each, size_t index) const {
    return {part_at_ + first + index * each, each};
  }

  const uint32_t ranks_;
  uint64_t calls_ = 0;  // in the part
  uint64_t peers_ = 0;
  uint64_t comms_ = 0;
  uint64_t part_at_ = 0;
  uint64_t bytes_ = 0;
  std::filesystem::path file_;
  os::Descriptor opened_;
};

void change(fuzz::Input& input, const PartFile& file) {
  const size_t how = input.below(16);
  if (how == 0) return file.set_length(input.take<uint32_t>() % (2 * file.length()));
  const PartFile::Place place = file.some_place(input);
  const uint64_t at = place.offset + input.below(std::min<size_t>(place.bytes / 8, 1 << 16)) * 8;
  if (how < 4) return file.write(at, std::string(input.below(2048), input.take<char>()));
  file.write(at, input.take_text(8 * (1 + input.below(32))));
}

void make_reports(const Folder& folder) {
  profile::Board board;
  std::vector<profile::PartFacts> parts;
  if (!profile::Board::gather(folder.path().string(), board, parts).ok()) {
    return fuzz::demand(*last_failure_text() != '\0', "what is no part is told");
  }
  profile::JobFacts job = profile::job_of(parts);
  job.version = "of a fuzz target";
  job.call_name = launch::call_name;
  const profile::Summary summary = profile::summarize(board, job);
  fuzz::demand(!summary.verdict.empty() && !profile::machines_words(summary).empty(), "there are words");
  fuzz::demand(nlohmann::json::accept(profile::to_json(summary)), "what is for programs can be read by them");
  const std::string page = profile::to_page(summary);
  const bool is_text = std::ranges::all_of(page, [](char c) { return c == '\n' || (c & ~0x1f) != 0; });
  fuzz::demand(is_text && page.find("<script") == std::string::npos, "texts of others stay texts in a page");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  static const Folder folder;
  fuzz::Input input(data, bytes);
  const size_t ranks = 1 + input.below(kRanksMax);
  const auto missing = input.take<uint8_t>();
  std::vector<PartFile> files;
  for (size_t rank = 0; rank < ranks; ++rank) {
    if ((missing >> rank & 1) != 0) continue;
    files.emplace_back(folder, static_cast<uint32_t>(ranks), static_cast<int>(rank));
  }
  for (size_t step = 0; step < kStepsMax && !input.empty() && !files.empty(); ++step) {
    change(input, files[input.below(files.size())]);
  }
  make_reports(folder);
  folder.empty();
  return 0;
}
