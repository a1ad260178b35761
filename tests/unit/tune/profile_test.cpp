#include "tune/profile.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/param.h"

namespace hearth::tune {
namespace {

using param::Id;
using topo::Relation;

Profile example(const MachineIdentity& machine) {
  Profile profile;
  profile.made = "2026-11-21 12:00:00";
  profile.made_by = "hearth tune";
  profile.machine = machine;
  profile.findings = {
      {Id::p2p_single_copy_bytes_min, Relation::l3, 1 << 20, "one copy is faster from 1 MiB on"},
      {Id::p2p_single_copy_bytes_min, Relation::package, kNever, "one copy is never faster"},
      {Id::p2p_eager_bytes_max, Relation::l3, std::nullopt, "no difference that is sure"},
      {Id::coll_whole_bytes_max, std::nullopt, 6143, "shares are faster from 6 KiB on"},
      {Id::coll_flat_ranks_max, std::nullopt, std::nullopt, "not measured"}};
  profile.curves = {{Relation::l3, "bounce buffers", {{4096, 800.5}, {8192, 1200}}},
                    {std::nullopt, "allreduce, whole", {{4096, 1700}}}};
  return profile;
}

const MachineIdentity kSome = {"Some CPU (1.2.3)", "packages 1", "6.18", true};

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const size_t place = text.find(what);
  EXPECT_NE(place, std::string::npos) << what;
  return text.replace(place, what.size(), by);
}

TEST(Profile, ThereAndBack) {
  const Profile made = example(kSome);
  const std::string text = profile_text(made);
  Profile read;
  ASSERT_TRUE(parse_profile(text, read).ok()) << last_failure_text();
  EXPECT_EQ(profile_text(read), text);
  EXPECT_EQ(read.machine, kSome);
  EXPECT_EQ(to_words(read.values()),
            "p2p_single_copy_bytes_min:l3=1048576;p2p_single_copy_bytes_min:package=never;"
            "coll_whole_bytes_max=6143");
  EXPECT_EQ(read.find(Id::p2p_eager_bytes_max, Relation::l3)->text, "no difference that is sure");
  EXPECT_EQ(read.find(Id::p2p_eager_bytes_max, Relation::l2), nullptr);
  EXPECT_EQ(read.find(Id::coll_whole_bytes_max, std::nullopt)->text, "shares are faster from 6 KiB on");
  EXPECT_EQ(read.find(Id::coll_whole_bytes_max, Relation::l3), nullptr);
  ASSERT_EQ(read.curves.size(), 2u);
  EXPECT_EQ(read.curves[0].points, made.curves[0].points);
  EXPECT_EQ(read.curves[1].relation, std::nullopt);
}

TEST(Profile, OneWithoutCollectivesIsWhatItWas) {
  Profile made = example(kSome);
  std::erase_if(made.findings, [](const Finding& finding) { return !finding.relation; });
  std::erase_if(made.curves, [](const Curve& curve) { return !curve.relation; });
  const std::string text = profile_text(made);
  EXPECT_EQ(text.find("collectives"), std::string::npos);
  Profile read;
  ASSERT_TRUE(parse_profile(text, read).ok()) << last_failure_text();
  EXPECT_EQ(profile_text(read), text);
}

TEST(Profile, WhatIsWrongIsNamedWithItsPlace) {
  const std::string good = profile_text(example(kSome));
  struct Case {
    const char* what;
    const char* by;
    const char* told;
  };
  for (const Case& one : {
           Case{"hearth profile", "other profile", "format: 'other profile'"},
           Case{"\"version\": 1", "\"version\": 2", "version: 2"},
           Case{"\"version\": 1", "\"version\": \"1\"", "version: \"1\""},
           Case{"\"made\"", "\"maid\"", "'maid' is unknown"},
           Case{"\"made\": \"2026-11-21 12:00:00\",", "", "'made' is missing"},
           Case{"\"hypervisor\": true", "\"hypervisor\": 1", "machine.hypervisor: expected true or false"},
           Case{"\"kernel\": \"6.18\"", "\"kernel\": 6.18", "machine.kernel: expected a text"},
           Case{"\"l3\"", "\"l9\"", "relations.l9: there is no such relation"},
           Case{"p2p_eager_bytes_max", "p2p_outline", "thresholds.p2p_outline: there is no such threshold"},
           Case{"\"value\": 1048576", "\"value\": -1", "value: expected a number"},
           Case{"\"value\": 1048576", "\"value\": 1.5", "value: expected a number"},
           Case{"\"value\": 1048576", "\"value\": \"1M\"", "value: expected a number"},
           Case{"\"value\": 1048576", "\"value\": 18446744073709551615", "value: expected a number"},
           Case{"\"value\": 1048576", "\"valve\": 1", "'valve' is unknown"},
           Case{"800.5", "\"800\"", "curves.bounce buffers: expected pairs"},
           Case{"\"thresholds\"", "\"limits\"", "'limits' is unknown"},
           Case{"coll_whole_bytes_max", "p2p_fragment_bytes_max",
                "collectives.thresholds.p2p_fragment_bytes_max: there is no such threshold"},
           Case{"p2p_eager_bytes_max", "coll_whole_bytes_max",
                "l3.thresholds.coll_whole_bytes_max: there is no such threshold"},
           Case{"\"collectives\": {\n  \"thresholds\"", "\"collectives\": {\n  \"limits\"",
                "collectives: 'limits' is unknown"},
           Case{"\"value\": 6143", "\"value\": \"6K\"", "value: expected a number"},
           Case{"{", "[", "not JSON"},
       }) {
    Profile read;
    EXPECT_FALSE(parse_profile(replaced(good, one.what, one.by), read).ok()) << one.by;
    EXPECT_NE(std::string(last_failure_text()).find(one.told), std::string::npos)
        << one.by << ": " << last_failure_text();
  }
  Profile read;
  EXPECT_FALSE(parse_profile("", read).ok());
  EXPECT_FALSE(parse_profile("[]", read).ok());
  EXPECT_FALSE(parse_profile("{\"format\": \"hearth profile\"}", read).ok());
}

TEST(Profile, OneByteWrongAnywhereDoesNoHarm) {
  const std::string good = profile_text(example(kSome));
  for (size_t i = 0; i < good.size(); ++i) {
    Profile read;
    for (const char wrong : {'\0', '"', '9', '}', '\xff'}) {
      std::string text = good;
      text[i] = wrong;
      if (!parse_profile(text, read).ok()) EXPECT_STRNE(last_failure_text(), "");
    }
    if (!parse_profile(good.substr(0, i), read).ok()) EXPECT_STRNE(last_failure_text(), "");
  }
}

TEST(MachineIdentity, TheFirstDifferenceIsTold) {
  EXPECT_EQ(difference(kSome, kSome), "");
  MachineIdentity other = kSome;
  other.hypervisor = false;
  EXPECT_EQ(difference(kSome, other), "hypervisor 'yes', here 'no'");
  other.kernel = "7.0";
  EXPECT_EQ(difference(kSome, other), "kernel '6.18', here '7.0'");
  other.topology = "packages 2";
  EXPECT_EQ(difference(kSome, other), "topology 'packages 1', here 'packages 2'");
  other.processor = "Another";
  EXPECT_EQ(difference(kSome, other), "processor 'Some CPU (1.2.3)', here 'Another'");
}

TEST(MachineIdentity, ThisMachineHasOne) {
  const MachineIdentity here = MachineIdentity::of(topo::Machine::discover());
  EXPECT_NE(here.processor, "");
  EXPECT_NE(here.topology, "");
  EXPECT_NE(here.kernel.find('.'), std::string::npos);
  EXPECT_EQ(here.kernel.find_first_not_of("0123456789."), std::string::npos) << here.kernel;
}

/// Files at the default paths below a temporary home folder.
class Places : public testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/hearth-test-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern), nullptr);
    home_ = pattern;
    ::setenv("HOME", home_.c_str(), 1);
    ::unsetenv("XDG_CONFIG_HOME");
    ::unsetenv("XDG_CACHE_HOME");
    choose("");
  }
  void TearDown() override {
    choose("");
    std::filesystem::remove_all(home_);
  }
  static void choose(const std::string& text) { param::set_text(static_cast<size_t>(Id::profile), text); }
  std::string write(const std::string& name, const std::string& text) {
    const std::filesystem::path path = home_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
    return path.string();
  }

  const topo::Machine machine_ = topo::Machine::discover();
  const std::string good_ = profile_text(example(MachineIdentity::of(machine_)));
  std::filesystem::path home_;
};

