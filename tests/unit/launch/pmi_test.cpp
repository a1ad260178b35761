// A PMI client against servers that follow the protocol, refuse, send wrong data, or close the connection.
#include "launch/bootstrap_pmi.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "base/os_io.h"
#include "base/os_socket.h"
#include "base/param.h"
#include "launch/bootstrap_words.h"
#include "mpi.h"

namespace hearth::launch {
namespace {

// The server: replies to each message with the result of a function; "" closes the connection.
class Server {
 public:
  using Answer = std::function<std::string(const PmiMessage&)>;
  explicit Server(Answer answer) : answer_(std::move(answer)) {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    own_ = os::Descriptor(ends[0]);
    rank_ = os::Descriptor(ends[1]);
    thread_ = std::thread([this] { serve(); });
  }
  ~Server() {
    rank_.reset();
    thread_.join();
  }
  // Hands over the client's end.
  int descriptor() { return rank_.release(); }
  std::vector<std::string> commands;  // valid once the rank has finished

 private:
  void serve() {
    std::string received;
    char piece[512];
    for (;;) {
      const intptr_t bytes = os::read_some(own_.number(), piece, sizeof piece);
      if (bytes <= 0) return;
      received.append(piece, static_cast<size_t>(bytes));
      PmiMessage message;
      while (take(received, message)) {
        commands.emplace_back(message.command());
        const std::string text = answer_(message);
        if (text.empty()) return own_.reset();
        // In two parts: a client must not rely on whole messages.
        const size_t half = text.size() / 2;
        os::send_all(own_.number(), text.data(), half);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        if (!os::send_all(own_.number(), text.data() + half, text.size() - half)) return;
      }
    }
  }
  static bool take(std::string& received, PmiMessage& message) {
    if (received.starts_with("cmd=")) {
      const size_t end = received.find('\n');
      if (end == std::string::npos) return false;
      EXPECT_TRUE(parse_pmi1(received.substr(0, end), message));
      received.erase(0, end + 1);
      return true;
    }
    size_t bytes = 0;
    if (received.size() < kPmi2LengthColumns) return false;
    EXPECT_TRUE(parse_pmi2_length(received.substr(0, kPmi2LengthColumns), bytes));
    if (received.size() < kPmi2LengthColumns + bytes) return false;
    EXPECT_TRUE(parse_pmi2(received.substr(kPmi2LengthColumns, bytes), message));
    received.erase(0, kPmi2LengthColumns + bytes);
    return true;
  }

