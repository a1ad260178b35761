#include "output_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace hearth::tools {
namespace {

std::string text_of(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(OutputFile, MakesItsFolderAndReplacesWhatWasThere) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("hearth-output-file-" + std::to_string(std::rand()));
  const std::filesystem::path file = folder / "a" / "b.txt";
  ASSERT_TRUE(write_file(file.string(), "one").ok());
  EXPECT_EQ(text_of(file), "one");
  ASSERT_TRUE(write_file(file.string(), "two").ok());
  EXPECT_EQ(text_of(file), "two");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(file.parent_path()), {}), 1)
      << "a draft is left";
  EXPECT_TRUE(check_writable(file.string()).ok());
  EXPECT_EQ(text_of(file), "two");
  EXPECT_FALSE(check_writable((file / "below a file").string()).ok());
  EXPECT_FALSE(write_file((file / "below a file").string(), "three").ok());
  EXPECT_NE(std::string(last_failure_text()).find("cannot write"), std::string::npos);
  std::filesystem::remove_all(folder);
}

TEST(OutputFile, ADeviceIsNotReplaced) {
  ASSERT_TRUE(write_file("/dev/null", "nothing").ok());
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

}  // namespace
}  // namespace hearth::tools
