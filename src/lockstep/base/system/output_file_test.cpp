#include "lockstep/base/system/output_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "lockstep/base/error.h"
#include "lockstep/base/system/file_descriptor.h"
#include "lockstep/base/test_folder.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

class OutputFile : public ::testing::Test {
 protected:
  static void write(const fs::path& path) {
    write_result(path.string(), [](std::ostream& out) { out << "result"; });
  }
  static std::string content(const fs::path& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  TestFolder folder_;
};

TEST_F(OutputFile, ReplacesAFileAndLeavesNoPartBehind) {
  const fs::path path = folder_.file("report.txt");
  std::ofstream(path) << "a longer text than the result";
  write(path);
  EXPECT_EQ(content(path), "result");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_.path()), {}), 1);
}

TEST_F(OutputFile, FollowsALinkInsteadOfReplacingIt) {
  const fs::path link = folder_.file("latest");
  fs::create_symlink("report.txt", link);
  write(link);
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_EQ(content(folder_.file("report.txt")), "result");
}

TEST_F(OutputFile, WritesToAPipeAndKeepsIt) {
  const fs::path pipe = folder_.file("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const FileDescriptor reader(::open(pipe.c_str(), O_RDONLY | O_NONBLOCK));
  write(pipe);
  EXPECT_TRUE(fs::is_fifo(pipe));
  std::array<char, 16> text{};
  EXPECT_EQ(::read(reader.get(), text.data(), text.size()), 6);
  EXPECT_STREQ(text.data(), "result");
}

TEST_F(OutputFile, RefusesAFolder) {
  EXPECT_THROW(write(folder_.path()), Error);
  EXPECT_THROW(write(folder_.path() + "/missing/report.txt"), Error);
}

}  // namespace
}  // namespace lockstep
