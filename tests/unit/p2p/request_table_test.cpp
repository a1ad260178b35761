#include "p2p/request_table.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

#include "mpi.h"

namespace hearth::p2p {
namespace {

datatype::Type bytes_type() {
  datatype::Type type;
  type.size = type.extent = type.true_extent = 1;
  type.committed = true;
  return type;
}

struct Table {
  PostedQueue posted;
  UnexpectedQueue unexpected;
  FatalErrors errors{0, [](Status) { throw std::runtime_error("fatal"); }, unexpected};
  RequestTable table{0, posted, errors};
  datatype::Type type = bytes_type();

  Request* send_to(PeerIndex to, SendMode mode = SendMode::standard) {
    datatype::retain(type);
    Request* request = table.create(RequestKind::send, nullptr, Count{8}, type, MatchKey{4, to, 7});
    request->mode = mode;
    table.begin_send(*request);
    return request;
  }
  Request* receive_from(PeerIndex from) {
    datatype::retain(type);
    return table.create(RequestKind::receive, nullptr, Count{8}, type, MatchKey{4, from, 7});
  }
};

TEST(request_table, one_shared_request_stands_for_completed_sends) {
  Table job;
  Request* completed = job.table.completed_send();
  EXPECT_TRUE(completed->complete);
  job.table.destroy(completed);
  EXPECT_TRUE(job.table.pool().contains(completed));
}

TEST(request_table, a_cookie_names_one_pending_send_to_one_process) {
  Table job;
  Request* send = job.send_to(3, SendMode::synchronous);
  EXPECT_TRUE(send->await_match);
  EXPECT_EQ(job.table.find_send(RequestTable::cookie_of(*send), 3), nullptr) << "no cookie was issued";
  const uint32_t cookie = job.table.issue_cookie(*send);
  EXPECT_EQ(job.table.find_send(cookie, 3), send);
  EXPECT_EQ(job.table.find_send(cookie, 2), nullptr);
  EXPECT_EQ(job.table.find_send(cookie + 1, 3), nullptr);
  EXPECT_EQ(job.table.sends_pending(), 1u);
  job.table.complete_send(*send, {});
  EXPECT_EQ(job.table.sends_pending(), 0u);
  EXPECT_EQ(job.table.find_send(cookie, 3), nullptr);
  job.table.destroy(send);
}

// After 255 epochs a number is used again; 0 is left out because it marks sends without a cookie.
TEST(request_table, answers_of_an_earlier_epoch_find_no_later_send) {
  Table job;
  Request* first = job.send_to(3);
  const uint32_t old_cookie = job.table.issue_cookie(*first);
  job.table.complete_send(*first, {});
  job.table.destroy(first);
  for (int epoch = 0; epoch < 254; ++epoch) {
    job.table.begin_epoch();
    Request* later = job.send_to(3);
    ASSERT_EQ(later, first) << "the test needs the same slot";
    const uint32_t cookie = job.table.issue_cookie(*later);
    EXPECT_NE(later->epoch, 0);
    EXPECT_EQ(job.table.find_send(old_cookie, 3), nullptr) << epoch;
    EXPECT_EQ(job.table.find_send(cookie, 3), later);
    job.table.complete_send(*later, {});
    job.table.destroy(later);
  }
}

TEST(request_table, a_freed_request_lives_until_it_completes) {
  Table job;
  Request* send = job.send_to(1);
  job.table.release(send);
  EXPECT_TRUE(job.table.pool().contains(send));
  job.table.complete_send(*send, {});
  EXPECT_FALSE(job.table.pool().contains(send));
  EXPECT_EQ(job.type.references, bytes_type().references);

  Request* complete = job.send_to(1);
  job.table.complete_send(*complete, {});
  job.table.release(complete);
  EXPECT_FALSE(job.table.pool().contains(complete));
}

TEST(request_table, a_destroyed_receive_leaves_the_posted_queue) {
  Table job;
  Request* receive = job.receive_from(1);
  job.posted.add(*receive);
  job.table.destroy(receive);
  EXPECT_TRUE(job.posted.empty());
}

TEST(request_table, a_receive_reports_the_length_or_truncation) {
  Table job;
  Request* fits = job.receive_from(MPI_ANY_SOURCE);
  job.table.complete_receive(*fits, 2, 7, 8);
  EXPECT_TRUE(fits->complete && fits->outcome.ok());
  EXPECT_EQ(fits->from, 2);
  EXPECT_EQ(fits->received_bytes, 8);
  Request* truncated = job.receive_from(2);
  job.table.complete_receive(*truncated, 2, 7, 9);
  EXPECT_EQ(truncated->outcome.error_class(), MPI_ERR_TRUNCATE);
  EXPECT_EQ(truncated->received_bytes, 8);
  Request* ended = job.receive_from(2);
  job.table.end_receive(*ended, 2, Status::error(MPI_ERR_OTHER));
  EXPECT_EQ(ended->outcome.error_class(), MPI_ERR_OTHER);
  EXPECT_EQ(ended->received_bytes, 0);
  for (Request* request : {fits, truncated, ended}) job.table.destroy(request);
}

int advanced = 0;

TEST(request_table, a_group_wakes_its_owner_and_keeps_the_first_error) {
  Table job;
  MessageGroup group;
  RequestHooks hooks = {.advance = [](Request&) { ++advanced; }};
  group.owner = job.table.create(RequestKind::collective);
  group.owner->hooks = &hooks;
  group.wake_at = 1;
  Request* sends[3] = {job.send_to(1), job.send_to(2), job.send_to(3)};
  job.table.complete_send(*sends[0], Status::error(MPI_ERR_NO_MEM));
  for (Request* send : sends) job.table.entrust(send, group);
  EXPECT_FALSE(job.table.pool().contains(sends[0])) << "complete already";
  EXPECT_EQ(group.under_way, 2);
  advanced = 0;
  EXPECT_FALSE(job.table.advance());
  job.table.complete_send(*sends[1], Status::error(MPI_ERR_OTHER));
  EXPECT_EQ(group.under_way, 1);
  EXPECT_TRUE(job.table.advance());
  EXPECT_EQ(advanced, 1);
  EXPECT_FALSE(job.table.advance());
  EXPECT_EQ(group.first_error.error_class(), MPI_ERR_NO_MEM);
  job.table.complete_send(*sends[2], {});
  EXPECT_EQ(group.under_way, 0);
  job.table.destroy(group.owner);
}

TEST(request_table, messages_that_ended_for_lack_of_memory_are_listed_once) {
  Table job;
  MessageGroup group;
  Request* sends[4] = {job.send_to(1), job.send_to(2), job.send_to(3), job.send_to(4)};
  job.table.complete_send(*sends[0], Status::error(MPI_ERR_NO_MEM));
  for (Request* send : sends) job.table.entrust(send, group);
  job.table.complete_send(*sends[1], Status::error(MPI_ERR_OTHER));
  job.table.complete_send(*sends[2], Status::error(MPI_ERR_NO_MEM));
  job.table.complete_send(*sends[3], {});
  ASSERT_TRUE(job.table.any_unsent());
  EXPECT_EQ(job.table.take_unsent().peer, 3);
  EXPECT_EQ(job.table.take_unsent().peer, 1);
  EXPECT_FALSE(job.table.any_unsent());
}

struct CountDown final : Polled {
  explicit CountDown(int from, std::vector<int>& its_log) : left(from), log(its_log) {}
  bool advance() override {
    log.push_back(left);
    return --left == 0;
  }
  int left;
  std::vector<int>& log;
};

TEST(request_table, polled_operations_advance_in_order_until_they_are_over) {
  Table job;
  std::vector<int> log;
  CountDown first(1, log);
  CountDown second(20, log);
  job.table.poll(first);
  job.table.poll(second);
  EXPECT_TRUE(job.table.advance());
  EXPECT_EQ(log, (std::vector<int>{1, 20}));
  EXPECT_FALSE(job.table.advance());
  EXPECT_EQ(log, (std::vector<int>{1, 20, 19}));
}

TEST(request_table, a_hooked_request_is_advanced_until_it_is_complete) {
  Table job;
  RequestHooks hooks = {.advance = [](Request& request) { request.complete = ++advanced == 2; }};
  Request* request = job.table.create(RequestKind::generalized);
  request->hooks = &hooks;
  advanced = 0;
  job.table.add_hooked(*request);
  job.table.release(request);
  EXPECT_TRUE(job.table.has_hooked());
  EXPECT_FALSE(job.table.advance());
  EXPECT_TRUE(job.table.advance());
  EXPECT_FALSE(job.table.has_hooked());
  EXPECT_FALSE(job.table.pool().contains(request));
}

TEST(request_table, memory_exhausted_in_a_step_is_fatal) {
  Table job;
  struct Exhausted final : Polled {
    bool advance() override { throw std::bad_alloc(); }
  } exhausted;
  job.table.poll(exhausted);
  EXPECT_THROW(job.table.advance(), std::runtime_error);
}

}  // namespace
}  // namespace hearth::p2p