  Answer answer_;
  os::Descriptor own_;
  os::Descriptor rank_;
  std::thread thread_;
};

std::string version_1(const PmiMessage& message) {
  const std::string command(message.command());
  if (command == "init") return "cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=1\n";
  if (command == "get_maxes") return "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024\n";
  if (command == "get_appnum") return "cmd=appnum appnum=2\n";
  if (command == "get_my_kvsname") return "cmd=my_kvsname kvsname=job_1\n";
  if (command == "put") return "cmd=put_result rc=0 msg=success\n";
  if (command == "barrier_in") return "cmd=barrier_out\n";
  if (command == "get") {
    const bool known = *message.find("key") == "hearth-card-1" && *message.find("kvsname") == "job_1";
    return known ? "cmd=get_result rc=0 value=00ff\n" : "cmd=get_result rc=-1 msg=key_not_found value=\n";
  }
  if (command == "finalize") return "cmd=finalize_ack\n";
  return "";
}

std::string version_2(const PmiMessage& message) {
  const std::string command(message.command());
  if (command == "init") return "cmd=response_to_init rc=0 pmi_version=2 pmi_subversion=0\n";
  PmiMessage answer(command + "-response");
  answer.add("rc", 0);
  if (command == "fullinit") answer.add("rank", 1).add("size", 3).add("appnum", 1);
  if (command == "job-getid") answer.add("jobid", "job 1;2");
  if (command == "kvs-get") {
    const bool known = *message.find("key") == "hearth-card-2" && *message.find("jobid") == "job 1;2";
    answer.add("found", known ? "TRUE" : "FALSE");
    if (known) answer.add("value", "0102");
  }
  return to_pmi2(answer);
}

class PmiTest : public testing::Test {
 protected:
  void SetUp() override {
    ::setenv("PMI_RANK", "1", 1);
    ::setenv("PMI_SIZE", "3", 1);
  }
  void TearDown() override {
    ::unsetenv("PMI_RANK");
    ::unsetenv("PMI_SIZE");
  }
  // The error text for a server with these replies.
  static std::string refusal(Server::Answer answer) {
    Server server(std::move(answer));
    std::unique_ptr<ForeignLauncher> launcher;
    EXPECT_FALSE(PmiLauncher::from_descriptor(server.descriptor(), launcher).ok());
    return last_failure_text();
  }
};

TEST_F(PmiTest, Version1) {
  Server server(version_1);
  std::unique_ptr<ForeignLauncher> launcher;
  ASSERT_TRUE(PmiLauncher::from_descriptor(server.descriptor(), launcher).ok()) << last_failure_text();
  EXPECT_STREQ(launcher->protocol(), "PMI-1");
  EXPECT_EQ(launcher->rank(), 1);
  EXPECT_EQ(launcher->size(), 3);
  EXPECT_EQ(launcher->app(), 2);
  const std::vector<std::byte> published = {std::byte{0}, std::byte{255}};
  EXPECT_TRUE(launcher->put("card", published).ok());
  EXPECT_TRUE(launcher->fence().ok());
  std::vector<std::byte> read;
  EXPECT_TRUE(launcher->get(1, "card", read).ok()) << last_failure_text();
  EXPECT_EQ(read, published);
  EXPECT_FALSE(launcher->get(2, "card", read).ok());
  EXPECT_NE(std::string(last_failure_text()).find("key_not_found"), std::string::npos);
  const std::vector<std::byte> huge(600);
  EXPECT_FALSE(launcher->put("card", huge).ok()) << "longer than the server takes";
  launcher->finalize();
  launcher->finalize();
  EXPECT_EQ(server.commands.back(), "finalize");
}

TEST_F(PmiTest, Version2WhereVersion1IsRefused) {
  Server server([](const PmiMessage& message) -> std::string {
    const std::string* wanted = message.find("pmi_version");
    if (wanted != nullptr && *wanted == "1") {
      return "cmd=response_to_init rc=-1 pmi_version=2 pmi_subversion=0\n";
    }
    return version_2(message);
  });
  std::unique_ptr<ForeignLauncher> launcher;
  ASSERT_TRUE(PmiLauncher::from_descriptor(server.descriptor(), launcher).ok()) << last_failure_text();
  EXPECT_STREQ(launcher->protocol(), "PMI-2");
  EXPECT_EQ(launcher->rank(), 1);
  EXPECT_EQ(launcher->size(), 3);
  EXPECT_EQ(launcher->app(), 1);
  EXPECT_TRUE(launcher->put("card", {}).ok());
  EXPECT_TRUE(launcher->fence().ok());
  std::vector<std::byte> read;
  EXPECT_TRUE(launcher->get(2, "card", read).ok()) << last_failure_text();
  EXPECT_EQ(read, (std::vector<std::byte>{std::byte{1}, std::byte{2}}));
  EXPECT_FALSE(launcher->get(0, "card", read).ok());
  EXPECT_NE(std::string(last_failure_text()).find("rank 0 is no rank of Hearth"), std::string::npos);
  launcher->finalize();
}

TEST_F(PmiTest, AbortSaysTheCodeInOneLine) {
  std::string seen;
  {
    Server server([&seen](const PmiMessage& message) {
      if (message.command() != "abort") return version_1(message);
      seen = to_pmi1(message);
      return std::string();
    });
    std::unique_ptr<ForeignLauncher> launcher;
    ASSERT_TRUE(PmiLauncher::from_descriptor(server.descriptor(), launcher).ok()) << last_failure_text();
    launcher->abort(42, "two words\nand a line");
  }
  EXPECT_EQ(seen, "cmd=abort exitcode=42 message=two_words?and_a_line\n");
}

// Otherwise the other ranks wait for this one.
TEST_F(PmiTest, AFailureAfterTheVersionIsAgreedCanBeReported) {
  std::string seen;
  {
    Server server([&seen](const PmiMessage& message) -> std::string {
      if (message.command() == "abort") seen = to_pmi1(message);
      return message.command() == "get_my_kvsname" ? "cmd=my_kvsname\n" : version_1(message);
    });
    std::unique_ptr<ForeignLauncher> launcher;
    EXPECT_FALSE(PmiLauncher::from_descriptor(server.descriptor(), launcher).ok());
    ASSERT_NE(launcher, nullptr);
    launcher->abort(1, "no");
  }
  EXPECT_EQ(seen, "cmd=abort exitcode=1 message=no\n");
}

TEST_F(PmiTest, ServersThatLie) {
  EXPECT_NE(refusal([](const PmiMessage&) { return "HTTP/1.1 400 Bad Request\n"; }).find("HTTP/1.1 400"),
            std::string::npos);
  EXPECT_NE(refusal([](const PmiMessage&) { return ""; }).find("has gone"), std::string::npos);
  EXPECT_NE(refusal([](const PmiMessage&) { return std::string(200'000, 'x'); }).find("without an end"),
            std::string::npos);
  EXPECT_NE(refusal([](const PmiMessage&) {
              return "cmd=response_to_init rc=0 pmi_version=7\n";
            }).find("neither PMI-1 nor PMI-2"),
            std::string::npos);
  for (const char* limits : {"cmd=maxes\n", "cmd=maxes vallen_max=20\n", "cmd=maxes vallen_max=-5\n"}) {
    const auto answer = [limits](const PmiMessage& message) -> std::string {
      return message.command() == "get_maxes" ? limits : version_1(message);
    };
    EXPECT_NE(refusal(answer).find("Hearth needs"), std::string::npos) << limits;
  }
  // In version 2 the rank number comes from the server, and the client validates lengths.
  for (const char* text : {"rank=3;size=3;", "rank=-1;size=3;", "rank=0;", "rank=0;size=0;"}) {
    const auto answer = [text](const PmiMessage& message) -> std::string {
      if (message.find("pmi_version") != nullptr && *message.find("pmi_version") == "1") {
        return "cmd=response_to_init rc=-1\n";
      }
      if (message.command() != "fullinit") return version_2(message);
      const std::string body = "cmd=fullinit-response;rc=0;" + std::string(text);
      return "    " + std::to_string(body.size()) + body;
    };
    EXPECT_NE(refusal(answer).find("rank"), std::string::npos) << text;
  }
  EXPECT_NE(refusal([](const PmiMessage& message) -> std::string {
              if (message.command() == "fullinit") return "999999cmd=fullinit-response;";
              return message.find("pmi_version") != nullptr && *message.find("pmi_version") == "1"
                         ? "cmd=response_to_init rc=-1\n"
                         : version_2(message);
            }).find("answered '999999'"),
            std::string::npos);
}

TEST_F(PmiTest, SpoiledVariables) {
  for (const char* rank : {"", "x", "-1", "3", "99999999999"}) {
    ::setenv("PMI_RANK", rank, 1);
    EXPECT_NE(refusal(version_1).find("do not change"), std::string::npos) << rank;
  }
}

}  // namespace
}  // namespace hearth::launch
