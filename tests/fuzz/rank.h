// A rank of a job under fuzzing: an engine over any transport, which sends, receives and probes as the input
// says, with peers that may send anything.
#pragma once

#include <memory>
#include <vector>

#include "base/param.h"
#include "fuzz.h"
#include "mpi.h"
#include "p2p/engine.h"
#include "shm/corruption.h"

namespace hearth::fuzz {

/// Thrown when the rank would end its job with an error text.
struct Stopped {};

class Rank {
 public:
  static constexpr uint32_t kContext = 6;
  static constexpr int kTags = 3;

  /// `deaths`: source of process failures; nullptr: none are reported.
  Rank(Input& input, transport::Transport& transport, int size, PeerIndex self = 0,
       const shm::Deaths* deaths = nullptr)
      : input_(input), room_(1 << 16) {
    byte_.size = byte_.extent = byte_.true_extent = 1;
    byte_.committed = true;
    p2p::EngineSetup setup;
    setup.self = self;
    setup.size = size;
    setup.transport = &transport;
    setup.relation = [](PeerIndex) { return topo::Relation::l3; };
    setup.liveness = deaths;
    setup.new_context = [this](std::span<const PeerIndex>) { return next_context_ += 8; };
    setup.fatal = [](Status) { throw Stopped(); };
    setup.warn = [](const char*) {};
    engine_ = std::make_unique<p2p::Engine>(setup);
  }

  /// Runs the steps until a corruption check stops the rank, which must give an error text.
  template <class Steps>
  void run(const Steps& steps) {
    shm::set_corruption_handler([](Status) { throw Stopped(); });
    try {
      steps();
      for (int i = 0; i < 8; ++i) progress();
    } catch (const Stopped&) {
      demand(*last_failure_text() != '\0', "who stops says why");
    }
    shm::set_corruption_handler(nullptr);
  }

  int some_tag() { return static_cast<int>(input_.below(kTags)); }
  void send() {
    const auto mode = input_.below(2) == 0 ? p2p::SendMode::standard : p2p::SendMode::synchronous;
    const auto to = some_peer();
    const Count bytes = length();
    p2p::Request* request = nullptr;
    static_cast<void>(engine_->isend(room_.data(), bytes, byte_, to, some_tag(), kContext, request, mode));
  }
  void receive() {
    const Count bytes = length();
    const auto from = some_peer();
    const int tag = input_.below(4) == 0 ? MPI_ANY_TAG : some_tag();
    p2p::Request* request = nullptr;
    buffers_.push_back(std::make_unique<std::byte[]>(static_cast<size_t>(bytes)));
    static_cast<void>(engine_->ireceive(buffers_.back().get(), bytes, byte_, from, tag, kContext, request));
  }
  void poll() {
    p2p::Received received;
    if (!engine_->probes().iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, kContext, received)) return;
    demand(received.bytes >= 0, "no message has fewer bytes than none");
  }
  void progress() { engine_->progress(); }
  p2p::Engine& engine() { return *engine_; }

 private:
  PeerIndex some_peer() {
    return static_cast<PeerIndex>(input_.below(static_cast<size_t>(engine_->processes().count())));
  }
  Count length() {
    return static_cast<Count>(input_.below(2) == 0 ? input_.below(64) : input_.below(20'000));
  }

  Input& input_;
  datatype::Type byte_;
  uint32_t next_context_ = 64;
  std::vector<std::byte> room_;
  std::vector<std::unique_ptr<std::byte[]>> buffers_;
  std::unique_ptr<p2p::Engine> engine_;
};

}  // namespace hearth::fuzz
