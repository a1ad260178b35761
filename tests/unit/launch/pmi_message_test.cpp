#include "launch/bootstrap_pmi_message.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace hearth::launch {
namespace {

TEST(PmiMessage, WordsOfVersion1) {
  PmiMessage message;
  ASSERT_TRUE(parse_pmi1("cmd=maxes rc=0 kvsname_max=256 vallen_max=1024", message));
  EXPECT_EQ(message.command(), "maxes");
  EXPECT_TRUE(message.succeeded());
  int letters = 0;
  EXPECT_TRUE(message.number("vallen_max", letters));
  EXPECT_EQ(letters, 1024);
  EXPECT_EQ(message.find("nothing"), nullptr);
  // A value may contain '='; some servers write two blanks, or a blank at the end.
  ASSERT_TRUE(parse_pmi1("cmd=get_result  rc=-1 value=(vector,(0,2,4))=x ", message));
  EXPECT_FALSE(message.succeeded());
  EXPECT_EQ(*message.find("value"), "(vector,(0,2,4))=x");
}

TEST(PmiMessage, FieldsOfVersion2) {
  PmiMessage message;
  ASSERT_TRUE(parse_pmi2("cmd=kvs-get-response;rc=0;found=TRUE;value=a;;b = c;", message));
  EXPECT_EQ(message.command(), "kvs-get-response");
  EXPECT_EQ(*message.find("value"), "a;b = c");
  ASSERT_TRUE(parse_pmi2("cmd=x;value=;;;", message));
  EXPECT_EQ(*message.find("value"), ";");
}

TEST(PmiMessage, WhatIsWrittenIsRead) {
  PmiMessage message("kvs-put");
  message.add("key", "hearth-node-3").add("value", "a;b;;").add("rank", 3);
  const std::string wire = to_pmi2(message);
  size_t bytes = 0;
  ASSERT_TRUE(parse_pmi2_length(wire.substr(0, kPmi2LengthColumns), bytes));
  EXPECT_EQ(bytes, wire.size() - kPmi2LengthColumns);
  PmiMessage read;
  ASSERT_TRUE(parse_pmi2(wire.substr(kPmi2LengthColumns), read));
  EXPECT_EQ(read.fields(), message.fields());
  EXPECT_EQ(to_pmi1(PmiMessage("put").add("key", "a").add("value", 7)), "cmd=put key=a value=7\n");
}

TEST(PmiMessage, BrokenLinesOfVersion1) {
  PmiMessage message;
  for (const char* line :
       {"", " ", "cmd", "cmd=", "=x", "rc=0 cmd=maxes", "cmd=a cmd=b", "cmd=a rc=0 rc=0", "cmd=a word",
        "cmd=a\tb=c", "cmd=a b\x01=c", "cmd=a b=\x7f", "cmd=a b=\xc3\xa4", "cmd=a b;c=d", "cmd=a =b"}) {
    EXPECT_FALSE(parse_pmi1(line, message)) << line;
  }
  EXPECT_FALSE(parse_pmi1(std::string_view("cmd=a\0b=c", 9), message));
  EXPECT_FALSE(parse_pmi1("cmd=" + std::string(kPmiBytesMax, 'a'), message));
  EXPECT_FALSE(parse_pmi1("cmd=a " + std::string(65, 'n') + "=1", message)) << "a name without end";
  std::string many = "cmd=a";
  for (int i = 0; i < 100; ++i) many += " n" + std::to_string(i) + "=1";
  EXPECT_FALSE(parse_pmi1(many, message));
}

TEST(PmiMessage, BrokenFieldsOfVersion2) {
  PmiMessage message;
  for (const char* text :
       {"", ";", "cmd", "cmd=", "cmd=a", "cmd=a;;", "cmd=;", "rc=0;", "cmd=a;b", "cmd=a;b=c", "cmd=a;=c;",
        "cmd=a;cmd=b;", "cmd=a;b=c;;", "cmd=a\n;", "cmd=a;b c=d;"}) {
    EXPECT_FALSE(parse_pmi2(text, message)) << text;
  }
}

TEST(PmiMessage, LengthsOfVersion2) {
  size_t bytes = 0;
  EXPECT_TRUE(parse_pmi2_length("    27", bytes));
  EXPECT_EQ(bytes, 27u);
  EXPECT_TRUE(parse_pmi2_length("27    ", bytes));
  EXPECT_TRUE(parse_pmi2_length(" 65536", bytes));
  for (const char* columns : {"", "27", "      ", "     0", "    -1", "  2 7 ", "0x0010", "999999", " 65537",
                              "   27\n", "+   27", "1234567"}) {
    EXPECT_FALSE(parse_pmi2_length(columns, bytes)) << columns;
  }
}

TEST(PmiMessage, NumbersAreWholeAndSmall) {
  PmiMessage message;
  ASSERT_TRUE(parse_pmi1("cmd=a b=-1 c=1x d= e=99999999999999999999 f=2147483647 g=12", message));
  int number = 5;
  for (const char* name : {"b", "c", "d", "e", "f", "missing"}) {
    EXPECT_FALSE(message.number(name, number)) << name;
  }
  EXPECT_EQ(number, 5);
  EXPECT_TRUE(message.number("g", number));
  EXPECT_EQ(number, 12);
}

// Any bytes: no crash (the sanitizers check), and an accepted message obeys the rules.
TEST(PmiMessage, AnyBytes) {
  std::mt19937 chance(4711);
  const std::string good1 = "cmd=get_result rc=0 msg=success value=0123456789abcdef";
  const std::string good2 = "cmd=kvs-get-response;rc=0;found=TRUE;value=01;;23;";
  for (int round = 0; round < 20'000; ++round) {
    std::string text = round % 2 == 0 ? good1 : good2;
    text.resize(chance() % (text.size() + 1));
    for (uint32_t changes = chance() % 4; changes > 0 && !text.empty(); --changes) {
      text[chance() % text.size()] = static_cast<char>(chance() % 3 == 0 ? "=; \n"[chance() % 4] : chance());
    }
    for (const bool version_2 : {false, true}) {
      PmiMessage message;
      if (!(version_2 ? parse_pmi2(text, message) : parse_pmi1(text, message))) continue;
      EXPECT_FALSE(message.command().empty());
      for (const auto& [name, value] : message.fields()) {
        EXPECT_EQ(message.find(name), &value) << "twice";
        for (const char letter : value) EXPECT_TRUE(letter >= ' ' && letter <= '~');
      }
    }
  }
}

}  // namespace
}  // namespace hearth::launch