TEST_F(Places, WhatTheUserWroteComesBeforeWhatWasMeasured) {
  EXPECT_FALSE(find_profile(machine_).profile);
  EXPECT_TRUE(find_profile(machine_).notes.empty());
  const std::string measured = write(".cache/hearth/profile.json", good_);
  EXPECT_EQ(own_profile_path(), measured);
  EXPECT_EQ(find_profile(machine_).path, measured);
  const std::string written = write(".config/hearth/profile.json", good_);
  EXPECT_EQ(find_profile(machine_).path, written);
  ::setenv("XDG_CONFIG_HOME", (home_ / "elsewhere").c_str(), 1);
  EXPECT_EQ(find_profile(machine_).path, measured);
  choose("none");
  EXPECT_FALSE(find_profile(machine_).profile);
}

TEST_F(Places, AProfileThatCannotBeUsedIsToldInOneLine) {
  write(".config/hearth/profile.json", replaced(good_, "\"topology\": \"", "\"topology\": \"another, "));
  const std::string measured = write(".cache/hearth/profile.json", good_);
  const ProfileSearch search = find_profile(machine_);
  EXPECT_EQ(search.path, measured);
  ASSERT_EQ(search.notes.size(), 1u);
  EXPECT_NE(search.notes[0].find("made on another machine: topology"), std::string::npos) << search.notes[0];
  write(".cache/hearth/profile.json", "{");
  EXPECT_FALSE(find_profile(machine_).profile);
  EXPECT_EQ(find_profile(machine_).notes.size(), 2u);
}

TEST_F(Places, AChosenFileIsTheOnlyPlace) {
  write(".cache/hearth/profile.json", good_);
  choose((home_ / "missing.json").string());
  EXPECT_FALSE(find_profile(machine_).profile);
  ASSERT_EQ(find_profile(machine_).notes.size(), 1u);
  const std::string chosen = write("mine.json", good_);
  choose(chosen);
  EXPECT_EQ(find_profile(machine_).path, chosen);
}

TEST_F(Places, WithoutAHome) {
  ::unsetenv("HOME");
  EXPECT_EQ(own_profile_path(), "");
  EXPECT_TRUE(find_profile(machine_).notes.empty());
}

}  // namespace
}  // namespace hearth::tune
